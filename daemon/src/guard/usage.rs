//! What this process takes of the machine.

use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::{Limits, Size};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    since: Instant,
    cpu: Duration,
}

impl Usage {
    pub(crate) fn begin() -> Usage {
        Usage { since: Instant::now(), cpu: cpu_time() }
    }

    /// What is too much of what was taken since then, in words; `reserved`:
    /// bytes that were set aside for rings and queues.
    pub(crate) fn excess(&mut self, limits: &Limits, reserved: u64) -> Option<String> {
        let now = Usage::begin();
        let (wall, cpu) = (now.since - self.since, now.cpu.saturating_sub(self.cpu));
        *self = now;
        of_cpu(cpu, wall, limits).or_else(|| of_memory(resident(), reserved, limits))
    }
}

fn of_cpu(cpu: Duration, wall: Duration, limits: &Limits) -> Option<String> {
    let percent = cpu.as_micros().saturating_mul(100) / wall.as_micros().max(1);
    (percent > limits.cpu_percent.into()).then(|| {
        format!(
            "the daemon took {percent} % of a CPU for this user over {} s, and may take {} \
             (limits.cpu_percent in its configuration)",
            wall.as_secs_f64().round(),
            limits.cpu_percent
        )
    })
}

fn of_memory(resident: u64, reserved: u64, limits: &Limits) -> Option<String> {
    let most = reserved.saturating_add(limits.overhead.0);
    (resident > most).then(|| {
        format!(
            "the daemon holds {} for this user, of which {} were set aside, and may hold {} more \
             (limits.overhead in its configuration)",
            Size(resident),
            Size(reserved),
            limits.overhead
        )
    })
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Neither is ever negative.
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(time.tv_sec.cast_unsigned(), nanoseconds)
}

/// Bytes in memory (field 2 of /proc/self/statm, pages); 0: not to be read.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_ascii_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_excess_is_told_with_its_numbers() {
        let limits = Limits { cpu_percent: 80, overhead: Size(64 << 20), ..Limits::default() };
        let second = Duration::from_secs(1);
        assert_eq!(of_cpu(second * 8, second * 10, &limits), None);
        let text = of_cpu(second * 15, second * 10, &limits).unwrap();
        assert!(text.contains("150 % of a CPU") && text.contains("over 10 s"), "{text}");
        assert_eq!(of_memory(90 << 20, 26 << 20, &limits), None);
        let text = of_memory(91 << 20, 26 << 20, &limits).unwrap();
        assert!(text.contains("91.0 MiB") && text.contains("26.0 MiB were set aside"), "{text}");
    }

    #[test]
    fn this_process_takes_something() {
        assert!(resident() > 1 << 20);
        let mut usage = Usage::begin();
        let until = Instant::now() + Duration::from_millis(50);
        while Instant::now() < until {}
        let limits = Limits { cpu_percent: 1, ..Limits::default() };
        assert!(usage.excess(&limits, 1 << 40).unwrap().contains("% of a CPU"));
    }
}
