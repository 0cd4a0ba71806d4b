//! Which programs excite which type, and what must be seen of them then.

use super::program::Program;
use perfdata::DataSrc;
use perfdata::data_src::{Level, Operation, Snoop, TlbOutcome};
use recorder::catalogue::{CatalogueType, EventKind};
use recorder::{EventSpec, Modes};

#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) program: Program,
    pub(super) modes: Modes,
    pub(super) cause: Cause,
    /// Events of a visit: so many of so many visits.
    pub(super) events: (u64, u64),
    /// How many of these a CPU may count, and still be right.
    pub(super) hardware: Tolerance,
    /// The same of the model.
    pub(super) model: Tolerance,
    /// What `data_src` must say, where it is recorded.
    pub(super) served: Served,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// That of the program's.
    Site(&'static str),
    /// Any of the program's that are known.
    Any,
    /// One of the kernel's, which accesses the program's buffer.
    Kernel,
    /// One of the kernel's: the scheduler.
    Scheduler,
}

/// The shares of the true number between which a CPU's number must lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerance {
    pub(super) least: f64,
    pub(super) most: f64,
}

const EACH: Tolerance = Tolerance { least: 0.98, most: 1.02 };
/// It counts more or less each: prefetchers take some away, replays add some.
const MANY: Tolerance = Tolerance { least: 0.5, most: 1.25 };
/// The program does it now and then more, now and then less.
const SOME: Tolerance = Tolerance { least: 0.1, most: 1.5 };
/// Nothing is known but that there are some.
const ANY: Tolerance = Tolerance { least: 0.0, most: f64::INFINITY };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    Anywhere,
    /// A load or store, as the instruction is.
    Operation,
    /// Something beyond the first, the second, the third level.
    Beyond(Level),
    TlbMiss,
    /// Another core held the line modified.
    Modified,
}

impl Served {
    /// Whether a record's word says so; None: it says nothing of it.
    pub(super) fn holds(self, word: DataSrc, is_store: bool) -> Option<bool> {
        if !word.is_available() {
            return None;
        }
        let operation = word.operation();
        let wanted = if is_store { Operation::STORE } else { Operation::LOAD };
        if !operation.is_empty() && !operation.contains(wanted) {
            return Some(false);
        }
        match self {
            Served::Anywhere => None,
            Served::Operation => (!operation.is_empty()).then_some(true),
            Served::Beyond(level) => {
                let found = word.level();
                (found != Level::NotAvailable).then_some(found > level)
            }
            Served::TlbMiss => {
                let tlb = word.tlb();
                // L2 with a hit: the first level was missed. [kernel: mem_dtlb]
                let told = tlb.intersects(TlbOutcome::HIT | TlbOutcome::MISS | TlbOutcome::WALK);
                told.then(|| {
                    tlb.intersects(TlbOutcome::MISS | TlbOutcome::WALK)
                        || tlb.contains(TlbOutcome::L2 | TlbOutcome::HIT)
                })
            }
            Served::Modified => {
                (!word.snoop().is_empty()).then(|| word.snoop().contains(Snoop::HITM))
            }
        }
    }
}

const fn of(program: Program, site: &'static str) -> Case {
    Case {
        program,
        modes: Modes::USER,
        cause: Cause::Site(site),
        events: (1, 1),
        hardware: EACH,
        model: Tolerance { least: 1.0, most: 1.0 },
        served: Served::Anywhere,
    }
}

const fn of_kernel(program: Program, cause: Cause) -> Case {
    Case { modes: Modes::KERNEL, cause, ..of(program, "") }
}

const fn miss(program: Program, level: Level) -> Case {
    Case { served: Served::Beyond(level), hardware: MANY, ..of(program, "load") }
}

const fn walk(program: Program, site: &'static str) -> Case {
    Case { served: Served::TlbMiss, hardware: MANY, ..of(program, site) }
}

