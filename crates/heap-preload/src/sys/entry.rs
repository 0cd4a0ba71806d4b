//! Where a function of the allocator was called.

/// What `hooks` leaves on the stack of a call that takes the slow way.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Entry {
    pub(super) first: u64,
    pub(super) second: u64,
    pub(super) third: u64,
    /// As they were when the function was entered, `perfdata::heap_log::REGISTERS`.
    pub(super) registers: [u64; 8],
}

/// The same of a function that takes more arguments.
#[derive(Debug)]
#[repr(C)]
pub(super) struct LongEntry {
    pub(super) entry: Entry,
    pub(super) fourth: u64,
    pub(super) fifth: u64,
    pub(super) sixth: u64,
}

const _: () = assert!(size_of::<LongEntry>() == 112);

impl Entry {
    /// What the stack pointer was: the return address is there.
    pub(super) fn sp(&self) -> u64 {
        let [_, sp, ..] = self.registers;
        sp
    }
}
