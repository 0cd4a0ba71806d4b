//! Giving a target a file of ours to map.
//!
//! A socket carries it (SCM_RIGHTS), one end of a pair that the target makes
//! and the tracer takes from it (pidfd_getfd(2), Linux 5.6). That needs
//! no /proc in the target: its pid, mount and user namespace and its user may
//! be any. Where it is not to be had the target opens the file through
//! /proc/PID/fd, for which it must see the tracer, and be allowed to look
//! at it.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Resource, Rlimit, pidfd_getfd, pidfd_open, prlimit,
};

use super::injection::Injection;
use super::limits::limit;
use super::maps::PAGE;
use super::status;
use super::task::TaskError;
use crate::sys::mapping::SharedMemory;
use crate::sys::remote;

/// A mapping of a file: address, offset, bytes, PROT_* bits.
pub(crate) type MappingRequest = (u64, usize, usize, u64);

const READ_WRITE: u64 = 3;
/// MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE.
const SHARED_THERE: u64 = 0x01 | 0x10_0000 | 0x4000;
/// MAP_PRIVATE | MAP_ANONYMOUS.
const ANONYMOUS: u64 = 0x22;
const AF_UNIX: u64 = 1;
/// SOCK_DGRAM | SOCK_CLOEXEC.
const DATAGRAMS: u64 = 2 | 0o2_000_000;
/// MSG_CMSG_CLOEXEC | MSG_DONTWAIT.
const AT_ONCE: u64 = 0x4000_0040;

pub(crate) fn map_file(
    calls: &mut Injection,
    tid: i32,
    file: &SharedMemory,
    requests: &[MappingRequest],
) -> Result<(), TaskError> {
    let scratch = calls.checked(libc::SYS_mmap, &[0, PAGE, READ_WRITE, ANONYMOUS, u64::MAX, 0])?;
    let mut lent = bring(calls, tid, file, scratch);
    if let Err(TaskError::Broken(_)) = lent
        && let Ok(before) = more_files(tid)
    {
        lent = bring(calls, tid, file, scratch);
        set_files(tid, before)?;
    }
    calls.checked(libc::SYS_munmap, &[scratch, PAGE])?;
    let fd = lent?;
    let mut result = Ok(());
    for (address, offset, bytes, protection) in requests {
        let arguments = [*address, *bytes as u64, *protection, SHARED_THERE, fd, *offset as u64];
        result = calls.checked(libc::SYS_mmap, &arguments).map(|_| ());
        if result.is_err() {
            break;
        }
    }
    calls.checked(libc::SYS_close, &[fd])?;
    result
}

/// The number that the file has in the target, which got it one way or the
/// other.
fn bring(
    calls: &mut Injection,
    tid: i32,
    file: &SharedMemory,
    scratch: u64,
) -> Result<u64, TaskError> {
    match pass_fd(calls, tid, file, scratch) {
        Err(TaskError::Broken(not_lent)) => open(calls, tid, file, scratch)
            .map_err(|error| error.doing(&format!("{not_lent}; opening it through /proc instead"))),
        lent => lent,
    }
}

/// Lets a process that has all files open that it may have some more; what
/// its limits were. Beyond the hard one that is root's right.
fn more_files(tid: i32) -> io::Result<Rlimit> {
    const MORE: u64 = 16;
    let before = limit(tid, "Max open files")?;
    let open = std::fs::read_dir(format!("/proc/{tid}/fd"))?.flatten();
    let highest = open.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok()).max();
    let wanted = highest.unwrap_or(0) + MORE;
    let maximum = before.maximum.map(|maximum| maximum.max(wanted));
    set_files(tid, Rlimit { current: Some(wanted), maximum })?;
    Ok(before)
}

fn set_files(tid: i32, limits: Rlimit) -> io::Result<()> {
    let pid = Pid::from_raw(tid).ok_or(io::ErrorKind::NotFound)?;
    prlimit(Some(pid), Resource::Nofile, limits)?;
    Ok(())
}

/// The number that the file has in the target, which got it by a socket.
fn pass_fd(
    calls: &mut Injection,
    tid: i32,
    file: &SharedMemory,
    scratch: u64,
) -> Result<u64, TaskError> {
    calls.checked(libc::SYS_socketpair, &[AF_UNIX, DATAGRAMS, 0, scratch])?;
    let mut pair = [0; 8];
    if remote::read(tid, scratch, &mut pair)? < pair.len() {
        return Err(TaskError::Broken("the pair of sockets could not be read".into()));
    }
    let [ours, theirs] = [u64::from_le_bytes(pair) & 0xffff_ffff, u64::from_le_bytes(pair) >> 32];
    let fd = take(tid, ours)
        .and_then(|socket| send(&socket, file))
        .map_err(|error| TaskError::from(error).doing("sending a file to the target"))
        .and_then(|()| receive(calls, tid, theirs, scratch));
    for end in [ours, theirs] {
        calls.checked(libc::SYS_close, &[end])?;
    }
    fd
}

