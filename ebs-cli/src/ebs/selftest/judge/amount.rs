//! How many samples there are, and how many there must be.

use super::Shares;
use crate::ebs::selftest::cases::{Case, Cause, Tolerance};
use crate::ebs::selftest::observed::{Account, Observed, Opened};
use crate::ebs::selftest::truth::Truth;
use recorder::catalogue::promises::SampleSource;

/// So few show nothing.
const FEWEST: u64 = 20;
/// Of what a CPU counts: events that a sample stands for and that are left
/// over, in tasks and CPUs, when sampling ends; and what counting itself adds.
const REST: f64 = 0.02;
/// Tasks of a program, each with a rest of an interval of its own.
const TASKS: u64 = 4;

/// What is wrong with the number of samples, in sentences.
pub(super) fn wrong(
    case: &Case,
    truth: &Truth,
    observed: &Observed,
    shares: &Shares,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let seen = observed.samples.len() as u64;
    if seen < FEWEST && unjudged(observed).is_none() {
        wrong.push(format!("{seen} samples, too few to judge by ({FEWEST} at least)"));
    }
    if observed.undecided * 100 > seen {
        wrong.push(format!(
            "{} of {} samples could not be told to be meant or not",
            observed.undecided,
            seen + observed.undecided
        ));
    }
    wrong.extend(account(observed));
    wrong.extend(number(case, truth, observed, shares));
    wrong
}

/// Why so few samples say nothing of the CPU: the kernel held the event back
/// for most of the run.
pub(super) fn unjudged(observed: &Observed) -> Option<String> {
    let seen = observed.samples.len() as u64;
    let throttled = observed.account.throttled;
    (seen < FEWEST && throttled > 0).then(|| {
        format!(
            "the kernel throttled it ({throttled} times), and {seen} samples are too few to judge \
             by ({FEWEST} at least): give it more time (--seconds), or raise \
             kernel.perf_event_max_sample_rate and kernel.perf_cpu_time_max_percent"
        )
    })
}

/// Each sample that was made arrived or is lost with a cause.
fn account(observed: &Observed) -> Vec<String> {
    let Account { events, made, delivered, lost, words, .. } = &observed.account;
    let mut wrong = Vec::new();
    if observed.in_stream != *delivered {
        wrong.push(format!(
            "account: {delivered} samples are said to be delivered, {} came ({words})",
            observed.in_stream
        ));
    }
    match made {
        Some(made) if *made != delivered + lost => wrong.push(format!(
            "account: {made} samples were made, {delivered} delivered and {lost} lost: {} are \
             unaccounted for",
            i128::from(*made) - i128::from(*delivered) - i128::from(*lost)
        )),
        Some(_) => {}
        None => wrong.extend(rest(observed, *events)),
    }
    wrong
}

/// Where nobody says how many samples were made: the events tell.
fn rest(observed: &Observed, events: u64) -> Option<String> {
    let Account { delivered, lost, throttled, shared, .. } = observed.account;
    let is_clock =
        observed.events.iter().any(|event| event.promises.source == SampleSource::KernelTimer);
    let interval = observed.events.iter().map(|event| event.interval).max()?;
    // A clock's ticks are skipped where the CPU is in the other mode, a
    // paused event counts nothing or counts without samples.
    if is_clock || throttled > 0 || shared {
        return None;
    }
    let told = (delivered + lost) as f64 * interval as f64;
    let slack = (TASKS * observed.events.len() as u64 * interval) as f64 + REST * told;
    let off = events as f64 - told;
    (off.abs() > slack).then(|| {
        format!(
            "account: {events} events were counted, and {delivered} samples with {lost} lost stand \
             for {told:.0}"
        )
    })
}

/// As many at the right place as the program caused.
fn number(case: &Case, truth: &Truth, observed: &Observed, shares: &Shares) -> Option<String> {
    let Account { lost, throttled, shared, .. } = observed.account;
    // What is sampled is more than what is meant: shares tell, numbers not.
    if observed.events.iter().any(|event| event.is_filtered) || throttled > 0 || shared {
        return None;
    }
    let Opened { interval, promises, .. } = observed.events.first()?;
    let true_events = truth.visits as f64 * case.events.0 as f64 / case.events.1.max(1) as f64;
    let (tolerance, slack) = match promises.source {
        SampleSource::KernelTimer | SampleSource::Preloaded => return None,
        // The scheduler has reasons of its own besides.
        _ if case.cause == Cause::Scheduler => (Tolerance { least: 0.9, most: f64::INFINITY }, 2.0),
        SampleSource::Pebs | SampleSource::Ibs | SampleSource::Counter => (case.hardware, 2.0),
        // The model's numbers are exact, but for a phase of the interval at
        // either end, of each task.
        SampleSource::Emulated if *interval == 1 => (case.model, 0.0),
        SampleSource::Emulated => (case.model, 2.0),
        // The kernel's are exact; now and then it takes a page away again.
        SampleSource::KernelSoftware | SampleSource::Breakpoint | SampleSource::Tracepoint => {
            (Tolerance { least: 1.0, most: 1.01 }, 0.0)
        }
    };
    let right = shares.instruction.right;
    let interval = *interval as f64;
    let least = true_events * tolerance.least / interval - slack - lost as f64;
    let most = true_events * tolerance.most / interval + slack;
    let count = right as f64;
    (count < least.floor() || count > most.ceil()).then(|| {
        format!(
            "number: {right} samples of {interval} events at the right place, {:.0} to {:.0} must \
             be: the program causes {true_events:.0}",
            least.max(0.0).floor(),
            most.ceil(),
        )
    })
}
