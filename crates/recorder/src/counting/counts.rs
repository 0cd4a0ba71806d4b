//! What was counted.

use std::time::Duration;

use crate::metrics::{Estimate, Figure, NotCounted};

#[derive(Clone, Debug, PartialEq)]
pub struct TotalCounts {
    /// Of each group and event of the plan, in its order.
    pub groups: Vec<Vec<EventCount>>,
    pub wall: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EventCount {
    pub figure: Figure,
    pub counted: u64,
    /// Time that it was enabled, summed over tasks or CPUs.
    pub enabled: Duration,
    /// Of that, time on a counter.
    pub running: Duration,
    /// Why it was not opened; None: it was.
    pub refused: Option<String>,
    /// Its samples agree with its count, or do not; None: none were taken.
    pub agrees: Option<bool>,
}

impl EventCount {
    pub fn whole(count: u64, time: Duration) -> EventCount {
        #[expect(clippy::cast_precision_loss, reason = "shown with fewer digits")]
        let figure = Ok(Estimate::exact(count as f64));
        EventCount {
            figure,
            counted: count,
            enabled: time,
            running: time,
            refused: None,
            agrees: None,
        }
    }

    pub(super) fn refused(why: String) -> EventCount {
        EventCount {
            figure: Err(NotCounted::Never),
            counted: 0,
            enabled: Duration::ZERO,
            running: Duration::ZERO,
            refused: Some(why),
            agrees: None,
        }
    }

    /// Share of the time that it was on a counter, 0 to 1; None: it never was
    /// to be.
    pub fn share(&self) -> Option<f64> {
        (!self.enabled.is_zero()).then(|| self.running.as_secs_f64() / self.enabled.as_secs_f64())
    }
}
