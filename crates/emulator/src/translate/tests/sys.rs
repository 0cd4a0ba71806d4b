//! A child process in which native and translated code run, steered by
//! ptrace(2).

use std::ptr;

use libc::{c_int, c_void, pid_t, user_regs_struct};

use crate::block;
use crate::translate::CodeVariant;

/// Where the shared memory is, in both.
pub(crate) const BASE: u64 = 0x10_0000_0000;
/// The program's code, its data and its stack.
pub(crate) const CODE: u64 = BASE;
pub(crate) const DATA: u64 = BASE + 0x10_0000;
pub(crate) const DATA_LEN: usize = 0x4000;
pub(crate) const STACK: u64 = BASE + 0x20_0000;
pub(crate) const STACK_LEN: usize = 0x2000;
const WRITABLE: [(u64, usize); 2] = [(DATA, DATA_LEN), (STACK, STACK_LEN)];
/// The runtime's log: count, then entries of 32 words.
pub(crate) const LOG: u64 = BASE + 0x1000_0000;
pub(crate) const RUNTIME_STACK: u64 = BASE + 0x1020_0000;
pub(crate) const BLOCK: u64 = BASE + 0x1040_0000;
pub(crate) const ZONE: u64 = BASE + 0x1100_0000;
pub(crate) const ZONE_LEN: usize = 0x80_0000;
const LEN: usize = 0x1200_0000;
/// From [`LOG`] on nothing is the program's.
pub(crate) const ENGINE_LEN: usize = LEN - 0x1000_0000;

/// Words of RUNTIME that tell the test's runtime what to do.
pub(crate) const FILL: usize = block::RUNTIME;
pub(crate) const RECORD: usize = block::RUNTIME + 8;

/// Words of a log entry.
pub(crate) const ENTRY: usize = 24;

#[derive(Debug)]
pub(crate) struct Child {
    pid: pid_t,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal(pub(crate) c_int);

/// Vector registers and what else xsave has.
pub(crate) type Vectors = Vec<u8>;

impl Child {
    pub(crate) fn start() -> Child {
        let flags = libc::MAP_SHARED
            | libc::MAP_ANONYMOUS
            | libc::MAP_FIXED_NOREPLACE
            | libc::MAP_NORESERVE;
        let rwx = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let wanted = ptr::with_exposed_provenance_mut::<c_void>(usize::try_from(BASE).unwrap());
        // SAFETY: a new mapping where nothing is (NOREPLACE).
        let got = unsafe { libc::mmap(wanted, LEN, rwx, flags, -1, 0) };
        assert_eq!(got, wanted, "mmap at {BASE:#x}");
        for (start, length) in WRITABLE {
            alias(start, length);
        }
        // SAFETY: the child calls async-signal-safe functions alone.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            child();
        }
        assert!(pid > 0, "fork");
        let child = Child { pid };
        assert_eq!(child.wait(), Signal(libc::SIGSTOP));
        child
    }

    fn wait(&self) -> Signal {
        let mut status = 0;
        // SAFETY: writes one int.
        let pid = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
        assert_eq!(pid, self.pid);
        assert!(libc::WIFSTOPPED(status), "the child ended: {status:#x}");
        Signal(libc::WSTOPSIG(status))
    }

    fn request(&self, request: libc::c_uint, address: usize, data: *mut c_void) {
        let address = ptr::without_provenance_mut::<c_void>(address);
        // SAFETY: data is what the request wants, from the callers below.
        let result = unsafe { libc::ptrace(request, self.pid, address, data) };
        assert_eq!(result, 0, "ptrace {request}: {}", std::io::Error::last_os_error());
    }

    pub(crate) fn registers(&self) -> user_regs_struct {
        // SAFETY: plain integers.
        let mut registers: user_regs_struct = unsafe { std::mem::zeroed() };
        self.request(libc::PTRACE_GETREGS, 0, (&raw mut registers).cast());
        registers
    }

