//! Which node memory comes from.

use super::MemoryRegion;
use std::io;

/// Bits of a mask of nodes: all that a kernel can have (its CONFIG_NODES_SHIFT
/// is 10 at most).
const NODES: u32 = 1024;

/// Pages of a region that are not touched yet come from that node alone.
///
/// # Errors
/// There is no such node, this process may not use it, or the kernel knows
/// none.
pub(crate) fn bind(region: &mut MemoryRegion, node: u32) -> io::Result<()> {
    let mut mask = [0_u64; NODES as usize / 64];
    let word = usize::try_from(node / 64).unwrap_or(usize::MAX);
    *mask.get_mut(word).ok_or(io::ErrorKind::InvalidInput)? |= 1 << (node % 64);
    // SAFETY: the range is a mapping of ours, `mask` has as many bits as is
    // said (the kernel takes one less), and no page is moved or freed.
    let bound = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            region.start(),
            region.bytes(),
            libc::MPOL_BIND,
            mask.as_ptr(),
            u64::from(NODES) + 1,
            0,
        )
    };
    if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
