//! The machine as it is found: CPU, PMUs, rights, control groups, processes.

pub mod build_id;
pub mod cgroup;
pub mod facts;
pub mod pmu_format;
pub mod process_identity;
pub(crate) mod program_headers;

use std::fmt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A static trace point of the kernel, or a probe that somebody defined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tracepoint {
    /// Its group: "sched".
    pub subsystem: String,
    /// Its name: "sched_switch".
    pub name: String,
}

impl Tracepoint {
    /// Both parts must be single file names, since they become a path.
    pub(crate) fn parse(subsystem: &str, name: &str) -> Option<Tracepoint> {
        let is_name = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        };
        (is_name(subsystem) && is_name(name))
            .then(|| Tracepoint { subsystem: subsystem.to_owned(), name: name.to_owned() })
    }
}

impl fmt::Display for Tracepoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.subsystem, self.name)
    }
}

/// Raises the soft limit to the hard one and gives what holds now; None: no
/// limit. A refusal to raise leaves the soft limit, which EMFILE then names.
pub(crate) fn raise_open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return limit.current;
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}
