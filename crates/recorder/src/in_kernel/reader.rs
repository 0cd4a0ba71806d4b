//! Takes what the programs have counted, an interval at a time.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use perfdata::aggregate::{Aggregate, SeededRandom, Site};
use perfdata::{Cpu, Time};

use super::layout::{NO_ROOM, REASONS, SCRUBBED, STRIDES, TableSizes, chain, control, cpu, slot};
use super::loader::LoadedProgram;
use super::slot::{SideTables, SlotContext, site};
use super::{HitSource, InKernel};
use crate::sys::mapping::SharedWords;

/// Looks at a CPU's word before sleeping between them.
const SPINS: u32 = 1000;
/// How long a CPU may take to end what it was in the middle of: a virtual
/// one can be off its real one for a while.
const WRITER_TIMEOUT: Duration = Duration::from_secs(2);

/// Sites of one interval that are held beyond what the tables hold; some 80
/// MiB, twice that with deep callers. Then tables get full, and what finds no room is counted as lost.
const MAX_RELIEVED: usize = 1 << 16;

/// Maps a program's maps, moves the epoch on and reads what is behind.
#[derive(Debug)]
pub(crate) struct AggregateReader {
    control: SharedWords,
    cpus: SharedWords,
    slots: SharedWords,
    strides: Option<SharedWords>,
    chains: Option<SharedWords>,
    sizes: TableSizes,
    by_process: bool,
    has_address: bool,
    /// An epoch that has been left, whose tables a CPU may still write.
    behind: Option<u64>,
    /// Of the interval that runs, what was taken early.
    relieved: Option<Aggregate>,
    from: Time,
    seen: HitCounts,
    /// Of a tracepoint, its program: who asks the kernel about it closes it.
    program: Option<OwnedFd>,
    chance: SeededRandom,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HitCounts {
    /// Hits that the program ran for.
    pub(crate) seen: u64,
    /// Of these, those whose site found no room.
    pub(crate) no_room: u64,
    /// Those that were not kept, by reason: `scrubbed`, or the name of a
    /// condition. Reasons without hits are left out.
    pub(crate) dropped: Vec<(&'static str, u64)>,
}

impl HitCounts {
    fn add(&mut self, reason: &'static str, count: u64) {
        if reason == NO_ROOM {
            self.no_room += count;
        } else if let Some((_, sum)) = self.dropped.iter_mut().find(|(name, _)| *name == reason) {
            *sum += count;
        } else {
            self.dropped.push((reason, count));
        }
    }
}

impl AggregateReader {
    pub(super) fn new(
        loaded: &LoadedProgram,
        in_kernel: &InKernel,
        source: HitSource,
    ) -> io::Result<AggregateReader> {
        let control = SharedWords::map(loaded.control.as_fd(), control::WORDS)?;
        let told = |word: usize| {
            u32::try_from(control.words()[word].load(Ordering::Relaxed)).map_err(io::Error::other)
        };
        let sizes = TableSizes {
            slots: told(control::SLOTS)?,
            rows: told(control::ROWS)?,
            cpus: told(control::CPUS)?,
            strides: in_kernel.tables().is_some_and(|tables| tables.strides),
            callers: in_kernel.tables().is_some_and(|tables| tables.callers),
        };
        let words = |count: u64, each: usize| {
            let count = usize::try_from(count).ok()?;
            count.checked_mul(each)
        };
        let map = |array: &dyn AsFd, count: u64, each: usize| {
            let words = words(count, each).ok_or(rustix::io::Errno::OVERFLOW)?;
            SharedWords::map(array.as_fd(), words)
        };
        let cpus = map(&loaded.cpus, sizes.cpus.into(), cpu::WORDS)?;
        let slots = map(&loaded.slots, sizes.all_slots().max(1), slot::WORDS)?;
        let side_tables = |is_asked: bool, array: &dyn AsFd, each: usize| {
            is_asked.then(|| map(array, sizes.all_slots(), each)).transpose()
        };
        let strides = side_tables(sizes.strides, &loaded.strides, STRIDES)?;
        let chains = side_tables(sizes.callers, &loaded.chains, chain::WORDS)?;
        let seeds = cpus.words().chunks_exact(cpu::WORDS);
        let random = seeds.fold(1, |seed, words| seed ^ words[cpu::RANDOM].load(Ordering::Relaxed));
        Ok(AggregateReader {
            control,
            cpus,
            slots,
            strides,
            chains,
            sizes,
            by_process: in_kernel.tables().is_some_and(|tables| tables.by_process),
            has_address: source.contents().address,
            behind: None,
            relieved: None,
            from: now(),
            seen: HitCounts::default(),
            program: match source {
                HitSource::Overflow(_) => None,
                HitSource::Tracepoint(_) => Some(loaded.program.try_clone()?),
            },
            chance: SeededRandom::new(random),
        })
    }

    /// Ends the interval and takes what it counted. Hits meanwhile are in the
    /// next.
    ///
    /// # Errors
    /// TimedOut: a CPU has been counting one hit for two seconds; the same
    /// interval can be taken later, nothing is lost.
    pub(crate) fn take(&mut self) -> io::Result<Aggregate> {
        let rest = self.leave_epoch()?;
        Ok(self.with_relieved(rest))
    }

    /// Where a table is getting full, takes what there is: it is given with
    /// the interval. New processes bring new addresses of the same code, and
    /// who comes first keeps its slot until then.
    ///
    /// # Errors
    /// As [`AggregateReader::take`].
    pub(crate) fn relieve(&mut self) -> io::Result<()> {
        let held = self.relieved.as_ref().map_or(0, |relieved| relieved.sites.len());
        if held < MAX_RELIEVED && self.is_filling() {
            let part = self.leave_epoch()?;
            self.relieved = Some(self.with_relieved(part));
        }
        Ok(())
    }

    fn with_relieved(&mut self, part: Aggregate) -> Aggregate {
        let Some(mut relieved) = self.relieved.take() else { return part };
        let chance = &mut self.chance;
        relieved.merge(part, &mut |below| chance.below(below));
        relieved
    }

    /// Whether sites took a quarter of a CPU's table: as much again, and
    /// more, may come before the next look. The programs count on meanwhile.
    fn is_filling(&self) -> bool {
        let epoch = self.control.words()[control::EPOCH].load(Ordering::Relaxed);
        let quarter = u64::from(self.sizes.slots / 4);
        let is_filling = |counts: [u64; cpu::COUNTS_WORDS]| counts[cpu::USED] > quarter;
        self.each_cpu().any(|(_, words)| counts(words, epoch).is_some_and(is_filling))
    }

    /// Begins another epoch and takes what the last one counted.
    fn leave_epoch(&mut self) -> io::Result<Aggregate> {
        let epoch = &self.control.words()[control::EPOCH];
        let behind = match self.behind {
            Some(behind) => behind,
            None => {
                let behind = epoch.load(Ordering::Relaxed);
                epoch.store(behind.wrapping_add(1), Ordering::SeqCst);
                self.behind = Some(behind);
                behind
            }
        };
        // Pairs with the programs' exchange: see enter() in table.h.
        fence(Ordering::SeqCst);
        self.wait_for_writers(behind)?;
        let to = now();
        let mut whole = Aggregate { from: self.from, to, ..Aggregate::default() };
        let parts = self.each_cpu().filter_map(|(cpu, words)| self.part(cpu, words, behind));
        for CpuAggregate { seen, reasons, sites } in parts.collect::<Vec<_>>() {
            self.seen.seen += seen;
            reasons.iter().for_each(|&(reason, count)| self.seen.add(reason, count));
            let lost = reasons.into_iter().map(|(reason, count)| (cause(reason), count)).collect();
            let part = Aggregate { from: whole.from, to, sites, lost };
            let chance = &mut self.chance;
            whole.merge(part, &mut |below| chance.below(below));
        }
        self.behind = None;
        self.from = to;
        Ok(whole)
    }

    pub(crate) fn hit_counts(&self) -> HitCounts {
        self.seen.clone()
    }

    /// Hits that were kept so far: in sites, those of the interval that runs
    /// included. A look, while the programs count on.
    pub(crate) fn kept(&self) -> u64 {
        let epoch = self.control.words()[control::EPOCH].load(Ordering::Relaxed);
        let running = self.each_cpu().filter_map(|(_, words)| {
            let counts = counts(words, epoch)?;
            let left_out: u64 = counts[cpu::COUNTS_REASON..].iter().sum();
            Some(counts[cpu::SEEN].saturating_sub(left_out))
        });
        let dropped: u64 = self.seen.dropped.iter().map(|(_, count)| count).sum();
        let taken = self.seen.seen.saturating_sub(self.seen.no_room).saturating_sub(dropped);
        running.sum::<u64>() + taken
    }

    /// Hits of a tracepoint that were counted so far, sampled or not.
    #[cfg(test)]
    pub(crate) fn hits(&self) -> u64 {
        let each = self.cpus.words().chunks_exact(cpu::WORDS);
        each.map(|words| words[cpu::HITS].load(Ordering::Relaxed)).sum()
    }

    /// Hits of a tracepoint that its program was not run for, as another ran
    /// on that CPU; of everybody's, so at most these are the session's. None:
    /// no tracepoint, or a kernel that does not tell.
    pub(crate) fn kernel_busy(&self) -> Option<u64> {
        let program = self.program.as_ref()?.as_raw_fd();
        let told = std::fs::read_to_string(format!("/proc/self/fdinfo/{program}")).ok()?;
        told.lines().find_map(|line| line.strip_prefix("recursion_misses:")?.trim().parse().ok())
    }

    fn wait_for_writers(&self, behind: u64) -> io::Result<()> {
        let begin = Instant::now();
        for (number, words) in self.each_cpu() {
            let is_writing = || {
                let busy = words[cpu::BUSY].load(Ordering::Acquire);
                busy & 1 == 1 && busy >> 1 != behind.wrapping_add(1)
            };
            let mut looks = 0u32;
            while is_writing() {
                looks += 1;
                if looks < SPINS {
                    std::hint::spin_loop();
                    continue;
                }
                if begin.elapsed() > WRITER_TIMEOUT {
                    let text =
                        format!("CPU {number} has been counting one hit for {WRITER_TIMEOUT:?}");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                std::thread::sleep(Duration::from_micros(50));
            }
        }
        Ok(())
    }

    fn each_cpu(&self) -> impl Iterator<Item = (Cpu, &[AtomicU64])> {
        let all = self.cpus.words().chunks_exact(cpu::WORDS);
        (0..).map(Cpu).zip(all)
    }

    /// What one CPU counted; None: nothing. One without tables may have seen
    /// hits too.
    fn part(&self, number: Cpu, words: &[AtomicU64], epoch: u64) -> Option<CpuAggregate> {
        let counts = counts(words, epoch)?;
        let mut part =
            CpuAggregate { seen: counts[cpu::SEEN], reasons: Vec::new(), sites: Vec::new() };
        let reasons = REASONS.iter().copied().zip(counts[cpu::COUNTS_REASON..].iter().copied());
        part.reasons.extend(reasons.filter(|(_, count)| *count > 0));
        let row = words[cpu::ROW].load(Ordering::Relaxed);
        if row >= self.sizes.rows.into() {
            return Some(part);
        }
        let (row, slots) = (usize::try_from(row).ok()?, usize::try_from(self.sizes.slots).ok()?);
        let place =
            SlotContext { cpu: number, by_process: self.by_process, has_address: self.has_address };
        let first = (row * 2 + parity(epoch)) * slots;
        for index in first..first + slots {
            let words = &self.slots.words()[index * slot::WORDS..];
            if words[slot::EPOCH].load(Ordering::Relaxed) != epoch {
                continue;
            }
            let side_tables = SideTables {
                strides: self.strides.as_ref().map(|all| copy(&all.words()[index * STRIDES..])),
                chain: self.chains.as_ref().map(|all| copy(&all.words()[index * chain::WORDS..])),
            };
            part.sites.push(site(&copy(words), side_tables, place));
        }
        Some(part)
    }
}

#[derive(Debug)]
struct CpuAggregate {
    seen: u64,
    reasons: Vec<(&'static str, u64)>,
    sites: Vec<Site>,
}

/// Which of two tables, and of two accounts, an epoch has.
fn parity(epoch: u64) -> usize {
    usize::from(epoch & 1 == 1)
}

/// `struct counts` of a CPU and an epoch; None: it saw no hit in it.
fn counts(words: &[AtomicU64], epoch: u64) -> Option<[u64; cpu::COUNTS_WORDS]> {
    let counts: [u64; cpu::COUNTS_WORDS] =
        copy(&words[cpu::COUNTS + parity(epoch) * cpu::COUNTS_WORDS..]);
    (counts[0] == epoch).then_some(counts)
}

fn copy<const N: usize>(words: &[AtomicU64]) -> [u64; N] {
    std::array::from_fn(|at| words[at].load(Ordering::Relaxed))
}

/// The ledger's name of what is in no site.
fn cause(reason: &str) -> String {
    if [NO_ROOM, SCRUBBED].contains(&reason) {
        reason.to_owned()
    } else {
        format!("filtered_{reason}")
    }
}

fn now() -> Time {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Time(seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0))
}
