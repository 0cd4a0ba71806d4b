//! perf_event_open(2), its ioctls and its read(2).

use std::ffi::c_long;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use perf_event_open_sys as perf;
use perfdata::{Attr, ByteOrder, ReadFormat};

/// The byte order that this machine's kernel writes records in.
pub const NATIVE_ORDER: ByteOrder =
    if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

/// An attr as the kernel wants its bytes, encoded once for many opens.
#[derive(Clone, Debug)]
pub struct EncodedAttr {
    words: Vec<u64>,
    read_format: ReadFormat,
}

impl EncodedAttr {
    /// In [`Attr::MAX_SIZE`] bytes: a kernel that knows fewer accepts a tail
    /// of zeros (trap 1).
    pub(crate) fn new(attr: &Attr) -> io::Result<EncodedAttr> {
        EncodedAttr::in_size(attr, Attr::MAX_SIZE)
    }

    /// In so many bytes; an error when a field lies beyond.
    pub fn in_size(attr: &Attr, size: u32) -> io::Result<EncodedAttr> {
        let mut bytes = Vec::new();
        attr.encode(size, NATIVE_ORDER, &mut bytes).map_err(io::Error::other)?;
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

    /// The size field: where the kernel writes how many bytes it knows, when
    /// these are too many.
    pub fn size(&self) -> u32 {
        let halves = self.words.first().map(|word| word.to_ne_bytes());
        halves.map_or(0, |[_, _, _, _, size @ ..]| u32::from_ne_bytes(size))
    }

    pub fn read_format(&self) -> ReadFormat {
        self.read_format
    }

    pub fn set_size(&mut self, size: u32) {
        if let Some(word) = self.words.first_mut() {
            let mut bytes = word.to_ne_bytes();
            bytes[4..].copy_from_slice(&size.to_ne_bytes());
            *word = u64::from_ne_bytes(bytes);
        }
    }

    #[cfg(test)]
    pub(crate) fn attr(&self) -> Attr {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Attr::decode(&bytes, NATIVE_ORDER).unwrap_or_default()
    }

    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

#[derive(Clone, Copy, Debug)]
pub struct EventPlace<'e> {
    /// A task; 0: the calling thread, -1: any.
    pub pid: i32,
    /// A CPU; -1: any.
    pub cpu: i32,
    /// The leader of the group to join, open in the same place.
    pub leader: Option<&'e PerfEvent>,
    /// It is such a leader, and its member is opened next.
    pub leads: bool,
    /// The directory of a control group: any of its tasks.
    pub cgroup: Option<BorrowedFd<'e>>,
}

/// What read(2) of one event gives; nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Events, those of inherited children included.
    pub(crate) count: u64,
    pub(crate) enabled: u64,
    /// Time that it was on a counter.
    pub(crate) running: u64,
    /// Records that found no room; 0 when `read_format` has no LOST.
    pub(crate) lost: u64,
}

/// What read(2) of a group's leader gives; nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupCounts {
    pub(crate) enabled: u64,
    /// Time that it was on counters.
    pub(crate) running: u64,
    /// The leader's count, then those of its members as they were opened;
    /// those of inherited children included.
    pub(crate) counts: Vec<u64>,
}

#[derive(Debug)]
pub struct PerfEvent {
    fd: OwnedFd,
    read_format: ReadFormat,
}

impl PerfEvent {
    /// Opens `attr`, close-on-exec. After E2BIG, where the kernel knows
    /// fewer bytes, the size field holds how many (trap 1).
    pub fn open(attr: &mut EncodedAttr, place: EventPlace<'_>) -> io::Result<PerfEvent> {
        let leader = place.leader.map_or(-1, |leader| leader.fd.as_raw_fd());
        let pointer = attr.words.as_mut_ptr().cast();
        let (pid, of_cgroup) = match place.cgroup {
            Some(directory) => (directory.as_raw_fd(), perf::bindings::PERF_FLAG_PID_CGROUP),
            None => (place.pid, 0),
        };
        let flags = libc::c_ulong::from(perf::bindings::PERF_FLAG_FD_CLOEXEC | of_cgroup);
        // SAFETY: `pointer` is to as many initialised bytes as their size
        // field says, which outlive the call; the kernel writes to no more
        // than that field.
        let fd = unsafe { perf::perf_event_open(pointer, pid, place.cpu, leader, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel just made this descriptor; nobody else has it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(PerfEvent { fd, read_format: attr.read_format })
    }

    /// One that somebody else has opened, with this read_format.
    pub fn received(fd: OwnedFd, read_format: ReadFormat) -> PerfEvent {
        PerfEvent { fd, read_format }
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

    /// Samples once in so many events from now on. What children have
    /// inherited keeps its own (_perf_event_period(), kernel/events/core.c).
    pub(crate) fn set_period(&self, period: u64) -> io::Result<()> {
        let request = libc::Ioctl::from(perf::bindings::PERIOD);
        // SAFETY: the descriptor is an event's; the kernel reads one u64 from
        // the pointer, which is to one.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), request, &raw const period) })
    }

    /// Sends this event's records to the ring that `owner` has mapped
    /// (trap 24: same CPU, same clock).
    pub(crate) fn output_to(&self, owner: &PerfEvent) -> io::Result<()> {
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

    /// Counts of a group of so many events, by its leader, as of now; both
    /// times are in its read_format, and ids are not.
    pub(crate) fn group_counts(&self, events: usize) -> io::Result<GroupCounts> {
        let mut bytes = vec![0u8; 8 * (events + 3)];
        let read = rustix::io::read(&self.fd, &mut bytes)?;
        if read != bytes.len() {
            let wanted = bytes.len();
            return Err(io::Error::other(format!(
                "the counts of a group have {read} bytes, not {wanted}"
            )));
        }
        let mut words = bytes.chunks_exact(8).skip(1).map(|chunk| {
            let mut word = [0; 8];
            word.copy_from_slice(chunk);
            u64::from_ne_bytes(word)
        });
        let (enabled, running) = (words.next().unwrap_or(0), words.next().unwrap_or(0));
        Ok(GroupCounts { enabled, running, counts: words.collect() })
    }
}

impl From<PerfEvent> for OwnedFd {
    fn from(event: PerfEvent) -> OwnedFd {
        event.fd
    }
}

/// Any descriptor, for tests of calls that fail.
#[cfg(test)]
impl From<OwnedFd> for PerfEvent {
    fn from(fd: OwnedFd) -> PerfEvent {
        PerfEvent { fd, read_format: ReadFormat::empty() }
    }
}

impl AsFd for PerfEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns once every handler that was running in the kernel when it was
/// called has ended: perf writes records with preemption disabled, which an
/// RCU grace period outlasts (`MEMBARRIER_CMD_GLOBAL`: synchronize_rcu(),
/// kernel/sched/membarrier.c). Takes some 10 ms.
///
/// # Errors
/// EINVAL with `nohz_full` CPUs, ENOSYS where a seccomp filter hides it.
pub(crate) fn wait_for_handlers() -> io::Result<()> {
    let none: c_long = 0;
    // SAFETY: takes three numbers, and touches no memory of ours.
    let failed = unsafe {
        libc::syscall(libc::SYS_membarrier, c_long::from(libc::MEMBARRIER_CMD_GLOBAL), none, none)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_period_ends() {
        match wait_for_handlers() {
            Ok(()) => {}
            Err(error) => assert!(
                [libc::EINVAL, libc::ENOSYS, libc::EPERM].map(Some).contains(&error.raw_os_error()),
                "{error}"
            ),
        }
    }
}
