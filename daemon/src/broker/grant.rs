//! The supervisor's side: what was granted to one worker, and what it may
//! open under that.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use perfdata::Attr;
use recorder::remote::protocol::NamedTarget;
use recorder::session::attrs::Attrs;
use recorder::session::synthesize::KernelFile;
use recorder::sys::event::{EncodedAttr, EventPlace, NATIVE_ORDER, PerfEvent};
use recorder::{Facts, PlannedEvent, Request};

use super::{BrokerReply, BrokerRequest, GroupRole, TaskOnCpu, WireJob};
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
    /// The event of which a member is opened next.
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
fn needed(job: &WireJob, may_access: bool) -> Permissions {
    let mut needed = Permissions::empty();
    needed.set(Permissions::KERNEL, job.modes.kernel);
    let of_cpus = matches!(job.target, NamedTarget::System | NamedTarget::Cgroup { .. });
    needed.set(Permissions::SYSTEM_WIDE, of_cpus);
    needed.set(Permissions::OTHERS_TASKS, !of_cpus && !may_access);
    if needed.is_empty() { Permissions::OWN_TASKS } else { needed }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(match error.kind() {
        io::ErrorKind::TimedOut => libc::ETIMEDOUT,
        io::ErrorKind::PermissionDenied => libc::EPERM,
        _ => libc::EIO,
    })
}

/// EACCES, and what is missing.
fn missing(permissions: Permissions) -> BrokerReply {
    BrokerReply { value: permissions.bits().into(), ..BrokerReply::refused(libc::EACCES) }
}

impl Grants {
    pub(crate) fn new(user: Credentials, permissions: Permissions) -> Grants {
        Grants { user, permissions, next: 1, granted: HashMap::new() }
    }

    /// Answers a request; `path`, of a control group, came behind it.
    pub(crate) fn answer(
        &mut self,
        request: BrokerRequest,
        path: &[u8],
        ptrace_check: &dyn PtraceCheck,
    ) -> (BrokerReply, Option<OwnedFd>) {
        let result = match request {
            BrokerRequest::Grant(job) => return (self.grant(job, path, ptrace_check), None),
            BrokerRequest::Open { grant, place, attr, rank } => {
                self.open(grant, place, &attr, rank).and_then(|event| {
                    self.check_unchanged(grant, place.tid, ptrace_check).map(|()| event)
                })
            }
            BrokerRequest::Maps { grant, pid } => self.maps(grant, pid),
            BrokerRequest::Kernel { grant, file } => self.kernel(grant, file),
            // Whoever gives it connections knows.
            BrokerRequest::Leave { .. } => return (BrokerReply::refused(libc::EINVAL), None),
            BrokerRequest::Release { grant } => {
                self.granted.remove(&grant);
                return (BrokerReply::done(0), None);
            }
            // About more than one worker.
            BrokerRequest::Reserve { .. }
            | BrokerRequest::Free { .. }
            | BrokerRequest::Closed
            | BrokerRequest::Follow { .. }
            | BrokerRequest::Standing { .. }
            | BrokerRequest::Program { .. }
            | BrokerRequest::Report { .. } => {
                return (BrokerReply::refused(libc::EINVAL), None);
            }
        };
        match result {
            Ok(fd) => (BrokerReply::done(0), Some(fd)),
            Err(answer) => (answer, None),
        }
    }

    fn grant(&mut self, job: WireJob, path: &[u8], ptrace_check: &dyn PtraceCheck) -> BrokerReply {
        if self.granted.len() >= MAX_GRANTS {
            return BrokerReply::refused(libc::EMFILE);
        }
        if self.permissions.is_empty() {
            return missing(needed(&job, true));
        }
        let target = match FoundTarget::open(job.target, path) {
            Ok(target) => target,
            Err(error) => return BrokerReply::refused(errno(&error)),
        };
        let has_others = self.permissions.contains(Permissions::OTHERS_TASKS);
        let may_access = match target.process() {
            None => Ok(true),
            // Whatever the answer were, it is granted.
            Some(_) if has_others => Ok(false),
            Some(process) => ptrace_check.may_access(&self.user, process.pid().0),
        };
        let may_access = match may_access {
            Ok(may_access) => may_access,
            Err(error) => return BrokerReply::refused(errno(&error)),
        };
        let lacking = needed(&job, may_access) - self.permissions;
        if !lacking.is_empty() {
            return missing(lacking);
        }
        let attrs = job.request(target.target()).ok_or(libc::EINVAL).and_then(|request| {
            granted_attrs(&request, self.permissions).map_err(|()| libc::EOPNOTSUPP)
        });
        let attrs = match attrs {
            Ok(attrs) => attrs,
            Err(errno) => return BrokerReply::refused(errno),
        };
        if !target.is_there() {
            return BrokerReply::refused(libc::ESRCH);
        }
        let number = self.next;
        self.next += 1;
        let needs_ptrace_access = target.process().is_some() && !has_others;
        let (kernel, leader) = (job.modes.kernel, None);
        self.granted.insert(number, Grant { attrs, target, kernel, leader, needs_ptrace_access });
        BrokerReply::done(number)
    }