/// The cases of a type.
///
/// # Errors
/// Why no program here excites it.
pub(super) fn cases(entry: &CatalogueType) -> Result<Vec<Case>, &'static str> {
    use Program::{
        Blocked, Branches, Calls, Chase, Columns, Compute, Copy, Moves, PageStores, Pages, Rows,
        Sharing, Sleeps, Splits, Stores, Touch, Watch,
    };
    let compute = |site| vec![Case { hardware: MANY, ..of(Compute, site) }];
    let anywhere = Case { cause: Cause::Any, ..of(Compute, "") };
    Ok(match (entry.kind, entry.name) {
        (EventKind::Breakpoint, _) => vec![of(Watch, "store")],
        (EventKind::Tracepoint, _) => vec![of(Calls, "call")],
        (_, "page_fault" | "minor_fault") => {
            vec![of(Touch, "store"), of_kernel(Copy, Cause::Kernel)]
        }
        (_, "cpu_clock" | "task_clock") => vec![anywhere],
        (_, "context_switch") => vec![of_kernel(Sleeps, Cause::Scheduler)],
        (_, "cpu_migration") => vec![of_kernel(Moves, Cause::Scheduler)],
        (_, "instr_retired") => vec![Case { events: (14, 1), ..anywhere }],
        (_, "uop_retired") => vec![Case { events: (14, 1), hardware: MANY, ..anywhere }],
        (_, "packed_sp_retired") => compute("packed_sp"),
        (_, "packed_dp_retired") => compute("packed_dp"),
        (_, "scaler_sp_retired") => compute("scalar_sp"),
        (_, "scaler_dp_retired") => compute("scalar_dp"),
        (_, "64bit_mmx_retired") => compute("mmx"),
        (_, "128bit_mmx_retired") => compute("simd"),
        (_, "x87_fp_retired") => compute("x87"),
        (_, "x87_simd_memory_moves_retired") => compute("move"),
        (_, "memory_loads") => vec![Case { served: Served::Operation, ..of(Rows, "load") }],
        (_, "memory_stores") => vec![Case { served: Served::Operation, ..of(Stores, "store") }],
        (_, "memory_moves") => vec![of(Rows, "load"), of(Stores, "store")],
        (_, "l1_cache_miss") => vec![
            // A line in eight numbers; prefetchers bring most of them.
            Case { events: (1, 8), hardware: ANY, ..miss(Rows, Level::L1) },
            miss(Columns, Level::L1),
            miss(Chase, Level::L1),
        ],
        (_, "l2_cache_miss") => vec![miss(Chase, Level::L2)],
        (_, "l3_cache_miss") => vec![miss(Chase, Level::L3)],
        (_, "dtlb_load_miss" | "page_walk") => vec![walk(Pages, "load")],
        (_, "dtlb_store_miss") => vec![walk(PageStores, "store")],
        (_, "dtlb_all_miss") => vec![walk(Pages, "load"), walk(PageStores, "store")],
        (_, "mob_load_replay_retired") => vec![Case { hardware: MANY, ..of(Blocked, "load") }],
        (_, "split_load_retired") => vec![of(Splits, "load")],
        (_, "load_latency") => {
            vec![Case { hardware: ANY, served: Served::Operation, ..of(Chase, "load") }]
        }
        (_, "store_latency") => {
            vec![Case { hardware: ANY, served: Served::Operation, ..of(Stores, "store") }]
        }
        (_, "hitm") => {
            let sharing = of(Sharing, "load");
            vec![Case { served: Served::Modified, hardware: SOME, model: SOME, ..sharing }]
        }
        (_, "branch_mispredict") => {
            vec![Case { events: (1, 2), hardware: SOME, ..of(Branches, "branch") }]
        }
        (_, "fb_full" | "fb_alloc" | "l2_rqsts") => {
            vec![Case { hardware: ANY, cause: Cause::Any, ..of(Chase, "load") }]
        }
        (_, "major_fault") => {
            return Err(
                "its pages would have to come from a disk, which a test cannot bring about \
                        without harm to others' caches; ebs -u -t major_fault -- a program that \
                        reads a file which nobody read before",
            );
        }
        (_, "alignment_fault" | "emulation_fault") => {
            return Err("no x86 kernel ever counts it: nothing to do");
        }
        (_, "remote_dram") => {
            return Err("it takes memory of another socket, which this test does not ask for; \
                        numactl --membind=1 --cpunodebind=0 before ebs -u -t remote_dram does");
        }
        _ => return Err("no program of known truth is known for it: report that"),
    })
}

pub(super) fn event(entry: &CatalogueType) -> EventSpec {
    match entry.kind {
        EventKind::Breakpoint => format!("mem:{:#x}/8:w", super::program::WATCHED).into(),
        EventKind::Tracepoint => "syscalls:sys_enter_getppid".into(),
        _ => entry.name.into(),
    }
}

pub(super) fn masks(entry: &CatalogueType) -> Vec<String> {
    let masks: &[&str] = match entry.name {
        "l2_rqsts" => &["demand_rd", "miss"],
        "fb_alloc" => &["full"],
        _ => &[],
    };
    masks.iter().map(|&mask| mask.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::catalogue::all;

    #[test]
    fn every_type_has_a_program_or_a_reason() {
        let mut without = Vec::new();
        for entry in all() {
            match cases(entry) {
                Ok(cases) => assert!(!cases.is_empty(), "{}", entry.name),
                Err(why) => {
                    assert!(!why.contains("report that"), "{}", entry.name);
                    without.push(entry.name);
                }
            }
        }
        let known = ["major_fault", "alignment_fault", "emulation_fault", "remote_dram"];
        assert_eq!(without, known);
    }

    #[test]
    fn a_level_is_beyond_another_or_not_told() {
        // mem_op load, mem_lvl_num (bits 33 to 36) 1, 2, 3.
        let word = |level: u64| DataSrc(1 << 1 | level << 33);
        let beyond = |level, word| Served::Beyond(level).holds(word, false);
        assert_eq!(beyond(Level::L1, word(1)), Some(false));
        assert_eq!(beyond(Level::L1, word(2)), Some(true));
        assert_eq!(beyond(Level::L2, word(3)), Some(true));
        assert_eq!(beyond(Level::L3, word(3)), Some(false));
        assert_eq!(beyond(Level::L1, DataSrc(0)), None);
        // A store where a load is.
        assert_eq!(beyond(Level::L1, DataSrc(1 << 2 | 2 << 33)), Some(false));
    }
}
