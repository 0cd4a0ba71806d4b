//! Intervals that keep step with few programs, where none can be drawn.

use super::event_draft::EventDraft;
use crate::Request;
use crate::catalogue::promises::SampleSource;

/// Primes are looked for among numbers below this: a million divisions.
const LARGEST: u64 = 1 << 40;

/// Makes the interval that was asked for a prime, unless it was to be that and
/// no other. Events of IBS have it drawn by the CPU, in its low bits; of clocks
/// no program knows the time.
pub(super) fn make_uneven(drafts: &mut [EventDraft], request: &Request, notes: &mut Vec<String>) {
    if request.seed.is_none() || request.interval.is_none() {
        return;
    }
    let sampled = drafts.iter().filter(|draft| !draft.carrier);
    let mut whys = sampled.map(|draft| why_not_drawn(draft.promises.source));
    let Some(Some(why)) = whys.next() else { return };
    if !whys.all(|other| other.is_some()) {
        return;
    }
    let mut told = None;
    for draft in drafts.iter_mut().filter(|draft| !draft.carrier) {
        let asked = draft.interval;
        draft.interval = next_prime(asked);
        if draft.interval != asked {
            told = Some((asked, draft.interval));
        }
    }
    notes.extend(told.map(|(asked, prime)| {
        format!(
            "every {prime} events, not {asked}: a prime keeps step with fewer loops, and intervals \
             cannot be drawn here: {why}; -i ={asked} for {asked}"
        )
    }));
}

/// Why the intervals of such an event are all the same; None: they are not, or
/// are of time.
fn why_not_drawn(source: SampleSource) -> Option<&'static str> {
    match source {
        // perf_swevent_event(), kernel/events/core.c.
        SampleSource::KernelSoftware | SampleSource::Breakpoint | SampleSource::Tracepoint => {
            Some("the kernel records each such event if records are to tell what they stand for")
        }
        // __perf_event_period(), kernel/events/core.c.
        SampleSource::Pebs | SampleSource::Counter => {
            Some("the kernel forgets what it has counted of an interval that is changed")
        }
        SampleSource::Ibs
        | SampleSource::KernelTimer
        | SampleSource::Emulated
        | SampleSource::Preloaded => None,
    }
}

/// The first prime from a number on; the number where that is too large.
fn next_prime(from: u64) -> u64 {
    if !(2..LARGEST).contains(&from) {
        return from;
    }
    (from..).find(|number| is_prime(*number)).unwrap_or(from)
}

fn is_prime(number: u64) -> bool {
    let mut divisors = (3..).step_by(2).take_while(|divisor| divisor * divisor <= number);
    number == 2
        || !number.is_multiple_of(2) && divisors.all(|divisor| !number.is_multiple_of(divisor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_prime_is_no_product() {
        for (from, prime) in [
            (1, 1),
            (2, 2),
            (3, 3),
            (4, 5),
            (9, 11),
            (100, 101),
            (1000, 1009),
            (10_000, 10_007),
            (100_003, 100_003),
            (1_000_000, 1_000_003),
            (1 << 40, 1 << 40),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(next_prime(from), prime, "from {from}");
        }
    }
}
