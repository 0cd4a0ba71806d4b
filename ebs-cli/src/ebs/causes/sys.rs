//! The edge to the kernel.

use std::io;

/// ADDR_NO_RANDOMIZE of personality(2).
const FIXED: libc::c_ulong = 0x0004_0000;
/// Asks for what it is.
const QUERY: libc::c_ulong = 0xffff_ffff;

/// Has the programs that this one starts from now on have the same addresses in
/// each run.
///
/// # Errors
/// Of personality(2), where a filter forbids it.
pub(super) fn fix_addresses() -> io::Result<()> {
    // SAFETY: personality(2) takes a number, and touches no memory.
    let was = unsafe { libc::personality(QUERY) };
    let wanted = libc::c_ulong::try_from(was).map_err(|_| io::Error::last_os_error())? | FIXED;
    // SAFETY: as above.
    let done = unsafe { libc::personality(wanted) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
