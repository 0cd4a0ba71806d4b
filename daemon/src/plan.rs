//! A request and the facts become attrs to open, or a refusal. Pure.

mod fallback;

pub use fallback::Fallback;

use record::{Attr, Cpu};

use crate::facts::{Access, Facts};
use crate::{Promises, Refusal, Request, Target};

/// Data pages of one CPU's rings; both are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RingPages {
    /// The ring of samples.
    pub samples: u32,
    /// The ring of side records (mappings, forks, names).
    pub side: u32,
}

/// What a session opens. One ring of samples and one of side records for
/// each CPU of `cpus`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The event's name as shown to users and written to streams.
    pub name: String,
    /// The sampled event. `size` is the size to encode with.
    pub event: Attr,
    /// A software dummy that carries side records.
    pub side: Attr,
    /// What to give up, one at a time from the front (newest first), when
    /// the kernel answers EINVAL.
    pub fallbacks: Vec<Fallback>,
    /// Whose events.
    pub target: Target,
    /// CPUs to open on, ascending.
    pub cpus: Vec<Cpu>,
    /// Ring sizes to try first.
    pub rings: RingPages,
    /// What the samples' fields mean.
    pub promises: Promises,
    /// Said to the user, one line each.
    pub notes: Vec<String>,
    /// Rights and limits of this process, for explaining errors.
    pub access: Access,
}

/// Turns a request into a plan for the machine that `facts` describes.
pub fn plan(_request: &Request, _facts: &Facts) -> Result<Plan, Refusal> {
    Err(Refusal::ModeMissing)
}
