//! The lines above a table: what was counted, what was not, and how to read
//! the numbers.

use super::{Text, number_of, percent};
use crate::query::Weighting;
use crate::report::emulation::emulation;
use crate::report::{
    Bursts, CountEnd, EventReport, FilterReport, KernelCountReport, Member, PeriodUnit,
    RecorderLedger, Report, SamplingMode,
};
use crate::share_interval::ratio;
use std::fmt::Write;

pub(super) fn report(report: &Report, out: &mut Text) {
    let query = &report.query;
    if !query.filters.is_empty() {
        out.note(&format!("only {}", query.filters.join(" and ")));
    }
    let losses = &report.losses;
    let mut parts = Vec::new();
    if losses.lost_records > 0 {
        parts.push(format!(
            "{} in full rings or queues (LOST: {})",
            losses.lost, losses.lost_records
        ));
    }
    if losses.lost_samples > 0 {
        let samples = number_of(losses.lost_samples, "sample");
        parts.push(format!("{samples} (LOST_SAMPLES)"));
    }
    if !parts.is_empty() {
        out.note(&format!("lost by the records in the stream: {}", parts.join(", ")));
    }
    if losses.filtered_out > 0 {
        let samples = number_of(losses.filtered_out, "sample");
        out.note(&format!("left out by the recorder's BPF filter: {samples}"));
    }
    if losses.throttled > 0 {
        out.note(&format!(
            "times throttled: {} (the kernel paused an event that came too often)",
            losses.throttled
        ));
    }
    for note in &report.notes {
        out.note(note);
    }
}

/// Events of which the samples were drawn: as the recorder counted them where
/// all of its samples are counted here, else what these stand for. Of periods
/// that are drawn a sum is near it, and of few of them far from it.
fn events_of(event: &EventReport) -> u64 {
    let totals = &event.totals;
    let told = event.ledger.as_ref().filter(|ledger| ledger.delivered == Some(totals.counted));
    told.and_then(|ledger| ledger.events).unwrap_or(totals.period)
}

