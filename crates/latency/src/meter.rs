//! Timing, beside a chain of adds, of runs that nobody disturbed.

use crate::figure::{LatencyFigure, TimedRun};
use crate::machine::cpu_ticks;
use crate::sys::{add, involuntary_switches};
use serde::Serialize;
use std::collections::VecDeque;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuringEffort {
    pub runs: usize,
    /// Times that a curve is measured, with as many runs together: what
    /// disturbs a cache for a second is not in all of them.
    pub rounds: usize,
    /// About how long a run is to take.
    pub span: Duration,
    /// Sizes of an octave.
    pub steps: u64,
    /// The largest size at most, unless one is asked for, bytes.
    pub largest: u64,
}

impl MeasuringEffort {
    /// What takes a few seconds for all parts.
    pub const QUICK: MeasuringEffort = MeasuringEffort {
        runs: 4,
        rounds: 2,
        span: Duration::from_micros(300),
        steps: 2,
        largest: 64 << 20,
    };
    /// What takes less than a minute for all parts of a small machine.
    pub const WHOLE: MeasuringEffort = MeasuringEffort {
        runs: 12,
        rounds: 2,
        span: Duration::from_millis(1),
        steps: 4,
        largest: 512 << 20,
    };
}

/// Runs that were thrown away, by the first reason that each had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DisturbedRuns {
    /// The host took the CPU for something else (steal time in /proc/stat).
    pub stolen: u64,
    /// The kernel took it for another thread (involuntary context switches).
    pub switched: u64,
    /// The chain of adds took longer than it does.
    pub slowed: u64,
}

impl DisturbedRuns {
    pub(crate) fn add(&mut self, other: DisturbedRuns) {
        self.stolen += other.stolen;
        self.switched += other.switched;
        self.slowed += other.slowed;
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.stolen + self.switched + self.slowed
    }
}

/// Adds that are timed beside each run: 20 microseconds.
const ADDS: u64 = 65_536;
/// An add that takes so many times the shortest of late was disturbed: by the
/// other thread of the core, by a change of the clock, by the host.
const SLOW_ADD_RATIO: f64 = 1.1;
/// Runs that are of late: a clock that stays at another rate is none of a
/// disturbance, as cycles are counted at the rate that there is.
const RECENT_RUNS: usize = 24;
/// So many times the wanted runs are tried.
const TRIES_PER_RUN: usize = 4;
/// So many times what the wanted runs are to take, a figure may take: on a
/// machine that others use each may be put aside.
const TIME_LIMIT_FACTOR: f64 = 50.0;

pub(crate) struct Meter<'a> {
    pub(crate) effort: MeasuringEffort,
    pub(crate) disturbed: DisturbedRuns,
    stop: &'a AtomicBool,
    monitor: DisturbanceMonitor,
    /// The shortest add so far, nanoseconds.
    add: f64,
    /// The shortest add beside each of the last runs.
    recent: VecDeque<f64>,
}

