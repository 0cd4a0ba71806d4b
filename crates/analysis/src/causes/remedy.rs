//! What to change, with numbers: from what is known of a row's misses.

use crate::cache_shape::{CacheShape, MissedLevel, size};
use perfdata::MissClass;
use serde::Serialize;

/// What is known of the misses of an instruction on an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MissEvidence {
    /// Whether every miss was sampled, so that successive samples are successive misses.
    pub has_each_miss: bool,
    /// Distinct lines, or pages, that were sampled.
    pub lines: u64,
    /// So many there are; where not all misses were sampled at least so many, by
    /// an estimate. None: none was sampled twice, and nobody can tell.
    pub lines_estimated: Option<u64>,
    /// Pages of 4 KiB that were sampled.
    pub pages: u64,
    /// Misses for each line, on average; where not all misses were sampled at most so many.
    pub misses_per_line: Option<f64>,
    /// Sets of the cache, all alike, that samples are spread over; None: not of a
    /// cache whose sets virtual addresses tell, or an even interval may have picked them.
    pub effective_sets: Option<f64>,
    /// The sets that have 95 % of the samples, where they are few.
    pub sets: Vec<usize>,
    /// Bytes from one address to the next that most steps have; None: no such, or not every
    /// miss was sampled.
    pub stride: Option<i64>,
    /// The share of steps that have it, 0 to 1.
    pub stride_share: f64,
    /// All addresses are a multiple of so many bytes apart; 0: there is one, or an even
    /// interval may have picked them.
    pub apart: u64,
    /// Bytes that the instruction accesses; None: its code cannot be had.
    pub width: Option<u64>,
    /// Its pointer comes out of what it points to.
    pub is_chase: bool,
    /// The share of samples that cross the end of a line, 0 to 1.
    pub split_share: f64,
    /// The smallest cache that would have nine of ten of what missed again, bytes,
    /// in steps of half an octave; None: not all misses were sampled.
    pub fits_from: Option<u64>,
    /// The share of samples whose data came from another node's memory or caches,
    /// 0 to 1; None: no sample says.
    pub remote_share: Option<f64>,
    /// The share that waited for a walk of the page tables, 0 to 1; None: no
    /// sample says.
    pub walk_share: Option<f64>,
}

/// A change to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// Which kind: `pad`, `colour`, `block`, `pack`, `huge-pages`, `align`,
    /// `apart`, `prefetch`, `swap`, `widths`, `place`.
    pub kind: &'static str,
    /// What, in a sentence.
    pub text: String,
}

impl Remedy {
    pub(crate) fn new(kind: &'static str, text: impl Into<String>) -> Remedy {
        Remedy { kind, text: text.into() }
    }
}

/// What may help against misses of this cause; `conflict` is the share that a
/// better spread over the sets could spare.
pub(crate) fn remedies(
    cause: Option<MissClass>,
    conflict: f64,
    level: MissedLevel,
    shape: CacheShape,
    evidence: &MissEvidence,
) -> Vec<Remedy> {
    let mut all = Vec::new();
    if evidence.split_share > 0.1 {
        let width = evidence.width.unwrap_or_default();
        all.push(Remedy::new(
            "align",
            format!(
                "align the object to 64 bytes, or its members to {width}: accesses cross lines"
            ),
        ));
    }
    all.extend(elsewhere(evidence));
    match (cause, level) {
        (_, MissedLevel::Dtlb | MissedLevel::Stlb) => all.extend(translations(shape, evidence)),
        (Some(MissClass::Conflict), _) => all.extend(spread(conflict, shape, evidence)),
        (Some(MissClass::Edge), _) => {
            all.push(Remedy::new(
                "pack",
                format!(
                    "what is used between two visits is about as large as the cache of {}: a \
                     tenth less of it, or of what else is used in between, and it stays",
                    size(shape.bytes())
                ),
            ));
            let crowded = |sets: f64| sets * 2.0 < shape.sets() as f64;
            if evidence.effective_sets.is_some_and(crowded) {
                all.extend(spread(conflict, shape, evidence));
            }
        }
        (Some(MissClass::Capacity), _) => all.extend(smaller(shape, evidence)),
        (Some(MissClass::Cold), _) => all.extend(first_touch(evidence)),
        (Some(MissClass::Sharing), _) => all.push(Remedy::new(
            "apart",
            "allocate it per thread, or keep what one thread writes 64 bytes (128 with the pair \
             that is fetched together) away from what others use",
        )),
        (None, _) => {}
    }
    let is_of_data = !level.is_of_pages();
    if is_of_data && matches!(cause, Some(MissClass::Cold | MissClass::Capacity)) {
        all.push(prefetching(evidence));
    }
    all
}

fn elsewhere(evidence: &MissEvidence) -> Option<Remedy> {
    let share = evidence.remote_share.filter(|share| *share > 0.1)?;
    Some(Remedy::new(
        "place",
        format!(
            "{:.0} % came from another node: memory is on the node of the thread that writes it \
             first; have each thread make what it uses (or numactl --interleave what all use)",
            share * 100.0
        ),
    ))
}

