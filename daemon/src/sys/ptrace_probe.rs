//! The kernel's own answer to whether a user may look at a process.
//!
//! readlink(2) of /proc/PID/ns/user makes the check that perf_event_open(2)
//! makes of a task (`__ptrace_may_access()`, kernel/ptrace.c), with the file
//! system ids of the caller instead of its real ones, and nothing else that a
//! sysctl could refuse. So the caller asks as anybody without becoming them:
//! signals and ptrace look at real ids, which stay.
//!
//! Of a target in another user namespace that check looks at the effective
//! user, too, whatever the file system ids are: who made a namespace has every
//! capability in it (`cap_helper()`, security/commoncap.c). The superuser's
//! answer would be yes wherever root made it. There a child asks, whose
//! effective user is the one that is asked for. Not the caller itself: whoever
//! has a process's effective user may set its priority and CPUs for good
//! (`check_same_owner()`, kernel/sched/syscalls.c). They may not signal it,
//! nor trace it: its real and saved ids stay the caller's. What they can do is
//! have it answer late, for which nobody waits long, nor twice.

mod timed_out_users;

use std::cell::{Cell, RefCell};
use std::fs;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Gid, Pid, PidfdFlags, Signal, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_res_gid,
    set_thread_res_uid,
};

use recorder::sys::child;
use timed_out_users::{TimedOutUsers, is_reaped};

/// A child takes well below a millisecond, where its user lets it.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeUser {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

#[derive(Debug, Default)]
pub(crate) struct PtraceProbe {
    timed_out: RefCell<TimedOutUsers>,
    is_tainted: Cell<bool>,
}

impl PtraceProbe {
    /// Whether the kernel lets a process of that user and group, without
    /// capabilities, look at process `pid`. False: also where there is no such
    /// process.
    ///
    /// # Errors
    /// The ids could not be taken on, or laid down again (see
    /// [`is_tainted`](PtraceProbe::is_tainted)): PermissionDenied. Nobody answered in
    /// time, now or a moment ago: TimedOut.
    pub(crate) fn may_access(&self, user: ProbeUser, pid: i32) -> io::Result<bool> {
        // Any process may look at itself, whoever it is just now.
        if pid == rustix::process::getpid().as_raw_nonzero().get() {
            return Ok(false);
        }
        if self.is_tainted() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let own = namespace(Path::new("/proc/self"))?;
        let mut is_tainted = false;
        let seen = namespace_seen_by(user, pid, &mut is_tainted);
        self.is_tainted.set(is_tainted);
        let seen = seen?;
        let is_effective = user.uid == rustix::process::geteuid().as_raw();
        if is_effective || seen.is_some() && seen == own {
            return Ok(seen.is_some());
        }
        // Who may not see it as the superuser does, may still be its maker.
        match namespace(&process(pid)) {
            Ok(None) => Ok(false),
            Ok(there) if there == own => Ok(false),
            // Unknown: the child's answer holds anywhere.
            Ok(Some(_)) | Err(_) => self.probe_in_child(user, pid),
        }
    }

    /// Whether this process is not what it was, and should end: it took on
    /// somebody's ids, and could not lay them down.
    pub(crate) fn is_tainted(&self) -> bool {
        self.is_tainted.get()
    }

    /// Has a child look whose effective user the asker is.
    fn probe_in_child(&self, user: ProbeUser, pid: i32) -> io::Result<bool> {
        self.reap();
        if self.timed_out.borrow().has(user.uid) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let (answer, mut answers) = io::pipe()?;
        let child = child::fork(|| {
            // One that is late keeps no channel or socket open.
            child::close_all_but(&[answers.as_fd()]);
            let said = probe_as(user, pid).map_or(FAILED, |sees| if sees { YES } else { NO });
            u8::from(answers.write_all(&[said]).is_err())
        })?;
        drop(answers);
        let child = Pid::from_raw(child).ok_or(io::ErrorKind::NotFound)?;
        let deadline = Instant::now() + PROBE_TIMEOUT;
        let said = receive(answer, deadline);
        let has_timed_out =
            said.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        // It ends with its answer, unless its user has it take its time.
        if has_timed_out || !exits_by(child, deadline) {
            self.timed_out.borrow_mut().add(child, user.uid, Instant::now());
        }
        said
    }

    pub(crate) fn reap(&self) {
        self.timed_out.borrow_mut().reap(Instant::now());
    }
}

