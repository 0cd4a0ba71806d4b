//! Stalled accesses as text for a terminal.

use crate::causes::card::{heading, more_rows};
use crate::causes::split_offsets::OffsetCount;
use crate::causes::stall::Stall;
use crate::causes::stall_report::{EventStalls, StallRow};
use crate::print::table::{Style, note, number_of, percent};
use crate::share_interval::ratio;
use std::fmt::Write;

/// One event, `top` rows of it.
pub(crate) fn render(event: &EventStalls, top: usize, style: Style, out: &mut String) {
    out.push_str(&note(&stall_method(event), style));
    for (number, row) in (1..).zip(event.rows.iter().take(top)) {
        card(number, row, style, out);
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

/// What is told of stalled accesses, as [`told`](super::told) tells of misses.
pub fn told_of_stall(row: &StallRow) -> Vec<String> {
    let (verdict, samples) = (&row.verdict, number_of(row.samples, "sample"));
    let grade = verdict.grade.name();
    let mut lines = vec![match verdict.cause {
        Some(cause) => format!("{}, {grade}: {samples}", cause.name()),
        None => format!("{grade}: {samples}"),
    }];
    lines.extend(verdict.open.clone());
    lines.extend(evidence(row));
    lines
}

fn card(number: usize, row: &StallRow, style: Style, out: &mut String) {
    out.push_str(&heading(number, &percent(row.share), &row.site, &row.data, style));
    let remedies = row.remedies.iter().map(|remedy| format!("-> {}: {}", remedy.kind, remedy.text));
    for line in told_of_stall(row).into_iter().chain(remedies) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "     {line}");
    }
}

fn evidence(row: &StallRow) -> Vec<String> {
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
