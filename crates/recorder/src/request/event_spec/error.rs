//! Why a text names no event.

use super::{BreakpointError, ModifierError};
use crate::catalogue;
use crate::machine::pmu_format::TermsError;
use crate::spelling::{best_three, likeness, suggestion};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventSpecError {
    #[error("no event type given: say -t TYPE; ebs -h lists the types")]
    Empty,
    #[error(
        "unknown event type \"{typed}\"{}; `ebs -h` lists the types, `ebs help` the commands",
        suggestion(nearest)
    )]
    Unknown { typed: String, nearest: Vec<String> },
    #[error(
        "\"{typed}\": modifiers are not part of a type here; say -t {name} with -u (user mode), \
         -k (kernel mode), or both"
    )]
    Modifier { typed: String, name: String },
    #[error(
        "\"{typed}\": a type is as precise as the CPU can make it, so :p has no place here; say \
         -t {name} (ebs -h {name} tells how precise it is)"
    )]
    Precision { typed: String, name: String },
    #[error("{typed}: {source}")]
    Letters { typed: String, source: ModifierError },
    #[error("{typed}: {why}; write PMU/TERMS/MODIFIERS, as in cpu/event=0xd1,umask=0x8/pp")]
    PmuForm { typed: String, why: String },
    #[error("{typed}: {source}")]
    Terms { typed: String, source: TermsError },
    #[error(
        "\"{typed}\" is no tracepoint name: write SUBSYSTEM:NAME, each of letters, digits, \
         \"_\", \"-\" and \".\", as in sched:sched_switch"
    )]
    Tracepoint { typed: String },
    #[error(transparent)]
    Breakpoint(#[from] BreakpointError),
}

impl EventSpecError {
    /// The error for a name that neither the catalogue nor `names` (those
    /// that the machine has) know.
    pub fn unknown<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> EventSpecError {
        let types = catalogue::all().flat_map(|entry| {
            let spellings = std::iter::once(&entry.name).chain(entry.aliases);
            spellings.map(|name| (likeness(typed, name), entry.name))
        });
        let others = names.map(|name| (likeness(typed, name), name));
        let nearest = best_three(types.chain(others));
        EventSpecError::Unknown {
            typed: typed.to_owned(),
            nearest: nearest.into_iter().map(str::to_owned).collect(),
        }
    }
}
