//! Hits of tracepoints: crates/recorder/kernel/tracepoint.bpf.c.
//!
//! A program of a tracepoint runs for every hit on the machine, so ours knows
//! whose hits count: one bit a process, which a second program copies from
//! parent to child at each fork, and a third takes from a program that the
//! kernel lets nobody sample.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use perfdata::attr::AttrFlags;
use perfdata::{Attr, EventType, Pid};

use super::LoadError;
use crate::sys::bpf;
use crate::sys::event::{EncodedAttr, EventPlace, PerfEvent};

/// Bits of one word of the map of processes.
const BITS: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedTracepoint {
    /// Its number in tracefs: the event's `config`.
    pub id: u64,
    pub scope: HitScope,
    /// Every so many hits of a CPU are one sample, of that period; 0 is 1.
    pub interval: u64,
    /// Only hits whose registers are of user mode, as for an event that
    /// excludes the kernel (`perf_tp_event_match()`).
    pub user_only: bool,
    /// Of the group `syscalls`, whose samples show the task's own registers.
    pub of_system_call: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitScope {
    Everyone,
    /// Of a process that runs.
    Process(Pid),
    /// Of a process that waits, from its exec on.
    Held(Pid),
}

impl HitScope {
    pub(super) fn process(self) -> Option<Pid> {
        match self {
            HitScope::Everyone => None,
            HitScope::Process(pid) | HitScope::Held(pid) => Some(pid),
        }
    }

    /// Whether nothing counts before [`start`](super::KernelProgram::start).
    pub(super) fn waits_for_start(self) -> bool {
        !matches!(self, HitScope::Held(_))
    }
}

impl CountedTracepoint {
    /// The constants `scope` of the programs.
    pub(super) fn constants(self) -> Vec<u8> {
        let held = match self.scope {
            HitScope::Held(pid) => u64::from(pid.0.cast_unsigned()),
            HitScope::Everyone | HitScope::Process(_) => 0,
        };
        let everyone = self.scope == HitScope::Everyone;
        let words = [
            everyone.into(),
            held,
            self.user_only.into(),
            self.interval.max(1),
            self.of_system_call.into(),
        ];
        words.into_iter().flat_map(u64::to_ne_bytes).collect()
    }
}

#[derive(Debug)]
pub(super) struct TracepointHooks {
    /// An event that counts nothing: nobody inherits it. The program cannot
    /// hang on an event of the session, as a child's copy of that, when the
    /// child ends, takes the program off the tracepoint (seen on Linux 6.18).
    pub(super) carrier: OwnedFd,
    /// The programs of forks and of execs, where processes are told apart.
    pub(super) followers: Option<[OwnedFd; 2]>,
}

impl TracepointHooks {
    /// Attaches the programs of hits and of forks; says in `processes` whose
    /// hits count.
    pub(super) fn attach(
        tracepoint: CountedTracepoint,
        hit: BorrowedFd<'_>,
        followers: &[OwnedFd],
        processes: BorrowedFd<'_>,
    ) -> Result<TracepointHooks, LoadError> {
        let failed = |call: &'static str| {
            move |error: std::io::Error| LoadError::Failed { call, error: error.to_string() }
        };
        // Before anything is counted: a child of now is the process's too.
        let mut links = None;
        if let (Some(pid), [forked, execed]) = (tracepoint.scope.process(), followers) {
            let number = pid.0.cast_unsigned();
            let word = 1u64 << (number % BITS);
            bpf::write(processes, number / BITS, &word.to_ne_bytes())
                .map_err(failed("BPF_MAP_UPDATE_ELEM"))?;
            let follow = |name, program: &OwnedFd| {
                bpf::attach_raw(name, program.as_fd()).map_err(failed("BPF_RAW_TRACEPOINT_OPEN"))
            };
            links = Some([
                follow(c"sched_process_fork", forked)?,
                follow(c"sched_process_exec", execed)?,
            ]);
        }
        let carrier = carrier(tracepoint.id).map_err(failed("perf_event_open"))?;
        bpf::attach(&carrier, hit).map_err(failed("PERF_EVENT_IOC_SET_BPF"))?;
        let carrier = carrier.as_fd().try_clone_to_owned().map_err(failed("dup"))?;
        Ok(TracepointHooks { carrier, followers: links })
    }
}

/// An event of this thread's that is never enabled: it makes perf look at
/// the tracepoint.
fn carrier(id: u64) -> std::io::Result<PerfEvent> {
    let attr = Attr {
        kind: EventType::TRACEPOINT,
        config: id,
        flags: AttrFlags::DISABLED,
        ..Attr::default()
    };
    let here = EventPlace { pid: 0, cpu: -1, leader: None, leads: false, cgroup: None };
    PerfEvent::open(&mut EncodedAttr::new(&attr)?, here)
}
