//! One sample, with names.

use perfdata::sample::Weight;
use perfdata::{Arch, Cpu, CpuMode, DataSrc, Misc, Sample, Task, Time, registers};
use std::sync::Arc;

/// A sample and what its addresses belong to.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedSample {
    /// The instruction.
    pub ip: u64,
    /// Whether it is the one that caused the event, beyond doubt.
    pub is_exact: bool,
    /// Privilege level.
    pub mode: CpuMode,
    /// Process and thread.
    pub task: Task,
    /// CPU.
    pub cpu: Cpu,
    /// When, CLOCK_MONOTONIC in ns where regions are told; of the emulated
    /// PMU by the model's clock.
    pub time: Time,
    /// The data address, where the event has one.
    pub address: Option<u64>,
    /// Events that it stands for.
    pub period: u64,
    /// What served the access, where that is known.
    pub data_source: Option<DataSrc>,
    /// Cycles or another cost; what it counts depends on the event.
    pub weight: Option<u64>,
    /// Values of the general registers, by perf's numbers; see
    /// [`NamedSample::register`].
    pub registers: Vec<(u32, u64)>,
    /// The routine that holds the instruction; without one, in brackets why
    /// there is none.
    pub routine: Arc<str>,
    /// Bytes from its start; None: there is no routine.
    pub offset: Option<u64>,
    /// The file, or the kernel, that holds it.
    pub object: Arc<str>,
    /// The variable, or the memory, that holds the data address; in brackets
    /// why it has no name.
    pub variable: Option<Arc<str>>,
    /// The regions that the thread was in, outermost first: `outer/inner`.
    /// None: in no region.
    pub regions: Option<Arc<str>>,
}

impl NamedSample {
    /// The fields of a sample; no names yet.
    pub(crate) fn of(sample: &Sample<'_>, zero_is_address: bool) -> NamedSample {
        let address = sample.addr.filter(|address| *address != 0 || zero_is_address);
        let registers = sample.regs_intr.map_or_else(Vec::new, |file| {
            (0..u64::BITS).filter_map(|bit| Some((bit, file.get(bit)?))).collect()
        });
        NamedSample {
            ip: sample.ip.unwrap_or_default(),
            is_exact: sample.misc.contains(Misc::EXACT_IP),
            mode: sample.misc.cpu_mode(),
            task: sample.task.unwrap_or_default(),
            cpu: sample.cpu.unwrap_or_default(),
            time: sample.time.unwrap_or_default(),
            address,
            period: sample.period.unwrap_or(1),
            data_source: sample.data_src,
            weight: sample.weight.map(Weight::first),
            registers,
            routine: Arc::default(),
            offset: None,
            object: Arc::default(),
            variable: None,
            regions: None,
        }
    }

    /// A register by any usual name, such as `rcx`; None: it was not sampled.
    pub fn register(&self, name: &str) -> Option<u64> {
        let number = registers::number(Arch::here(), name)?;
        let found = self.registers.iter().find(|(bit, _)| *bit == number);
        found.map(|(_, value)| *value)
    }
}
