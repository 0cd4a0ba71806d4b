//! Why instructions miss: what the gaps, lines, sets and steps of their misses
//! say, and what to change. Pure functions of numbers; docs/causes.md has the
//! method.
//!
//! | file | what is in it |
//! |---|---|
//! | `access_sources` | whether other nodes, or walks, were waited for |
//! | `cache_shape` | the cache that misses are judged by |
//! | `curve_subject` | which accesses a curve can be of |
//! | `miss_curve` | how many of them caches of other sizes would miss |
//! | `stack_distances` | distinct lines between two misses of the same line |
//! | `footprint` | how many distinct lines there are |
//! | `hindrance` | what hinders accesses whose lines are near |
//! | `line_sharing` | whether threads use the same bytes of a line |
//! | `line_use` | what a thread did to a line, and when |
//! | `split_offsets` | where accesses begin in lines and pages |
//! | `set_counts` | which sets they are in |
//! | `step_sizes` | how far apart successive addresses are |
//! | `share_interval` | a share, and where the share of all lies |
//! | `object_extent` | where an object is |
//! | `verdict` | the cause, and how sure it is |
//! | `remedy` | what to change |

pub(crate) mod access_sources;
pub(crate) mod cache_shape;
pub(crate) mod curve_subject;
pub(crate) mod footprint;
pub(crate) mod hindrance;
pub(crate) mod line_sharing;
pub(crate) mod line_use;
pub(crate) mod miss_curve;
pub(crate) mod remedy;
pub(crate) mod set_counts;
pub(crate) mod share_interval;
pub(crate) mod split_offsets;
pub(crate) mod stack_distances;
pub(crate) mod step_sizes;
pub(crate) mod verdict;

use serde::Serialize;

pub use cache_shape::{CacheShape, MissedLevel};
pub use hindrance::{Hindrance, HindranceVerdict};
pub use line_sharing::LineSharing;
pub use miss_curve::{MissCurve, MissCurvePoint};
pub use remedy::{MissEvidence, Remedy};
pub use share_interval::ShareInterval;
pub use split_offsets::OffsetCount;
pub use verdict::{CauseGrade, ClassShare, LEAST_SAMPLES, MissVerdict};

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