    pub(crate) fn set_registers(&self, registers: &user_regs_struct) {
        let mut registers = *registers;
        registers.orig_rax = u64::MAX;
        self.request(libc::PTRACE_SETREGS, 0, (&raw mut registers).cast());
    }

    pub(crate) fn vectors(&self) -> Vectors {
        let mut bytes = vec![0; 16384];
        let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        self.request(libc::PTRACE_GETREGSET, 0x202, (&raw mut vector).cast());
        bytes.truncate(vector.iov_len);
        bytes
    }

    pub(crate) fn set_vectors(&self, vectors: &Vectors) {
        let mut bytes = vectors.clone();
        let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        self.request(libc::PTRACE_SETREGSET, 0x202, (&raw mut vector).cast());
    }

    pub(crate) fn go(&self) -> Signal {
        self.request(libc::PTRACE_CONT, 0, ptr::null_mut());
        self.wait()
    }

    pub(crate) fn step(&self) -> Signal {
        self.request(libc::PTRACE_SINGLESTEP, 0, ptr::null_mut());
        self.wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let mut status = 0;
        // SAFETY: our own child.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        // SAFETY: writes one int.
        unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
        let base = ptr::with_exposed_provenance_mut::<c_void>(usize::try_from(BASE).unwrap());
        // SAFETY: our own mapping; nothing refers to it any more.
        unsafe { libc::munmap(base, LEN) };
        for (start, length) in WRITABLE {
            let low = ptr::with_exposed_provenance_mut(usize::try_from(low(start)).unwrap());
            // SAFETY: as above.
            unsafe { libc::munmap(low, length) };
        }
    }
}

/// What addresses of 32 bits find.
fn low(address: u64) -> u64 {
    address & 0xffff_ffff
}

/// Maps the program's memory a second time, where the low halves of addresses
/// in it point.
fn alias(start: u64, length: usize) {
    let at = |address: u64| {
        ptr::with_exposed_provenance_mut::<c_void>(usize::try_from(address).unwrap())
    };
    let wanted = at(low(start));
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping where nothing is (NOREPLACE).
    let got = unsafe { libc::mmap(wanted, length, libc::PROT_NONE, flags, -1, 0) };
    assert_eq!(got, wanted, "mmap at {:#x}", low(start));
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: of a shared mapping, the length 0 asks for another one; it takes
    // the place of the one just made.
    let got = unsafe { libc::mremap(at(start), 0, length, flags, wanted) };
    assert_eq!(got, wanted, "mremap to {:#x}", low(start));
}

fn child() -> ! {
    // SAFETY: changes whom the kernel tells.
    unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
    // The program can write to its data and its stack alone, of what is not
    // ours.
    let protect = |from: u64, to: u64, protection: c_int| {
        let start = ptr::with_exposed_provenance_mut::<c_void>(usize::try_from(from).unwrap_or(0));
        let length = usize::try_from(to - from).unwrap_or(0);
        // SAFETY: pages of the shared mapping that the runtime does not use.
        unsafe { libc::mprotect(start, length, protection) };
    };
    protect(CODE, DATA, libc::PROT_READ | libc::PROT_EXEC);
    protect(DATA, DATA + DATA_LEN as u64, libc::PROT_READ | libc::PROT_WRITE);
    protect(STACK, STACK + STACK_LEN as u64, libc::PROT_READ | libc::PROT_WRITE);
    for (start, length) in WRITABLE {
        protect(low(start), low(start) + length as u64, libc::PROT_READ | libc::PROT_WRITE);
    }
    protect(DATA + DATA_LEN as u64, STACK, libc::PROT_NONE);
    protect(STACK + STACK_LEN as u64, LOG, libc::PROT_NONE);
    // SAFETY: stops this process.
    unsafe { libc::raise(libc::SIGSTOP) };
    // SAFETY: ends it.
    unsafe { libc::_exit(0) }
}

pub(crate) fn allows_fsgsbase() -> bool {
    // SAFETY: reads the auxiliary vector.
    let features = unsafe { libc::getauxval(libc::AT_HWCAP2) };
    features & 2 != 0
}