pub(super) fn event(event: &EventReport, out: &mut Text) {
    let totals = &event.totals;
    let samples = counted(event);
    let in_kernel = event.in_kernel.as_ref();
    let counted = totals.counted.saturating_sub(in_kernel.map_or(0, |it| it.counted));
    let mut line = match (is_uniform(event), event.sampling) {
        // A group's leader has the samples, which hold its members' counts.
        (true, SamplingMode::Period(0)) if counted > 0 => {
            format!("{}, read with its group: {samples}", event.name)
        }
        (true, _) if event.has_drawn_periods() => {
            let every = sampling(event.sampling, event.unit);
            let stand_for = number_of(events_of(event), "event");
            format!("{}, {every} on average, at random: {samples} for {stand_for}", event.name)
        }
        (true, SamplingMode::Adapted) => {
            let (every, events) = (sampling(event.sampling, event.unit), events_of(event));
            format!("{}, {every}: {samples} for {}", event.name, number_of(events, "event"))
        }
        (true, _) => format!("{}, {}: {samples}", event.name, sampling(event.sampling, event.unit)),
        (false, _) => format!("{}: {samples}", event.name),
    };
    // Writing to a String cannot fail.
    if totals.filtered > 0 {
        let _ = write!(line, ", {} filtered out", totals.filtered);
    }
    if totals.malformed > 0 {
        let _ = write!(line, ", {} malformed", totals.malformed);
    }
    if counted > 0 {
        let _ = match event.ip.in_words().filter(|_| totals.exact_ip == 0) {
            Some(words) => write!(line, ", {words}"),
            None => write!(line, ", EXACT_IP on {}", percent(ratio(totals.exact_ip, counted))),
        };
    }
    out.note(&line);
    if let Some(in_kernel) = in_kernel {
        let by_callers = event.promises.contains_key("callers");
        self::in_kernel(in_kernel, by_callers, out);
    }
    let emulated = emulation(|key| event.promises.get(key).map(String::as_str));
    if let Some(phrase) = &emulated {
        out.note(phrase);
    }
    members(event, out);
    if let Some(sieved) = &event.filter {
        filter(sieved, event.unit, out);
    }
    if event.weighting == Weighting::Period && totals.counted > 0 {
        let unit = match event.unit {
            PeriodUnit::Events => "events",
            PeriodUnit::Nanoseconds => "ns",
        };
        out.note(&format!("shares are of the sum of periods, {} {unit}", totals.period));
    }
    if let Some(text) = &event.latency_of {
        let having = event.latency.map_or(0, |latency| latency.samples);
        out.note(&format!(
            "latency of {having} of {}: {text}",
            number_of(totals.counted, "sample")
        ));
    }
    if let Some(ledger) = &event.ledger {
        out.note(&ledger_line(ledger, emulated.is_some()));
        if let Some(line) = throttled(ledger, in_kernel.is_some()) {
            out.note(&line);
        }
        if let Some(line) = count_reached(ledger) {
            out.note(&line);
        }
        if let Some(bursts) = &ledger.bursts {
            out.note(&bursts_line(bursts, ledger.events));
        }
    }
    for (name, by_reason) in [
        ("a routine name", &totals.unresolved),
        ("a variable's name", &totals.unresolved_data),
        ("a source line", &totals.unresolved_lines),
        ("a line in their routine", &totals.unresolved_routine_lines),
        ("an instruction", &totals.unresolved_operands),
        ("an object", &totals.unresolved_objects),
    ] {
        let unresolved = by_reason.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        if unresolved == 0 {
            continue;
        }
        let share = percent(ratio(unresolved, totals.counted));
        out.note(&format!("without {name} {unresolved} ({share}):"));
        let mut reasons: Vec<_> = by_reason.iter().collect();
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), *reason));
        let shown = if out.style.reasons { reasons.len() } else { REASONS };
        for (reason, count) in reasons.iter().take(shown) {
            out.note(&format!("  {count} {reason}"));
        }
        let rest = reasons.get(shown..).unwrap_or_default();
        if !rest.is_empty() {
            let samples = rest.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(**count));
            let more = number_of(u64::try_from(rest.len()).unwrap_or(u64::MAX), "more reason");
            out.note(&format!("  {samples} for {more}; --reasons lists all"));
        }
    }
}

fn counted(event: &EventReport) -> String {
    let in_kernel = event.in_kernel.as_ref().map_or(0, |it| it.hits);
    let samples = number_of(event.totals.samples.saturating_sub(in_kernel), "sample");
    match &event.in_kernel {
        // Between two aggregates of a session that is watched.
        None if event.promises.get("counted").is_some_and(|by| by == "kernel") => {
            "no interval of what the kernel counts has ended yet".to_owned()
        }
        None => samples,
        Some(KernelCountReport { hits, .. }) => {
            format!("{} counted in the kernel, {samples}", number_of(*hits, "hit"))
        }
    }
}

/// Reasons without names that are listed unless all are asked for: the
/// commonest.
const REASONS: usize = 3;

/// Causes that a line names; JSON has all.
const CAUSES: usize = 12;

/// Rows of counts are not rows of samples.
fn in_kernel(in_kernel: &KernelCountReport, by_callers: bool, out: &mut Text) {
    let KernelCountReport { hits, intervals, from, to, by_process, lost, filtered, .. } = in_kernel;
    let seconds = ratio(to.saturating_sub(*from), 1_000_000_000);
    let processes = match (*hits, *by_process) {
        (0, _) => "",
        (_, true) => ", by process",
        (_, false) => ", of all processes together",
    };
    let callers = if by_callers { ", by callers (frame pointers)" } else { "" };
    out.note(&format!(
        "counted by a program in the kernel{processes}{callers}: {} in {seconds:.3} s; registers and \
         addresses are what all hits of a row have in common",
        number_of(*intervals, "interval")
    ));
    for (what, causes) in [("lost in the kernel", lost), ("not asked for", filtered)] {
        let causes = || causes.iter().filter(|(_, count)| **count > 0);
        let sum = causes().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let mut largest: Vec<_> = causes().collect();
        largest.sort_by_key(|(cause, count)| (std::cmp::Reverse(**count), *cause));
        let shown = largest.iter().take(CAUSES);
        let mut told: Vec<_> = shown.map(|(cause, count)| format!("{cause} {count}")).collect();
        if largest.len() > CAUSES {
            told.push(format!("{} more causes", largest.len() - CAUSES));
        }
        if sum > 0 {
            let hits = number_of(sum, "hit");
            out.note(&format!("in no row, {what}: {hits} ({})", told.join(", ")));
        }
    }
}

