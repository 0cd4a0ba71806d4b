//! What is sampled, and whose.

use perfdata::{Pid, Tid};
use recorder::{Modes, Request, SourceChoice, Target};
use std::ffi::OsString;

/// Whose events are sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampledTasks {
    /// The thread that opens the sampler, and no other.
    ThisThread,
    /// This process: all threads, and what they start from then on.
    ThisProcess,
    /// Another process, likewise.
    Process(Pid),
    /// A command, from its first instruction on, with all it starts.
    Command(Vec<OsString>),
}

/// What a sampler is to do.
#[derive(Clone, Debug)]
pub struct SamplerSettings {
    /// The event as `ebs -t` has it: a type such as `l1_cache_miss`, with
    /// modifiers, `mem:ADDRESS`, a tracepoint, a raw code.
    pub event: String,
    /// A sample every so many events; None: the type's default.
    pub interval: Option<u64>,
    /// Privilege levels whose events are sampled.
    pub modes: Modes,
    /// Whose events.
    pub tasks: SampledTasks,
    /// Who is to count: a program cannot emulate itself, so for that only the
    /// machine will do.
    pub source: SourceChoice,
    /// Data pages of each CPU's ring, rounded up to a power of two; None
    /// chooses. What it has no room for between two calls is lost.
    pub ring_pages: Option<u32>,
    /// Samples tell which [`Region`](crate::Region)s their thread was in.
    pub regions: bool,
}

impl SamplerSettings {
    /// User code of the calling thread, at the type's default interval.
    pub fn new(event: impl Into<String>) -> SamplerSettings {
        SamplerSettings {
            event: event.into(),
            interval: None,
            modes: Modes::USER,
            tasks: SampledTasks::ThisThread,
            source: SourceChoice::Auto,
            ring_pages: None,
            regions: true,
        }
    }

    pub(crate) fn request(&self) -> Request {
        let target = match &self.tasks {
            SampledTasks::ThisThread | SampledTasks::ThisProcess => Target::Process(own_pid()),
            SampledTasks::Process(pid) => Target::Process(*pid),
            SampledTasks::Command(_) => Target::Command,
        };
        Request {
            interval: self.interval,
            ring_pages: self.ring_pages,
            regions: self.regions,
            data_mappings: true,
            ..Request::new(self.event.as_str(), self.modes, target)
        }
    }

    /// Whether the program samples itself.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.tasks, SampledTasks::ThisThread | SampledTasks::ThisProcess)
    }
}

fn own_pid() -> Pid {
    Pid(rustix::process::getpid().as_raw_nonzero().get())
}

pub(crate) fn own_tid() -> Tid {
    Tid(rustix::thread::gettid().as_raw_nonzero().get())
}
