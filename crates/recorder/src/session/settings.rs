//! What a session is told beside its plan.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use perfdata::{Pid, Tid};

use crate::session::attach::AttachBudget;
use crate::session::synthesize::ProcVisibility;
use crate::{Cgroup, HeapSettings, Job};

#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// The command and its arguments, for [`Target::Command`](crate::Target::Command).
    pub command: Vec<OsString>,
    /// For [`Target::Command`](crate::Target::Command) without a command here: somebody else's child
    /// that waits before its exec.
    pub held: Option<(Pid, Arc<OwnedFd>)>,
    /// For [`Target::Process`](crate::Target::Process), where a pidfd named it: its number alone may
    /// become another's before the attach.
    pub process: Option<Arc<OwnedFd>>,
    /// For [`Target::Process`](crate::Target::Process): this thread of it alone, and nothing that it
    /// starts.
    pub thread: Option<Tid>,
    /// For [`Target::Cgroup`](crate::Target::Cgroup).
    pub cgroup: Option<Arc<Cgroup>>,
    /// Samples after which sampling stops, of those that the type means where
    /// the sample's fields tell it; None: no limit.
    pub count: Option<u64>,
    /// Nothing is sampled before [`Session::set_counting`](super::Session::set_counting) says so; mappings,
    /// names and forks are told from the start.
    pub begins_paused: bool,
    pub scrub: bool,
    pub every: Duration,
    /// Where the kernel takes no program, rings serve.
    pub rings: bool,
    pub proc_visibility: ProcVisibility,
    /// The kernel's symbols go into the stream, where addresses of the kernel
    /// can be in samples and the kernel shows its own.
    pub kernel_symbols: bool,
    pub attach_budget: AttachBudget,
    /// A log of regions is made, which a command finds in its environment.
    pub regions: bool,
    /// A command tells of its heap, as events that
    /// [`heap::add`](crate::heap::add) has planned.
    pub heap: Option<HeapSettings>,
    /// Where /proc is: `/`.
    pub root: PathBuf,
}

impl SessionSettings {
    pub fn of(job: &Job) -> SessionSettings {
        SessionSettings {
            count: job.count,
            every: job.every,
            rings: job.rings,
            kernel_symbols: job.kernel_symbols,
            regions: job.request.regions,
            ..SessionSettings::default()
        }
    }
}

impl Default for SessionSettings {
    fn default() -> SessionSettings {
        SessionSettings {
            command: Vec::new(),
            held: None,
            process: None,
            thread: None,
            cgroup: None,
            count: None,
            begins_paused: false,
            scrub: false,
            every: Duration::from_secs(60),
            rings: true,
            proc_visibility: ProcVisibility::default(),
            kernel_symbols: false,
            attach_budget: AttachBudget::default(),
            regions: false,
            heap: None,
            root: "/".into(),
        }
    }
}