fn members(event: &EventReport, out: &mut Text) {
    let is_uniform = is_uniform(event);
    for member in &event.members {
        let Member { name, config, samples, counted, .. } = member;
        let samples = number_of(*samples, "sample");
        let every = match is_uniform {
            true => String::new(),
            false => format!(", {}", sampling(member.sampling, event.unit)),
        };
        out.note(&format!("  {name} (config {config}){every}: {samples}, {counted} counted"));
    }
}

/// Whether all events of the request were sampled alike.
fn is_uniform(event: &EventReport) -> bool {
    event.members.iter().all(|member| member.sampling == event.sampling)
}

fn filter(sieved: &FilterReport, unit: PeriodUnit, out: &mut Text) {
    let FilterReport { filter, sampled, kept, undecided, share, events, estimate, is_bound } =
        sieved;
    let open: u64 = undecided.values().sum();
    let mut line = format!("only {filter}: {kept} of {sampled} samples ({})", percent(*share));
    // Writing to a String cannot fail.
    let _ = write!(line, ", {open} undecided");
    if let (Some(events), Some(estimate)) = (events, estimate) {
        let unit = match unit {
            PeriodUnit::Events => "events",
            PeriodUnit::Nanoseconds => "ns",
        };
        let about = if *is_bound { "at most" } else { "about" };
        let _ = write!(line, "; {about} {estimate} of {events} {unit} counted");
    }
    out.note(&line);
    if *is_bound && estimate.is_some() {
        out.note(BOUND);
    }
    let mut reasons: Vec<_> = undecided.iter().collect();
    reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), *reason));
    for (reason, count) in reasons {
        out.note(&format!("  {count} undecided: {reason}"));
    }
}

/// Said of an estimate from IBS at a short interval.
const BOUND: &str = "  IBS counts the kernel's way out of each interrupt, too, where nothing is \
                     sampled: some hundreds of ops of every interval; -i 100000 or more makes \
                     that less than 1 %";

/// What it cost that the kernel paused the event, in hits or samples.
fn throttled(ledger: &RecorderLedger, in_kernel: bool) -> Option<String> {
    let delivered = ledger.delivered.unwrap_or(0);
    let missed = ledger.lost.get("throttled").copied().unwrap_or(0);
    let what = if in_kernel { "hit" } else { "sample" };
    let all = delivered.saturating_add(missed);
    match ledger.throttled {
        _ if missed > 0 && delivered > 0 => {
            let events =
                ledger.events.map(|events| format!("; the kernel counted {events} events"));
            Some(format!(
                "throttled: the event came too often, and the kernel paused it: rows are of \
                 {delivered} of {}{}; about {:.2} times a row's count happened",
                number_of(all, what),
                events.unwrap_or_default(),
                ratio(all, delivered),
            ))
        }
        Some(times) => Some(format!(
            "throttled: the event came too often, and the kernel paused it, {}: what came \
             meanwhile is in no count, and nothing tells how much; give a larger interval",
            number_of(times, "time")
        )),
        None => None,
    }
}

fn count_reached(ledger: &RecorderLedger) -> Option<String> {
    let CountEnd { count, ran_on } = ledger.count_reached?;
    Some(if ran_on {
        let seconds = ledger.seconds.map(|seconds| format!(" after {seconds:.3} seconds"));
        format!(
            "the count of {count} ended sampling{}, before the end of what was sampled: later \
             events were not counted; -c all samples all of it",
            seconds.unwrap_or_default()
        )
    } else {
        format!(
            "the count of {count} was reached before the end: later records were left out; -c all \
             keeps all"
        )
    })
}

