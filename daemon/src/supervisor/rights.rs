//! What the supervisor gives up before it serves anybody.

use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

/// What it needs: to open events of anybody (PERFMON) and look at their
/// mappings (PTRACE), to see the kernel's addresses (SYSLOG), to have the
/// kernel count (BPF, with PERFMON), to make workers their users' processes
/// (SETUID, SETGID) and to end those (KILL).
const NEEDED: CapabilitySet = CapabilitySet::PERFMON
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL);

/// Locked memory that each worker's rings may have, bytes.
const LOCKED: u64 = 64 * 1024 * 1024;

/// Open files that serving one session takes: an idle supervisor holds some fifteen, and a
/// worker's channels and the session's events come on top. With many CPUs a session needs more, and
/// says so.
const MIN_FILES: u64 = 64;

/// Raises the soft limit of open files to the hard one, which needs no right; Some: the hard one is
/// too low for a session.
pub(super) fn raise_open_files() -> io::Result<Option<TooFewFiles>> {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files })?;
    Ok(files.maximum.filter(|allowed| *allowed < MIN_FILES).map(|allowed| TooFewFiles { allowed }))
}

#[derive(Debug, thiserror::Error)]
#[error(
    "ebsd may open {allowed} files, and needs {} to serve one session: raise RLIMIT_NOFILE \
     (ulimit -n, LimitNOFILE= of the service)",
    MIN_FILES
)]
pub struct TooFewFiles {
    allowed: u64,
}

/// Drops all other capabilities, for good; no core file, not to be looked
/// into. What workers inherit is raised first, while that may be done.
pub(super) fn drop_capabilities() -> io::Result<()> {
    let locked = getrlimit(Resource::Memlock);
    if locked.current.is_some_and(|current| current < LOCKED) {
        // Without the right to, rings are smaller, which each session says.
        let _as_it_was =
            setrlimit(Resource::Memlock, Rlimit { current: Some(LOCKED), maximum: Some(LOCKED) });
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_no_new_privs(true)?;
    let kept = capabilities(None)?.permitted & NEEDED;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })?;
    Ok(())
}
