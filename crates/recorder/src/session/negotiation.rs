//! Finding out how much of the plan this kernel takes.
//!
//! When the kernel refuses an event there may be two reasons that less would
//! help against, and a refusal does not tell which it is:
//!
//! - A feature that is younger than the kernel: a bit of sample_type,
//!   read_format or flags (EINVAL, trap 2). It does not depend on the event,
//!   as perf_copy_attr() looks at the bits before the kernel looks for the
//!   PMU. So they are asked of a dummy event on our own thread, each alone,
//!   once: exactly the unknown ones are given up, in all events.
//! - precise_ip higher than the PMU can (EOPNOTSUPP; EINVAL and ENOENT have
//!   been seen, trap 3). It is lowered one by one for the event that was
//!   refused, when no feature is to blame, down to what the plan allows.
//!
//! So what is given up is what has to be, in whatever order the kernel
//! complains. What the first open of an event has settled holds for all
//! others: threads and CPUs are sampled alike or not at all.

use std::io;

use perfdata::{Attr, AttrFlags, EventType, SoftwareEvent};

use super::attrs::SessionAttrs;
use super::error::OpenError;
use super::kernel::Kernel;
use super::shadow_counter;
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::sys::event::{EncodedAttr, EventPlace};
use crate::{Fallback, OpenFailure, Plan, PlannedEvent, Promises};

/// The plan's attrs, less what this kernel has refused.
#[derive(Debug)]
pub(super) struct Negotiation<'s> {
    kernel: &'s dyn Kernel,
    attrs: SessionAttrs,
    encoded: EncodedAttrs,
    /// Bytes that attrs are handed over in.
    size: u32,
    fallbacks: &'s [Fallback],
    given_up: Vec<Fallback>,
    /// The kernel has been asked which features it knows.
    asked: bool,
    levels: Vec<PrecisionLevel>,
}

#[derive(Debug)]
pub(super) struct EncodedAttrs {
    pub(super) events: Vec<EncodedAttr>,
    /// What counts beside each of them.
    pub(super) shadow_counters: Vec<Option<EncodedAttr>>,
    pub(super) side: EncodedAttr,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PrecisionLevel {
    planned: u8,
    /// Levels that were refused, highest first, and how.
    refused: Vec<(u8, i32)>,
    settled: bool,
}

impl<'s> Negotiation<'s> {
    pub(super) fn new(plan: &'s Plan, kernel: &'s dyn Kernel) -> Result<Self, OpenError> {
        let attrs = SessionAttrs::of(plan);
        let size = Attr::MAX_SIZE;
        let encoded = encode(&attrs, size).map_err(OpenError::Attr)?;
        let level = |event: &PlannedEvent| PrecisionLevel {
            planned: event.attr.precise_ip(),
            ..PrecisionLevel::default()
        };
        let levels = attrs.events.iter().map(level).collect();
        let fallbacks = plan.fallbacks.as_slice();
        let (given_up, asked) = (Vec::new(), false);
        Ok(Negotiation { kernel, attrs, encoded, size, fallbacks, given_up, asked, levels })
    }

    /// See [`SessionAttrs::limit_to_one_thread`]; before anything is opened.
    pub(super) fn limit_to_one_thread(&mut self) -> Result<(), OpenError> {
        self.attrs.limit_to_one_thread();
        self.encoded = encode(&self.attrs, self.size).map_err(OpenError::Attr)?;
        Ok(())
    }

    /// See [`SessionAttrs::wait_beyond_exec`]; before anything is opened.
    pub(super) fn wait_beyond_exec(&mut self) -> Result<(), OpenError> {
        self.attrs.wait_beyond_exec();
        self.encoded = encode(&self.attrs, self.size).map_err(OpenError::Attr)?;
        Ok(())
    }

    pub(super) fn attrs(&self) -> &SessionAttrs {
        &self.attrs
    }

    pub(super) fn encoded(&mut self) -> &mut EncodedAttrs {
        &mut self.encoded
    }

    pub(super) fn settle(&mut self, index: usize) {
        if let Some(level) = self.levels.get_mut(index) {
            level.settled = true;
        }
    }

