//! The two rings of each CPU, and the events that own them.
//!
//! A ring lives as long as the event it was mapped on. The owner is a
//! disabled dummy on our own thread: it counts nothing, and stays when the
//! target's threads, and events on them, come and go. Events reach its ring
//! by SET_OUTPUT, which asks for the same CPU only.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use perfdata::{Attr, AttrFlags, Cpu, EventType, RecordType, SoftwareEvent};

use super::error::OpenError;
use super::ring_losses::RingLosses;
use crate::ring::{Drained, RingRecord, RingRegion, drain, look};
use crate::sys::event::{EncodedAttr, EventPlace, PerfEvent};
use crate::sys::mapping::RingMapping;
use crate::{FailedCall, OpenFailure, Plan, RingPages};

/// poll(2) reports a ring that is filled by this share of its size, so that
/// the reader has the time to fill the rest.
const WAKE_AT: usize = 4;

#[derive(Debug)]
pub(crate) struct Ring {
    mapping: RingMapping,
    owner: PerfEvent,
    pub(super) losses: RingLosses,
}

impl Ring {
    pub(crate) fn owner(&self) -> &PerfEvent {
        &self.owner
    }

    /// Lends what the ring holds now, with the account of its losses, then
    /// releases it.
    pub(super) fn drain(
        &mut self,
        mut each: impl FnMut(RingRecord<'_>, &mut RingLosses),
    ) -> Drained {
        let (filled, size) = (self.filled(), self.mapping.size());
        let losses = &mut self.losses;
        losses.filled(filled, size);
        drain(&mut self.mapping, |record| {
            if record.header.kind == RecordType::SAMPLE {
                losses.sample();
            }
            each(record, losses);
        })
    }

    /// Lends what the ring holds now, and leaves it there.
    pub(crate) fn look(&self, each: impl FnMut(RingRecord<'_>)) {
        look(&self.mapping, each);
    }

    /// How full it is, per mille.
    pub(crate) fn level(&self) -> u16 {
        let level = self.filled() * 1000 / self.mapping.size().max(1);
        u16::try_from(level).unwrap_or(1000)
    }

    /// Bytes that the ring holds now.
    pub(crate) fn filled(&self) -> usize {
        let window = self.mapping.window();
        window.first.len() + window.second.len()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.owner.as_fd()
    }
}

/// The rings of one CPU. Sideband records have their own, so that a storm of
/// samples never costs a mapping.
#[derive(Debug)]
pub(crate) struct CpuRings {
    pub(crate) cpu: Cpu,
    pub(crate) samples: Ring,
    pub(crate) side: Ring,
}

/// Maps the rings of every CPU of the plan; CPUs that are offline are left
/// out and named. All sample rings are of one size, and all side rings.
pub(crate) fn map(plan: &Plan) -> Result<(Vec<CpuRings>, Vec<String>), OpenError> {
    let RingPages { samples, side } = plan.rings;
    let wanted = RingPages { samples: samples.max(1), side: side.max(1) };
    let ((rings, mut notes), got) = largest(wanted, |sizes| map_all(plan, sizes))
        .map_err(|failure| OpenError::event(failure, plan))?;
    if rings.is_empty() {
        return Err(OpenError::NoCpu { cpus: plan.cpus.len() });
    }
    notes.extend((got != wanted).then(|| smaller(got, wanted)));
    Ok((rings, notes))
}

/// Maps with smaller and smaller sizes while the kernel has no locked memory
/// for them (trap 21), or none in one piece (ENOMEM).
fn largest<T>(
    wanted: RingPages,
    mut map: impl FnMut(RingPages) -> Result<T, OpenFailure>,
) -> Result<(T, RingPages), OpenFailure> {
    let mut sizes = wanted;
    loop {
        let failure = match map(sizes) {
            Ok(mapped) => return Ok((mapped, sizes)),
            Err(failure) => failure,
        };
        let no_room = matches!(failure.errno, libc::EPERM | libc::ENOMEM)
            && matches!(failure.call, FailedCall::Map { .. });
        sizes = sizes.smaller().filter(|_| no_room).ok_or(failure)?;
    }
}

fn smaller(got: RingPages, wanted: RingPages) -> String {
    let kib = |pages: u32| u64::from(pages) * rustix::param::page_size() as u64 / 1024;
    let reported = |got: u32, wanted: u32, what: &str| {
        (got != wanted)
            .then(|| format!("{} KiB a CPU instead of {} KiB{what}", kib(got), kib(wanted)))
    };
    let samples = reported(got.samples, wanted.samples, "");
    let side = reported(got.side, wanted.side, " for mappings and tasks");
    let both: Vec<String> = samples.into_iter().chain(side).collect();
    format!(
        "smaller rings: {}, as locked memory is limited; raise kernel.perf_event_mlock_kb or \
         `ulimit -l`, or run with CAP_IPC_LOCK",
        both.join(", and ")
    )
}

type MappedRings = (Vec<CpuRings>, Vec<String>);

fn map_all(plan: &Plan, sizes: RingPages) -> Result<MappedRings, OpenFailure> {
    let mut rings = Vec::with_capacity(plan.cpus.len());
    let mut offline = Vec::new();
    for &cpu in &plan.cpus {
        match map_ring(plan, cpu, sizes.samples) {
            Ok(samples) => {
                let side = map_ring(plan, cpu, sizes.side)?;
                rings.push(CpuRings { cpu, samples, side });
            }
            Err(failure) if failure.errno == libc::ENODEV => {
                offline.push(format!("CPU {cpu} is offline and not sampled"));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok((rings, offline))
}

fn map_ring(plan: &Plan, cpu: Cpu, pages: u32) -> Result<Ring, OpenFailure> {
    let fail = |call| {
        move |error: io::Error| OpenFailure {
            errno: error.raw_os_error().unwrap_or(0),
            cpu: Some(cpu),
            ..OpenFailure::of(call)
        }
    };
    let mut attr = EncodedAttr::new(&owner(plan, pages)).map_err(fail(FailedCall::OpenSide))?;
    let number =
        i32::try_from(cpu.0).map_err(|e| fail(FailedCall::OpenSide)(io::Error::other(e)))?;
    let place = EventPlace { pid: 0, cpu: number, leader: None, leads: false, cgroup: None };
    let owner = PerfEvent::open(&mut attr, place).map_err(fail(FailedCall::OpenSide))?;
    let mapping = RingMapping::new(&owner, pages).map_err(fail(FailedCall::Map { pages }))?;
    Ok(Ring { mapping, owner, losses: RingLosses::default() })
}

/// The clock must be that of the events that join (trap 24); the watermark
/// of a ring is its owner's.
fn owner(plan: &Plan, pages: u32) -> Attr {
    let bytes = rustix::param::page_size().saturating_mul(usize::try_from(pages).unwrap_or(1));
    let clock = plan.side.flags & AttrFlags::USE_CLOCKID;
    Attr {
        kind: EventType::SOFTWARE,
        config: SoftwareEvent::DUMMY.0,
        flags: AttrFlags::DISABLED
            | AttrFlags::EXCLUDE_KERNEL
            | AttrFlags::EXCLUDE_HV
            | AttrFlags::WATERMARK
            | clock,
        wakeup: u32::try_from(bytes / WAKE_AT).unwrap_or(u32::MAX),
        clockid: plan.side.clockid,
        ..Attr::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_room(errno: i32, call: FailedCall) -> OpenFailure {
        OpenFailure { errno, ..OpenFailure::of(call) }
    }

    fn got(samples: u32, side: u32, room: u32) -> Option<(u32, u32)> {
        let map = |sizes: RingPages| match sizes.samples + sizes.side <= room {
            true => Ok(()),
            false => Err(no_room(libc::EPERM, FailedCall::Map { pages: sizes.samples })),
        };
        largest(RingPages { samples, side }, map).ok().map(|((), got)| (got.samples, got.side))
    }

    #[test]
    fn only_what_is_smaller_is_told() {
        let wanted = RingPages { samples: 2048, side: 256 };
        let text = smaller(RingPages { samples: 512, side: 256 }, wanted);
        assert!(
            text.starts_with("smaller rings: 2048 KiB a CPU instead of 8192 KiB, as"),
            "{text}"
        );
        let text = smaller(RingPages { samples: 512, side: 64 }, wanted);
        assert!(text.contains(", and 256 KiB a CPU instead of 1024 KiB for mappings"), "{text}");
    }

    #[test]
    fn the_side_ring_gives_way_as_slowly_as_the_ring_of_samples() {
        assert_eq!(got(2048, 256, 4000), Some((2048, 256)));
        assert_eq!(got(2048, 256, 600), Some((256, 256)));
        assert_eq!(got(2, 64, 40), Some((2, 32)), "not to one page at once");
        assert_eq!(got(1, 8, 5), Some((1, 4)));
        assert_eq!((got(2, 64, 2), got(2, 64, 1)), (Some((1, 1)), None));
    }

    #[test]
    fn other_failures_are_not_tried_again() {
        let sizes = RingPages { samples: 8, side: 8 };
        for failure in
            [no_room(libc::EINVAL, FailedCall::Map { pages: 8 }), no_room(1, FailedCall::OpenSide)]
        {
            let mut tries = 0;
            let result = largest::<()>(sizes, |_| {
                tries += 1;
                Err(failure)
            });
            assert_eq!((result.unwrap_err(), tries), (failure, 1));
        }
    }
}
