//! What programs in the kernel cannot do, whatever the kernel.

use perfdata::{Attr, AttrFlags, EventType, SampleType};

use super::PlannedEvent;
use crate::catalogue::promises::AddressPromise;
use crate::request::InKernel;
use crate::{Refusal, Request};

/// CLOCK_MONOTONIC, which bpf_ktime_get_ns() reads, and programs that mark
/// regions.
const MONOTONIC: i32 = 1;

/// Gives records the clock of a program that counts in the kernel, or that
/// marks regions: the kernel's own (perf_clock(), kernel/events/core.c) drifts
/// away from it, and a hit looked up later than it happened may be after its
/// process's exec.
pub(super) fn set_clock<'a>(request: &Request, attrs: impl Iterator<Item = &'a mut Attr>) {
    if request.regions || request.in_kernel.as_ref().is_some_and(InKernel::counts) {
        attrs.for_each(|attr| {
            attr.flags.insert(AttrFlags::USE_CLOCKID);
            attr.clockid = MONOTONIC;
        });
    }
}

pub(super) fn check(request: &Request, events: &[PlannedEvent]) -> Result<(), Refusal> {
    let Some(in_kernel) = &request.in_kernel else { return Ok(()) };
    in_kernel.keep.check()?;
    let lacks = |fields: SampleType| {
        events.iter().find(|event| !event.carrier && !event.attr.sample_type.intersects(fields))
    };
    let weight = SampleType::WEIGHT | SampleType::WEIGHT_STRUCT;
    let asked = [
        ("weight", in_kernel.keep.least_weight > 0, weight),
        ("data_src", in_kernel.keep.data_src.is_some(), SampleType::DATA_SRC),
    ];
    let no_address =
        |event: &&PlannedEvent| !event.carrier && event.promises.address == AddressPromise::None;
    if let Some(event) = events.iter().find(no_address) {
        let option = if in_kernel.keep.address.is_some() {
            Some("--keep addr")
        } else {
            in_kernel.tables().filter(|tables| tables.strides).map(|_| "--strides")
        };
        if let Some(option) = option {
            return Err(Refusal::NoAddress { event: event.name.clone(), option });
        }
    }
    for (key, _, fields) in asked.into_iter().filter(|(_, wanted, _)| *wanted) {
        if let Some(event) = lacks(fields) {
            return Err(Refusal::KeepLacks { event: event.name.clone(), key });
        }
    }
    let tracepoint = events.iter().find(|event| event.attr.kind == EventType::TRACEPOINT);
    match tracepoint {
        Some(event) if !in_kernel.counts() => {
            Err(Refusal::FilteredTracepoint { event: event.name.clone() })
        }
        _ => Ok(()),
    }
}