/// Whether a child has ended by then, and is buried.
fn exits_by(child: Pid, deadline: Instant) -> bool {
    let ended = rustix::process::pidfd_open(child, PidfdFlags::empty())
        .map_err(io::Error::from)
        .and_then(|pidfd| is_readable_by(pidfd.as_fd(), deadline));
    // If that is unknown, it may have.
    ended.unwrap_or(true) && is_reaped(child)
}

fn is_readable_by(fd: BorrowedFd<'_>, deadline: Instant) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

const YES: u8 = b'y';
const NO: u8 = b'n';
const FAILED: u8 = b'!';

fn receive(mut answer: PipeReader, deadline: Instant) -> io::Result<bool> {
    if !is_readable_by(answer.as_fd(), deadline)? {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut said = [FAILED];
    answer.read_exact(&mut said)?;
    match said {
        [YES] => Ok(true),
        [NO] => Ok(false),
        _ => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "a process cannot be looked at as another user",
        )),
    }
}

/// The life of a child, which never is what it was again.
fn probe_as(user: ProbeUser, pid: i32) -> io::Result<bool> {
    let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
    // The file system ids become what the effective ones do.
    set_thread_res_gid(gid, Gid::from_raw(user.gid), gid)?;
    set_thread_res_uid(uid, Uid::from_raw(user.uid), uid)?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    // Other ids make it what fs.suid_dumpable says.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // They take it away, too (prctl(2)): only now does it stay.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(namespace(&process(pid)).is_ok_and(|there| there.is_some()))
}

/// The user namespace of a process that its asker may look at, with the
/// effective user that this process has. `tainted`: their ids stay.
fn namespace_seen_by(user: ProbeUser, pid: i32, tainted: &mut bool) -> io::Result<Option<PathBuf>> {
    let own = ProbeUser {
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
    };
    let rights = capabilities(None)?;
    let taken_on = assume_fs_ids(user, rights.permitted, CapabilitySet::empty());
    let seen = namespace(&process(pid));
    let laid_down = assume_fs_ids(own, rights.permitted, rights.effective);
    // Other ids make it what fs.suid_dumpable says.
    let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    // Nothing may have been taken on in the first place.
    let is_own = laid_down.is_ok() || is_still(own, rights).unwrap_or(false);
    *tainted = !is_own || hidden.is_err();
    taken_on?;
    laid_down?;
    hidden?;
    match seen {
        Err(error) if is_refusal(&error) => Ok(None),
        seen => seen,
    }
}

/// Whether files are looked at with these ids, with these capabilities; told
/// by /proc, as whoever may not set an id may not be told it by the same call.
fn is_still(own: ProbeUser, rights: CapabilitySets) -> io::Result<bool> {
    let status = fs::read_to_string("/proc/thread-self/status")?;
    let of_files = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_ascii_whitespace().nth(3)?.parse::<u32>().ok()
    };
    let is_own = of_files("Uid:") == Some(own.uid) && of_files("Gid:") == Some(own.gid);
    let now = capabilities(None)?;
    Ok(is_own && (now.effective, now.permitted) == (rights.effective, rights.permitted))
}

fn process(pid: i32) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}

/// None: it has gone, or /proc hides it (hidepid).
fn namespace(process: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read_link(process.join("ns/user")) {
        Ok(there) => Ok(Some(there)),
        Err(error) => match error.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => Ok(None),
            _ => Err(error),
        },
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

/// Becomes these ids for files, with `effective` of the `permitted`
/// capabilities afterwards.
fn assume_fs_ids(
    ProbeUser { uid, gid }: ProbeUser,
    permitted: CapabilitySet,
    effective: CapabilitySet,
) -> io::Result<()> {
    let inheritable = CapabilitySet::empty();
    let all = CapabilitySets { effective: permitted, permitted, inheritable };
    set_capabilities(None, all)?;
    // SAFETY: takes a number; glibc calls it for this thread only.
    unsafe { libc::setfsgid(gid) };
    // SAFETY: the same.
    unsafe { libc::setfsuid(uid) };
    set_capabilities(None, CapabilitySets { effective, ..all })?;
    // They tell no failure, but what holds: no process has the id -1.
    // SAFETY: takes a number, and changes nothing.
    let now_gid = unsafe { libc::setfsgid(u32::MAX) };
    // SAFETY: the same.
    let now_uid = unsafe { libc::setfsuid(u32::MAX) };
    if (now_uid.cast_unsigned(), now_gid.cast_unsigned()) == (uid, gid) {
        Ok(())
    } else {
        let why = format!("files cannot be looked at as user {uid}, group {gid}");
        Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
    }
}

#[cfg(test)]
mod tests;
