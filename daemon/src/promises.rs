//! What the fields of a session's samples mean: travels with the data.

use std::fmt;

/// Where samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// An event that the kernel counts in software.
    KernelSoftware,
    /// A timer of the kernel.
    KernelTimer,
    /// A debug register of the CPU.
    Breakpoint,
    /// A static trace point in the kernel's code.
    Tracepoint,
}

/// What the instruction pointer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IpPromise {
    /// The instruction that caused the event; it has not taken effect.
    Causing,
    /// The instruction after the one that caused the event.
    AfterCausing,
    /// Where the CPU was when a timer interrupted it.
    Interrupted,
    /// A fixed place in the kernel that reports the event.
    ReportingPlace,
}

/// What the data address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressPromise {
    /// The data address that faulted.
    Faulting,
    /// The address of the breakpoint that was hit.
    Watched,
    /// There is none: the field is 0.
    None,
}

/// What the registers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegistersPromise {
    /// Values before the instruction at IP takes effect.
    BeforeInstruction,
    /// Values after the instruction that caused the event took effect.
    AfterInstruction,
    /// IP and stack pointer of the reporting place; the rest is 0. (System
    /// call tracepoints: the program's registers at its call.)
    AtReportingPlace,
    /// Not sampled.
    None,
}

/// What the weight is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightPromise {
    /// Not sampled.
    None,
}

/// What the user may conclude from each field of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Promises {
    /// Who counts.
    pub source: Source,
    /// The sample's IP.
    pub ip: IpPromise,
    /// The sample's ADDR.
    pub address: AddressPromise,
    /// The sample's REGS_INTR.
    pub registers: RegistersPromise,
    /// The sample's WEIGHT.
    pub weight: WeightPromise,
}

impl fmt::Display for Promises {
    /// The note in the stream: `source=...;ip=...;addr=...;regs=...;weight=...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            Source::KernelSoftware => "kernel-software",
            Source::KernelTimer => "kernel-timer",
            Source::Breakpoint => "breakpoint",
            Source::Tracepoint => "tracepoint",
        };
        let ip = match self.ip {
            IpPromise::Causing => "causing-instruction",
            IpPromise::AfterCausing => "after-causing-instruction",
            IpPromise::Interrupted => "interrupted",
            IpPromise::ReportingPlace => "reporting-place",
        };
        let addr = match self.address {
            AddressPromise::Faulting => "faulting",
            AddressPromise::Watched => "watched",
            AddressPromise::None => "none",
        };
        let regs = match self.registers {
            RegistersPromise::BeforeInstruction => "before-instruction",
            RegistersPromise::AfterInstruction => "after-instruction",
            RegistersPromise::AtReportingPlace => "reporting-place",
            RegistersPromise::None => "none",
        };
        let weight = match self.weight {
            WeightPromise::None => "none",
        };
        write!(f, "source={source};ip={ip};addr={addr};regs={regs};weight={weight}")
    }
}
