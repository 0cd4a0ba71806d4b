//! The functions that programs call. What is not sampled goes on to the allocator by a jump: it
//! sees its caller's stack and registers, and so does whoever profiles it.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

use super::mappings;
use super::real::{
    ALIGNED_ALLOC, CALLOC, FREE, MALLOC, MEMALIGN, POSIX_MEMALIGN, PVALLOC, REALLOC, VALLOC,
};
use super::slow::{self, LIVE};
use crate::live::{FACTOR, FILTER_SHIFT};

/// Writes an `Entry` at the stack pointer, of so many bytes that were made there; label 3 is where
/// the function begins.
macro_rules! entry_words {
    ($bytes:literal) => {
        concat!(
            "mov qword ptr [rsp], rdi\n",
            "mov qword ptr [rsp + 8], rsi\n",
            "mov qword ptr [rsp + 16], rdx\n",
            "lea rax, [rip + 3b]\n",
            "mov qword ptr [rsp + 24], rax\n",
            "lea rax, [rsp + ",
            $bytes,
            "]\n",
            "mov qword ptr [rsp + 32], rax\n",
            "mov qword ptr [rsp + 40], rbp\n",
            "mov qword ptr [rsp + 48], rbx\n",
            "mov qword ptr [rsp + 56], r12\n",
            "mov qword ptr [rsp + 64], r13\n",
            "mov qword ptr [rsp + 72], r14\n",
            "mov qword ptr [rsp + 80], r15",
        )
    };
}

/// A function of C by what judges its calls, in assembly: on to `real`, or to label 2 and there to
/// `slow`, with an `Entry` and an aligned stack.
macro_rules! hook {
    (
        $name:ident($($argument:ident: $type:ty),*) -> $result:ty, $real:path, $slow:path,
        [$($judge:expr),+] $(, $live:path)?
    ) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            naked_asm!(
                ".cfi_startproc",
                "3:",
                $($judge,)+
                "jmp qword ptr [rip + {real}]",
                "2:",
                "lea rsp, [rsp - 88]",
                ".cfi_adjust_cfa_offset 88",
                entry_words!(88),
                "mov rdi, rsp",
                "call {slow}",
                "lea rsp, [rsp + 88]",
                ".cfi_adjust_cfa_offset -88",
                "ret",
                ".cfi_endproc",
                real = sym $real,
                slow = sym $slow,
                $(
                    live = sym $live,
                    factor = const FACTOR,
                    shift = const FILTER_SHIFT,
                )?
            )
        }
    };
}

/// Counts down by the bytes in a register, where more than these are left.
macro_rules! count_down {
    ($bytes:literal) => {
        concat!(
            "mov r11, qword ptr [rip + hardmeter_heap_thread@GOTTPOFF]\n",
            "mov r10, qword ptr fs:[r11]\n",
            "cmp r10, ",
            $bytes,
            "\n",
            "jbe 2f\n",
            "sub r10, ",
            $bytes,
            "\n",
            "mov qword ptr fs:[r11], r10\n",
        )
    };
}

/// A block in rdi that may have been told of takes the slow way, as `LiveBlocks::may_hold`.
macro_rules! look_up {
    () => {
        concat!(
            "mov rax, rdi\n",
            "shr rax, 4\n",
            "movabs r11, {factor}\n",
            "imul rax, r11\n",
            "shr rax, {shift}\n",
            "lea r11, [rip + {live}]\n",
            "cmp byte ptr [r11 + rax], 0\n",
            "jne 2f\n",
        )
    };
}

hook!(malloc(bytes: usize) -> *mut c_void, MALLOC, slow::malloc, [count_down!("rdi")]);
hook!(valloc(bytes: usize) -> *mut c_void, VALLOC, slow::valloc, [count_down!("rdi")]);
hook!(pvalloc(bytes: usize) -> *mut c_void, PVALLOC, slow::pvalloc, [count_down!("rdi")]);
hook!(
    aligned_alloc(align: usize, bytes: usize) -> *mut c_void,
    ALIGNED_ALLOC, slow::aligned_alloc, [count_down!("rsi")]
);
hook!(
    memalign(align: usize, bytes: usize) -> *mut c_void,
    MEMALIGN, slow::memalign, [count_down!("rsi")]
);
hook!(
    posix_memalign(into: *mut *mut c_void, align: usize, bytes: usize) -> c_int,
    POSIX_MEMALIGN, slow::posix_memalign, [count_down!("rdx")]
);
hook!(
    calloc(items: usize, bytes: usize) -> *mut c_void, CALLOC, slow::calloc,
    ["mov rax, rdi", "mul rsi", "jo 2f", count_down!("rax")]
);
hook!(
    free(block: *mut c_void) -> (), FREE, slow::free, [look_up!()],
    LIVE
);
hook!(
    realloc(block: *mut c_void, bytes: usize) -> *mut c_void, REALLOC, slow::realloc,
    [look_up!(), count_down!("rsi")],
    LIVE
);

/// A function of C that is not called often: each call takes the slow way, with a `LongEntry`.
macro_rules! slow_hook {
    ($name:ident($($argument:ident: $type:ty),*) -> $result:ty, $slow:path) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            naked_asm!(
                ".cfi_startproc",
                "3:",
                "lea rsp, [rsp - 120]",
                ".cfi_adjust_cfa_offset 120",
                entry_words!(120),
                "mov qword ptr [rsp + 88], rcx",
                "mov qword ptr [rsp + 96], r8",
                "mov qword ptr [rsp + 104], r9",
                "mov rdi, rsp",
                "call {slow}",
                "lea rsp, [rsp + 120]",
                ".cfi_adjust_cfa_offset -120",
                "ret",
                ".cfi_endproc",
                slow = sym $slow,
            )
        }
    };
}

slow_hook!(
    mmap(at: *mut c_void, bytes: usize, access: c_int, flags: c_int, file: c_int, from: i64)
        -> *mut c_void,
    mappings::mmap
);
slow_hook!(
    mmap64(at: *mut c_void, bytes: usize, access: c_int, flags: c_int, file: c_int, from: i64)
        -> *mut c_void,
    mappings::mmap
);
slow_hook!(munmap(at: *mut c_void, bytes: usize) -> c_int, mappings::munmap);
slow_hook!(
    mremap(at: *mut c_void, before: usize, bytes: usize, flags: c_int, to: *mut c_void)
        -> *mut c_void,
    mappings::mremap
);

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
