//! bpf(2): arrays and programs, and a program given to a perf event.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use aya_obj::generated::bpf_insn;

use super::event::PerfEvent;

const BPF_MAP_TYPE_ARRAY: u32 = 2;
/// Commands, include/uapi/linux/bpf.h.
const MAP_CREATE: libc::c_long = 0;
const MAP_UPDATE_ELEM: libc::c_long = 2;
const PROG_LOAD: libc::c_long = 5;
const RAW_TRACEPOINT_OPEN: libc::c_long = 17;
const MAP_FREEZE: libc::c_long = 22;
/// `_IOW('$', 8, __u32)`.
const SET_BPF: u64 = 0x4004_2408;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayShape {
    /// Bytes of a value.
    pub(crate) value: u32,
    pub(crate) entries: u32,
    /// `BPF_F_*`.
    pub(crate) flags: u32,
}

/// Makes a `BPF_MAP_TYPE_ARRAY` of zeros, shown by this name.
pub(crate) fn create_array(name: &str, shape: ArrayShape) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct MapCreate {
        kind: u32,
        key: u32,
        value: u32,
        entries: u32,
        flags: u32,
        inner: u32,
        node: u32,
        name: [u8; 16],
        rest: u32,
    }
    let mut attr = MapCreate {
        kind: BPF_MAP_TYPE_ARRAY,
        key: 4,
        value: shape.value,
        entries: shape.entries,
        flags: shape.flags,
        inner: 0,
        node: 0,
        name: short(name),
        rest: 0,
    };
    descriptor(call(MAP_CREATE, &mut attr)?)
}

/// Writes one value of an array, of as many bytes as its values have.
pub(crate) fn write(array: BorrowedFd<'_>, key: u32, value: &[u8]) -> io::Result<()> {
    #[repr(C)]
    struct MapUpdate {
        map: u32,
        unused: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let mut attr = MapUpdate {
        map: number(array)?,
        unused: 0,
        key: address(&raw const key),
        value: address(value.as_ptr()),
        flags: 0,
    };
    call(MAP_UPDATE_ELEM, &mut attr).map(drop)
}

/// Lets nobody write an array from outside of programs any more.
pub(crate) fn freeze(array: BorrowedFd<'_>) -> io::Result<()> {
    #[repr(C)]
    struct MapFreeze {
        map: u32,
    }
    call(MAP_FREEZE, &mut MapFreeze { map: number(array)? }).map(drop)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct UnverifiedProgram<'p> {
    /// `BPF_PROG_TYPE_*`.
    pub(crate) kind: u32,
    /// Shown by bpftool.
    pub(crate) name: &'p str,
    /// Relocated to the descriptors of its maps.
    pub(crate) instructions: &'p [bpf_insn],
    pub(crate) licence: &'p CStr,
}

/// Has a program verified and loaded. With a `log`, the verifier's words are
/// in it up to a NUL, the last of them where it is too short (Linux 6.4;
/// older ones fail with ENOSPC and keep the first).
pub(crate) fn load(program: UnverifiedProgram<'_>, log: Option<&mut [u8]>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct ProgLoad {
        kind: u32,
        count: u32,
        instructions: u64,
        licence: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        version: u32,
        flags: u32,
        name: [u8; 16],
    }
    let (log, log_size) = match log {
        Some(log) => {
            (address(log.as_mut_ptr()), u32::try_from(log.len()).map_err(io::Error::other)?)
        }
        None => (0, 0),
    };
    let mut attr = ProgLoad {
        kind: program.kind,
        count: u32::try_from(program.instructions.len()).map_err(io::Error::other)?,
        instructions: address(program.instructions.as_ptr()),
        licence: address(program.licence.as_ptr()),
        log_level: u32::from(log_size != 0),
        log_size,
        log,
        version: 0,
        flags: 0,
        name: short(program.name),
    };
    descriptor(call(PROG_LOAD, &mut attr)?)
}

/// Has `program` run at each overflow of `event` and of what children
/// inherit of it from now on.
pub(crate) fn attach(event: &PerfEvent, program: BorrowedFd<'_>) -> io::Result<()> {
    let request = libc::Ioctl::try_from(SET_BPF).map_err(io::Error::other)?;
    // SAFETY: the descriptor is an event's; SET_BPF takes a descriptor by
    // value and no pointer.
    let result = unsafe { libc::ioctl(event.as_fd().as_raw_fd(), request, program.as_raw_fd()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Has a program run at each hit of one of the kernel's tracepoints, until
/// the descriptor given is closed.
pub(crate) fn attach_raw(name: &CStr, program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct RawTracepointOpen {
        name: u64,
        program: u32,
        unused: u32,
    }
    let mut attr =
        RawTracepointOpen { name: address(name.as_ptr()), program: number(program)?, unused: 0 };
    descriptor(call(RAW_TRACEPOINT_OPEN, &mut attr)?)
}

/// One of the structs above, as the kernel reads them.
fn call<T>(command: libc::c_long, attr: &mut T) -> io::Result<libc::c_long> {
    let pointer: *mut T = attr;
    // SAFETY: the kernel reads `size_of::<T>()` initialised bytes (each T is
    // made of words without padding but at its end, where it wants zeros or
    // does not look) and what their pointers lead to, which the callers keep
    // alive; it writes to the log alone, which is exclusively the caller's.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, pointer, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn descriptor(number: libc::c_long) -> io::Result<OwnedFd> {
    let number = i32::try_from(number).map_err(io::Error::other)?;
    // SAFETY: the kernel just made this descriptor; nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn number(fd: BorrowedFd<'_>) -> io::Result<u32> {
    u32::try_from(fd.as_raw_fd()).map_err(io::Error::other)
}

fn address<T>(pointer: *const T) -> u64 {
    pointer.addr() as u64
}

/// A name in 15 bytes and a NUL; the kernel takes letters, digits, _ and dots.
fn short(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes[..15].iter_mut().zip(name.bytes()) {
        *to = from;
    }
    bytes
}
