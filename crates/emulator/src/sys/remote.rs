//! Other processes: their memory, read and written by their id, and waking
//! who sleeps at a word, in whatever process.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::AtomicU64;

/// Reads into `out` from `address` of process `pid`; bytes read, which are
/// fewer than asked for where a page is not readable.
pub(crate) fn read(pid: i32, address: u64, out: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast::<c_void>(), iov_len: out.len() };
    let remote = remote(address, out.len())?;
    // SAFETY: writes at most `out.len()` bytes, to `out`.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}

/// Writes all of `bytes` to `address` of process `pid`, which must be
/// writable there.
pub(crate) fn write(pid: i32, address: u64, bytes: &[u8]) -> io::Result<()> {
    let start = bytes.as_ptr().cast_mut().cast::<c_void>();
    let local = libc::iovec { iov_base: start, iov_len: bytes.len() };
    let remote = remote(address, bytes.len())?;
    // SAFETY: only reads `bytes`.
    let sent =
        unsafe { libc::process_vm_writev(pid, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(sent) {
        Ok(sent) if sent == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

fn remote(address: u64, bytes: usize) -> io::Result<libc::iovec> {
    let address = usize::try_from(address).map_err(io::Error::other)?;
    Ok(libc::iovec { iov_base: ptr::without_provenance_mut(address), iov_len: bytes })
}

/// Wakes one that sleeps at the lower half of a word.
pub(crate) fn wake(word: &AtomicU64) {
    // SAFETY: the kernel reads nothing at the address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}
