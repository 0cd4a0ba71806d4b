//! What was measured, in the words of `--cache`. Pure.

use anyhow::{Result, bail};
use emulator::Geometry;
use latency::levels::FoundLevel;
use latency::{LatencyPart, LatencyStudy};

pub(super) const PARTS: [LatencyPart; 4] =
    [LatencyPart::Levels, LatencyPart::Tlbs, LatencyPart::Forwarding, LatencyPart::Cores];

/// A structure as the machine describes it: bytes or pages, and ways.
#[derive(Clone, Copy, Debug)]
struct Described {
    size: u64,
    ways: u64,
}

#[derive(Clone, Copy, Debug)]
struct Timed {
    size: u64,
    cycles: f64,
}

/// The description: sizes and latencies as measured, of `described` what no
/// latency tells: ways, and the size where both agree about it.
///
/// # Errors
/// No levels were measured.
pub(super) fn as_cache(study: &LatencyStudy, described: &Geometry) -> Result<String> {
    let levels = study.levels.as_ref().map_or(&[][..], |levels| &levels.levels);
    let Some((memory, caches)) = levels.split_last().filter(|(_, caches)| !caches.is_empty())
    else {
        bail!(
            "no two levels were seen, of which a description could be made: run `ebs memlat \
             --as-cache` to its end, without --only or with --only levels, on a quieter machine"
        );
    };
    let curve: Vec<Timed> = study
        .levels
        .iter()
        .flat_map(|levels| levels.curves.first())
        .flat_map(|curve| &curve.points)
        .map(|point| Timed { size: point.size, cycles: point.load.cycles.minimum })
        .collect();
    let cache = |it: Option<emulator::geometry::CacheGeometry>| {
        it.map(|it| Described { size: it.bytes, ways: it.ways })
    };
    let known =
        [("l1d", cache(described.l1d)), ("l2", cache(described.l2)), ("l3", cache(described.l3))];
    let mut items = Vec::new();
    for (place, (name, described)) in known.into_iter().enumerate() {
        // Of more than three the last one is the one of all cores.
        let index = if place == 2 { caches.len().saturating_sub(1).max(2) } else { place };
        let Some(level) = caches.get(index) else {
            items.push(format!("{name}=off"));
            continue;
        };
        let next = caches.get(index + 1).unwrap_or(memory);
        let Described { size, ways } = agreed(level, next, described, &curve);
        items.push(format!("{name}={},{ways}:{}", bytes(size), cycles(level.latency)));
    }
    tlbs(study, described, &mut items);
    items.push(format!("memory={}", cycles(memory.latency)));
    if let Some(modified) = modified(study) {
        items.push(format!("modified={}", cycles(modified)));
    }
    let first = caches.first().map_or(0.0, |level| level.latency);
    if let Some(forwarding) = study.forwarding.filter(|it| it.joined.runs > 0) {
        items.push(format!("blocked={}", cycles(forwarding.joined.cycles.minimum - first)));
    }
    Ok(items.join(" "))
}

/// Both TLBs, and a walk; nothing where no TLB's end was seen.
fn tlbs(study: &LatencyStudy, described: &Geometry, items: &mut Vec<String>) {
    let Some(tlbs) = &study.tlbs else { return };
    let Some((walk, found)) = tlbs.levels.split_last().filter(|(_, found)| !found.is_empty())
    else {
        return;
    };
    let curve: Vec<Timed> =
        tlbs.points.iter().map(|point| Timed { size: point.pages, cycles: point.cycles }).collect();
    let tlb = |it: Option<emulator::geometry::TlbGeometry>| {
        it.map(|it| Described { size: it.entries, ways: it.ways })
    };
    for (place, (name, described)) in
        [("dtlb", tlb(described.dtlb)), ("stlb", tlb(described.stlb))].into_iter().enumerate()
    {
        let index = if place == 1 { found.len().saturating_sub(1).max(1) } else { 0 };
        let Some(level) = found.get(index) else {
            items.push(format!("{name}=off"));
            continue;
        };
        let next = found.get(index + 1).unwrap_or(walk);
        let Described { size, ways } = agreed(level, next, described, &curve);
        let time = if place == 1 { format!(":{}", cycles(level.latency)) } else { String::new() };
        items.push(format!("{name}={size},{ways}{time}"));
    }
    items.push(format!("walk={}", cycles(walk.latency)));
}

/// The size that the machine describes, if a visit of so much is still
/// nearer to this level's time than to the next one's: it ends little by
/// little where others use it, too. Else the size that was found, in sets
/// that the model can have.
fn agreed(
    level: &FoundLevel,
    next: &FoundLevel,
    described: Option<Described>,
    curve: &[Timed],
) -> Described {
    let middle = f64::midpoint(level.latency, next.latency);
    let holds = |described: &Described| {
        let at = curve.iter().find(|timed| timed.size >= described.size);
        level.is_of(described.size)
            || described.size >= level.size && at.is_some_and(|timed| timed.cycles < middle)
    };
    described.filter(holds).unwrap_or_else(|| in_sets(level.size))
}