fn take(tid: i32, fd: u64) -> io::Result<OwnedFd> {
    let leader = status::status(tid)?.process;
    let leader = Pid::from_raw(leader).ok_or(io::ErrorKind::NotFound)?;
    let process = pidfd_open(leader, PidfdFlags::empty())?;
    let number = i32::try_from(fd).map_err(io::Error::other)?;
    let taken = pidfd_getfd(process.as_fd(), number, PidfdGetfdFlags::empty())?;
    // A thread may have files of its own, in which the number is another's.
    let meant = std::fs::metadata(format!("/proc/{tid}/fd/{fd}"))?.ino();
    if rustix::fs::fstat(&taken)?.st_ino != meant {
        return Err(io::Error::other("the thread shares no files with its process"));
    }
    Ok(taken)
}

fn send(socket: &OwnedFd, file: &SharedMemory) -> io::Result<()> {
    let files = [file.file()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(socket, &[IoSlice::new(b"!")], &mut control, flags)?;
    Ok(())
}

fn receive(calls: &mut Injection, tid: i32, from: u64, scratch: u64) -> Result<u64, TaskError> {
    let message = message(scratch);
    remote::write(tid, scratch, message.as_flattened())?;
    calls.checked(libc::SYS_recvmsg, &[from, scratch, AT_ONCE])?;
    let mut control = [0; 24];
    let read = remote::read(tid, scratch + CONTROL, &mut control)?;
    received(control.get(..read).unwrap_or_default())
        .ok_or_else(|| TaskError::Broken("the file did not arrive in the target".into()))
}

/// Where the parts of the message are in the scratch page.
const BYTES: u64 = 56;
const DATA: u64 = 72;
const CONTROL: u64 = 80;
/// Of one file (CMSG_SPACE(4)).
const CONTROL_LEN: u64 = 24;

/// struct msghdr, the iovec behind it and zeroes, to lie at `scratch`.
fn message(scratch: u64) -> [[u8; 8]; 13] {
    let words = [
        0,
        0,
        scratch + BYTES,
        1,
        scratch + CONTROL,
        CONTROL_LEN,
        0,
        scratch + DATA,
        1,
        0,
        0,
        0,
        0,
    ];
    words.map(u64::to_le_bytes)
}

/// The number in a control message of SCM_RIGHTS: its length, SOL_SOCKET,
/// SCM_RIGHTS, the number.
fn received(control: &[u8]) -> Option<u64> {
    let kind = control.get(8..16)?;
    let number = control.get(16..20)?.try_into().ok()?;
    (kind == [1, 0, 0, 0, 1, 0, 0, 0]).then(|| u64::from(u32::from_le_bytes(number)))
}

/// The same, by its name in /proc.
fn open(
    calls: &mut Injection,
    tid: i32,
    file: &SharedMemory,
    scratch: u64,
) -> Result<u64, TaskError> {
    let path = format!("/proc/{}/fd/{}\0", std::process::id(), file.file().as_raw_fd());
    remote::write(tid, scratch, path.as_bytes())?;
    let flags = u64::from((libc::O_RDWR | libc::O_CLOEXEC).cast_unsigned());
    let directory = i64::from(libc::AT_FDCWD).cast_unsigned();
    calls.checked(libc::SYS_openat, &[directory, scratch, flags, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_message_do_not_overlap() {
        let message = message(0x1000);
        let bytes = message.as_flattened();
        let word = |at: u64| {
            let at = usize::try_from(at).unwrap();
            u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
        };
        assert_eq!(word(16), 0x1000 + BYTES, "msg_iov");
        assert_eq!((word(BYTES), word(BYTES + 8)), (0x1000 + DATA, 1), "the iovec");
        assert_eq!((word(32), word(40)), (0x1000 + CONTROL, CONTROL_LEN), "msg_control");
        assert_eq!(bytes.len() as u64, CONTROL + CONTROL_LEN);
    }

    #[test]
    fn only_a_message_with_a_file_gives_a_number() {
        let mut control = [0; 24];
        assert_eq!(received(&control), None);
        control[..20]
            .copy_from_slice(&[20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(received(&control), Some(7));
        assert_eq!(received(&control[..18]), None);
    }
}
