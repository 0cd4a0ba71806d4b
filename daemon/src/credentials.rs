//! As whom a client is served: what the kernel compares when a process looks
//! at another, taken once, when the connection was made.

use std::fs::{File, read_link};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use recorder::machine::process_identity::{is_alive, pid_of};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::sys::peer;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Credentials {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Supplementary groups, ascending.
    pub(crate) groups: Vec<u32>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialsError {
    /// It has no id in this user namespace.
    #[error("a user that has no id here")]
    Unmapped,
    /// Its rights are not those of its ids: the kernel compares namespaces,
    /// too.
    #[error("a process of another user namespace, or one that has ended since it connected")]
    Namespace,
    /// The kernel does not say which process it is, so neither which user
    /// namespace that is in.
    #[error(
        "a process of which this kernel does not say which it is: ebsd serves nobody before Linux \
         6.5 (SO_PEERPIDFD); without it ebs samples with its user's own rights (--no-daemon)"
    )]
    OldKernel,
    #[error("the socket does not say whose it is: {0}")]
    Socket(#[from] io::Error),
}

impl Credentials {
    /// Of the peer of a connection, and its pid namespace where that is
    /// another than this process's.
    pub(crate) fn of_peer(
        socket: &impl AsFd,
    ) -> Result<(Credentials, Option<OwnedFd>), CredentialsError> {
        let peer = socket_peercred(socket).map_err(io::Error::from)?;
        let (uid, gid) = (peer.uid.as_raw(), peer.gid.as_raw());
        if [uid, gid].contains(&u32::MAX) {
            return Err(CredentialsError::Unmapped);
        }
        let pidfd = peer::pidfd(socket).map_err(of_kernel)?;
        let namespace = of_this_namespace(&pidfd).ok_or(CredentialsError::Namespace)?;
        let mut groups = peer::groups(socket)?;
        groups.sort_unstable();
        groups.dedup();
        Ok((Credentials { uid, gid, groups }, namespace))
    }

    pub(crate) fn own() -> io::Result<Credentials> {
        let mut groups: Vec<u32> =
            rustix::process::getgroups()?.into_iter().map(Gid::as_raw).collect();
        groups.sort_unstable();
        groups.dedup();
        let (uid, gid) = (rustix::process::getuid(), rustix::process::getgid());
        Ok(Credentials { uid: uid.as_raw(), gid: gid.as_raw(), groups })
    }

    /// Becomes that user, for good, in all three ids of each kind. Of a
    /// process with one thread. Does nothing where nothing differs.
    pub(crate) fn assume(&self) -> io::Result<()> {
        if Credentials::own()? == *self {
            return Ok(());
        }
        let groups: Vec<Gid> = self.groups.iter().map(|&group| Gid::from_raw(group)).collect();
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&groups)?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        Ok(())
    }
}

/// Why there is no descriptor of the peer's process: unix(7)'s option is not
/// known, or the process has been waited for.
fn of_kernel(error: io::Error) -> CredentialsError {
    match error.raw_os_error() {
        Some(libc::ENOPROTOOPT) => CredentialsError::OldKernel,
        _ => CredentialsError::Namespace,
    }
}

/// The pid namespace of the peer that this names, unless it is this process's
/// too; None: the peer is in another user namespace, or has ended.
fn of_this_namespace(pidfd: &OwnedFd) -> Option<Option<OwnedFd>> {
    let pid = pid_of(pidfd.as_fd())?;
    let link = |process: &str, kind: &str| read_link(format!("/proc/{process}/ns/{kind}")).ok();
    let theirs = pid.to_string();
    if link(&theirs, "user")? != link("self", "user")? {
        return None;
    }
    let namespace = match link(&theirs, "pid")? == link("self", "pid")? {
        true => None,
        false => Some(File::open(format!("/proc/{pid}/ns/pid")).ok()?.into()),
    };
    // Alive still: the number was that process's when the links were read.
    is_alive(pidfd.as_fd()).then_some(namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_kernel_is_not_blamed_on_the_user() {
        let said = |errno| of_kernel(io::Error::from_raw_os_error(errno)).to_string();
        assert!(said(libc::ENOPROTOOPT).contains("serves nobody before Linux 6.5"));
        assert!(said(libc::ESRCH).contains("has ended since it connected"));
    }
}
