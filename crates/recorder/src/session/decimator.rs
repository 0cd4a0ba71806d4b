//! Sampling less often where the kernel cannot: every so many-th record is
//! kept.
//!
//! A software event that the kernel counts makes a sample of every happening
//! when samples carry PERIOD, whatever its period
//! (`perf_swevent_event()`, kernel/events/core.c), and samples that do not
//! carry it could not say that they stand for more from now on. So the
//! session reads all, keeps some, lets each say what it stands for, and books
//! the others.

use perfdata::{Attr, EventType, SampleType, SoftwareEvent};

use super::scrub::behind_fixed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimator {
    pub(super) counted: bool,
    /// Happenings for each sample of the kernel's.
    base: u64,
    /// One in so many is kept.
    keep: u64,
    passed: u64,
    /// Offset of PERIOD from the record's start, bytes.
    period_at: Option<usize>,
}

impl Decimator {
    /// For samples of this attr: all are kept.
    pub(super) fn new(attr: &Attr) -> Decimator {
        let counted = match attr.kind {
            EventType::SOFTWARE => !SoftwareEvent(attr.config).is_clock(),
            kind => kind == EventType::TRACEPOINT || kind == EventType::BREAKPOINT,
        };
        let carries = attr.sample_type.contains(SampleType::PERIOD);
        Decimator {
            counted,
            base: attr.sample_period.max(1),
            keep: 1,
            passed: 0,
            // The last field of fixed size.
            period_at: carries.then(|| behind_fixed(attr.sample_type) - size_of::<u64>()),
        }
    }

    /// Happenings for each sample that is kept.
    pub(super) fn interval(&self) -> u64 {
        self.base.saturating_mul(self.keep)
    }

    /// Keeps as many as make this interval; false: no share of the kernel's
    /// samples does.
    pub(super) fn set(&mut self, interval: u64) -> bool {
        let fits = interval >= self.base && interval.is_multiple_of(self.base);
        if fits {
            (self.keep, self.passed) = (interval / self.base, 0);
        }
        fits
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Whether the next sample is left out.
    #[inline]
    pub(super) fn drops_next(&mut self) -> bool {
        if self.keep == 1 {
            return false;
        }
        self.passed += 1;
        let keeps = self.passed >= self.keep;
        if keeps {
            self.passed = 0;
        }
        !keeps
    }

    /// Lets a record that is kept stand for those that are not.
    #[inline]
    pub(super) fn set_period(&self, record: &mut [u8]) {
        let Some(at) = self.period_at.filter(|_| self.keep > 1) else { return };
        if let Some(word) = record.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
            *word = u64::from_ne_bytes(*word).saturating_mul(self.keep).to_ne_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(fields: SampleType, sample_period: u64) -> Decimator {
        Decimator::new(&Attr {
            kind: EventType::SOFTWARE,
            config: 2,
            sample_type: fields,
            sample_period,
            ..Attr::default()
        })
    }

    #[test]
    fn one_in_so_many_is_kept_and_stands_for_all() {
        let mut decimator = faults(SampleType::IP | SampleType::TID | SampleType::PERIOD, 1);
        assert!(decimator.counted && !decimator.drops_next());
        assert!(decimator.set(3));
        let kept: Vec<bool> = (0..7).map(|_| !decimator.drops_next()).collect();
        assert_eq!(kept, [false, false, true, false, false, true, false]);
        let words: [u64; 4] = [0, 11, 12, 1];
        let mut record: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        decimator.set_period(&mut record);
        assert_eq!(record[24..], 3u64.to_ne_bytes());
        decimator.set_period(&mut record[..20]);
    }

    #[test]
    fn only_multiples_of_what_the_kernel_samples_can_be_had() {
        let mut decimator = faults(SampleType::IP, 100);
        for (interval, fits) in [(100, true), (50, false), (150, false), (300, true)] {
            assert_eq!(decimator.set(interval), fits, "{interval}");
        }
        assert_eq!((decimator.interval(), decimator.base()), (300, 100));
        let mut record = [7; 32];
        decimator.set_period(&mut record);
        assert_eq!(record, [7; 32], "it says nothing of its period");
    }

    #[test]
    fn timers_and_the_hardware_are_the_kernels_to_slow() {
        let clock = Attr { kind: EventType::SOFTWARE, config: 1, ..Attr::default() };
        let cycles = Attr { kind: EventType::HARDWARE, ..Attr::default() };
        assert!(!Decimator::new(&clock).counted && !Decimator::new(&cycles).counted);
    }
}
