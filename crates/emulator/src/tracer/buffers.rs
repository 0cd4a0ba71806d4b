//! System calls that write to the program's memory, and by that use up what
//! they read: made again after -EFAULT, they would read what comes next.

use std::ops::Range;

use crate::sys::remote;

/// Those that are looked at where pages of code are write-protected.
pub(crate) const READS: [i64; 9] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_getdents64,
    libc::SYS_process_vm_readv,
];

/// Pieces that a vector of them has at most (UIO_MAXIOV).
const PIECES: u64 = 1024;

/// Where a call of [`READS`] writes to, from its second and third argument.
/// Empty for others.
pub(crate) fn ranges(tid: i32, number: i64, start: u64, count: u64) -> Vec<Range<u64>> {
    match number {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_recvfrom | libc::SYS_getdents64 => {
            [[start, count]].map(range).into()
        }
        libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 | libc::SYS_process_vm_readv => {
            pieces(tid, start, count)
        }
        libc::SYS_recvmsg => {
            // msg_iov and msg_iovlen of struct msghdr.
            let mut words = [0; 16];
            let read = remote::read(tid, start.wrapping_add(16), &mut words);
            if read.is_ok_and(|read| read == words.len()) {
                let [start, count] = pair(words);
                pieces(tid, start, count)
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

/// The ranges that `count` structs iovec name.
pub(crate) fn pieces(tid: i32, address: u64, count: u64) -> Vec<Range<u64>> {
    let count = usize::try_from(count.min(PIECES)).unwrap_or(0);
    let mut bytes = vec![0; 16 * count];
    let read = remote::read(tid, address, &mut bytes).unwrap_or(0);
    let whole = bytes.get(..read).unwrap_or_default().as_chunks().0;
    whole.iter().map(|words| range(pair(*words))).collect()
}

fn range([start, length]: [u64; 2]) -> Range<u64> {
    start..start.saturating_add(length)
}

fn pair(words: [u8; 16]) -> [u64; 2] {
    let both = u128::from_le_bytes(words);
    let low = u64::try_from(both & u128::from(u64::MAX)).unwrap_or(0);
    [low, u64::try_from(both >> 64).unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_from_memory() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let vector = [0x1000_u64, 0x20, 0x7000, u64::MAX];
        let at = vector.as_ptr().addr() as u64;
        assert_eq!(ranges(pid, libc::SYS_readv, at, 2), [0x1000..0x1020, 0x7000..u64::MAX]);
        let message = [0, 0, at, 1, 0, 0, 0_u64];
        let at = message.as_ptr().addr() as u64;
        assert_eq!(ranges(pid, libc::SYS_recvmsg, at, 0).first(), Some(&(0x1000..0x1020)));
        assert_eq!(ranges(pid, libc::SYS_write, at, 9), []);
        assert_eq!(ranges(pid, libc::SYS_readv, 0, 2), [], "nothing is there");
    }
}