fn spread(conflict: f64, shape: CacheShape, evidence: &MissEvidence) -> Option<Remedy> {
    let way = shape.sets() * shape.unit;
    // Of some misses the lines are an estimate from below.
    let lines = evidence.lines_estimated.filter(|_| evidence.has_each_miss);
    let gains = match lines.filter(|lines| *lines <= shape.entries) {
        Some(lines) => format!("its {lines} lines fit then"),
        None => format!(
            "spares {:.0} % of these misses at most{}",
            conflict * 100.0,
            if lines.is_some() { ", as all of it is larger than the cache" } else { "" }
        ),
    };
    // Rows an odd number of lines long are in all sets in turn.
    let uneven = |stride: &u64| stride / shape.unit % 2 == 1 && stride.is_multiple_of(shape.unit);
    let steady = evidence.stride.map(i64::unsigned_abs).filter(|_| !evidence.is_chase);
    if let Some(stride) = steady.filter(|stride| (1..shape.unit).contains(stride)) {
        return Some(Remedy::new(
            "pad",
            format!(
                "it goes through a line in steps of {stride} bytes and loses it in between: arrays \
                 that are used together begin a multiple of {} apart; begin each {} bytes further on \
                 than the one before; {gains}",
                size(way),
                shape.unit
            ),
        ));
    }
    let stride = steady.filter(|stride| *stride > shape.unit);
    if let Some(stride) = stride.filter(|stride| !uneven(stride)) {
        let lines = if (stride / shape.unit).is_multiple_of(2) { 1 } else { 2 };
        let pad = lines * shape.unit - stride % shape.unit;
        return Some(Remedy::new(
            "pad",
            format!(
                "pad rows by {pad} bytes: steps of {stride} bytes, over one row or several, {} as \
                 they are; {gains}",
                crowded(stride, shape, evidence)
            ),
        ));
    }
    let apart = evidence.apart;
    if apart >= shape.unit && apart.is_multiple_of(2 * shape.unit) {
        return Some(Remedy::new(
            "colour",
            format!(
                "objects lie multiples of {} apart, in {} of {} sets: begin each {} bytes further \
                 on than the one before (colours of 0 to {}), or allocate them side by side; \
                 {gains}",
                size(apart),
                sets_of(apart, shape),
                shape.sets(),
                shape.unit,
                way - shape.unit
            ),
        ));
    }
    Some(Remedy::new(
        "colour",
        format!("spread the lines over the sets: allocate the objects side by side; {gains}"),
    ))
}

/// Where steps of so many bytes lead: those that are no multiple of a line go on to
/// other sets after a while.
fn crowded(stride: u64, shape: CacheShape, evidence: &MissEvidence) -> String {
    let all = shape.sets();
    match (stride.is_multiple_of(shape.unit), evidence.effective_sets) {
        (false, Some(sets)) => format!("are in some {sets:.0} of {all} sets at a time"),
        _ => format!("fall into {} of {all} sets", sets_of(stride, shape)),
    }
}

/// The sets that addresses so far apart fall into.
fn sets_of(apart: u64, shape: CacheShape) -> u64 {
    let way = shape.sets() * shape.unit;
    let (mut a, mut b) = (way, apart % way);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (way / a.max(shape.unit)).max(1)
}

fn smaller(shape: CacheShape, evidence: &MissEvidence) -> Vec<Remedy> {
    let mut all = Vec::new();
    let stride = evidence.stride.map(i64::unsigned_abs);
    if let Some(stride) = stride.filter(|stride| *stride > shape.unit) {
        all.push(Remedy::new(
            "swap",
            format!(
                "each step goes {stride} bytes on and takes {} bytes of a line of {}: swap the \
                 loops, so that the inner one goes from neighbour to neighbour",
                evidence.width.unwrap_or(8),
                shape.unit
            ),
        ));
    }
    all.push(Remedy::new(
        "block",
        format!(
            "use again what is there before going on: blocks of up to {}, three quarters of the \
             cache{}",
            size(shape.bytes() / 4 * 3),
            evidence.fits_from.map_or_else(String::new, |bytes| format!(
                "; as it is, it fits from {} on",
                size(bytes)
            ))
        ),
    ));
    if evidence.is_chase {
        all.push(Remedy::new(
            "pack",
            "nodes of a list: smaller ones, several in a line, or in the order of the walk",
        ));
    }
    all
}

fn first_touch(evidence: &MissEvidence) -> Option<Remedy> {
    evidence.is_chase.then(|| {
        Remedy::new("pack", "nodes of a list: several in a line, or in the order of the walk")
    })
}

