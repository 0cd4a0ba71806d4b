//! What a thread is about to ask of the kernel, as far as the others' turns
//! go.

use super::run_token::ProgramFutex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyscallKind {
    /// It comes back soon, whatever others do.
    Quick,
    /// It comes back soon, most likely.
    Other,
    /// It comes back at once, and others may run first.
    Yield,
    /// It may wait for what others do.
    Waits,
    /// It waits unless there is something to read, or room to write.
    Transfers {
        file: u64,
        /// `POLLIN` or `POLLOUT`.
        events: u64,
    },
    FutexWait {
        futex: ProgramFutex,
        value: u64,
    },
    FutexWake {
        futex: ProgramFutex,
        most: u64,
    },
    /// It may wake who waits there, or have it wait elsewhere.
    FutexMove {
        address: u64,
    },
    Exit,
    /// Says what the kernel clears when the thread ends.
    ClearAtExit {
        address: u64,
    },
}

const FORK_WAITS: u64 = 0x4000;
const POLL_IN: u64 = 1;
const POLL_OUT: u64 = 4;
const PRIVATE: u64 = 128;
/// FUTEX_BITSET_MATCH_ANY
const ALL: u64 = 0xffff_ffff;
const SIGN: u64 = 0x8000_0000;

impl SyscallKind {
    /// By its number and the arguments as rdi, rsi, rdx and r9 have them.
    pub(super) fn of(number: u64, arguments: [u64; 4]) -> SyscallKind {
        let [first, second, third, bits] = arguments;
        let futex = ProgramFutex { address: first, private: second & PRIVATE };
        match number & 0xffff_ffff {
            // read, pread64, readv, recvfrom, recvmsg, accept, accept4, recvmmsg
            0 | 17 | 19 | 45 | 47 | 43 | 288 | 299 => {
                SyscallKind::Transfers { file: first, events: POLL_IN }
            }
            // write, pwrite64, writev, sendto, sendmsg, sendmmsg
            1 | 18 | 20 | 44 | 46 | 307 => SyscallKind::Transfers { file: first, events: POLL_OUT },
            202 => match second & 0x7f {
                0 | 9 => SyscallKind::FutexWait { futex, value: third },
                // Of a set of bits those that have it: how many is not known.
                10 if bits & ALL != ALL => SyscallKind::FutexMove { address: first },
                // Who asks for none or fewer has one woken.
                1 | 10 if third & ALL == 0 || third & SIGN != 0 => {
                    SyscallKind::FutexWake { futex, most: 1 }
                }
                1 | 10 => SyscallKind::FutexWake { futex, most: third & ALL },
                // FUTEX_REQUEUE, CMP_REQUEUE, WAKE_OP, CMP_REQUEUE_PI
                3..=5 | 12 => SyscallKind::FutexMove { address: first },
                // FUTEX_LOCK_PI, WAIT_REQUEUE_PI, LOCK_PI2
                6 | 11 | 13 => SyscallKind::Waits,
                _ => SyscallKind::Quick,
            },
            // lseek, mmap to rt_sigreturn, sched_yield's neighbours (mremap,
            // mincore, madvise), getpid, clone, gettid, arch_prctl, tgkill,
            // set_robust_list, clock_gettime, sigaltstack, rseq, clone3
            8..=15
            | 25
            | 27
            | 28
            | 39
            | 56
            | 131
            | 158
            | 186
            | 228
            | 231
            | 234
            | 273
            | 334
            | 435
                if number & 0xffff_ffff != 56 || first & FORK_WAITS == 0 =>
            {
                SyscallKind::Quick
            }
            24 => SyscallKind::Yield,
            56 => SyscallKind::Waits,
            60 => SyscallKind::Exit,
            218 => SyscallKind::ClearAtExit { address: first },
            // poll, select, pause, nanosleep, connect, vfork, wait4, semop,
            // msgrcv, fcntl, flock, rt_sigtimedwait, rt_sigsuspend, semtimedop,
            // io_getevents, clock_nanosleep, epoll_wait, mq_timedreceive,
            // waitid, pselect6, ppoll, splice, tee, epoll_pwait, sendfile,
            // io_uring_enter, epoll_pwait2, futex_waitv, futex_wait
            7 | 23 | 34 | 35 | 42 | 58 | 61 | 65 | 70 | 72 | 73 | 128 | 130 | 220 | 208 | 230
            | 232 | 243 | 247 | 270 | 271 | 275 | 276 | 281 | 40 | 426 | 441 | 449 | 455 => {
                SyscallKind::Waits
            }
            _ => SyscallKind::Other,
        }
    }
}
