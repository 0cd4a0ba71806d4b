//! Every record accounted for: what the kernel counted is delivered, lost, or
//! left out as it was told to, and the loss has a cause.

mod account;
mod event_account;
mod lost;

use std::fmt::{self, Write};
use std::time::Duration;

pub use account::{Account, EventTimes, RateLowered};
pub use event_account::EventAccount;
pub use lost::Lost;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Events that the kernel counted (clocks: nanoseconds).
    pub events: u64,
    /// Samples that the kernel must have made of them. Some only where that
    /// is certain: software events, tracepoints and breakpoints make one for
    /// every event at period 1, and one for every full period of each event
    /// without children. Timers skip ticks, each thread keeps a remainder
    /// of its own at longer periods, and tracepoints of the scheduler may
    /// count more than one for a sample, so these say None.
    pub kernel: Option<u64>,
    /// Samples that the sink took; counted in the kernel, those that are in
    /// the aggregates which it took.
    pub delivered: u64,
    /// Of these, samples with EXACT_IP.
    pub exact_ip: u64,
    /// Samples that it did not.
    pub lost: Lost,
    /// Samples that a program in the kernel was told to leave out.
    pub filtered: Filtered,
    /// Events that no record stands for: counted beyond what records and
    /// begun intervals can explain. 0 where that is not certain.
    pub unrecorded_events: u64,
    /// Where the kernel counted the samples, how many aggregates the sink was
    /// given.
    pub aggregates: Option<u64>,
    /// Sideband records (mappings, names, forks) that the sink took, the
    /// synthesized ones included.
    pub side_delivered: u64,
    /// Sideband records that found no room in their ring.
    pub side_lost: u64,
    /// THROTTLE records: times that the kernel paused an event until the
    /// next tick.
    pub throttled: u64,
    /// kernel.perf_event_max_sample_rate at the start and at the end, where
    /// the kernel has lowered it meanwhile: interrupts took too long, and it
    /// throttles sooner from then on (trap 28).
    pub rate_lowered: Option<RateLowered>,
    pub count_reached: Option<CountReached>,
    /// Whether losses at the very end of a ring are known (Linux 6.0).
    pub tail_known: bool,
    /// Time events were enabled, summed over events and threads, or over CPUs
    /// for the system.
    pub enabled: Duration,
    /// Of it, time that they were on a counter.
    pub running: Duration,
    /// From the start of sampling to its end, by the wall clock.
    pub wall: Duration,
    /// Of it, time in which sampling was paused by who asked for it.
    pub paused: Duration,
    pub sink_error: Option<String>,
    /// The account of each sampled event, in the order of the plan. What no
    /// single event can be charged with (foreign, parse_error, and what was
    /// lost in rings where the kernel has no PERF_FORMAT_LOST) is in the sums
    /// above only, where there are several.
    pub by_event: Vec<EventAccount>,
}

impl Ledger {
    pub(crate) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Ledger {
        let account = |name: &str| EventAccount { name: name.to_owned(), ..Default::default() };
        Ledger { by_event: names.into_iter().map(account).collect(), ..Ledger::default() }
    }

    /// Books a loss of an event, by its place in
    /// [`by_event`](Ledger::by_event).
    #[inline]
    pub(crate) fn lose(&mut self, event: usize, count: u64, cause: fn(&mut Lost) -> &mut u64) {
        *cause(&mut self.lost) += count;
        if let Some(account) = self.by_event.get_mut(event) {
            *cause(&mut account.lost) += count;
        }
    }

    pub(crate) fn deliver(&mut self, event: usize, samples: u64, exact_ip: u64) {
        self.delivered += samples;
        self.exact_ip += exact_ip;
        if let Some(account) = self.by_event.get_mut(event) {
            account.delivered += samples;
            account.exact_ip += exact_ip;
        }
    }

    /// Books samples of an event that were delivered, but not to the client
    /// whose account this is to be.
    pub fn withhold(
        &mut self,
        event: usize,
        samples: SampleCount,
        cause: fn(&mut Lost) -> &mut u64,
    ) {
        let take = |delivered: &mut u64, exact_ip: &mut u64| {
            *delivered = delivered.saturating_sub(samples.all);
            *exact_ip = exact_ip.saturating_sub(samples.exact_ip);
        };
        take(&mut self.delivered, &mut self.exact_ip);
        if let Some(account) = self.by_event.get_mut(event) {
            take(&mut account.delivered, &mut account.exact_ip);
        }
        self.lose(event, samples.all, cause);
    }

    /// Books that the kernel stopped an event for interrupting too often; None:
    /// nobody can tell which.
    pub(crate) fn throttle(&mut self, event: Option<usize>) {
        self.throttled += 1;
        if let Some(account) = event.and_then(|event| self.by_event.get_mut(event)) {
            account.throttled += 1;
        }
    }

