//! Causes of misses, and stalled accesses, as text for a terminal.

use crate::cache_shape::size;
use crate::causes::cause_report::{CauseReport, CauseRow, EventCauses};
use crate::causes::remedy::MissEvidence;
use crate::causes::split_offsets::OffsetCount;
use crate::causes::stall::Stall;
use crate::causes::stall_report::{EventStalls, StallRow};
use crate::causes::verdict::{CauseGrade, ClassShare};
use crate::name::cell::SiteCell;
use crate::print::table::{Style, heads, note, number_of, percent, printable};
use crate::share_interval::ratio;
use std::fmt::Write;

/// All events, `top` rows of each: what misses on what, why, how that is known,
/// and what to change.
pub fn render(causes: &CauseReport, top: usize, style: Style) -> String {
    let (all, heads) = heads(&causes.report, style);
    let mut out = all;
    for text in &causes.notes {
        out.push_str(&note(text, style));
    }
    let head = |event: &str| {
        let of = causes.report.events.iter().position(|it| it.name == event);
        of.and_then(|index| heads.get(index)).map_or("", String::as_str)
    };
    for event in &causes.events {
        out.push_str(head(&event.event));
        out.push_str(&note(&judged_by(event), style));
        for (number, row) in (1..).zip(event.rows.iter().take(top)) {
            card(number, row, event, style, &mut out);
        }
        more_rows(event.rows.iter().skip(top).map(|row| row.samples), style, &mut out);
    }
    for event in &causes.stalls {
        out.push_str(head(&event.event));
        stalls(event, top, style, &mut out);
    }
    out
}

/// By which cache an event's misses are judged, and how.
pub fn judged_by(event: &EventCauses) -> String {
    let (shape, level) = (event.shape, event.level);
    let ways = match shape.sets() {
        1 => "fully associative".to_owned(),
        sets => format!("{} ways, {sets} sets", shape.ways),
    };
    let holds = match level.is_of_pages() {
        true => number_of(shape.entries, "entry").replace("entrys", "entries"),
        false => size(shape.bytes()),
    };
    let mut text = format!("judged by {} of {holds}, {ways}; {}", level.name(), event.method);
    if event.without_address > 0 {
        let _ = write!(text, "; {} have no data address", event.without_address);
    }
    text
}

fn card(number: usize, row: &CauseRow, event: &EventCauses, style: Style, out: &mut String) {
    let cycles = row.cycle_share.map(|of| format!(", {} of cycles,", percent(of)));
    let of_all = percent(row.share) + &cycles.unwrap_or_default();
    out.push_str(&heading(number, &of_all, &row.site, &row.data, style));
    let remedies = row.remedies.iter().map(|remedy| format!("-> {}: {}", remedy.kind, remedy.text));
    for line in told(row, event).into_iter().chain(remedies) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "     {line}");
    }
}

/// What is told of a row but what to change: the verdict first, then what is open, then
/// what it is told by.
pub fn told(row: &CauseRow, event: &EventCauses) -> Vec<String> {
    let verdict = match (row.verdict.cause, row.verdict.grade) {
        (Some(cause), grade) => format!("{}, {}", cause.name(), grade.name()),
        (None, CauseGrade::Undetermined) => "undetermined".to_owned(),
        (None, grade) => format!("no one cause, {}", grade.name()),
    };
    let mut lines = vec![format!("{verdict}: {}", shares(row))];
    lines.extend(row.verdict.open.clone());
    lines.extend(evidence(&row.evidence, event));
    lines
}

fn shares(row: &CauseRow) -> String {
    let known = row.verdict.shares.iter().filter(|it| it.class.is_some());
    let text = |it: &ClassShare| {
        let [share, low, high] = [it.share.share, it.share.low, it.share.high].map(percent);
        format!("{} {share} ({low} to {high})", it.name())
    };
    let shares: Vec<String> = known.map(text).collect();
    let samples = number_of(row.samples, "sample");
    match shares.is_empty() {
        true => samples,
        false => format!("{} of {samples}", shares.join(", ")),
    }
}

