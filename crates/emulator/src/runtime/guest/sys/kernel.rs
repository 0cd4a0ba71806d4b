//! System calls of the runtime in the target.

#[cfg(target_arch = "x86_64")]
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::block;
use crate::runtime::guest::header::Header;
use crate::runtime::guest::kernel::Kernel;
use crate::runtime::guest::run_token::ProgramFutex;
use crate::runtime::guest::stack::MemoryReader;

const POLL: u64 = 7;
const GETPID: u64 = 39;
const FUTEX: u64 = 202;
const PAGE: u64 = 4096;
const FUTEX_WAIT: u64 = 0;
const FUTEX_WAKE: u64 = 1;
const FUTEX_REQUEUE: u64 = 3;
/// INT_MAX
const ALL: u64 = 0x7fff_ffff;
const PROCESS_VM_READV: u64 = 310;
const TIMED_OUT: i64 = -110;

pub(super) struct Linux;

/// Makes a system call.
///
/// # Safety
/// It must read and write only what is there for it.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: u64, arguments: [u64; 6]) -> i64 {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let result: i64;
    // SAFETY: the caller's promise.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") first, in("rsi") second,
            in("rdx") third, in("r10") fourth, in("r8") fifth, in("r9") sixth, lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    result
}

/// Nothing runs here on other machines.
///
/// # Safety
/// None is needed.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn call(_: u64, _: [u64; 6]) -> i64 {
    0
}

fn address<T>(of: &T) -> u64 {
    core::ptr::from_ref(of).addr() as u64
}

impl Kernel for Linux {
    fn sleep(&self, word: &AtomicU64, expected: u64, nanoseconds: u64) {
        let time = [nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000];
        // SAFETY: reads the word's lower half and the time.
        unsafe {
            call(FUTEX, [address(word), FUTEX_WAIT, expected & 0xffff_ffff, address(&time), 0, 0]);
        }
    }

    fn wake(&self, word: &AtomicU64) {
        // SAFETY: nothing is accessed.
        unsafe {
            call(FUTEX, [address(word), FUTEX_WAKE, 1, 0, 0, 0]);
        }
    }

    fn is_ready(&self, file: u64, events: u64) -> bool {
        let mut asked = [file & 0xffff_ffff | events << 32];
        let at = core::ptr::from_mut(&mut asked).addr() as u64;
        // SAFETY: reads and writes `asked`, which is one struct pollfd.
        unsafe { call(POLL, [at, 1, 0, 0, 0, 0]) != 0 }
    }

    fn progress(&self, header: &Header, index: usize) -> u64 {
        let block = header.threads.get(index).map_or(0, |entry| entry.load(Ordering::Relaxed));
        if block == 0 {
            return 0;
        }
        let word = |offset: usize| {
            let place = (block as *const u8).wrapping_add(offset).cast::<u64>();
            // SAFETY: a thread's block, which stays mapped as long as its entry is
            // there.
            unsafe { core::ptr::read_volatile(place) }
        };
        word(block::CLOCK).wrapping_add(word(block::BURST) << 32)
    }

    fn would_wait(&self, futex: ProgramFutex, value: u64) -> bool {
        let ProgramFutex { address: of, private } = futex;
        let now = [0_u64; 2];
        let value = value & 0xffff_ffff;
        // SAFETY: reads the program's word, as its own call would, and `now`.
        let result = unsafe { call(FUTEX, [of, FUTEX_WAIT | private, value, address(&now), 0, 0]) };
        result == TIMED_OUT
    }

    /// Has the kernel move none that wait to where they are, and all others
    /// too, which changes nothing: it says how many that were.
    fn waiters(&self, futex: ProgramFutex) -> Option<u64> {
        let ProgramFutex { address, private } = futex;
        // SAFETY: neither reads nor writes memory.
        let result = unsafe { call(FUTEX, [address, FUTEX_REQUEUE | private, 0, ALL, address, 0]) };
        u64::try_from(result).ok()
    }
}

impl MemoryReader for Linux {
    fn copy(&self, from: u64, to: [[u64; 2]; 2]) -> u64 {
        // SAFETY: it takes nothing.
        let process = unsafe { call(GETPID, [0; 6]) }.cast_unsigned();
        let mut copied = 0;
        for [begin, bytes] in to {
            let mut done = 0;
            // Of what lies in one piece the kernel copies all or nothing: a page each.
            while done < bytes {
                let at = from.wrapping_add(copied);
                let piece = (bytes - done).min(PAGE - at % PAGE);
                let (there, here) = ([at, piece], [begin + done, piece]);
                let places = [process, address(&here), 1, address(&there), 1, 0];
                // SAFETY: writes to the ring, where only who holds its lock writes; what it
                // reads may be absent.
                if unsafe { call(PROCESS_VM_READV, places) } != piece.cast_signed() {
                    return copied;
                }
                (done, copied) = (done + piece, copied + piece);
            }
        }
        copied
    }
}
