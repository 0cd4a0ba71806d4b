//! Process numbers of other pid namespaces (ioctl_nsfs(2)).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// NS_GET_PID_FROM_PIDNS of include/uapi/linux/nsfs.h, Linux 6.11.
pub(crate) const PID_FROM_NAMESPACE: u32 = 0x8004_b706;

/// The number in this process's pid namespace of the process that is `pid` in
/// that one.
///
/// # Errors
/// ESRCH: there is none, or none that has a number here. ENOTTY: the kernel
/// is older than Linux 6.11.
pub(crate) fn number_here(namespace: &impl AsFd, pid: i32) -> io::Result<i32> {
    let descriptor = namespace.as_fd().as_raw_fd();
    // SAFETY: the request takes a number and no pointer.
    let number = unsafe { libc::ioctl(descriptor, libc::Ioctl::from(PID_FROM_NAMESPACE), pid) };
    match number {
        number if number > 0 => Ok(number),
        0 => Err(rustix::io::Errno::SRCH.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_ones_own_namespace_numbers_are_the_same() {
        let own = std::fs::File::open("/proc/self/ns/pid").unwrap();
        let pid = std::process::id().cast_signed();
        match number_here(&own, pid) {
            Ok(number) => assert_eq!(number, pid),
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::ENOTTY), "{error}"),
        }
        assert!(number_here(&own, i32::MAX).is_err());
    }
}
