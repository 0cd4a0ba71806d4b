//! What makes a worker its user's process and no more: ids, no capabilities,
//! not to be looked into, and few system calls.
//!
//! No Landlock: in a domain of it the kernel lets a process look at none
//! outside (hook_ptrace_access_check(), security/landlock/task.c), which is
//! what perf_event_open(2) asks first of a task.

mod filter;

use std::io;

use rustix::process::{
    DumpableBehavior, Pid, Resource, Rlimit, Signal, getppid, set_dumpable_behavior,
    set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};

use crate::credentials::Credentials;
pub(crate) use filter::FileAccess;

/// Locked memory that one user's rings may have, bytes.
const LOCKED: u64 = 64 * 1024 * 1024;

/// Gives up all rights but the user's, for good. For a process with one
/// thread: those it makes have no more.
pub(crate) fn confine(user: &Credentials, supervisor: Pid, files: FileAccess) -> io::Result<()> {
    // Rings are locked memory. Without the right to raise it the limit stays
    // as it was, and rings get smaller, which is said.
    let locked = Rlimit { current: Some(LOCKED), maximum: Some(LOCKED) };
    let _as_it_was = setrlimit(Resource::Memlock, locked);
    // Samples are never in a core file; so their pages need no MADV_DONTDUMP.
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    user.assume()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    // Other ids make it what fs.suid_dumpable says.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // They undo this, too.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(supervisor) {
        return Err(io::Error::other("the supervisor has gone"));
    }
    set_no_new_privs(true)?;
    filter::apply(files)
}

#[cfg(test)]
mod tests;