    /// After a refusal: asks for less where that may help. False: there is
    /// nothing to be had by that.
    pub(super) fn adapt(&mut self, failure: &OpenFailure) -> bool {
        match failure.errno {
            libc::E2BIG => failure.kernel_size.is_some_and(|size| self.shrink(size)),
            libc::EINVAL if self.give_up_features() => true,
            errno if may_be_precision(errno) => {
                failure.event.is_some_and(|index| self.lower(index, errno))
            }
            _ => false,
        }
    }

    /// Hands attrs over in as many bytes as the kernel knows, if the rest is
    /// zeros. A kernel takes a tail of zeros by itself; what stands between
    /// it and us (a sandbox) may not.
    fn shrink(&mut self, size: u32) -> bool {
        if size >= self.size {
            return false;
        }
        match encode(&self.attrs, size) {
            Ok(encoded) => {
                (self.encoded, self.size) = (encoded, size);
                true
            }
            Err(_) => false,
        }
    }

    /// Gives up the features that the kernel does not know, if it has not
    /// been asked yet. False: that changes nothing.
    fn give_up_features(&mut self) -> bool {
        if std::mem::replace(&mut self.asked, true) {
            return false;
        }
        let bare: Vec<Attr> = self.attrs.all().map(|attr| self.bare(attr)).collect();
        if bare.iter().any(|attr| self.is_invalid(attr)) {
            // Something else is wrong, and no feature can be told from it.
            return false;
        }
        let is_unknown = |fallback: &Fallback| {
            let with = |attr| self.bare_but(attr, *fallback);
            self.attrs.all().map(with).any(|attr| self.is_invalid(&attr))
        };
        let unknown: Vec<Fallback> = self.fallbacks.iter().copied().filter(is_unknown).collect();
        for &fallback in &unknown {
            self.attrs.give_up(fallback);
        }
        let changed = !unknown.is_empty();
        self.given_up.extend(unknown);
        changed && self.encode_again()
    }

    /// A dummy with the attr's fields, without any feature that could be
    /// given up.
    fn bare(&self, attr: &Attr) -> Attr {
        let mut bare = dummy_like(attr);
        self.fallbacks.iter().for_each(|fallback| fallback.apply(&mut bare));
        bare
    }

    fn bare_but(&self, attr: &Attr, but: Fallback) -> Attr {
        let mut with = dummy_like(attr);
        let others = self.fallbacks.iter().filter(|&&fallback| fallback != but);
        others.for_each(|fallback| fallback.apply(&mut with));
        with
    }

    fn is_invalid(&self, attr: &Attr) -> bool {
        let place = EventPlace { pid: 0, cpu: -1, leader: None, leads: false, cgroup: None };
        let opened = EncodedAttr::in_size(attr, self.size)
            .and_then(|mut encoded| self.kernel.open(&mut encoded, place));
        opened.is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL))
    }

    fn lower(&mut self, index: usize, errno: i32) -> bool {
        let (Some(event), Some(level)) =
            (self.attrs.events.get_mut(index), self.levels.get_mut(index))
        else {
            return false;
        };
        let at = event.attr.precise_ip();
        if level.settled || at == 0 {
            return false;
        }
        level.refused.push((at, errno));
        if at <= event.least_precise {
            return false;
        }
        event.attr.set_precise_ip(at - 1);
        self.encode_again()
    }

    /// After the last refusal: whether it is for want of precision, in which
    /// case the event is set to none, to see whether that is taken.
    pub(super) fn give_up_precision(&mut self, failure: &OpenFailure) -> bool {
        let Some(index) = failure.event.filter(|_| may_be_precision(failure.errno)) else {
            return false;
        };
        let stepped = self.levels.get(index).is_some_and(|level| !level.refused.is_empty());
        match self.attrs.events.get_mut(index) {
            Some(event) if stepped && event.attr.precise_ip() > 0 => {
                event.attr.set_precise_ip(0);
                self.encode_again()
            }
            _ => false,
        }
    }

    pub(super) fn refused(&self, index: usize) -> &[(u8, i32)] {
        self.levels.get(index).map_or(&[], |level| &level.refused)
    }

    fn encode_again(&mut self) -> bool {
        match encode(&self.attrs, self.size) {
            Ok(encoded) => {
                self.encoded = encoded;
                true
            }
            Err(_) => false,
        }
    }

    /// What came of it. Events have the promises of what they were opened
    /// with.
    pub(super) fn into_outcome(mut self) -> NegotiatedAttrs {
        let mut notes: Vec<String> = self.given_up.iter().map(ToString::to_string).collect();
        for (event, level) in self.attrs.events.iter_mut().zip(&self.levels) {
            let got = event.attr.precise_ip();
            if got < level.planned {
                notes.push(lowered_note(event, level));
                event.promises = lowered(event.promises, got);
            }
        }
        NegotiatedAttrs { attrs: self.attrs, given_up: self.given_up, notes }
    }
}