fn prefetching(evidence: &MissEvidence) -> Remedy {
    let stride = evidence.stride.filter(|_| evidence.stride_share > 0.8);
    match (stride, evidence.is_chase) {
        (_, true) => Remedy::new(
            "prefetch",
            "no prefetch by hand: the next address comes out of this very load",
        ),
        (Some(stride), false) if stride.unsigned_abs() >= 4096 => Remedy::new(
            "prefetch",
            format!(
                "prefetch some steps of {stride} bytes ahead by hand: prefetchers of CPUs stop at \
                 the end of a page"
            ),
        ),
        (Some(stride), false) => Remedy::new(
            "prefetch",
            format!("a prefetcher takes steps of {stride} bytes: what is left is its lateness"),
        ),
        (None, false) if !evidence.has_each_miss => Remedy::new(
            "prefetch",
            "whether steps are constant, which a prefetcher takes, samples of some misses do not \
             show: sample each (-i 1)",
        ),
        (None, false) => Remedy::new(
            "prefetch",
            "no constant step: a prefetch by hand helps where the program knows addresses ahead",
        ),
    }
}

fn translations(shape: CacheShape, evidence: &MissEvidence) -> Option<Remedy> {
    let pages = evidence.lines_estimated.unwrap_or(evidence.lines);
    let dense = evidence.pages.saturating_mul(4096) >= 2 << 20;
    dense.then(|| {
        Remedy::new(
            "huge-pages",
            format!(
                "at least {pages} pages of 4 KiB for {} entries: madvise(MADV_HUGEPAGE) on memory \
                 aligned to 2 MiB, where they lie side by side {} pages would do",
                shape.entries,
                pages.div_ceil(512)
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const L1: CacheShape = CacheShape { entries: 512, ways: 8, unit: 64 };

    fn of(cause: MissClass, evidence: &MissEvidence) -> Vec<Remedy> {
        remedies(Some(cause), 0.875, MissedLevel::L1d, L1, evidence)
    }

    #[test]
    fn rows_are_padded_to_an_odd_number_of_lines() {
        for (stride, pad) in [(2048, 64), (4096, 64), (2080, 32), (2144, 96)] {
            let evidence = MissEvidence {
                stride: Some(stride),
                stride_share: 0.99,
                lines_estimated: Some(8192),
                ..MissEvidence::default()
            };
            let text = &of(MissClass::Conflict, &evidence)[0].text;
            assert!(
                text.starts_with(&format!("pad rows by {pad} bytes: steps of {stride} ")),
                "{text}"
            );
            let padded = stride.unsigned_abs() + pad;
            assert_eq!(padded % 64, 0, "{text}");
            assert_eq!(padded / 64 % 2, 1, "{text}");
            assert_eq!(sets_of(padded, L1), 64, "{text}");
            assert!(text.contains("at most"), "{text}");
        }
        assert_eq!((sets_of(2048, L1), sets_of(4096, L1), sets_of(192, L1)), (2, 1, 64));
    }

    #[test]
    fn arrays_that_are_used_together_are_padded() {
        let evidence = MissEvidence {
            stride: Some(4),
            stride_share: 0.97,
            lines_estimated: Some(360),
            ..MissEvidence::default()
        };
        let remedy = &of(MissClass::Conflict, &evidence)[0];
        assert_eq!(remedy.kind, "pad");
        assert!(remedy.text.contains("a multiple of 4 KiB apart"), "{remedy:?}");
        let slanted = MissEvidence {
            stride: Some(2044),
            stride_share: 0.98,
            effective_sets: Some(14.3),
            ..MissEvidence::default()
        };
        let text = &of(MissClass::Conflict, &slanted)[0].text;
        assert!(text.starts_with("pad rows by 68 bytes: steps of 2044 bytes"), "{text}");
        assert!(text.contains("in some 14 of 64 sets at a time"), "{text}");
    }

    #[test]
    fn nodes_in_one_set_are_coloured() {
        let evidence = MissEvidence {
            has_each_miss: true,
            apart: 8192,
            lines_estimated: Some(64),
            ..MissEvidence::default()
        };
        let text = &of(MissClass::Conflict, &evidence)[0].text;
        assert!(text.contains("8 KiB apart, in 1 of 64 sets"), "{text}");
        assert!(text.contains("its 64 lines fit then"), "{text}");
    }

    #[test]
    fn samples_of_some_misses_tell_neither_steps_nor_that_lines_fit() {
        let some = MissEvidence { lines_estimated: Some(64), ..MissEvidence::default() };
        let words = |class| {
            let texts = of(class, &some).into_iter().map(|remedy| remedy.text + "\n");
            texts.collect::<String>()
        };
        let (conflict, capacity) = (words(MissClass::Conflict), words(MissClass::Capacity));
        assert!(!conflict.contains("fit") && !conflict.contains("larger"), "{conflict}");
        assert!(!capacity.contains("no constant step"), "{capacity}");
        assert!(capacity.contains("-i 1"), "{capacity}");
        let each = MissEvidence { has_each_miss: true, ..some };
        let texts = of(MissClass::Capacity, &each);
        assert!(texts.iter().any(|it| it.text.starts_with("no constant step")), "{texts:?}");
    }

    #[test]
    fn lists_are_not_prefetched() {
        let evidence = MissEvidence { is_chase: true, ..MissEvidence::default() };
        let texts = of(MissClass::Capacity, &evidence);
        assert!(texts.iter().any(|it| it.kind == "prefetch" && it.text.starts_with("no prefetch")));
        assert!(texts.iter().any(|it| it.kind == "pack"));
    }
}
