//! What the fields of a session's samples mean: travels with the data.

use perfdata::IpMeaning;
use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleSource {
    KernelSoftware,
    KernelTimer,
    Breakpoint,
    Tracepoint,
    /// A counter of the CPU whose overflow the CPU itself records (Intel
    /// PEBS).
    Pebs,
    /// AMD's instruction-based sampling of ops.
    Ibs,
    /// A counter of the CPU whose overflow interrupts.
    Counter,
    /// A model of caches and TLBs that the program's instructions run
    /// through: no hardware counts anything.
    Emulated,
    /// A library of ours that the program was started with: it tells of
    /// itself.
    Preloaded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IpPromise {
    /// The instruction that caused the event; it has not taken effect.
    Causing,
    AfterCausing,
    /// Where the CPU was when a timer interrupted it.
    Interrupted,
    /// A fixed place in the kernel that reports the event.
    ReportingPlace,
    /// The instruction that caused the event, as the CPU recorded it. Each
    /// record's EXACT_IP is the proof.
    Exact,
    /// Some instructions after the one that caused the event.
    Skid,
    /// Precision was asked for, and no table says that the event has it: the
    /// kernel's consent proves nothing (trap 4), EXACT_IP of each record does.
    AsEachRecordSays,
}

impl IpPromise {
    pub fn is_exact(self) -> bool {
        matches!(self, IpPromise::Causing | IpPromise::Exact)
    }

    pub fn meaning(self) -> IpMeaning {
        match self {
            IpPromise::Causing => IpMeaning::Exact,
            IpPromise::AfterCausing => IpMeaning::Next,
            IpPromise::Interrupted => IpMeaning::Timer,
            IpPromise::ReportingPlace => IpMeaning::Place,
            IpPromise::Exact | IpPromise::Skid | IpPromise::AsEachRecordSays => IpMeaning::Varies,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressPromise {
    Faulting,
    /// The address of the breakpoint that was hit.
    Watched,
    /// The linear address of the access.
    Data,
    /// There is none: the field is 0.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegistersPromise {
    /// Values before the instruction at IP takes effect.
    BeforeInstruction,
    /// Values after the instruction that caused the event took effect.
    AfterInstruction,
    /// IP and stack pointer of the reporting place; the rest is 0. (System
    /// call tracepoints: the program's registers at its call.)
    AtReportingPlace,
    /// Values when the sampled instruction retired: a load has overwritten
    /// its destination already (trap 15).
    AfterRetirement,
    /// Values when the interrupt came, some instructions later (trap 15).
    AtInterrupt,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightPromise {
    /// Not sampled, or without meaning for the event.
    None,
    /// Core cycles from the load's dispatch until its data was used.
    LoadLatency,
    /// Core cycles from the store's retirement until it was globally seen.
    StoreLatency,
    /// Core cycles from a load's first-level miss to its data; 0 for loads
    /// that hit, which must not be averaged in (trap 17).
    MissLatency,
    /// Core cycles that the model gives the level which served the access.
    ModelledLatency,
}

/// What the user may conclude from each field of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Promises {
    pub source: SampleSource,
    pub ip: IpPromise,
    /// The sample's ADDR.
    pub address: AddressPromise,
    /// The sample's REGS_INTR.
    pub registers: RegistersPromise,
    /// The sample's WEIGHT.
    pub weight: WeightPromise,
}

macro_rules! words {
    ($type:ty { $($value:pat => $word:literal),+ $(,)? }) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($value => $word),+ })
            }
        }
    };
}

words!(SampleSource {
    SampleSource::KernelSoftware => "kernel-software",
    SampleSource::KernelTimer => "kernel-timer",
    SampleSource::Breakpoint => "breakpoint",
    SampleSource::Tracepoint => "tracepoint",
    SampleSource::Pebs => "pebs",
    SampleSource::Ibs => "ibs",
    SampleSource::Counter => "counter",
    SampleSource::Emulated => "emulated",
    SampleSource::Preloaded => "preloaded",
});
words!(IpPromise {
    IpPromise::Causing => "causing-instruction",
    IpPromise::AfterCausing => "after-causing-instruction",
    IpPromise::Interrupted => "interrupted",
    IpPromise::ReportingPlace => "reporting-place",
    IpPromise::Exact => "exact",
    IpPromise::Skid => "skid",
    IpPromise::AsEachRecordSays => "as-each-record-says",
});
words!(AddressPromise {
    AddressPromise::Faulting => "faulting",
    AddressPromise::Watched => "watched",
    AddressPromise::Data => "data",
    AddressPromise::None => "none",
});
words!(RegistersPromise {
    RegistersPromise::BeforeInstruction => "before-instruction",
    RegistersPromise::AfterInstruction => "after-instruction",
    RegistersPromise::AtReportingPlace => "reporting-place",
    RegistersPromise::AfterRetirement => "after-retirement",
    RegistersPromise::AtInterrupt => "interrupt-time",
    RegistersPromise::None => "none",
});
words!(WeightPromise {
    WeightPromise::None => "none",
    WeightPromise::LoadLatency => "load-latency-cycles",
    WeightPromise::StoreLatency => "store-latency-cycles",
    WeightPromise::MissLatency => "miss-latency-cycles",
    WeightPromise::ModelledLatency => "modelled-latency-cycles",
});

impl fmt::Display for Promises {
    /// The note in the stream: `source=...;ip=...;addr=...;regs=...;weight=...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Promises { source, ip, address, registers, weight } = self;
        write!(f, "source={source};ip={ip};addr={address};regs={registers};weight={weight}")
    }
}