impl<'a> Meter<'a> {
    /// One for the CPU that this thread stays on. `stop`: there are to be no
    /// more runs.
    pub(crate) fn new(effort: MeasuringEffort, cpu: u32, stop: &'a AtomicBool) -> Meter<'a> {
        let mut meter = Meter {
            effort,
            disturbed: DisturbedRuns::default(),
            stop,
            monitor: DisturbanceMonitor::new(cpu),
            add: f64::INFINITY,
            recent: VecDeque::new(),
        };
        // A core takes a while to its full clock rate.
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(20) {
            meter.add = meter.add.min(time_add());
        }
        meter
    }

    /// The same, of operations of which another thread does a part.
    pub(crate) fn with_partner_thread(mut self, cpu: u32, thread: u32) -> Meter<'a> {
        self.monitor = self.monitor.with_partner(cpu, thread);
        self
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Nanoseconds of a core cycle at the highest rate that was seen.
    pub(crate) fn cycle(&self) -> f64 {
        self.add
    }

    /// The figure of an operation: `operate` does as many as it is told, or
    /// some more, and says how many. It is run some time before the figure
    /// begins.
    pub(crate) fn figure(&mut self, operate: impl FnMut(u64) -> u64) -> LatencyFigure {
        LatencyFigure::of(&self.runs(self.effort.runs, operate))
    }

    /// The same as the runs, of which so many are to be left alone.
    pub(crate) fn runs(
        &mut self,
        wanted: usize,
        mut operate: impl FnMut(u64) -> u64,
    ) -> Vec<TimedRun> {
        let span = self.effort.span.as_secs_f64() * 1e9;
        let (mut count, mut each) = (64, 0.0);
        // As long as a tenth of a run, to know how many fit into one.
        for _ in 0..24 {
            let begin = Instant::now();
            let done = operate(count);
            let took = nanoseconds(begin);
            each = took / done.max(1) as f64;
            if took > span / 10.0 {
                break;
            }
            count *= 4;
        }
        let count = as_count((span / each.max(1e-3)).clamp(64.0, 1e9));
        let mut runs: Vec<TimedRun> = Vec::new();
        let mut alone = 0;
        let begin = Instant::now();
        while alone < wanted && runs.len() < TRIES_PER_RUN * wanted {
            let is_late = nanoseconds(begin) > span * TIME_LIMIT_FACTOR * wanted as f64;
            if self.is_stopped() || is_late && !runs.is_empty() {
                break;
            }
            let run = self.run(count, &mut operate);
            alone += usize::from(!run.is_disturbed);
            runs.push(run);
        }
        runs
    }

    fn run(&mut self, count: u64, operate: &mut impl FnMut(u64) -> u64) -> TimedRun {
        self.monitor.begin();
        let before = time_add();
        let begin = Instant::now();
        let done = operate(count);
        let took = nanoseconds(begin);
        let after = time_add();
        let disturbance = self.monitor.end();
        self.add = self.add.min(before).min(after);
        self.recent.push_back(before.min(after));
        if self.recent.len() > RECENT_RUNS {
            self.recent.pop_front();
        }
        let usual = self.recent.iter().copied().fold(f64::INFINITY, f64::min);
        let is_slow = before.max(after) > usual * SLOW_ADD_RATIO;
        if disturbance.stolen {
            self.disturbed.stolen += 1;
        } else if disturbance.switched {
            self.disturbed.switched += 1;
        } else if is_slow {
            self.disturbed.slowed += 1;
        }
        TimedRun {
            nanoseconds: took / done.max(1) as f64,
            cycle: before.min(after),
            is_disturbed: disturbance.stolen || disturbance.switched || is_slow,
        }
    }
}

/// Nanoseconds of one add.
fn time_add() -> f64 {
    let begin = Instant::now();
    add(ADDS);
    nanoseconds(begin) / ADDS as f64
}

fn nanoseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of operations, bounded where they are made"
)]
fn as_count(number: f64) -> u64 {
    number as u64
}

#[derive(Debug)]
struct DisturbanceMonitor {
    /// Ours, and that of the thread that we measure with.
    cpus: Vec<u32>,
    /// The number of that thread.
    partner: Option<u32>,
    stolen: u64,
    switches: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Disturbance {
    stolen: bool,
    switched: bool,
}

impl DisturbanceMonitor {
    fn new(cpu: u32) -> DisturbanceMonitor {
        DisturbanceMonitor { cpus: vec![cpu], partner: None, stolen: 0, switches: 0 }
    }

    fn with_partner(mut self, cpu: u32, thread: u32) -> DisturbanceMonitor {
        self.cpus.push(cpu);
        self.partner = Some(thread);
        self
    }

    fn begin(&mut self) {
        self.stolen = self.stolen_ticks();
        self.switches = self.switches();
    }

    fn end(&self) -> Disturbance {
        let switched = self.switches() != self.switches;
        Disturbance { stolen: self.stolen_ticks() != self.stolen, switched }
    }

    /// 0 where the kernel does not say.
    fn stolen_ticks(&self) -> u64 {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        self.cpus.iter().map(|cpu| cpu_ticks(&stat, *cpu).unwrap_or_default().stolen).sum()
    }

    fn switches(&self) -> u64 {
        let of_partner = self.partner.map_or(0, |thread| {
            let path = format!("/proc/self/task/{thread}/status");
            switches_of(&fs::read_to_string(path).unwrap_or_default())
        });
        involuntary_switches() + of_partner
    }
}

/// Of the text of a thread's status.
fn switches_of(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_the_involuntary_ones() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t12\n";
        assert_eq!((switches_of(status), switches_of("")), (12, 0));
    }
}
