//! Why an access is slow though its line may be near.

use crate::causes::remedy::Remedy;
use crate::causes::split_offsets::SplitOffsets;
use crate::causes::verdict::{CauseGrade, LEAST_SAMPLES};
use crate::code::store_before::StoreBefore;
use crate::share_interval::ShareInterval;
use serde::Serialize;

/// What hinders an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stall {
    /// It lies in two lines.
    Split,
    /// It reads what an earlier store wrote in part, and waits until that is in
    /// the cache.
    Forwarding,
}

/// What is said of the accesses of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StallVerdict {
    /// What it is; None: nothing is said.
    pub cause: Option<Stall>,
    /// How sure that is.
    pub grade: CauseGrade,
    /// Samples whose address and width show it; None: the width is not known, or
    /// shows nothing.
    pub shown: Option<ShareInterval>,
    /// Why nothing is said, in a sentence.
    pub open: Option<String>,
}

impl Stall {
    /// By an event's name, as types and the makers of CPUs spell it; None: its
    /// samples are about something else.
    pub fn of_event(name: &str) -> Option<Stall> {
        let name = name.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if has(&["split_load", "split_store", "misal_load", "misaligned_mem_ref"]) {
            return Some(Stall::Split);
        }
        let is_blocked =
            has(&["mob_load_replay", "store_forward", "stli_other", "load_block.overlap"]);
        is_blocked.then_some(Stall::Forwarding)
    }

    /// As tables and JSON have it.
    pub fn name(self) -> &'static str {
        match self {
            Stall::Split => "split",
            Stall::Forwarding => "forwarding",
        }
    }
}

impl StallVerdict {
    /// Of accesses of so many bytes that were counted as lying in two lines.
    pub(crate) fn of_splits(width: Option<u64>, offsets: &SplitOffsets) -> StallVerdict {
        let samples = offsets.samples();
        let shown = width.and_then(|width| ShareInterval::new(offsets.crossing(width), samples));
        let is_shown = shown.is_none_or(|share| share.low > 0.5);
        let open = if samples < LEAST_SAMPLES {
            Some(too_few(samples))
        } else {
            (!is_shown).then(|| {
                "most of the sampled addresses, with the bytes that the instruction accesses, lie in \
                 one line: another instruction may have been counted"
                    .to_owned()
            })
        };
        let grade = if shown.is_some() { CauseGrade::Measured } else { CauseGrade::Likely };
        StallVerdict::new(Stall::Split, grade, shown, open)
    }

    pub(crate) fn of_forwards(samples: u64, store: Option<&StoreBefore>) -> StallVerdict {
        let open = (samples < LEAST_SAMPLES).then(|| too_few(samples));
        let grade = if store.is_some() { CauseGrade::Measured } else { CauseGrade::Likely };
        StallVerdict::new(Stall::Forwarding, grade, None, open)
    }

    fn new(
        cause: Stall,
        grade: CauseGrade,
        shown: Option<ShareInterval>,
        open: Option<String>,
    ) -> StallVerdict {
        let (cause, grade) = match open {
            None => (Some(cause), grade),
            Some(_) => (None, CauseGrade::Undetermined),
        };
        StallVerdict { cause, grade, shown, open }
    }
}

fn too_few(samples: u64) -> String {
    format!("too few samples: at least {} more are needed", LEAST_SAMPLES - samples)
}

/// What may help accesses of so many bytes that lie in two lines.
pub(crate) fn alignment(width: Option<u64>, offsets: &SplitOffsets) -> Remedy {
    let Some(width) = width else {
        return Remedy::new("align", "align what it accesses to as many bytes as it accesses");
    };
    let to = width.next_power_of_two().min(64);
    let text = match offsets.behind(to) {
        Some(0) => format!("{width} bytes do not lie in one line wherever they are: access fewer"),
        Some(behind) => format!(
            "it lies {behind} bytes behind multiples of {to}: {} more before it, or alignas({to}), and \
             {width} bytes are in one line",
            to - behind
        ),
        None => format!(
            "addresses are multiples of {} bytes apart: make the size of elements a multiple of {to}, \
             which packed ones are not, and begin at one",
            offsets.apart()
        ),
    };
    Remedy::new("align", text)
}

/// What may help a load of so many bytes that an earlier store holds in part.
pub(crate) fn one_width(width: Option<u64>, store: Option<&StoreBefore>) -> Remedy {
    let bytes = width.map_or_else(|| "its bytes".to_owned(), |width| format!("its {width} bytes"));
    let text = match store {
        Some(store) => format!(
            "read the {} bytes that were written, or write {bytes} at once: a load has its data from a \
             store that holds all of it",
            store.width
        ),
        None => format!(
            "an earlier store holds some of {bytes}: write and read by one width (members that are \
             read together, unions and copies of parts are where it comes from)"
        ),
    };
    Remedy::new("widths", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_by_their_names() {
        for (name, expected) in [
            ("emulated/split_load_retired/", Some(Stall::Split)),
            ("MEM_INST_RETIRED.SPLIT_STORES", Some(Stall::Split)),
            ("ls_misal_loads.ma64", Some(Stall::Split)),
            ("emulated/mob_load_replay_retired/", Some(Stall::Forwarding)),
            ("ld_blocks.store_forward", Some(Stall::Forwarding)),
            ("l1_cache_miss", None),
            ("lock_loads", None),
        ] {
            assert_eq!(Stall::of_event(name), expected, "{name}");
        }
    }

    fn offsets(from: u64, apart: u64, count: u64) -> SplitOffsets {
        let mut offsets = SplitOffsets::default();
        (0..count).for_each(|step| offsets.add(from + step * apart));
        offsets
    }

    #[test]
    fn splits_are_shown_by_addresses_and_widths() {
        let split = offsets(0x1003c, 64, 100);
        let verdict = StallVerdict::of_splits(Some(8), &split);
        assert_eq!((verdict.cause, verdict.grade), (Some(Stall::Split), CauseGrade::Measured));
        let unknown = StallVerdict::of_splits(None, &split);
        assert_eq!(unknown.grade, CauseGrade::Likely);
        let whole = StallVerdict::of_splits(Some(4), &split);
        assert_eq!((whole.cause, whole.grade), (None, CauseGrade::Undetermined));
        let few = StallVerdict::of_splits(Some(8), &offsets(0x1003c, 64, 10));
        assert_eq!(few.open.as_deref(), Some("too few samples: at least 20 more are needed"));
    }

    #[test]
    fn alignments_have_numbers() {
        let text = alignment(Some(8), &offsets(0x1003c, 64, 100)).text;
        assert!(
            text.starts_with("it lies 4 bytes behind multiples of 8: 4 more before it"),
            "{text}"
        );
        let text = alignment(Some(8), &offsets(0x10000, 12, 100)).text;
        assert!(text.contains("multiples of 12 bytes apart"), "{text}");
        assert!(text.contains("a multiple of 8"), "{text}");
    }
}
