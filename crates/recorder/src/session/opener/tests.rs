//! The opener on kernels that answer as told.

mod errnos;
mod old_kernels;
mod precision;
mod scripted;

use perfdata::attr::SampleType;
use perfdata::{Attr, AttrFlags, EventType, Pid, ReadFormat, SampleFilter};

use super::*;
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::session::attrs::SessionAttrs;
use crate::{Fallback, Promises, RingPages, Target};
use scripted::{Answer, Asked, Scripted, nothing};

const TASK: Tid = Tid(4712);

pub(crate) fn hardware(name: &str, precise: u8) -> PlannedEvent {
    let mut attr = Attr {
        kind: EventType::RAW,
        config: 0x1cd,
        sample_period: 10_007,
        sample_type: SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::WEIGHT_STRUCT,
        read_format: ReadFormat::ID | ReadFormat::LOST,
        flags: AttrFlags::EXCLUDE_KERNEL,
        ..Attr::default()
    };
    attr.set_precise_ip(precise);
    PlannedEvent {
        name: name.into(),
        pmu: "cpu".into(),
        attr,
        cpus: None,
        leader: None,
        carrier: false,
        least_precise: 0,
        promises: Promises {
            source: SampleSource::Pebs,
            ip: IpPromise::Exact,
            address: AddressPromise::Data,
            registers: RegistersPromise::AfterRetirement,
            weight: WeightPromise::LoadLatency,
        },
        filter: SampleFilter::ALL,
    }
}

fn plan_of(events: Vec<PlannedEvent>) -> Plan {
    let side = Attr {
        kind: EventType::SOFTWARE,
        config: 9,
        sample_type: SampleType::IDENTIFIER | SampleType::TID | SampleType::TIME,
        read_format: ReadFormat::ID | ReadFormat::LOST,
        flags: AttrFlags::MMAP | AttrFlags::MMAP2 | AttrFlags::BUILD_ID | AttrFlags::KSYMBOL,
        ..Attr::default()
    };
    Plan {
        name: "load_latency".into(),
        events,
        side,
        fallbacks: Fallback::ALL.to_vec(),
        target: Target::Process(Pid(4711)),
        in_kernel: None,
        cpus: (0..4).map(Cpu).collect(),
        rings: RingPages { samples: 1, side: 1 },
        page_size: 4096,
        notes: Vec::new(),
        access: crate::machine::facts::AccessFacts::default(),
    }
}

#[derive(Debug)]
struct Opened {
    /// CPUs, and indices of the events open on each.
    set: Option<Vec<(u32, Vec<usize>)>>,
    outcome: NegotiatedAttrs,
}

fn open_all(plan: &Plan, kernel: &Scripted) -> Result<Opened, OpenError> {
    let rings: Vec<(PerfEvent, PerfEvent)> = (0..4).map(|_| (nothing(), nothing())).collect();
    let rings = rings.iter().zip(0..);
    let rings =
        rings.map(|((samples, side), cpu)| OutputRings { cpu: Cpu(cpu), samples, side }).collect();
    let mut opener = Opener::new(plan, kernel, rings, Some(1024))?;
    let set = opener.open(Some(TASK))?;
    let indices = |on_cpu: &CpuEvents| on_cpu.sampled.iter().map(|s| s.index).collect();
    let set = set.map(|set| {
        let cpus = set.cpus.iter().map(|on_cpu| (on_cpu.cpu.0, indices(on_cpu)));
        cpus.collect()
    });
    Ok(Opened { set, outcome: opener.into_outcome() })
}

fn refused(plan: &Plan, kernel: &Scripted) -> String {
    open_all(plan, kernel).unwrap_err().to_string()
}
