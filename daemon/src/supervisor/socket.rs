//! The socket that clients connect to.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why the socket cannot be listened at.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another daemon does.
    #[error(
        "{}: another daemon listens here; end it first, or give another --socket",
        .path.display()
    )]
    Taken {
        /// The socket's path.
        path: PathBuf,
    },
    /// Something else has that name.
    #[error("{}: there is a file of that name that is no socket; remove it", .path.display())]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// Others could put a socket of theirs in its place.
    #[error(
        "{}: anybody may write to its directory, and could take the socket's place; put it into \
         another",
        .path.display()
    )]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// A call failed.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// What the call said.
        error: io::Error,
    },
}

/// Listens. Everybody may connect where the daemon serves everybody, as who
/// they are decides what they may; an ordinary user's is theirs alone.
pub(super) fn listen(path: &Path, uid: u32) -> Result<UnixListener, SocketError> {
    let owned = || path.to_owned();
    let io = |error| SocketError::Io { path: owned(), error };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = fs::metadata(parent.unwrap_or(Path::new("."))).map_err(io)?;
    // Writable for all and not sticky: names in it are anybody's.
    if parent.mode() & 0o1002 == 0o0002 {
        return Err(SocketError::Directory { path: owned() });
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(SocketError::NoSocket { path: owned() });
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(SocketError::Taken { path: owned() });
        }
        // Left behind by a daemon that was killed.
        Ok(_) => fs::remove_file(path).map_err(io)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    let listener = UnixListener::bind(path).map_err(io)?;
    let mode = if uid == 0 { 0o666 } else { 0o600 };
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(io)?;
    listener.set_nonblocking(true).map_err(io)?;
    Ok(listener)
}

/// Takes the socket away, if it is still this one.
pub(super) fn unlink(path: &Path, listener: &UnixListener) {
    let is_ours = listener
        .local_addr()
        .is_ok_and(|address| address.as_pathname().is_some_and(|bound| bound == path));
    if is_ours {
        // Somebody may have been quicker.
        let _gone = fs::remove_file(path);
    }
}
