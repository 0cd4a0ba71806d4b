//! A kernel that answers as told, and remembers what it was asked.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use perfdata::{Attr, Cpu, EventType};

use crate::in_kernel::{HitSource, InKernel, KernelProgram, LoadError};
use crate::session::kernel::Kernel;
use crate::sys::event::{EncodedAttr, EventPlace, PerfEvent};

#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) attr: Attr,
    pub(super) size: u32,
    pub(super) pid: i32,
    pub(super) cpu: i32,
    pub(super) in_group: bool,
}

impl Asked {
    pub(super) fn hardware(&self) -> bool {
        self.attr.kind == EventType::RAW
    }

    /// Whether it is a question about features, not an event of the plan.
    pub(super) fn question(&self) -> bool {
        self.pid == 0 && self.cpu == -1
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    /// This errno.
    No(i32),
    /// E2BIG, with the bytes it knows written back.
    Knows(u32),
}

type Script = Box<dyn Fn(&Asked) -> Answer + Send + Sync>;

pub(super) struct Scripted {
    script: Script,
    /// Of SET_OUTPUT.
    share: Answer,
    asked: Mutex<Vec<Asked>>,
}

impl Scripted {
    pub(super) fn new(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Scripted {
        Scripted { script: Box::new(script), share: Answer::Yes, asked: Mutex::default() }
    }

    pub(super) fn sharing(self, share: Answer) -> Scripted {
        Scripted { share, ..self }
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Values of precise_ip that hardware events were asked with, in order.
    pub(super) fn levels(&self) -> Vec<u8> {
        let asked = self.asked();
        asked.iter().filter(|a| a.hardware()).map(|a| a.attr.precise_ip()).collect()
    }
}

impl Kernel for Scripted {
    fn open(&self, attr: &mut EncodedAttr, place: EventPlace<'_>) -> std::io::Result<PerfEvent> {
        let asked = Asked {
            attr: attr.attr(),
            size: attr.size(),
            pid: place.pid,
            cpu: place.cpu,
            in_group: place.leader.is_some(),
        };
        let answer = (self.script)(&asked);
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        match answer {
            Answer::Yes => Ok(nothing()),
            Answer::No(errno) => Err(std::io::Error::from_raw_os_error(errno)),
            Answer::Knows(size) => {
                attr.set_size(size);
                Err(std::io::Error::from_raw_os_error(libc::E2BIG))
            }
        }
    }

    fn share(&self, _: &PerfEvent, _: &PerfEvent) -> std::io::Result<()> {
        match self.share {
            Answer::No(errno) => Err(std::io::Error::from_raw_os_error(errno)),
            Answer::Yes | Answer::Knows(_) => Ok(()),
        }
    }
    fn load(&self, _: &InKernel, _: HitSource, _: &[Cpu]) -> Result<KernelProgram, LoadError> {
        Err(LoadError::NoSystemCall)
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted").field("asked", &self.asked()).finish_non_exhaustive()
    }
}

/// A descriptor where an event is wanted.
pub(super) fn nothing() -> PerfEvent {
    PerfEvent::from(OwnedFd::from(std::fs::File::open("/dev/null").unwrap()))
}
