//! The rows.

use super::{REVERSED, STRONG, put};
use crate::interval_count::ratio;
use crate::seen_rows::SeenRow;
use crate::top_view::TopView;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;
use ratatui_core::text::Line;

#[derive(Clone, Copy, Debug)]
struct Wholes {
    all: u64,
    now: u64,
    seconds: f64,
    is_timed: bool,
}

pub(super) fn draw(view: &mut TopView, frame: &mut Frame<'_>, area: Rect) {
    let height = usize::from(area.height.saturating_sub(1));
    view.paging.resize(height, view.rows.len());
    let totals = view.shown();
    let wholes = view.seen_event().map_or(
        Wholes { all: 0, now: 0, seconds: 0.0, is_timed: false },
        |event| {
            let [all, now] = event.whole(view.kind(), totals.intervals);
            Wholes {
                all,
                now: if totals.now_seconds > 0.0 { now } else { 0 },
                seconds: totals.now_seconds,
                is_timed: event.sum.timed > 0,
            }
        },
    );
    let column = view.kind().column();
    put(frame, area, 0, Line::styled(titles(wholes, view.by_thread, column), STRONG));
    let paging = view.paging;
    let seen = view.rows.iter().enumerate().skip(paging.first).take(height);
    for (down, (at, row)) in (1..).zip(seen) {
        let text = line(row, wholes);
        // As long as the line, so that the cursor is seen as one.
        let width = usize::from(area.width);
        let drawn = match at == paging.at {
            true => Line::styled(format!("{text:<width$}"), REVERSED),
            false => Line::raw(text),
        };
        put(frame, area, down, drawn);
    }
}

fn titles(wholes: Wholes, by_thread: bool, column: &str) -> String {
    let mean = if wholes.is_timed { "    mean" } else { "" };
    let thread = if by_thread { format!("{:<20}  ", "thread") } else { String::new() };
    format!("{:>9}  {:>7}  {:>7}  {:>10}{mean}  {thread}{column}", "now/s", "now", "all", "samples")
}

fn line(row: &SeenRow, wholes: Wholes) -> String {
    let share = |part: u64, whole: u64| match (part, whole) {
        (0, _) | (_, 0) => "-".to_owned(),
        _ => format!("{:.2}%", ratio(part, whole) * 100.0),
    };
    let each = match wholes.now > 0 && row.now_weight > 0 {
        true => format!("{:.0}", ratio(row.count.now_samples, 1) / wholes.seconds),
        false => "-".to_owned(),
    };
    let now = share(if wholes.now > 0 { row.now_weight } else { 0 }, wholes.now);
    let all = share(row.weight, wholes.all);
    let mean = match (wholes.is_timed, row.count.mean()) {
        (false, _) => String::new(),
        (true, Some(mean)) => format!(" {mean:>7.1}"),
        (true, None) => format!(" {:>7}", "-"),
    };
    let thread = row.thread.as_ref().map_or_else(String::new, |name| format!("{name:<20}  "));
    let samples = row.count.samples;
    let SeenRow { name, place, .. } = row;
    let place = if place.is_empty() { String::new() } else { format!("  {place}") };
    format!("{each:>9}  {now:>7}  {all:>7}  {samples:>10}{mean}  {thread}{name}{place}")
}
