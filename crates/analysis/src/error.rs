//! Why a query has no answer on this stream.

use crate::query::QueryError;

/// Why a query has no answer on this stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Of no use on any stream.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The recorded machine has no such register.
    #[error("{arch} has no register {name:?}; it has {}", .known.join(", "))]
    Register {
        /// As typed.
        name: String,
        /// Architecture of the recorded machine.
        arch: String,
        /// Registers that it has.
        known: Vec<&'static str>,
    },
    /// The filter of an event cannot be followed.
    #[error("{event}: {why}")]
    Filter {
        /// Name of the event.
        event: String,
        /// What is wrong with it.
        why: String,
    },
    /// No event of the stream has such a name.
    #[error("no event of this stream is called {wanted:?}; it has {}", .have.join(", "))]
    Event {
        /// As typed.
        wanted: String,
        /// Names of the stream's events.
        have: Vec<String>,
    },
    /// No counted sample lies at the site.
    #[error(
        "{}{}",
        match counted {
            0 => format!("no sample lies at {wanted:?}: none was counted"),
            _ => format!("no sample lies at {wanted:?}, of {counted} counted"),
        },
        if near.is_empty() { String::new() } else { format!("; some lie at {}", near.join(", ")) }
    )]
    Site {
        /// As typed.
        wanted: String,
        /// Samples that passed the filters.
        counted: u64,
        /// Routines with samples that are called alike, nearest first.
        near: Vec<String>,
    },
    /// The kernel counted, and keeps less of each hit than is asked for.
    #[error("{event} was counted in the kernel, which cannot tell {asked}: {why}; {instead}")]
    InKernel {
        /// Name of the event.
        event: String,
        /// As typed.
        asked: String,
        /// What is not there.
        why: &'static str,
        /// What to do to have it.
        instead: &'static str,
    },
    /// Whoever takes samples one by one could not.
    #[error("{why}")]
    Sink {
        /// What kind of error it was: a closed pipe, no room.
        kind: std::io::ErrorKind,
        /// In words.
        why: String,
    },
    /// The query has no routine as its target.
    #[error("no routine was named whose instructions could be shown")]
    Untargeted,
    /// Causes were asked for, and no event is about a cache.
    #[error(
        "no event of this stream is a miss of a cache or TLB whose size is known; it has {}: \
         `ebs causes` wants l1_cache_miss, l2_cache_miss, l3_cache_miss or dtlb_load_miss, and \
         --cache where the recording does not tell sizes; or split_load_retired, \
         mob_load_replay_retired",
        .have.join(", ")
    )]
    NoMisses {
        /// Names of the stream's events.
        have: Vec<String>,
    },
    /// No routine, or several, are called so.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// More distinct rows than row numbers.
    #[error("more than 4,294,967,295 distinct rows; count by fewer keys, or filter")]
    Rows,
}

/// Why no routine can be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// None has samples.
    #[error(
        "no sample lies in {wanted}, of {counted} counted{}{}",
        if near.is_empty() {
            "; `ebs report --by routine,object` lists the routines that have some".to_owned()
        } else {
            format!("; some lie in {}", near.join(", "))
        },
        match why {
            None => String::new(),
            Some(Commonest { why, samples }) if samples == nameless => {
                format!("; {nameless} have no routine name: {why}")
            }
            Some(Commonest { why, samples }) => {
                format!("; {nameless} have no routine name, {samples} of them: {why}")
            }
        }
    )]
    Nothing {
        /// As typed.
        wanted: String,
        /// Samples that passed the filters.
        counted: u64,
        /// Routines with samples that are called alike, nearest first.
        near: Vec<String>,
        /// Samples without a routine name.
        nameless: u64,
        /// The commonest reason why.
        why: Option<Commonest>,
    },
    /// Several have.
    #[error("{wanted} may be {total} routines; name one of them:\n{}", candidates.join("\n"))]
    Several {
        /// As typed.
        wanted: String,
        /// How many.
        total: usize,
        /// Samples, and what to type for each; most samples first.
        candidates: Vec<String>,
    },
}

/// The commonest reason why samples have no routine name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commonest {
    /// In a sentence.
    pub why: String,
    /// So many samples have none for it.
    pub samples: u64,
}
