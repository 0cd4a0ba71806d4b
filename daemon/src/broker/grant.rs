//! The supervisor's side: what was granted to one worker, and what it may
//! open under that.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use perfdata::Attr;
use recorder::remote::protocol::NamedTarget;
use recorder::session::attrs::SessionAttrs;
use recorder::session::synthesize::KernelFile;
use recorder::sys::event::{EncodedAttr, EventPlace, NATIVE_ORDER, PerfEvent};
use recorder::{Facts, PlannedEvent, Request};

use super::{BrokerRefusal, EventOpening, GroupRole, TaskOnCpu, WireJob};
use crate::credentials::Credentials;
use crate::policy::{FORBIDDEN, Forbidden, OpenedBy, Permissions, attr_subset, restrict};
use crate::sys::ptrace_probe::{ProbeUser, PtraceProbe};
use crate::target::FoundTarget;

/// Grants that one worker may hold: its sessions, and some that end.
const MAX_GRANTS: usize = 64;

/// Whether a user may look at a process, as the kernel tells that user.
pub(crate) trait PtraceCheck {
    fn may_access(&self, user: &Credentials, pid: i32) -> io::Result<bool>;
}

#[derive(Debug)]
pub(crate) struct Grants {
    user: Credentials,
    permissions: Permissions,
    next: u64,
    granted: HashMap<u64, Grant>,
}

#[derive(Debug)]
struct Grant {
    attrs: Vec<Attr>,
    target: FoundTarget,
    /// Kernel code is sampled, and so its addresses shown.
    kernel: bool,
    /// The event whose member is opened next.
    leader: Option<Leader>,
    /// Policy has nothing on the target: its user may look at it, which a
    /// set-user-ID program that it executes ends.
    needs_ptrace_access: bool,
}

#[derive(Debug)]
struct Leader {
    task: TaskOnCpu,
    event: OwnedFd,
}

/// What a job takes beyond the rights of its user; empty: the kernel's own
/// rules forbid it, though it is about the user's own code.
fn needed_permissions(job: &WireJob, may_access: bool) -> Permissions {
    let mut needed = Permissions::empty();
    needed.set(Permissions::KERNEL, job.modes.kernel);
    let of_cpus = matches!(job.target, NamedTarget::System | NamedTarget::Cgroup { .. });
    needed.set(Permissions::SYSTEM_WIDE, of_cpus);
    needed.set(Permissions::OTHERS_TASKS, !of_cpus && !may_access);
    if needed.is_empty() { Permissions::OWN_TASKS } else { needed }
}

impl Grants {
    pub(crate) fn new(user: Credentials, permissions: Permissions) -> Grants {
        Grants { user, permissions, next: 1, granted: HashMap::new() }
    }

    /// Grants a job; gives the grant's number.
    pub(crate) fn grant(
        &mut self,
        job: &WireJob,
        ptrace_check: &dyn PtraceCheck,
    ) -> Result<u64, BrokerRefusal> {
        if self.granted.len() >= MAX_GRANTS {
            return Err(BrokerRefusal::Errno(libc::EMFILE));
        }
        if self.permissions.is_empty() {
            return Err(BrokerRefusal::missing(needed_permissions(job, true)));
        }
        let target = FoundTarget::open(job.target, &job.path)?;
        let has_others = self.permissions.contains(Permissions::OTHERS_TASKS);
        let may_access = match target.process() {
            None => true,
            // Whatever the answer were, it is granted.
            Some(_) if has_others => false,
            Some(process) => ptrace_check.may_access(&self.user, process.pid().0)?,
        };
        let lacking = needed_permissions(job, may_access) - self.permissions;
        if !lacking.is_empty() {
            return Err(BrokerRefusal::missing(lacking));
        }
        let request = job.request(target.target()).ok_or(BrokerRefusal::Errno(libc::EINVAL))?;
        let attrs = granted_attrs(&request, self.permissions)
            .map_err(|()| BrokerRefusal::Errno(libc::EOPNOTSUPP))?;
        if !target.is_there() {
            return Err(BrokerRefusal::Errno(libc::ESRCH));
        }
        let number = self.next;
        self.next += 1;
        let needs_ptrace_access = target.process().is_some() && !has_others;
        let (kernel, leader) = (job.modes.kernel, None);
        self.granted.insert(number, Grant { attrs, target, kernel, leader, needs_ptrace_access });
        Ok(number)
    }

