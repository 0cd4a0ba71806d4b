//! Entry points by name, and the functions that a compiler may call of its
//! own accord.

use core::arch::asm;

use crate::runtime::guest::sys as target;

/// See [`target::access`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn access(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { target::access(block) }
}

/// See [`target::quick`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quick(block: *mut u8, address: u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { target::quick(block, address) }
}

/// See [`target::record`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn record(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { target::record(block) }
}

/// See [`target::lookup`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lookup(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { target::lookup(block) }
}

/// See [`target::turn`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turn(block: *mut u8) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { target::turn(block) }
}

/// memcpy(3).
///
/// # Safety
/// As its manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: both ranges are the caller's; DF is clear by the ABI.
    unsafe {
        asm!("rep movsb", inout("rcx") length => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
    }
    to
}

/// memset(3).
///
/// # Safety
/// As its manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, byte: i32, length: usize) -> *mut u8 {
    // SAFETY: the range is the caller's; DF is clear by the ABI.
    unsafe {
        asm!("rep stosb", inout("rcx") length => _, inout("rdi") to => _, in("eax") byte,
            options(nostack, preserves_flags));
    }
    to
}
