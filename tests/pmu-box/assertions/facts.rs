//! What the box is: told by who started it, and by its kernel.

use std::{env, fs};

use crate::walk::Load;

/// How the CPU tells exact instruction pointers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// Intel's records in memory.
    Pebs,
    /// AMD's samples in registers.
    Ibs,
}

/// What assertions depend on.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The name in `tests/pmu-box/run`, without what follows a dash and a number.
    pub(crate) cpu: String,
    pub(crate) precision: Precision,
    /// Whether the kernel's IBS can leave out a mode.
    pub(crate) swfilt: bool,
    /// X.Y of the kernel.
    pub(crate) kernel: (u32, u32),
}

/// A run that samples both modes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeRun {
    /// Of `programs/variants`.
    pub(crate) program: &'static str,
    /// A multiple of 16, as IBS wants it.
    pub(crate) interval: u64,
}

impl Facts {
    /// One with hundreds of records. Each of IBS' is an interrupt, and the
    /// kernel's own instructions are among those sampled: at some hundred
    /// instructions from one to the next it does nothing else.
    pub(crate) fn probe_run(&self) -> ProbeRun {
        match self.precision {
            Precision::Pebs => ProbeRun { program: "walk", interval: 208 },
            Precision::Ibs => ProbeRun { program: "walk-long", interval: 50_000 },
        }
    }

    /// Records of formats before 3: without a time of their own.
    pub(crate) fn is_before_skylake(&self) -> bool {
        matches!(self.cpu.as_str(), "haswell" | "sandy-bridge" | "nehalem")
    }

    /// Whether the PEBS records of a type hold an address: before Haswell it is
    /// only load latency that has one, by which Nehalem's loads are sampled.
    pub(crate) fn has_addresses(&self, kind: &str) -> bool {
        match self.cpu.as_str() {
            "sandy-bridge" => false,
            "nehalem" => kind == "memory_loads",
            _ => true,
        }
    }

    /// One of `memory_loads` as this CPU's records tell it.
    pub(crate) fn told(&self, load: Load) -> Load {
        match self.has_addresses("memory_loads") {
            true => load,
            false => Load { addr: 0, ..load },
        }
    }

    pub(crate) fn read() -> Facts {
        let name = env::var("BOX_CPU").expect("tests/pmu-box/run sets BOX_CPU");
        let numbered = name.rsplit_once('-').filter(|(_, n)| n.parse::<u32>().is_ok());
        let cpu = numbered.map_or(name.as_str(), |(cpu, _)| cpu).to_owned();
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0));
        let kernel = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let precision = match fs::exists("/sys/bus/event_source/devices/ibs_op").unwrap() {
            true => Precision::Ibs,
            false => Precision::Pebs,
        };
        let swfilt = fs::exists("/sys/bus/event_source/devices/ibs_op/format/swfilt").unwrap();
        Facts { cpu, precision, swfilt, kernel }
    }
}
