//! What each thread keeps. In the initial TLS block, which needs no call to be found and no
//! allocation to be there.

use std::arch::{asm, global_asm};
use std::cell::Cell;

use crate::draw::ByteCountdown;

global_asm!(
    ".pushsection .tbss.hardmeter_heap_thread,\"awT\",@nobits",
    ".balign 8",
    ".globl hardmeter_heap_thread",
    ".hidden hardmeter_heap_thread",
    ".type hardmeter_heap_thread,@object",
    ".size hardmeter_heap_thread, 32",
    "hardmeter_heap_thread:",
    ".skip 32",
    ".popsection",
);

/// Zeros at first.
#[repr(C)]
pub(super) struct HeapThread {
    /// A block of as many bytes as its first word says, or more, takes the slow way: `hooks`
    /// counts down there.
    pub(super) countdown: ByteCountdown,
    /// Of the generator; 0: nothing was drawn yet.
    pub(super) random: Cell<u64>,
    /// Not 0: what is called now is our own doing.
    pub(super) inside: Cell<u64>,
}

const _: () = assert!(size_of::<HeapThread>() == 32);

#[inline]
pub(super) fn thread() -> *const HeapThread {
    let at: *const HeapThread;
    // SAFETY: reads the thread's pointer to itself (fs:0, x86-64 TLS ABI) and a constant that the
    // loader wrote.
    unsafe {
        asm!(
            "mov {at}, qword ptr fs:[0]",
            "add {at}, qword ptr [rip + hardmeter_heap_thread@GOTTPOFF]",
            at = out(reg) at,
            options(nostack, readonly),
        );
    }
    at
}
