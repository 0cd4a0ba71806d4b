//! The two rings of each CPU, and the events that own them.
//!
//! A ring lives as long as the event it was mapped on. The owner is a
//! disabled dummy on our own thread: it counts nothing, and stays when the
//! target's threads, and events on them, come and go. Events reach its ring
//! by SET_OUTPUT, which asks for the same CPU only.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use record::{Attr, AttrFlags, Cpu, EventType};

use super::error::OpenError;
use crate::ring::{Drained, Lent, Region, drain, look};
use crate::sys::event::{EncodedAttr, Event};
use crate::sys::mapping::Mapping;
use crate::{Call, OpenFailure, Plan};

/// PERF_COUNT_SW_DUMMY.
const DUMMY: u64 = 9;
/// poll(2) reports a ring that is filled by this share of its size, so that
/// the reader has the time to fill the rest.
const WAKE_AT: usize = 4;

/// One ring.
#[derive(Debug)]
pub(crate) struct Ring {
    mapping: Mapping,
    owner: Event,
}

impl Ring {
    pub(crate) fn owner(&self) -> &Event {
        &self.owner
    }

    /// Lends what the ring holds now, then releases it.
    pub(crate) fn drain(&mut self, each: impl FnMut(Lent<'_>)) -> Drained {
        drain(&mut self.mapping, each)
    }

    /// Lends what the ring holds now, and leaves it there.
    pub(crate) fn look(&self, each: impl FnMut(Lent<'_>)) {
        look(&self.mapping, each);
    }

    /// Bytes that the ring holds now.
    pub(crate) fn filled(&self) -> usize {
        let window = self.mapping.window();
        window.first.len() + window.second.len()
    }

    /// Data bytes.
    pub(crate) fn size(&self) -> usize {
        self.mapping.size()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.owner.as_fd()
    }
}

/// The rings of one CPU. Side records have their own, so that a storm of
/// samples never costs a mapping.
#[derive(Debug)]
pub(crate) struct CpuRings {
    pub(crate) cpu: Cpu,
    pub(crate) samples: Ring,
    pub(crate) side: Ring,
}

/// Maps the rings of every CPU of the plan; CPUs that are offline are left
/// out and named. Rings that the kernel has no locked memory for are halved
/// until they fit (trap 21); all sample rings are of one size.
pub(crate) fn map(plan: &Plan) -> Result<(Vec<CpuRings>, Vec<String>), OpenError> {
    let mut sizes = (plan.rings.samples.max(1), plan.rings.side.max(1));
    loop {
        match map_all(plan, sizes) {
            Ok((rings, offline)) => {
                let mut notes = offline;
                if sizes.0 < plan.rings.samples {
                    notes.push(smaller(sizes.0, plan.rings.samples));
                }
                if rings.is_empty() {
                    return Err(OpenError::NoCpu { cpus: plan.cpus.len() });
                }
                return Ok((rings, notes));
            }
            // Too little locked memory; ENOMEM: too little contiguous.
            Err(failure)
                if matches!(failure.errno, libc::EPERM | libc::ENOMEM)
                    && matches!(failure.call, Call::Map { .. })
                    && sizes != (1, 1) =>
            {
                sizes = ((sizes.0 / 2).max(1), sizes.1.min(sizes.0 / 2).max(1));
            }
            Err(failure) => return Err(OpenError::event(failure, plan)),
        }
    }
}

fn smaller(got: u32, wanted: u32) -> String {
    let kib = |pages: u32| u64::from(pages) * rustix::param::page_size() as u64 / 1024;
    format!(
        "smaller rings: {} KiB a CPU instead of {} KiB, as locked memory is limited; raise \
         kernel.perf_event_mlock_kb or `ulimit -l`, or run with CAP_IPC_LOCK",
        kib(got),
        kib(wanted)
    )
}

type Mapped = (Vec<CpuRings>, Vec<String>);

fn map_all(plan: &Plan, (samples, side): (u32, u32)) -> Result<Mapped, OpenFailure> {
    let mut rings = Vec::with_capacity(plan.cpus.len());
    let mut offline = Vec::new();
    for &cpu in &plan.cpus {
        match map_ring(plan, cpu, samples) {
            Ok(samples) => {
                let side = map_ring(plan, cpu, side)?;
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
            call,
            errno: error.raw_os_error().unwrap_or(0),
            cpu: Some(cpu),
            task: None,
        }
    };
    let mut attr = EncodedAttr::new(&owner(plan, pages)).map_err(fail(Call::OpenSide))?;
    let number = i32::try_from(cpu.0).map_err(|e| fail(Call::OpenSide)(io::Error::other(e)))?;
    let owner = Event::open(&mut attr, 0, number).map_err(fail(Call::OpenSide))?;
    let mapping = Mapping::new(&owner, pages).map_err(fail(Call::Map { pages }))?;
    Ok(Ring { mapping, owner })
}

/// The clock must be that of the events that join (trap 24); the watermark
/// of a ring is its owner's.
fn owner(plan: &Plan, pages: u32) -> Attr {
    let bytes = rustix::param::page_size().saturating_mul(usize::try_from(pages).unwrap_or(1));
    let clock = plan.event.flags & AttrFlags::USE_CLOCKID;
    Attr {
        kind: EventType::SOFTWARE,
        config: DUMMY,
        flags: AttrFlags::DISABLED
            | AttrFlags::EXCLUDE_KERNEL
            | AttrFlags::EXCLUDE_HV
            | AttrFlags::WATERMARK
            | clock,
        wakeup: u32::try_from(bytes / WAKE_AT).unwrap_or(u32::MAX),
        clockid: plan.event.clockid,
        ..Attr::default()
    }
}
