//! The kernel's own answer to whether a user may look at a process.
//!
//! readlink(2) of /proc/PID/ns/user makes the check that perf_event_open(2)
//! makes of a task (`__ptrace_may_access()`, kernel/ptrace.c), with the file
//! system ids of the caller instead of its real ones, and nothing else that a
//! sysctl could refuse. So the caller asks as anybody without becoming them:
//! signals and ptrace look at real ids, which stay.

use std::fs;
use std::io;

use rustix::process::DumpableBehavior;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Whether the kernel lets a process of that user and group, without
/// capabilities, look at process `pid`. Of a thread that is its process's
/// only one. False: also where there is no such process.
///
/// # Errors
/// The ids could not be taken on, or not laid down again: the caller then is
/// not what it was, and should end.
pub(crate) fn may_look_at((uid, gid): (u32, u32), pid: i32) -> io::Result<bool> {
    // Any process may look at itself, whoever it is just now.
    if pid == rustix::process::getpid().as_raw_nonzero().get() {
        return Ok(false);
    }
    let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let rights = capabilities(None)?;
    let taken_on = take_on((uid, gid), rights.permitted, CapabilitySet::empty());
    let sight = fs::read_link(format!("/proc/{pid}/ns/user"));
    take_on(own, rights.permitted, rights.effective)?;
    // Other ids make it what fs.suid_dumpable says.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    taken_on?;
    match sight {
        Ok(_) => Ok(true),
        Err(error) => match error.raw_os_error() {
            // ENOENT: it has gone, or /proc hides it (hidepid).
            Some(libc::EACCES | libc::EPERM | libc::ENOENT | libc::ESRCH) => Ok(false),
            _ => Err(error),
        },
    }
}

/// Becomes these ids for files, with `effective` of the `permitted`
/// capabilities afterwards.
fn take_on(
    (uid, gid): (u32, u32),
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
        Err(io::Error::other(format!("files cannot be looked at as user {uid}, group {gid}")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that skips says why")]

    use super::*;

    fn ids() -> String {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let of = |line: &&str| ["Uid:", "Gid:", "Cap"].iter().any(|key| line.starts_with(key));
        status.lines().filter(of).collect()
    }

    #[test]
    fn each_user_is_answered_as_that_user() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can ask as others");
            return;
        }
        let before = ids();
        let mut child = std::process::Command::new("setpriv")
            .args(["--reuid=4001", "--regid=4001", "--clear-groups", "sleep", "60"])
            .spawn()
            .unwrap();
        let theirs = i32::try_from(child.id()).unwrap();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        let has_begun = || fs::read_to_string(format!("/proc/{theirs}/comm")).unwrap() == "sleep\n";
        while !has_begun() {
            std::thread::yield_now();
        }
        for (user, pid, sees) in [
            ((4001, 4001), theirs, true),
            ((4001, 4002), theirs, false),
            ((4002, 4002), theirs, false),
            ((0, 0), theirs, false),
            ((4001, 4001), parent, false),
            // Root's, but with capabilities that this has not.
            ((0, 0), parent, false),
            ((4001, 4001), 2, false),
            ((4001, 4001), i32::MAX, false),
            ((0, 0), rustix::process::getpid().as_raw_nonzero().get(), false),
        ] {
            assert_eq!(may_look_at(user, pid).unwrap(), sees, "{user:?} at {pid}");
            assert_eq!(ids(), before);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