    pub(crate) fn release(&mut self, grant: u64) {
        self.granted.remove(&grant);
    }

    fn granted(&self, grant: u64) -> Result<&Grant, BrokerRefusal> {
        self.granted.get(&grant).ok_or(BrokerRefusal::Errno(libc::EBADF))
    }

    pub(crate) fn open(
        &mut self,
        grant: u64,
        opening: &EventOpening,
        ptrace_check: &dyn PtraceCheck,
    ) -> Result<OwnedFd, BrokerRefusal> {
        let granted = self.granted.get_mut(&grant).ok_or(BrokerRefusal::Errno(libc::EBADF))?;
        let event = granted.open(opening)?;
        self.check_unchanged(grant, opening.place.tid, ptrace_check)?;
        Ok(event)
    }

    /// Whether what holds of a target held when an event of its thread was
    /// opened. Where the process or thread has ended, the number may have become
    /// another's; where it has executed a set-user-ID program, its user may not
    /// look any more. The kernel checks what comes after.
    fn check_unchanged(
        &self,
        grant: u64,
        tid: i32,
        ptrace_check: &dyn PtraceCheck,
    ) -> Result<(), BrokerRefusal> {
        let grant = self.granted(grant)?;
        let Some(process) = grant.target.process() else { return Ok(()) };
        if grant.needs_ptrace_access && !ptrace_check.may_access(&self.user, process.pid().0)? {
            return Err(BrokerRefusal::Errno(libc::EACCES));
        }
        if !process.has_thread(tid) || !process.is_alive() {
            return Err(BrokerRefusal::Errno(libc::ESRCH));
        }
        Ok(())
    }

    /// Of the grant's process, or what descends from it; of any, where the
    /// system is granted.
    pub(crate) fn maps(&self, grant: u64, pid: i32) -> Result<OwnedFd, BrokerRefusal> {
        let grant = self.granted(grant)?;
        let before = Ancestry::of(pid).ok_or(BrokerRefusal::Errno(libc::ESRCH))?;
        let is_granted = match grant.target.process() {
            None => true,
            // Its own user reads it without being granted anything.
            Some(_) if grant.needs_ptrace_access => false,
            Some(process) => process.is_alive() && before.is_below(process.pid().0),
        };
        if !is_granted {
            return Err(BrokerRefusal::Errno(libc::EACCES));
        }
        let file = File::open(format!("/proc/{pid}/maps"))?;
        // The same process still: the number may have become another's.
        if Ancestry::of(pid).as_ref() != Some(&before) || !grant.target.is_there() {
            return Err(BrokerRefusal::Errno(libc::ESRCH));
        }
        Ok(file.into())
    }

    /// The supervisor may see the addresses in it (CAP_SYSLOG).
    pub(crate) fn kernel(&self, grant: u64, file: KernelFile) -> Result<OwnedFd, BrokerRefusal> {
        if !self.granted(grant)?.kernel {
            return Err(BrokerRefusal::Errno(libc::EACCES));
        }
        Ok(File::open(Path::new("/proc").join(file.name()))?.into())
    }
}

impl Grant {
    fn open(&mut self, opening: &EventOpening) -> Result<OwnedFd, BrokerRefusal> {
        let invalid = BrokerRefusal::Errno(libc::EINVAL);
        let EventOpening { place: task, attr, role } = *opening;
        let TaskOnCpu { tid, cpu } = task;
        // Of this request, or of none.
        let before = self.leader.take();
        let bytes: Vec<u8> = attr.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let attr = Attr::decode(&bytes, NATIVE_ORDER).map_err(|_| invalid.clone())?;
        if !self.attrs.iter().any(|granted| attr_subset(&attr, granted).is_ok()) {
            return Err(BrokerRefusal::Errno(libc::EACCES));
        }
        match self.target.process() {
            None if tid != -1 || cpu < 0 => return Err(BrokerRefusal::Errno(libc::EACCES)),
            Some(process) if !process.has_thread(tid) => {
                return Err(BrokerRefusal::Errno(libc::ESRCH));
            }
            _ => {}
        }
        let cgroup = self.target.cgroup().map(|cgroup| cgroup.as_fd());
        // In the size that the worker has settled on with the kernel.
        let mut encoded = EncodedAttr::in_size(&attr, attr.size.clamp(64, Attr::MAX_SIZE))
            .map_err(|_| invalid.clone())?;
        let leader = match role {
            GroupRole::Single | GroupRole::Leader => None,
            GroupRole::Member => {
                let leader = before.filter(|leader| leader.task == task).ok_or(invalid)?;
                Some(PerfEvent::received(leader.event, attr.read_format))
            }
        };
        let place = EventPlace { pid: tid, cpu, leader: leader.as_ref(), leads: false, cgroup };
        let event =
            PerfEvent::open(&mut encoded, place).map_err(|error| match error.raw_os_error() {
                Some(libc::E2BIG) => BrokerRefusal::AttrSize(encoded.size()),
                _ => error.into(),
            })?;
        let event = OwnedFd::from(event);
        if role == GroupRole::Leader {
            self.leader = Some(Leader { task, event: event.try_clone()? });
        }
        Ok(event)
    }
}