    fn open(
        &mut self,
        grant: u64,
        task: TaskOnCpu,
        words: &[u64],
        rank: GroupRole,
    ) -> Result<OwnedFd, BrokerReply> {
        let grant = self.granted.get_mut(&grant).ok_or(BrokerReply::refused(libc::EBADF))?;
        let TaskOnCpu { tid, cpu } = task;
        // Of this request, or of none.
        let before = grant.leader.take();
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let attr =
            Attr::decode(&bytes, NATIVE_ORDER).map_err(|_| BrokerReply::refused(libc::EINVAL))?;
        if !grant.attrs.iter().any(|granted| attr_subset(&attr, granted).is_ok()) {
            return Err(BrokerReply::refused(libc::EACCES));
        }
        match grant.target.process() {
            None if tid != -1 || cpu < 0 => return Err(BrokerReply::refused(libc::EACCES)),
            Some(process) if !process.has_thread(tid) => {
                return Err(BrokerReply::refused(libc::ESRCH));
            }
            _ => {}
        }
        let cgroup = grant.target.cgroup().map(|cgroup| cgroup.as_fd());
        // In the size that the worker has settled on with the kernel.
        let mut encoded = EncodedAttr::in_size(&attr, attr.size.clamp(64, Attr::MAX_SIZE))
            .map_err(|_| BrokerReply::refused(libc::EINVAL))?;
        let leader = match rank {
            GroupRole::Single | GroupRole::Leader => None,
            GroupRole::Member => {
                let here = before.filter(|leader| leader.task == task);
                let leader = here.ok_or(BrokerReply::refused(libc::EINVAL))?;
                Some(PerfEvent::received(leader.event, attr.read_format))
            }
        };
        let place = EventPlace { pid: tid, cpu, leader: leader.as_ref(), leads: false, cgroup };
        let event = PerfEvent::open(&mut encoded, place).map_err(|error| BrokerReply {
            value: encoded.size().into(),
            ..BrokerReply::refused(errno(&error))
        })?;
        let event = OwnedFd::from(event);
        if rank == GroupRole::Leader {
            let event = event.try_clone().map_err(|error| BrokerReply::refused(errno(&error)))?;
            grant.leader = Some(Leader { task, event });
        }
        Ok(event)
    }

    /// Whether what holds of a target held when an event of its thread was
    /// opened. Where the
    /// process or thread has ended, the number may have become another's;
    /// where it has executed a set-user-ID program, its user may not look any
    /// more. What comes after, the kernel sees to.
    fn check_unchanged(
        &self,
        grant: u64,
        tid: i32,
        ptrace_check: &dyn PtraceCheck,
    ) -> Result<(), BrokerReply> {
        let grant = self.granted.get(&grant).ok_or(BrokerReply::refused(libc::EBADF))?;
        let Some(process) = grant.target.process() else { return Ok(()) };
        if grant.needs_ptrace_access {
            match ptrace_check.may_access(&self.user, process.pid().0) {
                Ok(true) => {}
                Ok(false) => return Err(BrokerReply::refused(libc::EACCES)),
                Err(error) => return Err(BrokerReply::refused(errno(&error))),
            }
        }
        if !process.has_thread(tid) || !process.is_alive() {
            return Err(BrokerReply::refused(libc::ESRCH));
        }
        Ok(())
    }

    /// Of the grant's process, or what descends from it; of any, where the
    /// system is granted.
    fn maps(&self, grant: u64, pid: i32) -> Result<OwnedFd, BrokerReply> {
        let grant = self.granted.get(&grant).ok_or(BrokerReply::refused(libc::EBADF))?;
        let before = Ancestry::of(pid).ok_or(BrokerReply::refused(libc::ESRCH))?;
        let is_granted = match grant.target.process() {
            None => true,
            // Its own user reads it without being granted anything.
            Some(_) if grant.needs_ptrace_access => false,
            Some(process) => process.is_alive() && before.is_below(process.pid().0),
        };
        if !is_granted {
            return Err(BrokerReply::refused(libc::EACCES));
        }
        let file = File::open(format!("/proc/{pid}/maps"))
            .map_err(|error| BrokerReply::refused(errno(&error)))?;
        // The same process still: the number may have become another's.
        if Ancestry::of(pid).as_ref() != Some(&before) || !grant.target.is_there() {
            return Err(BrokerReply::refused(libc::ESRCH));
        }
        Ok(file.into())
    }

    /// The supervisor may see the addresses in it (CAP_SYSLOG).
    fn kernel(&self, grant: u64, file: KernelFile) -> Result<OwnedFd, BrokerReply> {
        let grant = self.granted.get(&grant).ok_or(BrokerReply::refused(libc::EBADF))?;
        if !grant.kernel {
            return Err(BrokerReply::refused(libc::EACCES));
        }
        let file = File::open(Path::new("/proc").join(file.name()));
        file.map(OwnedFd::from).map_err(|error| BrokerReply::refused(errno(&error)))
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
    let attrs = Attrs::of(&plan);
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
        let job = || WireJob {
            events: arrayvec::ArrayVec::new(),
            modes: Modes { user: true, kernel: false },
            allow_skid: false,
            call_graph: None,
            data_mappings: false,
            target: NamedTarget::Process(named),
        };
        let asked = |permissions| {
            Grants::new(own.clone(), permissions)
                .answer(BrokerRequest::Grant(job()), &[], &AlwaysLate)
                .0
                .errno
        };
        assert_eq!(asked(Permissions::OWN_TASKS), libc::ETIMEDOUT);
        assert_ne!(asked(Permissions::OTHERS_TASKS), libc::ETIMEDOUT);
    }
}
