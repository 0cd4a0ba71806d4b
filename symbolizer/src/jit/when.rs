//! Whether a file is of the recorded process, by times.
//!
//! Samples have a clock that counts from the boot and may drift from those of
//! /proc and of files, which is allowed for.

use crate::process::proc_dir::ProcStatus;
use perfdata::Time;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime};

/// Whether a process had begun by a time of samples. Those stand still while
/// the machine sleeps.
pub(crate) fn began_by(living: &ProcStatus, time: Time) -> bool {
    living.began <= time.0.saturating_add(slack(time))
}

/// How far the clocks may be apart by then, nanoseconds: a second, and a
/// thousandth of what has passed.
fn slack(time: Time) -> u64 {
    (time.0 >> 10).saturating_add(1_000_000_000)
}

/// Now, by both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// Nanoseconds since boot.
    pub(crate) boot: u64,
    pub(crate) wall: SystemTime,
}

impl Clocks {
    pub(crate) fn now() -> Clocks {
        let now = clock_gettime(ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let rest = u64::try_from(now.tv_nsec).unwrap_or(0);
        let boot = seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Clocks { boot, wall: SystemTime::now() }
    }

    fn wall(&self, time: Time) -> Option<SystemTime> {
        match self.boot.checked_sub(time.0) {
            Some(ago) => self.wall.checked_sub(Duration::from_nanos(ago)),
            None => self.wall.checked_add(Duration::from_nanos(time.0 - self.boot)),
        }
    }

    /// Why a map last written at `written`, in whole seconds, is not of a
    /// process that began and ended at these times, where they are known.
    pub(crate) fn doubt(
        &self,
        written: SystemTime,
        began: Option<Time>,
        ended: Option<Time>,
    ) -> Option<String> {
        let began = began.filter(|time| time.0 > 0);
        if let Some(time) = began
            && let Some(early) = self.wall(time)?.duration_since(written).ok()
            && early > Duration::from_nanos(slack(time)) + Duration::from_secs(1)
        {
            let early = early.as_secs();
            return Some(format!("it was last written {early} s before its process began"));
        }
        if let Some(time) = ended
            && let Some(late) = written.duration_since(self.wall(time)?).ok()
            && late > Duration::from_nanos(slack(time))
        {
            let late = late.as_secs();
            return Some(format!("it was last written {late} s after its process had ended"));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_of_a_process_that_lived_when_it_was_written() {
        let second = 1_000_000_000;
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let clocks = Clocks { boot: 1000 * second, wall };
        let ago = |seconds| wall - Duration::from_secs(seconds);
        let doubt = |written| {
            let (began, ended) = (Time(500 * second), Time(600 * second));
            clocks.doubt(written, Some(began), Some(ended))
        };
        assert_eq!(doubt(ago(450)), None);
        // 1.5 s of what clocks may be apart.
        assert_eq!(doubt(ago(501)), None);
        assert_eq!(doubt(ago(399)), None);
        let early = doubt(ago(520)).unwrap();
        assert!(early.contains("20 s before its process began"), "{early}");
        let late = doubt(ago(380)).unwrap();
        assert!(late.contains("20 s after its process had ended"), "{late}");
        assert_eq!(clocks.doubt(ago(900), None, None), None);
    }
}
