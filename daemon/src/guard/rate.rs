//! How often anybody may have samples made.

use std::path::Path;

use perfdata::SoftwareEvent;
use recorder::{Plan, PlannedEvent};

use super::Limits;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RateTooHigh {
    #[error(
        "{event}: interval {interval} is below {least}, the least that users without a permission \
         may ask for (limits.least_interval in the daemon's configuration)"
    )]
    Floor { event: String, interval: u64, least: u64 },
    #[error(
        "{event}: interval {interval} is {rate} samples a second, and \
         kernel.perf_event_max_sample_rate is {most}: say -i {least} or more"
    )]
    Rate { event: String, interval: u64, rate: u64, most: u64, least: u64 },
}

/// What is too often in a plan, at an interval of its own or another one.
/// `floor`: whether the least interval holds for this user; `most`:
/// [`max_sample_rate`].
pub(crate) fn check(
    plan: &Plan,
    interval: Option<u64>,
    floor: Option<&Limits>,
    most: Option<u64>,
) -> Result<(), RateTooHigh> {
    let sampled = plan.events.iter().filter(|event| !event.carrier);
    sampled.into_iter().try_for_each(|event: &PlannedEvent| {
        let interval = interval.unwrap_or(event.attr.sample_period);
        let name = || event.name.clone();
        if let Some(least) = floor.map(|limits| limits.least_interval).filter(|&l| interval < l) {
            return Err(RateTooHigh::Floor { event: name(), interval, least });
        }
        let is_clock = event.attr.software().is_some_and(SoftwareEvent::is_clock);
        let rate = 1_000_000_000 / interval.max(1);
        match most.filter(|&most| is_clock && rate > most && most > 0) {
            Some(most) => {
                let least = 1_000_000_000u64.div_ceil(most);
                Err(RateTooHigh::Rate { event: name(), interval, rate, most, least })
            }
            None => Ok(()),
        }
    })
}

/// kernel.perf_event_max_sample_rate, samples a second on each CPU; None: it
/// cannot be read.
pub(crate) fn max_sample_rate(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/sys/kernel/perf_event_max_sample_rate"));
    text.ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recorder::{Facts, Modes, Request, Target};

    fn planned(event: &str, interval: u64) -> Plan {
        let facts = Facts::read(Path::new("/")).unwrap();
        let request = Request::new(event, Modes::USER, Target::Command);
        recorder::plan(&Request { interval: Some(interval), ..request }, &facts).unwrap()
    }

    #[test]
    fn timers_are_held_to_the_kernels_rate_and_users_to_the_floor() {
        let limits = Limits { least_interval: 1000, ..Limits::default() };
        let clock = planned("cpu_clock", 1_000_000);
        let refused = check(&clock, Some(1), None, Some(100_000)).unwrap_err().to_string();
        assert!(refused.contains("say -i 10000 or more"), "{refused}");
        assert_eq!(check(&clock, Some(10_000), None, Some(100_000)), Ok(()));
        assert!(check(&clock, Some(10_000), None, Some(99_999)).is_err());
        let faults = planned("page_fault", 999);
        assert_eq!(check(&faults, None, None, Some(1)), Ok(()), "no timer");
        let refused = check(&faults, None, Some(&limits), None).unwrap_err().to_string();
        assert!(refused.contains("999 is below 1000"), "{refused}");
        assert_eq!(check(&faults, Some(1000), Some(&limits), None), Ok(()));
    }
}
