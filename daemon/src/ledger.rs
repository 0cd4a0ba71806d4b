//! Every record accounted for: what the kernel counted is delivered or lost,
//! and the loss has a cause.

use std::fmt;
use std::time::Duration;

/// Records that did not reach the sink, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// No room in a ring: PERF_FORMAT_LOST of every sampled event, or the
    /// LOST records where the kernel has no such count.
    pub ring: u64,
    /// Made after the count that was asked for was reached: left out on
    /// purpose, and accounted for.
    pub beyond_count: u64,
    /// The same event seen twice, by two events on one thread.
    pub duplicate: u64,
    /// Times that bytes in a ring were no record; each may hide several.
    pub parse_error: u64,
    /// The sink failed: a full disk, a closed pipe.
    pub sink: u64,
    /// In the moment of stopping, one a CPU at most: the kernel had counted
    /// the event, and was told to stop before it wrote the record
    /// (perf_swevent_event() looks at the event's state after counting,
    /// Linux 6.18.y). Concluded from the kernel's count.
    pub stop: u64,
}

impl Lost {
    /// All causes together.
    pub fn total(&self) -> u64 {
        self.ring + self.beyond_count + self.duplicate + self.parse_error + self.sink + self.stop
    }

    /// What somebody wanted and did not get: all causes but
    /// [`beyond_count`](Lost::beyond_count).
    pub fn unwanted(&self) -> u64 {
        self.total() - self.beyond_count
    }

    fn causes(&self) -> [(&'static str, u64); 6] {
        [
            ("ring", self.ring),
            ("count", self.beyond_count),
            ("duplicate", self.duplicate),
            ("parse", self.parse_error),
            ("sink", self.sink),
            ("stop", self.stop),
        ]
    }
}

/// The account of one session; complete after `Session::finish`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Samples that the sink took.
    pub delivered: u64,
    /// Of these, samples with EXACT_IP.
    pub exact_ip: u64,
    /// Samples that it did not.
    pub lost: Lost,
    /// Side records (mappings, names, forks) that the sink took, the
    /// synthesized ones included.
    pub side_delivered: u64,
    /// Side records that found no room in their ring.
    pub side_lost: u64,
    /// THROTTLE records: times that the kernel paused the event until the
    /// next tick.
    pub throttled: u64,
    /// Whether losses at the very end of a ring are known (Linux 6.0).
    pub tail_known: bool,
    /// Time events were enabled, summed over threads, or over CPUs for the
    /// system.
    pub enabled: Duration,
    /// Of it, time that they were on a counter.
    pub running: Duration,
    /// From the start of sampling to its end, by the wall clock.
    pub wall: Duration,
    /// Why the sink stopped taking records.
    pub sink_error: Option<String>,
}

impl Ledger {
    /// Books what is missing as lost in the moment of stopping, where it is
    /// no more than that can explain: one record for each of `cpus`.
    pub(crate) fn book_stop(&mut self, cpus: usize) {
        let missing = self.unaccounted().and_then(|missing| u64::try_from(missing).ok());
        if let Some(missing) = missing.filter(|&missing| missing <= cpus as u64) {
            self.lost.stop = missing;
        }
    }

    /// What neither arrived nor has a cause: 0 in a sound account; None when
    /// the kernel's count does not tell (see [`Ledger::kernel`]). Negative:
    /// more than the kernel counted.
    pub fn unaccounted(&self) -> Option<i128> {
        let explained = i128::from(self.delivered) + i128::from(self.lost.total());
        self.kernel.map(|kernel| i128::from(kernel) - explained)
    }

    /// The note at the end of a stream: `key=value` joined with `;`.
    pub fn note(&self) -> String {
        let mut note = format!("events={}", self.events);
        let mut add = |key: &str, value: String| {
            note.push_str(&format!(";{key}={value}"));
        };
        if let Some(kernel) = self.kernel {
            add("kernel", kernel.to_string());
        }
        add("delivered", self.delivered.to_string());
        add("exact_ip", self.exact_ip.to_string());
        for (cause, count) in self.lost.causes() {
            add(&format!("lost.{cause}"), count.to_string());
        }
        add("lost.side", self.side_lost.to_string());
        add("throttled", self.throttled.to_string());
        if let Some(unaccounted) = self.unaccounted() {
            add("unaccounted", unaccounted.to_string());
        }
        if !self.tail_known {
            add("lost.tail", "unknown".into());
        }
        add("enabled", format!("{:.6}", self.enabled.as_secs_f64()));
        add("running", format!("{:.6}", self.running.as_secs_f64()));
        add("seconds", format!("{:.6}", self.wall.as_secs_f64()));
        note
    }
}

impl fmt::Display for Ledger {
    /// `N records, M lost (ring R, ...)`, and what is unusual after it. What
    /// came after the count was reached is told apart: nobody misses it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.delivered == 1 { "" } else { "s" };
        write!(f, "{} record{plural}, {} lost", self.delivered, self.lost.unwanted())?;
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
        match self.unaccounted() {
            Some(0) | None => {}
            Some(unaccounted) => write!(f, ", {unaccounted} unaccounted for")?,
        }
        if !self.tail_known {
            f.write_str(", losses at the end unknown")?;
        }
        if self.side_lost > 0 {
            write!(f, ", {} mapping or task records lost", self.side_lost)?;
        }
        if self.throttled > 0 {
            write!(f, ", throttled {} times", self.throttled)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        Ledger {
            events: 110,
            kernel: Some(110),
            delivered: 100,
            lost: Lost { ring: 7, beyond_count: 3, ..Lost::default() },
            tail_known: true,
            ..Ledger::default()
        }
    }

    #[test]
    fn a_sound_account_has_nothing_left_over() {
        assert_eq!(ledger().unaccounted(), Some(0));
        assert_eq!(
            ledger().to_string(),
            "100 records, 7 lost (ring 7), 3 more left out after the count was reached"
        );
    }

    #[test]
    fn what_has_no_cause_is_said_with_its_sign() {
        let short = Ledger { kernel: Some(120), ..ledger() };
        assert!(short.to_string().ends_with(", 10 unaccounted for"), "{short}");
        let over = Ledger { kernel: Some(108), ..ledger() };
        assert_eq!(over.unaccounted(), Some(-2));
        assert_eq!(Ledger { kernel: None, ..ledger() }.unaccounted(), None);
    }

    #[test]
    fn a_stop_explains_one_record_a_cpu_and_no_more() {
        let missing = |count: u64| {
            let mut ledger = Ledger { kernel: Some(110 + count), ..ledger() };
            ledger.book_stop(2);
            (ledger.lost.stop, ledger.unaccounted())
        };
        assert_eq!(missing(0), (0, Some(0)));
        assert_eq!(missing(2), (2, Some(0)));
        assert_eq!(missing(3), (0, Some(3)));
        let mut over = Ledger { kernel: Some(108), ..ledger() };
        over.book_stop(2);
        assert_eq!(over.unaccounted(), Some(-2));
    }

    #[test]
    fn the_note_is_pairs() {
        let note = Ledger { wall: Duration::from_millis(1500), ..ledger() }.note();
        assert!(note.starts_with("events=110;kernel=110;delivered=100;exact_ip=0;lost.ring=7;"));
        assert!(note.ends_with(";seconds=1.500000"), "{note}");
        assert!(note.split(';').all(|pair| pair.split('=').count() == 2));
    }
}
