//! What goes in and comes out: places, objects, routines.

use crate::Reason;
use perfdata::{CpuMode, Pid, Sample, Time};
use std::borrow::Cow;

/// What an address belongs to: the kernel, a module, a file, a process's
/// anonymous memory. Numbers are given out by one [`crate::Symbolizer`] and
/// mean nothing to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// The kernel proper, modules excluded.
    pub const KERNEL: ObjectId = ObjectId(0);
    /// User addresses at which nothing was mapped at that time.
    pub const UNMAPPED: ObjectId = ObjectId(1);
    /// User addresses of processes of which no mapping is known.
    pub const UNKNOWN_PROCESS: ObjectId = ObjectId(2);
    /// Addresses inside a guest.
    pub const GUEST: ObjectId = ObjectId(3);
    /// Addresses inside the hypervisor.
    pub const HYPERVISOR: ObjectId = ObjectId(4);
    /// Addresses of records without a privilege level.
    pub const UNKNOWN_MODE: ObjectId = ObjectId(5);
    /// Addresses of what there was no room to keep: the process, or all of
    /// them, have more mappings.
    pub const OVERFULL: ObjectId = ObjectId(6);
}

/// An address within what it belongs to; the same for every process that
/// maps the same file, wherever it maps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// What the address belongs to.
    pub object: ObjectId,
    /// As objdump shows it for ELF files (link-time virtual address); the
    /// offset in the file when the file could not be read; the run-time
    /// address for the kernel, anonymous memory and what is unmapped.
    pub address: u64,
}

/// A routine's name and extent.
///
/// Source lines and inlined callers will come beside these fields.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Routine<'a> {
    /// Name, demangled when it is a C++ or Rust name.
    pub name: Cow<'a, str>,
    /// First address, in the same terms as [`Place::address`].
    pub start: u64,
    /// First address beyond the routine.
    pub end: u64,
    /// Bytes from `start` to the address asked for.
    pub offset: u64,
}

/// The answer for one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution<'a> {
    /// The routine that holds the address.
    Routine(Routine<'a>),
    /// Why there is no name.
    Unknown(Reason),
}

impl Resolution<'_> {
    /// The text of a routine column: the name, or the reason's tag.
    pub fn text(&self) -> &str {
        match self {
            Resolution::Routine(routine) => &routine.name,
            Resolution::Unknown(reason) => reason.tag(),
        }
    }

    /// Bytes from the routine's start; none when there is no routine.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Resolution::Routine(routine) => Some(routine.offset),
            Resolution::Unknown(_) => None,
        }
    }
}

/// The last part of an object's path: `libc.so.6` of `/lib/libc.so.6`. The
/// whole of `/ (deleted)`, as the kernel calls a file whose directory it cannot
/// name, which has no other.
pub fn file_name(object: &str) -> &str {
    let last = object.rsplit('/').next().unwrap_or(object);
    if last.is_empty() || last.starts_with(' ') { object } else { last }
}

/// An address, in whose memory it is meant, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledAddress {
    /// Privilege level of the sample.
    pub mode: CpuMode,
    pub pid: Pid,
    /// At run time.
    pub address: u64,
    /// When it was taken.
    pub time: Time,
}

impl SampledAddress {
    /// The instruction of a sample, whose other addresses are meant in the same memory at the same
    /// time. What a sample does not tell is zero.
    pub fn of(sample: &Sample<'_>) -> SampledAddress {
        SampledAddress {
            mode: sample.misc.cpu_mode(),
            pid: sample.task.unwrap_or_default().pid,
            address: sample.ip.unwrap_or_default(),
            time: sample.time.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn no_object_is_called_nothing() {
        for (object, name) in [
            ("/lib/libc.so.6", "libc.so.6"),
            ("/memfd:jit (deleted)", "memfd:jit (deleted)"),
            ("[kernel]", "[kernel]"),
            ("/ (deleted)", "/ (deleted)"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(file_name(object), name);
        }
    }
}