fn evidence(of: &MissEvidence, event: &EventCauses) -> Vec<String> {
    let unit = event.level.unit();
    let mut lines = Vec::new();
    let mut first = number_of(of.lines, unit);
    if let Some(all) = of.lines_estimated.filter(|all| *all > of.lines) {
        let _ = write!(first, " sampled, at least {all} in all");
    }
    if let Some(misses) = of.misses_per_line {
        let at_most = if of.has_each_miss { "" } else { "at most " };
        let _ = write!(first, ", {at_most}{misses:.1} misses each");
    }
    if !event.level.is_of_pages() {
        let _ = write!(first, ", in {}", number_of(of.pages, "page"));
    }
    lines.push(first);
    if let Some(effective) = of.effective_sets {
        let all = event.shape.sets();
        #[expect(clippy::cast_precision_loss, reason = "a cache has few sets")]
        let shown = effective.min(all as f64);
        let mut text = format!("spread as over {shown:.1} of {all} sets");
        if !of.sets.is_empty() {
            let sets: Vec<String> = of.sets.iter().map(ToString::to_string).collect();
            let _ = write!(text, ": {}", sets.join(", "));
        }
        lines.push(text);
    }
    let mut steps = Vec::new();
    if let Some(stride) = of.stride {
        steps.push(format!("steps of {stride} bytes ({})", percent(of.stride_share)));
    } else if of.apart > event.shape.unit {
        steps.push(format!("addresses are multiples of {} apart", size(of.apart)));
    }
    if of.is_chase {
        steps.push("the pointer comes out of what it points to: a list".to_owned());
    }
    if of.split_share > 0.0 {
        steps.push(format!("{} cross the end of a line", percent(of.split_share)));
    }
    lines.extend((!steps.is_empty()).then(|| steps.join("; ")));
    let mut sources = Vec::new();
    if let Some(share) = of.remote_share.filter(|share| *share > 0.0) {
        sources.push(format!("{} came from another node", percent(share)));
    }
    if let Some(share) = of.walk_share.filter(|share| *share > 0.0 && !event.level.is_of_pages()) {
        sources.push(format!("{} waited for a walk of the page tables", percent(share)));
    }
    lines.extend((!sources.is_empty()).then(|| sources.join("; ")));
    lines
}

/// One event, `top` rows of it.
fn stalls(event: &EventStalls, top: usize, style: Style, out: &mut String) {
    out.push_str(&note(&stall_method(event), style));
    for (number, row) in (1..).zip(event.rows.iter().take(top)) {
        stall_card(number, row, style, out);
    }
    let left = event.rows.iter().skip(top);
    more_rows(left.map(|row| row.samples), style, out);
}

/// How an event's stalled accesses are judged.
pub fn stall_method(event: &EventStalls) -> String {
    let mut method = match event.stall {
        Stall::Split => {
            "accesses in two lines: each by its address and the bytes that its instruction accesses"
        }
        Stall::Forwarding => {
            "loads that an earlier store holds in part: by the stores in front of them in the code"
        }
    }
    .to_owned();
    if event.without_address > 0 {
        let _ = write!(method, "; {} have no data address", event.without_address);
    }
    method
}

/// What is told of stalled accesses, as [`told`] tells of misses.
pub fn told_of_stall(row: &StallRow) -> Vec<String> {
    let (verdict, samples) = (&row.verdict, number_of(row.samples, "sample"));
    let grade = verdict.grade.name();
    let mut lines = vec![match verdict.cause {
        Some(cause) => format!("{}, {grade}: {samples}", cause.name()),
        None => format!("{grade}: {samples}"),
    }];
    lines.extend(verdict.open.clone());
    lines.extend(stall_evidence(row));
    lines
}

fn stall_card(number: usize, row: &StallRow, style: Style, out: &mut String) {
    out.push_str(&heading(number, &percent(row.share), &row.site, &row.data, style));
    let remedies = row.remedies.iter().map(|remedy| format!("-> {}: {}", remedy.kind, remedy.text));
    for line in told_of_stall(row).into_iter().chain(remedies) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "     {line}");
    }
}

fn stall_evidence(row: &StallRow) -> Vec<String> {
    let of = &row.evidence;
    let mut parts: Vec<String> =
        of.width.map(|width| number_of(width, "byte")).into_iter().collect();
    if let Some(shown) = row.verdict.shown {
        let share = |it: &OffsetCount| {
            format!("{} ({})", it.offset, percent(ratio(it.samples, row.samples)))
        };
        let offsets: Vec<String> = of.offsets.iter().map(share).collect();
        parts.push(format!(
            "{} in two lines, from offset {}",
            percent(shown.share),
            offsets.join(", ")
        ));
        let pages = of.crossing_pages.filter(|pages| *pages > 0);
        parts.extend(pages.map(|pages| format!("{pages} of them in two pages")));
    }
    let store = of
        .store
        .as_ref()
        .map(|store| format!("{} writes {} of them", store.site.in_routine(), store.width));
    parts.extend(store);
    if parts.is_empty() { Vec::new() } else { vec![parts.join("; ")] }
}

fn more_rows(left: impl Iterator<Item = u64>, style: Style, out: &mut String) {
    let (mut rows, mut samples) = (0_u64, 0_u64);
    for of in left {
        rows += 1;
        samples = samples.saturating_add(of);
    }
    if rows > 0 {
        let (rows, samples) = (number_of(rows, "more row"), number_of(samples, "sample"));
        out.push_str(&note(&format!("{rows}, {samples}"), style));
    }
}

fn heading(number: usize, shares: &str, site: &SiteCell, data: &str, style: Style) -> String {
    let (bold, plain) = if style.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let site = if style.full_names { site.clone() } else { site.short() };
    format!(
        "\n{bold}{number:>2}. {shares}  {}  on {}{plain}  ({})\n",
        printable(&site.in_routine()),
        printable(data),
        printable(&site.object)
    )
}