    pub(crate) fn was_throttled(&self, event: usize) -> bool {
        self.by_event.get(event).is_some_and(|account| account.throttled > 0)
    }

    /// Takes over what the kernel says of an event. `lost`: records that
    /// found no room, where it counts them.
    pub(crate) fn take_event_account(
        &mut self,
        event: usize,
        said: EventAccount,
        lost: Option<u64>,
    ) {
        self.events += said.events;
        self.kernel = match event {
            0 => said.kernel,
            _ => self.kernel.zip(said.kernel).map(|(sum, more)| sum + more),
        };
        self.enabled += said.enabled;
        self.running += said.running;
        self.lose(event, lost.unwrap_or(0), |lost| &mut lost.ring);
        said.filtered.reasons().for_each(|(reason, count)| self.filtered.add(reason, count));
        if let Some(account) = self.by_event.get_mut(event) {
            let (delivered, exact_ip, lost) = (account.delivered, account.exact_ip, account.lost);
            let (name, throttled) = (std::mem::take(&mut account.name), account.throttled);
            *account = EventAccount { name, delivered, exact_ip, lost, throttled, ..said };
        }
    }

    /// Books what is missing as lost in the moment of stopping, where it is
    /// no more than that can explain: one record for each event on each of
    /// `cpus`.
    pub(crate) fn record_stop_losses(&mut self, cpus: usize) {
        if let [account] = &mut self.by_event[..] {
            // What no event could be charged with is this one's.
            account.lost = self.lost;
        } else if self.lost.foreign + self.lost.parse_error > 0 || !self.tail_known {
            // Nobody knows which event these were of.
            return;
        }
        self.by_event.iter_mut().for_each(|account| account.record_stop_losses(cpus));
        self.lost.stop = self.by_event.iter().map(|account| account.lost.stop).sum();
    }

    /// Books what the kernel counted and our program in it never saw.
    pub(crate) fn record_busy_losses(&mut self) {
        self.by_event.iter_mut().for_each(EventAccount::record_busy_losses);
        self.lost.kernel_busy = self.by_event.iter().map(|account| account.lost.kernel_busy).sum();
    }

    /// Books events of one that no record stands for, of its interval and as
    /// many openings as it had: see [`EventAccount::unrecorded_events`]. Where nobody
    /// knows how many records were lost, or whose, nothing is said.
    pub(crate) fn record_unrecorded_events(&mut self, event: usize, interval: u64, openings: u64) {
        let is_only = self.by_event.len() == 1;
        if !self.tail_known || self.lost.parse_error > 0 || (!is_only && self.lost.foreign > 0) {
            return;
        }
        let Some(account) = self.by_event.get_mut(event) else { return };
        // What no event could be charged with is the only one's.
        let lost = if is_only { self.lost } else { account.lost };
        account.record_unrecorded_events(lost.total(), interval, openings);
        self.unrecorded_events += account.unrecorded_events;
    }

    /// What neither arrived nor has a cause: 0 in a sound account; None when
    /// the kernel's count does not tell (see [`Ledger::kernel`]). Negative:
    /// more than the kernel counted.
    pub fn unaccounted(&self) -> Option<i128> {
        missing(self.kernel, self.delivered, &self.lost, &self.filtered)
    }

    /// The note at the end of a stream, for an event by its place in
    /// [`by_event`](Ledger::by_event): `key=value` joined with `;`. What is
    /// of the whole session is in the first event's.
    pub fn note(&self, event: usize) -> String {
        let mut note = NoteWriter::default();
        let Some(account) = self.by_event.get(event) else { return note.into_text() };
        account.write(&mut note);
        if event == 0 {
            note.add("lost.side", self.side_lost);
            note.add("throttled", self.throttled);
            if let Some(RateLowered { from, to }) = self.rate_lowered {
                note.add("max_sample_rate.before", from);
                note.add("max_sample_rate.after", to);
            }
            if let Some(reached) = self.count_reached {
                reached.write(&mut note);
            }
        }
        if let Some(aggregates) = self.aggregates.filter(|_| event == 0) {
            note.add("aggregates", aggregates);
        }
        if let Some(unaccounted) = account.unaccounted() {
            note.add("unaccounted", unaccounted);
        }
        if !self.tail_known {
            note.add("lost.tail", "unknown");
        }
        if event == 0 && !self.paused.is_zero() {
            note.add("paused", format_args!("{:.6}", self.paused.as_secs_f64()));
        }
        account.write_times(&mut note);
        note.add("seconds", format_args!("{:.6}", self.wall.as_secs_f64()));
        note.into_text()
    }

    /// `N, M of each event`, where there are several and their counts are
    /// those of the sum: a text output may have lost lines of either.
    fn each(&self) -> Option<String> {
        let sum: u64 = self.by_event.iter().map(|account| account.delivered).sum();
        (self.by_event.len() > 1 && sum == self.delivered).then(|| {
            let each = self.by_event.iter();
            let each = each.map(|account| format!("{} {}", account.name, account.delivered));
            each.collect::<Vec<_>>().join(", ")
        })
    }
}