/// A size that was found, in 8 to 15 ways: it is a part of a power of two.
fn in_sets(size: u64) -> Described {
    const LINE: u64 = 64;
    let unit = if size >= 4096 && size.is_multiple_of(4096) { LINE } else { 1 };
    let mut ways = size / unit;
    while ways > 15 && ways.is_multiple_of(2) {
        ways /= 2;
    }
    match ways {
        1..=15 => Described { size, ways },
        // No part of one: the power of two below it.
        _ => Described { size: 1 << size.max(1).ilog2(), ways: 8 },
    }
}

/// The pair in the middle.
fn modified(study: &LatencyStudy) -> Option<f64> {
    let pairs = study.cores.iter().flat_map(|cores| &cores.pairs);
    let mut all: Vec<f64> = pairs.map(|pair| pair.way.cycles.median).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// Whole cycles that `--cache` takes.
fn cycles(cycles: f64) -> String {
    format!("{:.0}", cycles.clamp(1.0, 10_000.0))
}

fn bytes(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{}m", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}k", bytes >> 10),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latency::PageBacking;
    use latency::part::curves::LevelStudy;
    use latency::part::tlbs::TlbStudy;
    use proptest::prelude::*;

    fn level(size: u64, ends_before: Option<u64>, latency: f64) -> FoundLevel {
        FoundLevel { size, ends_before, latency }
    }

    fn study(levels: Vec<FoundLevel>, tlbs: Vec<FoundLevel>) -> LatencyStudy {
        let huge_pages = PageBacking { huge: true, huge_bytes: 0, bytes: 0 };
        LatencyStudy {
            levels: Some(LevelStudy { levels, ..LevelStudy::default() }),
            tlbs: Some(TlbStudy { huge_pages, points: Vec::new(), levels: tlbs }),
            ..LatencyStudy::default()
        }
    }

    fn zen3() -> Geometry {
        Geometry::default().with("zen3").unwrap()
    }

    #[test]
    fn sizes_are_the_machines_where_both_agree() {
        let levels = vec![
            level(32 << 10, Some(40 << 10), 4.05),
            level(384 << 10, Some(448 << 10), 12.4),
            level(4 << 20, Some(5 << 20), 56.8),
            level(256 << 20, None, 410.2),
        ];
        let tlbs =
            vec![level(64, Some(80), 0.1), level(1280, Some(1536), 7.3), level(16384, None, 131.5)];
        let text = as_cache(&study(levels, tlbs), &zen3()).unwrap();
        assert_eq!(
            text,
            "l1d=32k,8:4 l2=384k,12:12 l3=4m,8:57 dtlb=64,64 stlb=1280,10:7 walk=132 memory=410"
        );
        let geometry = zen3().with(&text).unwrap();
        assert_eq!(geometry.costs.lines, [4, 12, 57, 110, 410]);
        assert_eq!(geometry.costs.pages, [0, 0, 7, 132]);
    }

    #[test]
    fn levels_that_were_not_seen_are_off() {
        let two = vec![level(32 << 10, Some(40 << 10), 4.0), level(1 << 30, None, 90.0)];
        let text = as_cache(&study(two, Vec::new()), &zen3()).unwrap();
        assert_eq!(text, "l1d=32k,8:4 l2=off l3=off memory=90");
        let one = vec![level(1 << 30, None, 90.0)];
        let error = as_cache(&study(one, Vec::new()), &zen3()).unwrap_err().to_string();
        assert!(error.contains("ebs memlat"), "{error}");
        assert!(as_cache(&LatencyStudy::default(), &zen3()).is_err());
    }

    #[test]
    fn a_size_that_ends_little_by_little_is_the_machines() {
        let (here, next) = (level(224 << 10, Some(256 << 10), 12.0), level(1 << 30, None, 54.0));
        let described = Some(Described { size: 512 << 10, ways: 8 });
        let at = |cycles| agreed(&here, &next, described, &[Timed { size: 512 << 10, cycles }]);
        assert_eq!((at(24.0).size, at(24.0).ways), (512 << 10, 8));
        assert_eq!((at(50.0).size, at(50.0).ways), (224 << 10, 14));
    }

    proptest! {
        /// Whatever was found, the emulated PMU takes it.
        #[test]
        fn what_is_printed_is_understood(
            octaves in prop::collection::vec((1_u32..5, 4_u64..8), 1..5),
            pages in prop::collection::vec((1_u32..5, 4_u64..8), 0..3),
            latencies in prop::collection::vec(0.0..20_000.0_f64, 8),
        ) {
            let found = |steps: &[(u32, u64)], first: u32| {
                let mut octave = first;
                let mut levels = Vec::new();
                for ((octaves, part), latency) in steps.iter().zip(&latencies) {
                    octave += octaves;
                    let size = (1_u64 << octave) / 4 * part;
                    levels.push(level(size, Some(size + 1), *latency));
                }
                levels.push(level(1 << 50, None, 9.0));
                levels
            };
            let study = study(found(&octaves, 13), found(&pages, 3));
            let text = as_cache(&study, &zen3()).unwrap();
            prop_assert!(zen3().with(&text).is_ok(), "{}: {:?}", text, zen3().with(&text));
        }
    }
}
