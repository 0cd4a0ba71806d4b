//! `SUBSYSTEM:NAME`.

use std::fmt;

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
