//! The lines above and below the rows: what is sampled, how much of it came,
//! what was lost, and what keys do.

use super::{REVERSED, STRONG};
use crate::interval_count::ratio;
use crate::top_view::{Above, TopView};
use crate::totals::{EventTotals, TopTotals};
use crate::view_kind::ViewKind;
use analysis::report::{PeriodUnit, SamplingMode};
use perfdata::printable::printable;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

pub(super) fn head(view: &TopView) -> [Line<'static>; 4] {
    [source(view), event(view), account(view), views(view)]
}

fn source(view: &TopView) -> Line<'static> {
    let state = match (&view.source.ended, view.is_paused()) {
        (Some(why), false) => format!("ended: {why}"),
        (Some(why), true) => format!("PAUSED, ended: {why}"),
        (None, true) => "PAUSED: sampling goes on".to_owned(),
        (None, false) => match view.source.behind {
            0 => "running".to_owned(),
            seconds => format!("running, {seconds} s behind: names of programs are read"),
        },
    };
    Line::from(vec![
        Span::styled("ebs top  ", STRONG),
        Span::raw(printable(&view.source.title).into_owned()),
        Span::raw("  "),
        Span::styled(printable(&state).into_owned(), STRONG),
    ])
}

fn event(view: &TopView) -> Line<'static> {
    let Some(event) = view.seen_event() else { return Line::raw("nothing was sampled yet") };
    let (at, all) = (view.event + 1, view.shown().events.len());
    let of = if all > 1 { format!("event {at} of {all}  ") } else { String::new() };
    let name = printable(&event.name).into_owned();
    let how = sampling(event);
    let told = event.ledger.as_ref().and_then(|ledger| ledger.seconds);
    let exposure = format!("on for {:.1} s", told.unwrap_or(view.totals.seconds));
    Line::from(vec![
        Span::raw(of),
        Span::styled(name, STRONG),
        Span::raw(format!("  {how}  {exposure}")),
    ])
}

fn sampling(event: &EventTotals) -> String {
    match (event.sampling, event.unit) {
        (SamplingMode::Period(0), _) => "counted only".to_owned(),
        (SamplingMode::Period(period), PeriodUnit::Events) => format!("every {period} events"),
        (SamplingMode::Period(period), PeriodUnit::Nanoseconds) => format!("every {period} ns"),
        (SamplingMode::Frequency(rate), _) => format!("{rate} samples a second aimed at"),
        (SamplingMode::Adapted, _) => "each sample with its own period".to_owned(),
    }
}

/// What the kernel made = what came + what was lost; until the recorder's own
/// account is in, as far as the stream tells.
fn account(view: &TopView) -> Line<'static> {
    let totals = &view.totals;
    let Some(event) = totals.events.get(view.event) else { return Line::raw("") };
    let lost_words = |lost: u64| match lost {
        0 => Span::raw("0 lost"),
        lost => Span::styled(format!("{lost} LOST"), REVERSED),
    };
    let mut spans = Vec::new();
    let ledger = event.ledger.as_ref();
    match ledger.and_then(|ledger| Some((ledger.kernel?, ledger.delivered?, ledger))) {
        Some((kernel, delivered, ledger)) => {
            let lost = ledger.lost.values().fold(0, |sum: u64, one| sum.saturating_add(*one));
            spans.push(Span::raw(format!("kernel {kernel} = {delivered} delivered + ")));
            spans.push(lost_words(lost));
            let unaccounted = ledger.unaccounted.filter(|count| *count != 0);
            spans.extend(unaccounted.map(|count| Span::raw(format!(", {count} unaccounted"))));
        }
        None => {
            let made = event.delivered.saturating_add(totals.lost);
            let delivered = event.delivered;
            spans.push(Span::raw(format!("kernel {made} so far = {delivered} delivered + ")));
            spans.push(lost_words(totals.lost));
        }
    }
    spans.push(Span::raw(rate(totals, event)));
    if totals.throttled > 0 {
        spans.push(Span::styled(format!("  throttled {} times", totals.throttled), STRONG));
    }
    Line::from(spans)
}

/// Samples of the last interval a second, and what they stand for.
fn rate(totals: &TopTotals, event: &EventTotals) -> String {
    if totals.now_seconds <= 0.0 || event.sum.of != totals.intervals {
        return String::new();
    }
    let each = |count: u64| ratio(count, 1) / totals.now_seconds;
    let samples = each(event.sum.now_samples);
    match event.unit {
        PeriodUnit::Events => {
            let events = each(event.sum.now_events);
            format!("  now {samples:.0} samples/s of {events:.0} events/s")
        }
        PeriodUnit::Nanoseconds => format!("  now {samples:.0} samples/s"),
    }
}

fn views(view: &TopView) -> Line<'static> {
    let mut spans = Vec::new();
    for (digit, kind) in (1..).zip(ViewKind::ALL) {
        let style = if kind == view.kind() { REVERSED } else { Style::new() };
        spans.push(Span::styled(format!("{digit} {}", kind.title()), style));
        spans.push(Span::raw("  "));
    }
    let reversed = if view.is_reversed { ", reversed" } else { "" };
    spans.push(Span::raw(format!("by {}{reversed}", view.order.title())));
    if view.by_thread {
        spans.push(Span::raw("  each thread"));
    }
    if !view.filter.is_empty() && view.typed.is_none() {
        spans.push(Span::raw(format!("  only {}", printable(&view.filter))));
    }
    Line::from(spans)
}

pub(super) fn foot(view: &TopView) -> Line<'static> {
    if let Some(typed) = &view.typed {
        return Line::from(vec![
            Span::styled("only rows with: ", STRONG),
            Span::raw(printable(typed).into_owned()),
            Span::styled(" ", REVERSED),
        ]);
    }
    let keys = match &view.above {
        Above::Help => "any key: back",
        Above::Zoom { .. } => "Esc back  r anew  arrows, PgUp, PgDn scroll",
        Above::Nothing => {
            "q quit  p pause  Tab view  s sort  / filter  Enter zoom  t threads  h help"
        }
    };
    let rows = view.rows.len();
    let at = if rows == 0 { 0 } else { view.paging.at + 1 };
    Line::from(vec![Span::styled(format!("{at}/{rows}  "), STRONG), Span::raw(keys)])
}
