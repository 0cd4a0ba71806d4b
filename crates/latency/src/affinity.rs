//! Which CPUs there are for us, and staying on one.

use crate::error::LatencyError;
use crate::machine::{CpuTicks, cpu_ticks};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;
use std::time::Duration;

#[must_use]
pub fn allowed_cpus() -> Vec<u32> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let of_set = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    of_set.filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

pub(crate) fn pin_to_cpu(cpu: u32) -> Result<(), LatencyError> {
    let mut set = CpuSet::new();
    let number = usize::try_from(cpu).unwrap_or(usize::MAX);
    if number >= CpuSet::MAX_CPU {
        return Err(LatencyError::NotAllowed(cpu));
    }
    set.set(number);
    let stays = sched_setaffinity(None, &set);
    stays.map_err(|error| LatencyError::Cpu { cpu, source: error.into() })
}

/// Of these CPUs the one that is idle most of a short while.
pub(crate) fn most_idle_cpu(cpus: &[u32]) -> Option<u32> {
    const IDLE_WINDOW: Duration = Duration::from_millis(100);
    let read = || fs::read_to_string("/proc/stat").unwrap_or_default();
    let before = read();
    std::thread::sleep(IDLE_WINDOW);
    let after = read();
    let idle = |cpu: &u32| {
        let of = |text: &str| cpu_ticks(text, *cpu).unwrap_or_default();
        let (CpuTicks { idle: before, .. }, CpuTicks { idle: after, .. }) =
            (of(&before), of(&after));
        after.saturating_sub(before)
    };
    cpus.iter().copied().max_by_key(idle)
}
