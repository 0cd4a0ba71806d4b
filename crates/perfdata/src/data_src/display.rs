//! The word in words: "load, L3 hit, another socket, snoop hitm, TLB L1 hit".

use super::{Blocked, DataSrc, Distance, Level, LevelOutcome, Operation, Snoop, TlbOutcome};
use std::fmt::{self, Display, Formatter};

impl Display for Level {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::NotAvailable => "not available",
            Level::L0 => "L0",
            Level::L1 => "L1",
            Level::LineFillBuffer => "LFB",
            Level::L2 => "L2",
            Level::L2MissBuffer => "L2 MHB",
            Level::L3 => "L3",
            Level::L4 => "L4",
            Level::AnyCache => "cache",
            Level::MemorySideCache => "memory-side cache",
            Level::Ram => "RAM",
            Level::PersistentMemory => "PMEM",
            Level::Cxl => "CXL",
            Level::Io => "I/O",
            Level::Uncached => "uncached",
            Level::Unknown(number) => return write!(f, "level {number}"),
        })
    }
}

impl Display for Distance {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Distance::Core => "another core",
            Distance::Node => "another node",
            Distance::Socket => "another socket",
            Distance::Board => "another board",
            Distance::OneHop => "1 hop away",
            Distance::TwoHops => "2 hops away",
            Distance::Remote => "remote",
        })
    }
}

fn bits(set: u8, names: &[(u8, &str)], between: &str) -> Option<String> {
    let set: Vec<&str> =
        names.iter().filter(|(bit, _)| set & bit != 0).map(|(_, name)| *name).collect();
    (!set.is_empty()).then(|| set.join(between))
}

pub(super) fn operation(source: DataSrc) -> Option<String> {
    let names = [
        (Operation::LOAD.bits(), "load"),
        (Operation::STORE.bits(), "store"),
        (Operation::PREFETCH.bits(), "prefetch"),
        (Operation::EXEC.bits(), "fetch"),
    ];
    bits(source.operation().bits(), &names, "+")
}

pub(super) fn level(source: DataSrc) -> Option<String> {
    let names = [(LevelOutcome::HIT.bits(), "hit"), (LevelOutcome::MISS.bits(), "miss")];
    let outcome = bits(source.outcome().bits(), &names, "+");
    match (source.level(), outcome) {
        (Level::NotAvailable, outcome) => outcome,
        (level, Some(outcome)) => Some(format!("{level} {outcome}")),
        (level, None) => Some(level.to_string()),
    }
}

pub(super) fn snoop(source: DataSrc) -> Option<String> {
    let names = [
        (Snoop::NONE.bits(), "none"),
        (Snoop::HIT.bits(), "hit"),
        (Snoop::MISS.bits(), "miss"),
        (Snoop::HITM.bits(), "hitm"),
        (Snoop::FORWARD.bits(), "forward"),
        (Snoop::PEER.bits(), "peer"),
    ];
    bits(source.snoop().bits(), &names, "+")
}

pub(super) fn tlb(source: DataSrc) -> Option<String> {
    let set = source.tlb();
    let (l1, l2) = (TlbOutcome::L1.bits(), TlbOutcome::L2.bits());
    let level = bits(set.bits(), &[(l1, "L1"), (l2, "L2")], "/");
    let names = [
        (TlbOutcome::HIT.bits(), "hit"),
        (TlbOutcome::MISS.bits(), "miss"),
        (TlbOutcome::WALK.bits(), "page walk"),
        (TlbOutcome::OS.bits(), "OS fault"),
    ];
    let outcome = bits(set.bits(), &names, "+");
    match (level, outcome) {
        (one, None) | (None, one) => one,
        (Some(level), Some(outcome)) => Some(format!("{level} {outcome}")),
    }
}

pub(super) fn blocked(source: DataSrc) -> Option<String> {
    let names = [(Blocked::DATA.bits(), "data"), (Blocked::ADDRESS.bits(), "address")];
    bits(source.blocked().bits(), &names, "+")
}

/// PERF_MEM_REGION_*, as far as they have names.
fn region(number: u8) -> String {
    match number {
        1 => "region reserved".into(),
        2 => "region local shared".into(),
        3 => "region local unshared".into(),
        4 => "region other I/O".into(),
        5 => "region other shared".into(),
        6 => "region other unshared".into(),
        7 => "region MMIO".into(),
        8..16 => format!("region memory {}", number - 8),
        _ => format!("region {number}"),
    }
}

/// What is known, separated by commas; "not available" when nothing is.
impl Display for DataSrc {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let parts = [
            operation(*self),
            level(*self),
            self.distance().map(|distance| distance.to_string()),
            snoop(*self).map(|answer| format!("snoop {answer}")),
            self.is_locked().then(|| "locked".to_owned()),
            tlb(*self).map(|tlb| format!("TLB {tlb}")),
            blocked(*self).map(|why| format!("blocked by {why}")),
            self.region().map(region),
        ];
        let known: Vec<String> = parts.into_iter().flatten().collect();
        match known.is_empty() {
            true => f.pad("not available"),
            false => f.pad(&known.join(", ")),
        }
    }
}
