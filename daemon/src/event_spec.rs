//! The text that names an event, as typed after `-t`, and what it names.

mod breakpoint;
mod modifiers;
mod tracepoint;

use std::fmt;

pub use breakpoint::{Access, Breakpoint, BreakpointError};
pub use modifiers::{ModifierError, Modifiers, Precise};
pub use tracepoint::Tracepoint;

use crate::catalogue::{self, EventKind, EventType};
use crate::pmu_format::Terms;

/// An event as the user typed it; [`EventSpec::resolve`] finds out what it
/// means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventSpec(pub String);

/// An event of the catalogue, its parameters filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A type that has no parameters.
    Type(&'static EventType),
    /// `mem:ADDR[/LEN]:[r][w][x]`.
    Breakpoint(Breakpoint),
    /// `SUBSYSTEM:NAME`.
    Tracepoint(Tracepoint),
    /// `PMU/TERMS/MODIFIERS`.
    Pmu {
        /// The PMU's name in sysfs.
        pmu: String,
        /// Formats, `config=N` and kin, an alias or a maker's event.
        terms: Terms,
        /// Levels and precision.
        modifiers: Modifiers,
    },
    /// `rN`: the config word of a raw event of the core's PMU.
    Raw {
        /// The word, without `stripped`.
        config: u64,
        /// Levels and precision, those of `stripped` included.
        modifiers: Modifiers,
        /// The bits of the counter's control register that were typed and
        /// are the kernel's to set: USR 16, OS 17, INT 20, EN 22.
        stripped: u64,
    },
    /// A name that the kernel itself gives a meaning on each CPU.
    Generic {
        /// PERF_TYPE_HARDWARE or PERF_TYPE_HW_CACHE.
        kind: record::EventType,
        /// PERF_COUNT_HW_*, or cache, operation and result.
        config: u64,
        /// The name perf gives it.
        name: String,
        /// Levels and precision.
        modifiers: Modifiers,
    },
    /// What may be an alias of the core's PMU or a maker's name; the machine
    /// decides.
    Named {
        /// As typed, `EVENT:UMASK` as `EVENT.UMASK`.
        name: String,
        /// Levels and precision.
        modifiers: Modifiers,
    },
}

/// Text that names no event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventSpecError {
    /// Nothing was typed.
    #[error("no event type given: say -t TYPE; ebs -h lists the types")]
    Empty,
    /// No type has that name.
    #[error("unknown event type \"{typed}\"{}; ebs -h lists the types", suggestion(nearest))]
    Unknown {
        /// As typed.
        typed: String,
        /// Names like it, best first; may be empty.
        nearest: Vec<String>,
    },
    /// perf's `:u` and `:k` behind a type of ours.
    #[error(
        "\"{typed}\": modifiers are not part of a type here; say -t {name} with -u (user mode), \
         -k (kernel mode), or both"
    )]
    Modifier {
        /// As typed.
        typed: String,
        /// The type without its modifiers.
        name: &'static str,
    },
    /// Not `SUBSYSTEM:NAME`.
    #[error(
        "\"{typed}\" is no tracepoint name: write SUBSYSTEM:NAME, each of letters, digits, \
         \"_\", \"-\" and \".\", as in sched:sched_switch"
    )]
    Tracepoint {
        /// As typed.
        typed: String,
    },
    /// Not a breakpoint that can be.
    #[error(transparent)]
    Breakpoint(#[from] BreakpointError),
}

impl EventSpecError {
    /// The error for a name that neither the catalogue nor `names` (those
    /// that the machine has) know.
    pub fn unknown<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> EventSpecError {
        let types = catalogue::all().flat_map(|entry| {
            let spellings = std::iter::once(&entry.name).chain(entry.aliases);
            spellings.map(|name| (catalogue::likeness(typed, name), entry.name))
        });
        let others = names.map(|name| (catalogue::likeness(typed, name), name));
        let nearest = catalogue::best_three(types.chain(others));
        EventSpecError::Unknown {
            typed: typed.to_owned(),
            nearest: nearest.into_iter().map(str::to_owned).collect(),
        }
    }
}

impl EventSpec {
    /// Finds the event that the text names, without a look at the machine.
    pub fn resolve(&self) -> Result<Event, EventSpecError> {
        let typed = self.0.trim();
        if typed.is_empty() {
            return Err(EventSpecError::Empty);
        }
        if let Some(rest) = typed.strip_prefix("mem:") {
            return Ok(Event::Breakpoint(Breakpoint::parse(typed, rest)?));
        }
        if let Some((before, after)) = typed.split_once(':') {
            return match catalogue::find(before) {
                Some(found) if is_modifier(after) => {
                    Err(EventSpecError::Modifier { typed: typed.to_owned(), name: found.name })
                }
                _ => Tracepoint::parse(before, after)
                    .map(Event::Tracepoint)
                    .ok_or_else(|| EventSpecError::Tracepoint { typed: typed.to_owned() }),
            };
        }
        match catalogue::find(typed) {
            Some(found) if matches!(found.kind, EventKind::Breakpoint) => {
                Err(BreakpointError::Address { typed: typed.to_owned(), word: String::new() }
                    .into())
            }
            Some(found) if matches!(found.kind, EventKind::Tracepoint) => {
                Err(EventSpecError::Tracepoint { typed: typed.to_owned() })
            }
            Some(found) => Ok(Event::Type(found)),
            None => Err(EventSpecError::unknown(typed, std::iter::empty())),
        }
    }
}

fn is_modifier(text: &str) -> bool {
    text.bytes().all(|byte| b"ukhpPGHSDIWeb".contains(&byte))
}

/// "; did you mean a, b or c?", or nothing.
pub(crate) fn suggestion(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        [only] => format!("; did you mean {only}?"),
        [most @ .., last] => format!("; did you mean {} or {last}?", most.join(", ")),
    }
}

impl From<&str> for EventSpec {
    fn from(text: &str) -> EventSpec {
        EventSpec(text.to_owned())
    }
}

impl From<String> for EventSpec {
    fn from(text: String) -> EventSpec {
        EventSpec(text)
    }
}

impl fmt::Display for EventSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
