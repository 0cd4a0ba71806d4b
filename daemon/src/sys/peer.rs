//! Who is at the other end of a Unix socket, as the kernel noted it when the
//! connection was made (SO_PEERGROUPS, SO_PEERPIDFD; unix(7)).

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Groups that setgroups(2) takes at most.
const MAX_GROUPS: usize = 65536;

pub(crate) fn groups(socket: &impl AsFd) -> io::Result<Vec<u32>> {
    let mut groups = vec![0u32; 64];
    loop {
        let mut bytes = u32::try_from(groups.len() * size_of::<u32>()).map_err(io::Error::other)?;
        // SAFETY: the buffer has as many bytes as `bytes` says, and both
        // outlive the call.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut bytes,
            )
        };
        let told = usize::try_from(bytes).map_err(io::Error::other)? / size_of::<u32>();
        if result == 0 {
            groups.truncate(told);
            return Ok(groups);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::ERANGE) || told <= groups.len() || told > MAX_GROUPS {
            return Err(error);
        }
        groups.resize(told, 0);
    }
}

/// SO_PASSRIGHTS of include/uapi/asm-generic/socket.h, Linux 6.16.
const SO_PASSRIGHTS: i32 = 83;

/// Whether descriptors may be sent to this socket; those that connect to it,
/// where it listens, begin with its setting. What is never taken out of a
/// socket is closed with it, which another's descriptor can make last as long
/// as they like.
///
/// # Errors
/// ENOPROTOOPT before Linux 6.16: they always may.
pub(crate) fn take_descriptors(socket: &impl AsFd, take: bool) -> io::Result<()> {
    let value = i32::from(take);
    let length = u32::try_from(size_of_val(&value)).map_err(io::Error::other)?;
    // SAFETY: the kernel reads one i32, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PASSRIGHTS,
            (&raw const value).cast(),
            length,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn option(socket: &impl AsFd, name: i32) -> io::Result<i32> {
    let mut value: i32 = -1;
    let mut bytes = u32::try_from(size_of_val(&value)).map_err(io::Error::other)?;
    // SAFETY: the kernel writes one i32 to `value`, which outlives the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            (&raw mut value).cast(),
            &raw mut bytes,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// Whether descriptors may be sent to this socket: true also where the kernel
/// does not tell (before Linux 6.16).
pub(crate) fn takes_descriptors(socket: &impl AsFd) -> bool {
    option(socket, SO_PASSRIGHTS).map_or(true, |value| value != 0)
}

/// SO_PEERPIDFD of include/uapi/asm-generic/socket.h, Linux 6.5.
const SO_PEERPIDFD: i32 = 77;

/// The process that connected, which may have ended since.
pub(crate) fn pidfd(socket: &impl AsFd) -> io::Result<OwnedFd> {
    let fd = option(socket, SO_PEERPIDFD)?;
    // SAFETY: the kernel just made this descriptor; nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