pub(crate) fn memory(address: u64, length: usize) -> &'static mut [u8] {
    assert!(address >= BASE && address + length as u64 <= BASE + LEN as u64);
    let start = ptr::with_exposed_provenance_mut::<u8>(usize::try_from(address).unwrap());
    // SAFETY: mapped while a Child lives; the child is stopped when it is used.
    unsafe { std::slice::from_raw_parts_mut(start, length) }
}

pub(crate) fn word(address: u64) -> u64 {
    u64::from_le_bytes(memory(address, 8).try_into().unwrap())
}

pub(crate) fn set_word(address: u64, value: u64) {
    memory(address, 8).copy_from_slice(&value.to_le_bytes());
}

fn load(address: u64) -> u64 {
    let at = ptr::with_exposed_provenance::<u64>(usize::try_from(address).unwrap_or(0));
    // SAFETY: within the shared memory, by the callers.
    unsafe { at.read_unaligned() }
}

fn save(address: u64, value: u64) {
    let at = ptr::with_exposed_provenance_mut::<u64>(usize::try_from(address).unwrap_or(0));
    // SAFETY: within the shared memory, by the callers.
    unsafe { at.write_unaligned(value) };
}

/// Leaves everything to [`access`].
pub(crate) extern "C" fn quick(_: u64) -> u64 {
    0
}

/// The runtime's part in the child: logs the access, fills the tables if told.
pub(crate) extern "C" fn access(block: u64) -> u64 {
    let site = load(block + block::SITE as u64);
    let address = load(block + block::ADDRESS as u64);
    let size = load(site + 16) >> 32 & 0xffff;
    let kind = load(site + 16) >> 48 & 0xff;
    if load(block + FILL as u64) != 0
        && kind < 2
        && size > 0
        && address >> 6 == address.wrapping_add(size - 1) >> 6
    {
        let key = block::key(address & !63);
        let at = 8 * block::index(address) as u64;
        save(block + block::LOADS as u64 + at, key);
        if kind == 1 {
            save(block + block::STORES as u64 + at, key);
        }
    }
    if load(block + FILL as u64) != 0 && kind == 2 {
        save(block + block::FETCHES as u64 + 8 * block::index(address) as u64, block::key(address));
    }
    let count = load(LOG);
    if count < 4000 {
        let entry = LOG + 8 + count * 8 * ENTRY as u64;
        save(entry, load(site));
        save(entry + 8, address);
        save(entry + 16, load(site + 16));
        save(entry + 24, load(site + 24));
        save(LOG, count + 1);
    }
    load(block + RECORD as u64)
}

/// Adds the registers to the last entry of the log.
pub(crate) extern "C" fn record(block: u64) -> u64 {
    let count = load(LOG);
    let entry = LOG + 8 + count.saturating_sub(1) * 8 * ENTRY as u64;
    for register in 0..16 {
        save(entry + 32 + 8 * register, load(block + block::REGISTERS as u64 + 8 * register));
    }
    save(entry + 32 + 128, load(block + block::FLAGS as u64));
    0
}

/// Changes to the other half for 100 instructions.
pub(crate) extern "C" fn turn(block: u64) -> u64 {
    let at = |offset: usize| block + offset as u64;
    let burst = load(at(block::BURST)).wrapping_add(load(at(block::TURN)));
    save(at(block::BURST), burst.wrapping_add(100));
    save(at(block::VARIANT), load(at(block::VARIANT)) ^ 1);
    lookup(block)
}

/// Knows one target in 4: the last word pairs of the log area.
pub(crate) extern "C" fn lookup(block: u64) -> u64 {
    let target = load(block + block::BRANCH as u64);
    let table = LOG + 0xf_0000;
    let count = load(table);
    for pair in 0..count {
        if load(table + 8 + 16 * pair) == target {
            let entry = load(table + 16 + 16 * pair);
            let table = CodeVariant::of(load(block + block::VARIANT as u64)).table() as u64;
            let at = block + table + 8 * (target & 0xffff);
            save(at, entry);
            return entry;
        }
    }
    0
}