fn missing(kernel: Option<u64>, delivered: u64, lost: &Lost, filtered: &Filtered) -> Option<i128> {
    let explained =
        [delivered, lost.total(), filtered.total()].map(i128::from).iter().sum::<i128>();
    kernel.map(|kernel| i128::from(kernel) - explained)
}

impl fmt::Display for Ledger {
    /// `N records, M lost (ring R, ...)`, and what is unusual after it. What
    /// came after the count was reached is told apart: nobody misses it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        let delivered = self.delivered;
        match self.aggregates {
            Some(n) => write!(f, "{delivered} counted in {n} aggregate{}", plural(n))?,
            None => write!(f, "{delivered} record{}", plural(delivered))?,
        }
        if let Some(each) = self.each() {
            write!(f, " ({each})")?;
        }
        write!(f, ", {} lost", self.lost.unwanted())?;
        let mut separator = " (";
        let told_apart = ("count", self.lost.beyond_count);
        for (cause, count) in self.lost.causes().into_iter().filter(|c| c.1 > 0) {
            if (cause, count) == told_apart {
                continue;
            }
            write!(f, "{separator}{cause} {count}")?;
            separator = ", ";
        }
        if separator == ", " {
            f.write_str(")")?;
        }
        if self.lost.beyond_count > 0 {
            write!(f, ", {} more left out after the count was reached", self.lost.beyond_count)?;
        }
        if self.filtered.total() > 0 {
            let reasons =
                self.filtered.reasons().map(|(reason, count)| format!("{reason} {count}"));
            let reasons = reasons.collect::<Vec<_>>().join(", ");
            write!(f, ", {} filtered out in the kernel ({reasons})", self.filtered.total())?;
        }
        match self.unaccounted() {
            Some(0) | None => {}
            Some(unaccounted) => write!(f, ", {unaccounted} unaccounted for")?,
        }
        if self.unrecorded_events > 0 {
            write!(
                f,
                ", {} event{} that no record stands for",
                self.unrecorded_events,
                plural(self.unrecorded_events)
            )?;
        }
        if !self.tail_known {
            f.write_str(", losses at the end unknown")?;
        }
        if self.side_lost > 0 {
            write!(f, ", {} mapping or task records lost", self.side_lost)?;
        }
        if !self.paused.is_zero() {
            write!(f, ", paused for {:.1} s", self.paused.as_secs_f64())?;
        }
        if self.throttled > 0 {
            write!(f, ", throttled {} time{}", self.throttled, plural(self.throttled))?;
            if self.lost.throttled == 0 {
                f.write_str(" (what came meanwhile is in no count: give a larger interval)")?;
            }
        }
        if let Some(RateLowered { from, to }) = self.rate_lowered {
            write!(
                f,
                ", the kernel lowered perf_event_max_sample_rate from {from} to {to}: give a \
                 larger interval"
            )?;
        }
        self.by_event
            .iter()
            .filter_map(EventAccount::multiplexed)
            .try_for_each(|multiplexed| write!(f, ", {multiplexed}"))
    }
}

/// The count of records that was asked for, where it left something out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountReached {
    pub count: u64,
    /// What was sampled ran on: later events were not counted.
    pub ran_on: bool,
}

impl CountReached {
    /// None: it was reached with the last record that there was.
    pub(crate) fn new(count: u64, ran_on: bool, beyond: u64) -> Option<CountReached> {
        (ran_on || beyond > 0).then_some(CountReached { count, ran_on })
    }

    fn write(self, note: &mut NoteWriter) {
        note.add("count.reached", self.count);
        if self.ran_on {
            note.add("count.ran_on", "yes");
        }
    }
}

/// How many, by what the program looked at (`pid`, `comm`, `one_in`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered(Vec<(String, u64)>);

impl Filtered {
    pub(crate) fn add(&mut self, reason: &str, count: u64) {
        match self.0.iter_mut().find(|(known, _)| known == reason) {
            Some((_, sum)) => *sum += count,
            None if count > 0 => self.0.push((reason.to_owned(), count)),
            None => {}
        }
    }

    /// Each reason that left out any, and how many.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(reason, count)| (reason.as_str(), *count))
    }

    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }
}

/// `key=value` joined with `;`.
#[derive(Debug, Default)]
struct NoteWriter(String);

impl NoteWriter {
    fn add(&mut self, key: &str, value: impl fmt::Display) {
        let separator = if self.0.is_empty() { "" } else { ";" };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{separator}{key}={value}");
    }

    fn into_text(self) -> String {
        self.0
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleCount {
    pub all: u64,
    /// Of these, with EXACT_IP.
    pub exact_ip: u64,
}

#[cfg(test)]
mod tests;
