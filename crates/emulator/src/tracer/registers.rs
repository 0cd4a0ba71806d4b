//! General registers by the number that instructions encode them with.

use crate::sys::ptrace::TraceeRegisters;

/// Register `number`: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
pub(crate) fn register(registers: &mut TraceeRegisters, number: usize) -> Option<&mut u64> {
    Some(match number {
        0 => &mut registers.rax,
        1 => &mut registers.rcx,
        2 => &mut registers.rdx,
        3 => &mut registers.rbx,
        4 => &mut registers.rsp,
        5 => &mut registers.rbp,
        6 => &mut registers.rsi,
        7 => &mut registers.rdi,
        8 => &mut registers.r8,
        9 => &mut registers.r9,
        10 => &mut registers.r10,
        11 => &mut registers.r11,
        12 => &mut registers.r12,
        13 => &mut registers.r13,
        14 => &mut registers.r14,
        15 => &mut registers.r15,
        _ => return None,
    })
}

const ERESTARTSYS: i64 = -512;
const ERESTARTNOINTR: i64 = -513;
const ERESTARTNOHAND: i64 = -514;
const ERESTART_RESTARTBLOCK: i64 = -516;

/// Does what the kernel does with a call that was interrupted and no handler
/// runs (arch_do_signal_or_restart() in arch/x86/kernel/signal.c): makes it
/// again, or, from then on, no call at all.
pub(crate) fn restart_call(registers: &mut TraceeRegisters) {
    if registers.orig_rax.cast_signed() >= 0 {
        match registers.rax.cast_signed() {
            ERESTARTSYS | ERESTARTNOINTR | ERESTARTNOHAND => {
                registers.rax = registers.orig_rax;
                registers.rip = registers.rip.wrapping_sub(2);
            }
            ERESTART_RESTARTBLOCK => {
                registers.rax = libc::SYS_restart_syscall.cast_unsigned();
                registers.rip = registers.rip.wrapping_sub(2);
            }
            _ => {}
        }
    }
    registers.orig_rax = u64::MAX;
}
