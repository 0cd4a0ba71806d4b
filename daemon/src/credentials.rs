//! As whom a client is served: what the kernel compares when a process looks
//! at another, taken once, when the connection was made.

use std::io;
use std::os::fd::AsFd;

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::broker::{is_alive, pid_of};
use crate::sys::peer;

/// Ids of a process.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Credentials {
    /// User.
    pub(crate) uid: u32,
    /// Group.
    pub(crate) gid: u32,
    /// Supplementary groups, ascending.
    pub(crate) groups: Vec<u32>,
}

/// A user that nobody can be served as.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unknown {
    /// It has no id in this user namespace.
    #[error("a user that has no id here")]
    Unmapped,
    /// Its rights are not those of its ids: the kernel compares namespaces,
    /// too.
    #[error("a process of another user namespace, or one that has ended since it connected")]
    Namespace,
    /// The socket does not say.
    #[error("the socket does not say whose it is: {0}")]
    Socket(#[from] io::Error),
}

impl Credentials {
    /// Of the peer of a connection.
    pub(crate) fn of_peer(socket: &impl AsFd) -> Result<Credentials, Unknown> {
        let peer = socket_peercred(socket).map_err(io::Error::from)?;
        let (uid, gid) = (peer.uid.as_raw(), peer.gid.as_raw());
        if [uid, gid].contains(&u32::MAX) {
            return Err(Unknown::Unmapped);
        }
        if !is_of_this_namespace(socket) {
            return Err(Unknown::Namespace);
        }
        let mut groups = peer::groups(socket)?;
        groups.sort_unstable();
        groups.dedup();
        Ok(Credentials { uid, gid, groups })
    }

    /// Of this process.
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

/// Whether the peer is in this process's user namespace. Older kernels
/// (before Linux 6.5) do not say which process it is: then it is not.
fn is_of_this_namespace(socket: &impl AsFd) -> bool {
    let Ok(pidfd) = peer::pidfd(socket) else { return false };
    let Some(pid) = pid_of(pidfd.as_fd()) else { return false };
    let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/user")).ok();
    let (theirs, ours) = (namespace(&pid.to_string()), namespace("self"));
    // Alive still: the number was that process's when the link was read.
    theirs.is_some() && theirs == ours && is_alive(pidfd.as_fd())
}