/// A process and those that it descends from, each with its start time.
#[derive(Debug, PartialEq, Eq)]
struct Ancestry(Vec<(i32, String)>);

impl Ancestry {
    /// None: there is no such process.
    fn of(pid: i32) -> Option<Ancestry> {
        let mut line = Vec::new();
        let mut next = pid;
        // Numbers may change while they are read: no line is endless.
        while next > 0 && line.len() < 1000 {
            let Ok(stat) = std::fs::read(format!("/proc/{next}/stat")) else { break };
            let stat = String::from_utf8_lossy(&stat);
            let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
            // Fields 4 and 22 of proc_pid_stat(5).
            let parent = fields.nth(1)?.parse().ok()?;
            line.push((next, fields.nth(17)?.to_owned()));
            next = parent;
        }
        (!line.is_empty()).then_some(Ancestry(line))
    }

    /// Whether it is that process, or one that descends from it.
    fn is_below(&self, pid: i32) -> bool {
        self.0.iter().any(|(one, _)| *one == pid)
    }
}

/// What a job opens, planned here and cut to what is permitted.
fn granted_attrs(request: &Request, permissions: Permissions) -> Result<Vec<Attr>, ()> {
    let facts = Facts::read_for(Path::new("/"), request).map_err(|_| ())?;
    let plan = recorder::plan(request, &facts).map_err(|_| ())?;
    let attrs = SessionAttrs::of(&plan);
    let restricted = |attr: &Attr, forbidden: &Forbidden| {
        let mut attr = attr.clone();
        restrict(&mut attr, permissions, forbidden);
        attr
    };
    let of_event = |event: &PlannedEvent| {
        restricted(&event.attr, &Forbidden::of(event, plan.target, OpenedBy::Policy))
    };
    let side = restricted(attrs.side(), &FORBIDDEN);
    Ok(attrs.events().map(of_event).chain([side]).collect())
}

impl PtraceCheck for PtraceProbe {
    fn may_access(&self, user: &Credentials, pid: i32) -> io::Result<bool> {
        let asked = PtraceProbe::may_access(self, ProbeUser { uid: user.uid, gid: user.gid }, pid);
        if let Err(error) = &asked {
            tracing::warn!(
                uid = user.uid,
                pid,
                %error,
                "the kernel did not tell whether a user may look at a process: they may not"
            );
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use recorder::Modes;
    use recorder::machine::process_identity::ProcessIdentity;

    use super::*;

    struct AlwaysLate;

    impl PtraceCheck for AlwaysLate {
        fn may_access(&self, _: &Credentials, _: i32) -> io::Result<bool> {
            Err(io::ErrorKind::TimedOut.into())
        }
    }

    #[test]
    fn only_whoever_needs_the_answer_waits_for_it() {
        let own = Credentials::own().unwrap();
        let pid = std::process::id().cast_signed();
        let named = ProcessIdentity::of(pid).unwrap();
        let job = WireJob {
            events: arrayvec::ArrayVec::new(),
            modes: Modes { user: true, kernel: false },
            allow_skid: false,
            call_graph: None,
            data_mappings: false,
            target: NamedTarget::Process(named),
            path: arrayvec::ArrayVec::new(),
        };
        let granted = |permissions| Grants::new(own.clone(), permissions).grant(&job, &AlwaysLate);
        let late = Err(BrokerRefusal::Errno(libc::ETIMEDOUT));
        assert_eq!(granted(Permissions::OWN_TASKS), late);
        assert_ne!(granted(Permissions::OTHERS_TASKS), late);
    }
}