/// What the kernel took.
#[derive(Debug)]
pub(crate) struct NegotiatedAttrs {
    pub(crate) attrs: SessionAttrs,
    pub(crate) given_up: Vec<Fallback>,
    /// For the user, a line for each thing given up.
    pub(crate) notes: Vec<String>,
}

fn encode(attrs: &SessionAttrs, size: u32) -> io::Result<EncodedAttrs> {
    let events = attrs.events.iter().map(|event| EncodedAttr::in_size(&attrs.opened(event), size));
    let shadow_counters = attrs.events.iter().map(|event| {
        let attr = shadow_counter::attr(attrs, event);
        attr.map(|attr| EncodedAttr::in_size(&attr, size)).transpose()
    });
    Ok(EncodedAttrs {
        shadow_counters: shadow_counters.collect::<io::Result<_>>()?,
        events: events.collect::<io::Result<_>>()?,
        side: EncodedAttr::in_size(&attrs.side, size)?,
    })
}

fn may_be_precision(errno: i32) -> bool {
    matches!(errno, libc::EOPNOTSUPP | libc::EINVAL | libc::ENOENT)
}

/// No PMU refuses anything of it.
fn dummy_like(attr: &Attr) -> Attr {
    let mut dummy = Attr {
        kind: EventType::SOFTWARE,
        config: SoftwareEvent::DUMMY.0,
        bp_type: 0,
        config1: 0,
        config2: 0,
        config3: 0,
        config4: 0,
        ..attr.clone()
    };
    dummy.set_precise_ip(0);
    // Of our own thread's user mode, which anybody may look at.
    dummy.flags |= AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV;
    dummy
}

/// What samples are worth at a lower precise_ip: of a PEBS event, 2 has exact
/// IPs too, 1 those of the instruction after
/// (setup_pebs_fixed_sample_data(), arch/x86/events/intel/ds.c); at 0 that is
/// a plain counter, and so is what AMD handed on to IBS.
fn lowered(promises: Promises, precise: u8) -> Promises {
    match (promises.source, precise) {
        (SampleSource::Pebs | SampleSource::Ibs, 0) => Promises {
            source: SampleSource::Counter,
            ip: IpPromise::Skid,
            address: AddressPromise::None,
            registers: match promises.registers {
                RegistersPromise::None => RegistersPromise::None,
                _ => RegistersPromise::AtInterrupt,
            },
            weight: WeightPromise::None,
        },
        (SampleSource::Pebs, 1) => Promises { ip: IpPromise::AfterCausing, ..promises },
        _ => promises,
    }
}

fn lowered_note(event: &PlannedEvent, level: &PrecisionLevel) -> String {
    let got = event.attr.precise_ip();
    let costs = match (event.promises.source, got) {
        (SampleSource::Pebs | SampleSource::Ibs, 0) => "IPs skid, and there is no data address",
        (SampleSource::Pebs, 1) => "IPs are of the instruction after the one that caused the event",
        (SampleSource::Pebs, _) => "IPs are exact, but not as evenly distributed",
        _ => "IPs may be less exact",
    };
    format!(
        "{}: precise_ip {got} of {}, as this kernel and CPU refuse more: {costs}",
        event.name, level.planned
    )
}
