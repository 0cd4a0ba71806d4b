//! Sampling more or less often while a session runs.

use std::io;

use rustix::time::{ClockId, clock_gettime};

use perfdata::AttrFlags;
use perfdata::stream::write;

use super::{Session, SessionError};
use crate::sys::event::NATIVE_ORDER;

/// The largest interval that a counter holds.
const MAX_PERIOD: u64 = i64::MAX.cast_unsigned();

/// What is to become of the intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalChange {
    /// Every event's is this.
    To(u64),
    Doubled,
}

impl IntervalChange {
    fn of(self, period: u64) -> u64 {
        match self {
            IntervalChange::To(interval) => interval.min(MAX_PERIOD),
            IntervalChange::Doubled => period.saturating_mul(2).min(MAX_PERIOD),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum IntervalError {
    #[error(
        "interval {interval} is no multiple of {base}, with which the session began: give one, or \
         start another session"
    )]
    Multiple { interval: u64, base: u64 },
    #[error(
        "the event is sampled so many times a second, and has no interval: start another session"
    )]
    Frequency,
    #[error("what is counted in the kernel keeps its interval: start another session")]
    InKernel,
    /// PERF_EVENT_IOC_PERIOD.
    #[error("interval {interval} is not taken by the kernel: {error}")]
    Kernel { interval: u64, error: io::Error },
}

impl Session {
    /// The interval of the first event that samples.
    pub fn interval(&self) -> u64 {
        let first = self.attrs.sampled().zip(&self.decimators).next();
        first.map_or(0, |((_, event), decimator)| match decimator.counted {
            true => decimator.interval(),
            false => event.attr.sample_period,
        })
    }

    /// Changes the interval of every event, and gives the first one's. The
    /// kernel reaches an event, not what threads and children have inherited
    /// of it before: these keep what they have. Each sample that carries
    /// PERIOD says what it stands for.
    ///
    /// # Errors
    /// An interval that an event cannot have; events before it have it.
    pub fn change_interval(&mut self, change: IntervalChange) -> Result<u64, IntervalError> {
        if self.programs.counts() {
            return Err(IntervalError::InKernel);
        }
        for place in 0..self.decimators.len() {
            let decimator = &mut self.decimators[place];
            if decimator.counted {
                let interval = change.of(decimator.interval());
                if !decimator.set(interval) {
                    return Err(IntervalError::Multiple { interval, base: decimator.base() });
                }
                continue;
            }
            let Some((index, event)) = self.attrs.sampled().nth(place) else { continue };
            if event.attr.flags.contains(AttrFlags::FREQ) {
                return Err(IntervalError::Frequency);
            }
            let interval = change.of(event.attr.sample_period);
            // Of different intervals no count of samples can be expected.
            self.interval_changed = true;
            let on_cpus = self.sets.iter().flat_map(|set| &set.cpus);
            let mut open = on_cpus.flat_map(|on_cpu| &on_cpu.sampled);
            open.try_for_each(|sampled| match sampled.index == index {
                true => sampled.event.set_period(interval),
                false => Ok(()),
            })
            .map_err(|error| IntervalError::Kernel { interval, error })?;
            self.attrs.events[index].attr.sample_period = interval;
        }
        Ok(self.interval())
    }

    /// The record of a note on the first event, for the stream: `text` holds
    /// `key=value` pairs joined with `;`.
    ///
    /// # Errors
    /// The text is too long for a record.
    pub fn note(&self, text: &str) -> Result<Vec<u8>, SessionError> {
        let mut bytes = Vec::new();
        let ids = self.attrs.sampled().filter_map(|(index, _)| self.ids.of(index).first());
        for id in ids.take(1) {
            write::event_unit(*id, text, NATIVE_ORDER, &mut bytes)
                .map_err(|error| SessionError::Preamble(error.to_string()))?;
        }
        Ok(bytes)
    }
}

/// Now, nanoseconds of the clock that samples have.
pub fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (seconds, nanoseconds) = (now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned());
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_double_up_to_what_a_counter_holds() {
        assert_eq!(IntervalChange::Doubled.of(1), 2);
        assert_eq!(IntervalChange::Doubled.of(MAX_PERIOD - 1), MAX_PERIOD);
        assert_eq!(IntervalChange::Doubled.of(u64::MAX), MAX_PERIOD);
        assert_eq!(IntervalChange::To(u64::MAX).of(1), MAX_PERIOD);
    }
}
