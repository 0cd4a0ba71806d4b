//! Why it cannot be told where a name lies.

use recorder::request::event_spec::BreakpointError;
use symbolizer::ListError;

/// Why it cannot be told where a name lies.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// No symbol has the name.
    #[error("{event}: there is no {what} {name} in {place}{suggestion}")]
    Absent {
        /// As typed.
        event: String,
        /// "variable" or "routine".
        what: &'static str,
        /// What was looked for.
        name: String,
        /// Where.
        place: String,
        /// Names that are alike, or what else to try.
        suggestion: String,
    },
    /// It is in no such file of the process.
    #[error("{event}: no file {object} is mapped; these are: {known}")]
    Object {
        /// As typed.
        event: String,
        /// The file's part of it.
        object: String,
        /// Names of those that are.
        known: String,
    },
    /// An address that the file does not have.
    #[error(
        "{event}: {object} has nothing at {address:#x}; `nm` and `objdump -d` show its addresses"
    )]
    Outside {
        /// As typed.
        event: String,
        /// The file.
        object: String,
        /// The address.
        address: u64,
    },
    /// Data is executed, or code is read and written.
    #[error("{event}: {name} is a {is}: {advice}")]
    Kind {
        /// As typed.
        event: String,
        /// What was looked for.
        name: String,
        /// What it is.
        is: &'static str,
        /// What to type.
        advice: String,
    },
    /// Each thread has its own.
    #[error(
        "{event}: {name} is thread-local: each thread has one of its own; watch the address that \
         it has in a thread (`print &{name}` of gdb tells) by mem:ADDR and the PID"
    )]
    ThreadLocal {
        /// As typed.
        event: String,
        /// What was looked for.
        name: String,
    },
    /// Several symbols have the name.
    #[error("{event}: several are called {name}: say which: {}", listed(choices))]
    Several {
        /// As typed.
        event: String,
        /// What was looked for.
        name: String,
        /// What to type for each, and what that is.
        choices: Vec<String>,
    },
    /// The offset leads out of it.
    #[error("{event}: {name} has {size} bytes: byte {offset:#x} is beyond its end")]
    Beyond {
        /// As typed.
        event: String,
        /// What was looked for.
        name: String,
        /// Its bytes.
        size: u64,
        /// What was added.
        offset: u64,
    },
    /// There is no address that all processes have.
    #[error(
        "{event}: of the whole system a name needs one address in all processes; {why}: sample a \
         command or a process, or give NAME@FILE of a program that is linked with -no-pie"
    )]
    NoOneAddress {
        /// As typed.
        event: String,
        /// Why there is none.
        why: String,
    },
    /// The kernel hides its symbols, or has none.
    #[error("{event}: the kernel's names cannot be read from {path}: {why}")]
    Kernel {
        /// As typed.
        event: String,
        /// Its list.
        path: String,
        /// Why not.
        why: KernelListError,
    },
    /// No breakpoint can be there.
    #[error(transparent)]
    Point(#[from] BreakpointError),
    /// The process cannot be looked at.
    #[error("{place} cannot be read: {error}; be the process's user or root")]
    Look {
        /// A file below /proc.
        place: String,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// No program where one should be.
    #[error("{event}: {file} cannot be looked at: {why}")]
    Program {
        /// As typed.
        event: String,
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
}

impl WatchError {
    /// Whether it is something that is not there, and may be later.
    pub fn is_absence(&self) -> bool {
        matches!(self, WatchError::Absent { .. } | WatchError::Object { .. })
    }
}

/// Why the kernel's list gives no names.
#[derive(Debug, thiserror::Error)]
pub enum KernelListError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
    /// It does not tell.
    #[error(transparent)]
    List(#[from] ListError),
}

fn listed(choices: &[String]) -> String {
    const MOST: usize = 12;
    let mut text = choices.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join("; ");
    if choices.len() > MOST {
        text.push_str(&format!("; and {} more", choices.len() - MOST));
    }
    text
}
