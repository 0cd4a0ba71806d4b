//! A file that a command's name may mean, by one look at it.

use std::ffi::CStr;

use rustix::fs::Stat;
use rustix::process::{getegid, geteuid};

/// What one of the paths that execvp(3) would try leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Type and permissions; all bits set where they cannot be looked at,
    /// which is for execve(2) to judge.
    pub(super) mode: u32,
    /// Whether it is set-user-ID or set-group-ID of somebody else.
    pub(super) changes_user: Option<bool>,
}

impl Found {
    /// None: there is no such file.
    pub(super) fn at(path: &CStr) -> Option<Found> {
        match rustix::fs::stat(path) {
            Ok(stat) => Some(Found { mode: stat.st_mode, changes_user: Some(changes_user(&stat)) }),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => None,
            Err(_) => Some(Found { mode: u32::MAX, changes_user: None }),
        }
    }
}

fn changes_user(stat: &Stat) -> bool {
    let set = |bit: u32| stat.st_mode & bit != 0;
    let user = set(libc::S_ISUID) && stat.st_uid != geteuid().as_raw();
    // Without the right to execute it marks mandatory locks.
    let group = set(libc::S_ISGID) && set(libc::S_IXGRP) && stat.st_gid != getegid().as_raw();
    user || group
}
