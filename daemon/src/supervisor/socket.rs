//! The socket that clients connect to.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use listenfd::ListenFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::directory::{DirectoryError, TrustedDirectory};
use crate::sys::peer::take_descriptors;

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error(
        "{}: another daemon listens here; end it first, or give another --socket",
        .path.display()
    )]
    Taken { path: PathBuf },
    #[error("{}: there is a file of that name that is no socket; remove it", .path.display())]
    NoSocket { path: PathBuf },
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// What the service manager passes is no such socket.
    #[error("LISTEN_FDS: {0}; ebsd.socket must have a ListenStream= of a path, and nothing else")]
    Passed(io::Error),
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

#[derive(Debug)]
pub(super) struct BoundSocket {
    pub(super) listener: UnixListener,
    /// Its name, device and inode, where it was made here.
    made: Option<(PathBuf, (u64, u64))>,
}

/// Listens at the socket that the service manager has passed, or else at one
/// of this path.
pub(super) fn listen(path: &Path, uid: u32) -> Result<BoundSocket, SocketError> {
    let io = |error| SocketError::Io { path: path.to_owned(), error };
    let passed = ListenFd::from_env().take_unix_listener(0).map_err(SocketError::Passed)?;
    let (listener, made) = match passed {
        Some(listener) => {
            // Connections made before it was passed keep their setting.
            let _before_6_16 = take_descriptors(&listener, false);
            (listener, None)
        }
        None => {
            // Everybody may connect where the daemon serves everybody, as who
            // they are decides what they may; an ordinary user's is theirs.
            let mode = if uid == 0 { 0o666 } else { 0o600 };
            let listener = bind_with_mode(path, mode)?;
            (listener, Some((path.to_owned(), identity(path).map_err(io)?)))
        }
    };
    listener.set_nonblocking(true).map_err(io)?;
    Ok(BoundSocket { listener, made })
}

pub(super) fn bind_with_mode(path: &Path, mode: u32) -> Result<UnixListener, SocketError> {
    let owned = || path.to_owned();
    let io = |error| SocketError::Io { path: owned(), error };
    TrustedDirectory::of(path, "a socket")?;
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(SocketError::NoSocket { path: owned() });
        }
        Ok(_) if is_listened_at(path) => return Err(SocketError::Taken { path: owned() }),
        // Left behind by a daemon that was killed.
        Ok(_) => fs::remove_file(path).map_err(io)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    let listener = UnixListener::bind(path).map_err(io)?;
    // Before anybody else can connect: nobody who does has anything to give.
    let _before_6_16 = take_descriptors(&listener, false);
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(io)?;
    Ok(listener)
}

fn is_listened_at(path: &Path) -> bool {
    let Ok(address) = SocketAddrUnix::new(path) else { return false };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let Ok(socket) = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None) else {
        return true;
    };
    match connect(&socket, &address) {
        // Its queue is full.
        Ok(()) | Err(Errno::AGAIN) => true,
        Err(_) => false,
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

impl BoundSocket {
    /// Takes the socket's name away that was made here, if it is still this
    /// one.
    pub(super) fn unlink(self) -> UnixListener {
        if let Some((path, made)) = self.made
            && identity(&path).is_ok_and(|found| found == made)
        {
            // Somebody may have been quicker.
            let _gone = fs::remove_file(path);
        }
        self.listener
    }
}
