//! The three events, beside those that were asked for.

use perfdata::heap_log::REGISTERS;
use perfdata::{Attr, AttrFlags, EventType, SampleFilter, SampleType, SoftwareEvent};

use super::{HeapSettings, PMU, is_of_heap};
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::{Plan, PlannedEvent, Promises, Refusal, Target};

/// In attrs of streams. No PMU of any kernel has such a number.
const PMU_TYPE: EventType = EventType(1 << 31 | 0x5041_4548);
const ALLOCATION: u64 = 1;
const RELEASE: u64 = 2;
const MAPPING: u64 = 3;
/// What the library takes times by: what is compared with them has to use it, too.
const CLOCK_MONOTONIC: i32 = 1;

/// Adds them to a plan of the kernel's events: allocations, releases, mappings.
///
/// # Errors
/// Who cannot be told of, and what works instead.
pub fn add(plan: &mut Plan, settings: &HeapSettings) -> Result<(), Refusal> {
    let refused = |why: String| Err(Refusal::Heap { why });
    if !cfg!(target_arch = "x86_64") {
        return refused("the library that sees allocations is of x86-64 alone".to_owned());
    }
    match plan.target {
        Target::Command => {}
        Target::Process(pid) => {
            return refused(format!(
                "the allocator of a process that runs already cannot be stood before: start the \
                 program with ebs (`ebs --heap ... -- COMMAND` instead of -p {pid}), or have it \
                 emulated (--source emulated)"
            ));
        }
        Target::System | Target::Cgroup => {
            return refused(
                "it needs a command that the library is loaded into: put one after `--`".to_owned(),
            );
        }
    }
    if plan.in_kernel.is_some() {
        return refused(
            "what a program in the kernel counts has no order: leave it out".to_owned(),
        );
    }
    if settings.embedded.is_empty() && settings.installed().is_none() {
        let places: Vec<String> =
            settings.libraries.iter().map(|path| path.display().to_string()).collect();
        return refused(format!(
            "{} is not there; looked for as {}: this ebs was built without it; in a source tree \
             `cargo build --release` puts it beside ebs",
            HeapSettings::LIBRARY,
            places.join(" and ")
        ));
    }
    let Some(first) = plan.events.iter().find(|event| !event.carrier) else { return Ok(()) };
    let like = first.attr.clone();
    plan.events.push(event("allocation", with_callers(bare(&like, ALLOCATION), settings)));
    plan.events.push(event("release", bare(&like, RELEASE)));
    plan.events.push(event("mapping", with_callers(bare(&like, MAPPING), settings)));
    let attrs = plan.events.iter_mut().map(|event| &mut event.attr).chain([&mut plan.side]);
    for attr in attrs {
        attr.flags.insert(AttrFlags::USE_CLOCKID);
        attr.clockid = CLOCK_MONOTONIC;
    }
    Ok(())
}

fn bare(like: &Attr, config: u64) -> Attr {
    let shared = AttrFlags::DISABLED
        | AttrFlags::SAMPLE_ID_ALL
        | AttrFlags::INHERIT
        | AttrFlags::ENABLE_ON_EXEC
        | AttrFlags::WATERMARK;
    Attr {
        kind: PMU_TYPE,
        config,
        size: like.size,
        wakeup: like.wakeup,
        read_format: like.read_format,
        sample_period: 1,
        sample_type: SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU
            | SampleType::PERIOD
            | SampleType::RAW,
        flags: like.flags & shared | AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV,
        ..Attr::default()
    }
}

fn with_callers(mut attr: Attr, settings: &HeapSettings) -> Attr {
    attr.sample_type |= SampleType::CALLCHAIN | SampleType::REGS_USER | SampleType::STACK_USER;
    attr.sample_regs_user = REGISTERS.iter().fold(0, |mask, bit| mask | 1 << bit);
    attr.sample_stack_user = settings.stack.get();
    attr.flags |= AttrFlags::EXCLUDE_CALLCHAIN_USER | AttrFlags::EXCLUDE_CALLCHAIN_KERNEL;
    attr
}

/// Its place among the three.
pub(crate) fn place(event: &PlannedEvent) -> usize {
    usize::try_from(event.attr.config.saturating_sub(ALLOCATION)).unwrap_or(0).min(2)
}

/// What the kernel is asked for in the place of one of ours; None: it is another's event.
pub(crate) fn opened(event: &PlannedEvent) -> Option<Attr> {
    let chains = AttrFlags::EXCLUDE_CALLCHAIN_USER | AttrFlags::EXCLUDE_CALLCHAIN_KERNEL;
    is_of_heap(event).then(|| Attr {
        kind: EventType::SOFTWARE,
        config: SoftwareEvent::DUMMY.0,
        sample_type: SampleType::IDENTIFIER,
        sample_regs_user: 0,
        sample_stack_user: 0,
        flags: event.attr.flags & !chains,
        ..event.attr.clone()
    })
}

fn event(name: &str, attr: Attr) -> PlannedEvent {
    PlannedEvent {
        name: format!("{PMU}/{name}/"),
        pmu: PMU.to_owned(),
        attr,
        cpus: None,
        leader: None,
        carrier: false,
        least_precise: 0,
        promises: Promises {
            source: SampleSource::Preloaded,
            ip: IpPromise::Exact,
            address: AddressPromise::Data,
            registers: RegistersPromise::None,
            weight: WeightPromise::None,
        },
        filter: SampleFilter::ALL,
    }
}
