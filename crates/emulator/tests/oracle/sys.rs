//! The kernel's single step and what it shows: one operation a function.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
    ptr,
};

/// Makes a command stop, traced by this thread, behind its exec, and places
/// its memory as always.
pub(crate) fn spawn_traced(command: &mut Command) -> Child {
    let child_side = || {
        // SAFETY: takes a number, no pointer.
        unsafe { libc::personality(0x0004_0000) }; // ADDR_NO_RANDOMIZE
        // SAFETY: asks to be traced by the parent; no pointer is looked at.
        match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure makes two system calls, and nothing that is not
    // allowed between fork and exec.
    unsafe { command.pre_exec(child_side) };
    let child = command.spawn().unwrap();
    assert_eq!(wait(pid(&child)), Stopped::By(libc::SIGTRAP));
    child
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    By(i32),
    Exited(i32),
    Killed(i32),
}

pub(crate) fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap()
}

pub(crate) fn wait(pid: i32) -> Stopped {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let waited = unsafe { libc::waitpid(pid, &raw mut status, libc::__WALL) };
    assert_eq!(waited, pid, "{}", io::Error::last_os_error());
    if libc::WIFSTOPPED(status) {
        Stopped::By(libc::WSTOPSIG(status))
    } else if libc::WIFEXITED(status) {
        Stopped::Exited(libc::WEXITSTATUS(status))
    } else {
        Stopped::Killed(libc::WTERMSIG(status))
    }
}

/// Lets the process do one instruction, or one iteration of a repeated one.
pub(crate) fn step(pid: i32, signal: i32) {
    // SAFETY: the request takes numbers only.
    let done = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, signal) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

pub(crate) fn registers(pid: i32) -> libc::user_regs_struct {
    // SAFETY: the structure is numbers, for which zero is a value.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one structure, which outlives the call.
    let done = unsafe {
        libc::ptrace(libc::PTRACE_GETREGS, pid, ptr::null_mut::<u8>(), &raw mut registers)
    };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
    registers
}

pub(crate) fn set_registers(pid: i32, registers: &libc::user_regs_struct) {
    // SAFETY: the kernel reads one structure, which outlives the call.
    let done = unsafe {
        libc::ptrace(libc::PTRACE_SETREGS, pid, ptr::null_mut::<u8>(), ptr::from_ref(registers))
    };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
}

/// The XSAVE area of a stopped process, in the standard form.
pub(crate) fn vectors(pid: i32) -> Vec<u8> {
    let mut area = vec![0; 16384];
    let mut piece = libc::iovec { iov_base: area.as_mut_ptr().cast(), iov_len: area.len() };
    // SAFETY: the kernel writes at most the bytes of `area`, which `piece`
    // tells, and both outlive the call. 0x202 is NT_X86_XSTATE.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, pid, 0x202, &raw mut piece) };
    assert_eq!(done, 0, "{}", io::Error::last_os_error());
    area.truncate(piece.iov_len);
    area
}

/// Bytes of a stopped process; fewer than asked for at the end of a mapping.
pub(crate) fn read(pid: i32, address: u64, bytes: &mut [u8]) -> usize {
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = libc::iovec {
        iov_base: ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap()),
        iov_len: bytes.len(),
    };
    // SAFETY: `here` describes `bytes`; the other address is the other
    // process's, and the kernel checks it.
    let got = unsafe { libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0) };
    usize::try_from(got).unwrap_or(0)
}

/// A ring laid out as the kernel's, read to where it was written.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: memmap2::MmapRaw,
}

impl Ring {
    pub(crate) fn map(file: std::os::fd::BorrowedFd<'_>) -> Ring {
        Ring { memory: memmap2::MmapOptions::new().map_raw(&file).unwrap() }
    }

    fn word(&self, offset: usize) -> &std::sync::atomic::AtomicU64 {
        let at = self.memory.as_mut_ptr().wrapping_add(offset).cast();
        // SAFETY: the first page holds aligned words at the offsets of
        // perf_event_mmap_page, which all sides access atomically only.
        unsafe { std::sync::atomic::AtomicU64::from_ptr(at) }
    }

    /// Appends what was written since the last time, and gives its room back.
    pub(crate) fn drain(&self, bytes: &mut Vec<u8>) {
        use std::sync::atomic::Ordering;
        const PAGE: usize = 4096;
        let size = self.memory.len() - PAGE;
        let head = self.word(1024).load(Ordering::Acquire);
        let tail = self.word(1032).load(Ordering::Acquire);
        for position in tail..head {
            let at = PAGE + usize::try_from(position).unwrap() % size;
            // SAFETY: within the mapping; nobody writes between tail and head.
            bytes.push(unsafe { self.memory.as_ptr().wrapping_add(at).read() });
        }
        self.word(1032).store(head, Ordering::Release);
    }
}
