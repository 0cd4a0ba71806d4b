//! Answers from PERF_SAMPLE_DATA_SRC.

use super::SourceCondition;
use crate::data_src::{DataSrc, Level, LevelOutcome, Snoop};

impl SourceCondition {
    /// Whether an access with this data source was served so; None: it does
    /// not tell.
    pub fn holds(self, source: DataSrc) -> Option<bool> {
        match self {
            SourceCondition::L1Miss => beyond(source, Level::L1),
            SourceCondition::L2Miss => beyond(source, Level::L2),
            SourceCondition::L3Miss => beyond(source, Level::L3),
            SourceCondition::RemoteDram => remote_memory(source),
            SourceCondition::Hitm => modified_elsewhere(source),
        }
    }
}

fn beyond(source: DataSrc, cache: Level) -> Option<bool> {
    match source.level() {
        Level::NotAvailable | Level::Unknown(_) => None,
        // No cache is asked.
        Level::Io | Level::Uncached => Some(false),
        // Named is the last level that was asked in vain.
        level @ (Level::L0 | Level::L1 | Level::L2 | Level::L3) if missed(source) => {
            if level >= cache { Some(true) } else { None }
        }
        // On its way into L1, or into L2: from where is not told.
        Level::LineFillBuffer => (cache == Level::L1).then_some(true),
        Level::L2MissBuffer => (cache != Level::L3).then_some(true),
        // Another cache: of the same L3, when it is near.
        Level::AnyCache if cache == Level::L3 => Some(source.is_of_another_node()),
        level => Some(level > cache),
    }
}

/// Whether the level named is one that did not have it.
fn missed(source: DataSrc) -> bool {
    let outcome = source.outcome();
    outcome.contains(LevelOutcome::MISS) && !outcome.contains(LevelOutcome::HIT)
}

fn remote_memory(source: DataSrc) -> Option<bool> {
    match source.level() {
        Level::Ram | Level::PersistentMemory | Level::Cxl => Some(source.is_of_another_node()),
        Level::NotAvailable | Level::Unknown(_) | Level::LineFillBuffer | Level::L2MissBuffer => {
            None
        }
        Level::L0 | Level::L1 | Level::L2 | Level::L3 if missed(source) => None,
        _ => Some(false),
    }
}

fn modified_elsewhere(source: DataSrc) -> Option<bool> {
    let snoop = source.snoop();
    if snoop.contains(Snoop::HITM) {
        return Some(true);
    }
    if !snoop.is_empty() {
        return Some(false);
    }
    match source.level() {
        // Memory holds no line that a cache has modified.
        Level::MemorySideCache | Level::Ram | Level::PersistentMemory | Level::Cxl => Some(false),
        _ if beyond(source, Level::L2) == Some(false) => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yes, no or open (`?`) to L1Miss, L2Miss, L3Miss, RemoteDram and Hitm.
    fn answers(source: DataSrc) -> String {
        use SourceCondition::{Hitm, L1Miss, L2Miss, L3Miss, RemoteDram};
        let letter = |condition: SourceCondition| match condition.holds(source) {
            Some(true) => 'y',
            Some(false) => 'n',
            None => '?',
        };
        [L1Miss, L2Miss, L3Miss, RemoteDram, Hitm].map(letter).iter().collect()
    }

    /// Words as the kernel's tables have them: arch/x86/events/intel/ds.c
    /// and arch/x86/events/amd/ibs.c.
    #[test]
    fn words_of_the_kernel_tables() {
        const LOAD: u64 = 1 << 1;
        const STORE: u64 = 1 << 2;
        const HIT: u64 = 1 << 6;
        const MISS: u64 = 1 << 7;
        const REMOTE: u64 = 1 << 37;
        let level = |deprecated: u64, number: u64| 1 << (5 + deprecated) | number << 33;
        let snoop = |bit: u64| 1 << (19 + bit);
        let hops = |hops: u64| hops << 43;
        for (what, word, expected) in [
            ("nothing", 0, "?????"),
            ("NA", DataSrc::NOT_AVAILABLE.0, "?????"),
            ("L1 hit", LOAD | HIT | level(3, 1) | snoop(1), "nnnnn"),
            ("line fill buffer", LOAD | HIT | level(4, 12) | snoop(1), "y???n"),
            ("L2 hit", LOAD | HIT | level(5, 2) | snoop(1), "ynnnn"),
            ("L3 hit", LOAD | HIT | level(6, 3) | snoop(1), "yynnn"),
            ("L3 hit, modified", LOAD | HIT | level(6, 3) | snoop(4), "yynny"),
            ("L3 miss, source unknown", LOAD | MISS | level(6, 3), "yyy??"),
            ("remote cache", LOAD | HIT | level(10, 11) | REMOTE | snoop(4), "yyyny"),
            ("local DRAM", LOAD | HIT | level(7, 13) | snoop(2), "yyynn"),
            ("remote DRAM", LOAD | HIT | level(8, 13) | REMOTE | snoop(2), "yyyyn"),
            ("uncached", LOAD | HIT | level(13, 8) | snoop(1), "nnnnn"),
            ("store hit", STORE | HIT | level(3, 1), "nnnnn"),
            ("store miss", STORE | MISS | level(3, 1), "y????"),
            ("Zen 2 cache of the node", LOAD | HIT | 1 << 11 | level(10, 11) | hops(1), "yynn?"),
            ("the same, Linux 6.1", LOAD | HIT | 1 << 11 | level(10, 0), "yynn?"),
            ("Zen 4 far DRAM", LOAD | HIT | level(8, 13) | REMOTE | hops(2), "yyyyn"),
            ("CXL", LOAD | HIT | 9 << 33, "yyynn"),
            ("level 15, not told", LOAD | HIT | 15 << 33, "?????"),
        ] {
            assert_eq!(answers(DataSrc(word)), expected, "{what}");
        }
    }
}
