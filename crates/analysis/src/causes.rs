//! Why instructions miss: what the gaps, lines, sets and steps of their misses
//! say, and what to change. docs/causes.md has the method.
//!
//! | file | what is in it |
//! |---|---|
//! | `collect` | what is counted: misses in order (`miss_streams`), and stalled accesses |
//! | `units` | counts by instruction and object |
//! | `access_sources` | whether other nodes, or walks, were waited for |
//! | `footprint` | how many distinct lines there are |
//! | `stall` | what stalls accesses whose lines are near |
//! | `miss_distances`, `miss_recurrence` | what came between two misses of a line |
//! | `split_offsets` | where accesses begin in lines and pages |
//! | `set_counts` | which sets they are in |
//! | `step_sizes` | how far apart successive addresses are |
//! | `way_to_judge` | how sure what can be said of an event's misses |
//! | `verdict` | the cause, and how sure it is |
//! | `remedy` | what to change |
//! | `cause_report`, `stall_report`, `layout_trial` | the answers |
//! | `print`, `print_trial` | their text |
//!
//! All but what collects, answers and prints are pure functions of numbers.

mod access_sources;
pub(crate) mod cause_report;
pub(crate) mod collect;
mod footprint;
mod layout_trial;
mod miss_distances;
mod miss_recurrence;
mod miss_streams;
mod print;
mod print_trial;
mod remedy;
mod set_counts;
mod split_offsets;
mod stall;
mod stall_report;
mod step_sizes;
mod units;
mod verdict;
mod way_to_judge;

use serde::Serialize;

pub use cause_report::{CauseReport, CauseRow, EventCauses};
pub use layout_trial::{EventTrial, LayoutTrial, TrialCount, TrialRow, TriedLayout};
pub use print::{judged_by, render, stall_method, told, told_of_stall};
pub use print_trial::render_trial;
pub use remedy::{MissEvidence, Remedy};
pub use split_offsets::OffsetCount;
pub use stall::{Stall, StallVerdict};
pub use stall_report::{BlockingStore, EventStalls, StallEvidence, StallRow};
pub use verdict::{CauseGrade, ClassShare, LEAST_SAMPLES, MissVerdict};

/// Whether an event of this name is one whose causes can be found: a miss of a cache or TLB, or
/// a stalled access.
pub fn has_causes(event: &str) -> bool {
    crate::cache_shape::MissedLevel::of_event(event).is_some() || Stall::of_event(event).is_some()
}

/// The bytes of an object at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectExtent {
    /// Its first byte, in the process that was sampled first.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// It is a variable's, as its file declares it; else from the lowest to the
    /// highest byte that samples of the instruction have.
    pub is_variable: bool,
}
