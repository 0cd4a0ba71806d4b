//! perf_event_open(2), its ioctls and its read(2).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use perf_event_open_sys as perf;
use record::{Attr, ByteOrder, ReadFormat};

/// The byte order that this machine's kernel writes records in.
pub(crate) const NATIVE_ORDER: ByteOrder =
    if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

/// An attr as the kernel wants its bytes, encoded once for many opens.
#[derive(Clone, Debug)]
pub(crate) struct EncodedAttr {
    words: Vec<u64>,
    read_format: ReadFormat,
}

impl EncodedAttr {
    /// Always [`Attr::MAX_SIZE`] bytes: a kernel that knows fewer accepts a
    /// tail of zeros (trap 1).
    pub(crate) fn new(attr: &Attr) -> io::Result<EncodedAttr> {
        let mut bytes = Vec::new();
        attr.encode(Attr::MAX_SIZE, NATIVE_ORDER, &mut bytes).map_err(io::Error::other)?;
        let words = bytes
            .chunks(8)
            .map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            })
            .collect();
        Ok(EncodedAttr { words, read_format: attr.read_format })
    }
}

/// What read(2) of one event gives; nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Events, those of inherited children included.
    pub(crate) count: u64,
    /// Time that the event was enabled.
    pub(crate) enabled: u64,
    /// Time that it was on a counter.
    pub(crate) running: u64,
    /// Records that found no room; 0 when `read_format` has no LOST.
    pub(crate) lost: u64,
}

/// One open event.
#[derive(Debug)]
pub(crate) struct Event {
    fd: OwnedFd,
    read_format: ReadFormat,
}

impl Event {
    /// Opens `attr` on task `pid` (0: the calling thread, -1: any) and
    /// `cpu`, close-on-exec.
    pub(crate) fn open(attr: &mut EncodedAttr, pid: i32, cpu: i32) -> io::Result<Event> {
        let pointer = attr.words.as_mut_ptr().cast();
        let flags = libc::c_ulong::from(perf::bindings::PERF_FLAG_FD_CLOEXEC);
        // SAFETY: `pointer` is to MAX_SIZE initialised bytes that outlive the
        // call; their size field says so, and the kernel writes to no more
        // than that field.
        let fd = unsafe { perf::perf_event_open(pointer, pid, cpu, -1, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor; nobody else has it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Event { fd, read_format: attr.read_format })
    }

    /// Starts counting, in inherited children too.
    pub(crate) fn enable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is an event's; ENABLE takes no pointer.
        check(unsafe { perf::ioctls::ENABLE(self.fd.as_raw_fd(), 0) })
    }

    /// Stops counting, in inherited children too.
    pub(crate) fn disable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is an event's; DISABLE takes no pointer.
        check(unsafe { perf::ioctls::DISABLE(self.fd.as_raw_fd(), 0) })
    }

    /// Sends this event's records to the ring that `owner` has mapped
    /// (trap 24: same CPU, same clock).
    pub(crate) fn output_to(&self, owner: &Event) -> io::Result<()> {
        // SAFETY: both descriptors are events'; SET_OUTPUT takes no pointer.
        check(unsafe { perf::ioctls::SET_OUTPUT(self.fd.as_raw_fd(), owner.fd.as_raw_fd()) })
    }

    /// The id that IDENTIFIER words carry.
    pub(crate) fn id(&self) -> io::Result<u64> {
        let mut id = 0u64;
        // SAFETY: the kernel writes one u64 to the pointer, which is to one.
        check(unsafe { perf::ioctls::ID(self.fd.as_raw_fd(), &raw mut id) })?;
        Ok(id)
    }

    /// Counter values as of now.
    pub(crate) fn counts(&self) -> io::Result<Counts> {
        let mut bytes = [0u8; 40];
        let read = rustix::io::read(&self.fd, &mut bytes)?;
        let wanted = 8 + 8 * self.read_format.bits().count_ones();
        if u32::try_from(read) != Ok(wanted) {
            return Err(io::Error::other(format!(
                "an event's count has {read} bytes, not {wanted}"
            )));
        }
        let mut words = bytes[..read].chunks_exact(8).map(|chunk| {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        });
        let mut field = |bit: ReadFormat| {
            if self.read_format.contains(bit) { words.next().unwrap_or(0) } else { 0 }
        };
        let count = field(ReadFormat::empty());
        let enabled = field(ReadFormat::TOTAL_TIME_ENABLED);
        let running = field(ReadFormat::TOTAL_TIME_RUNNING);
        let _id = field(ReadFormat::ID);
        let lost = field(ReadFormat::LOST);
        Ok(Counts { count, enabled, running, lost })
    }
}

/// Any descriptor, for tests of calls that fail.
#[cfg(test)]
impl From<OwnedFd> for Event {
    fn from(fd: OwnedFd) -> Event {
        Event { fd, read_format: ReadFormat::empty() }
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