fn sampling(sampling: SamplingMode, unit: PeriodUnit) -> String {
    match sampling {
        SamplingMode::Period(0) => "counted only".to_owned(),
        SamplingMode::Period(period) => match unit {
            PeriodUnit::Nanoseconds => format!("every {}", span(period)),
            PeriodUnit::Events if period == 1 => "every event".to_owned(),
            PeriodUnit::Events => format!("every {period} events"),
        },
        // Text records have no rate.
        SamplingMode::Frequency(0) => "each sample with its own period".to_owned(),
        SamplingMode::Frequency(rate) => format!("{rate} samples a second aimed at"),
        SamplingMode::Adapted => "at random, each sample with its own period".to_owned(),
    }
}

/// Nanoseconds in the largest unit that has no fraction.
fn span(nanoseconds: u64) -> String {
    match (nanoseconds % 1_000_000, nanoseconds % 1_000) {
        (0, _) => format!("{} ms", nanoseconds / 1_000_000),
        (_, 0) => format!("{} us", nanoseconds / 1_000),
        _ => format!("{nanoseconds} ns"),
    }
}

/// How much of the program the rows below are of, and what that says of the
/// whole.
fn bursts_line(bursts: &Bursts, events: Option<u64>) -> String {
    let (counted, all) = (bursts.counted, bursts.instructions());
    if counted == 0 {
        return format!("bursts: none of {all} instructions was counted");
    }
    let share = ratio(counted, all);
    let mut line =
        format!("bursts: rows are of {counted} of {all} instructions, {}", percent(share));
    if let Some(events) = events.filter(|_| share > 0.0) {
        let events = ratio(events, 1) / share;
        // Writing to a String cannot fail.
        let _ = write!(line, "; the whole has about {events:.0} events");
        let _ = match bursts.error {
            Some(error) => write!(line, " (+-{:.1} %, two standard errors)", 200.0 * error),
            None => write!(line, " (too few bursts to say how far off that is)"),
        };
    }
    line
}

fn ledger_line(ledger: &RecorderLedger, emulated: bool) -> String {
    let mut line = String::from("recorder:");
    // Writing to a String cannot fail.
    if let Some(kernel) = ledger.kernel {
        let by = if emulated { "made by the emulation" } else { "counted by the kernel" };
        let _ = write!(line, " {kernel} {by},");
    }
    if let Some(delivered) = ledger.delivered {
        let _ = write!(line, " {delivered} delivered,");
    }
    // Sideband records are no samples; what came after the count nobody misses.
    let count = |cause: &str| ledger.lost.get(cause).copied().unwrap_or(0);
    let told_apart = ["side", "count"];
    let causes: Vec<_> = ledger
        .lost
        .iter()
        .filter(|(cause, count)| **count > 0 && !told_apart.contains(&cause.as_str()))
        .collect();
    let lost = causes.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(**count));
    let _ = write!(line, " {lost} lost");
    if !causes.is_empty() {
        let causes: Vec<_> =
            causes.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
        let _ = write!(line, " ({})", causes.join(", "));
    }
    if count("count") > 0 {
        let _ = write!(line, ", {} more left out after the count was reached", count("count"));
    }
    if let Some(unaccounted) = ledger.unaccounted.filter(|count| *count != 0) {
        let _ = write!(line, ", {unaccounted} unaccounted for");
    }
    if let Some(events) = ledger.uncovered {
        let _ = write!(line, ", {} that no record stands for", number_of(events, "event"));
    }
    if !ledger.tail_known {
        line.push_str(", losses at the end unknown");
    }
    if count("side") > 0 {
        let _ = write!(line, ", {} mapping or task records lost", count("side"));
    }
    if let Some(seconds) = ledger.seconds {
        let _ = write!(line, ", {seconds:.3} s");
    }
    line
}
