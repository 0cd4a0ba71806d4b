//! What is drawn in place of the rows.

use super::{STRONG, put};
use crate::zoom_text::ZoomText;
use perfdata::printable::printable;
use ratatui_core::layout::Rect;
use ratatui_core::terminal::Frame;
use ratatui_core::text::Line;

const HELP: [&str; 17] = [
    "q, Esc, Ctrl+C   quit; a program that top started ends, a process of -p runs on",
    "p, Space         stop the screen and go on; sampling and counting go on",
    "arrows, j, k     next row; PgUp, PgDn, Home, End",
    "Tab, Shift+Tab   next view; 1 sites 2 callers 3 objects 4 lines 5 latency 6 data",
    "s, S             next order; the other way round",
    "/                only rows that hold a text; Enter keeps it, an empty one shows all",
    "Enter            the routine of the row, by instruction; r makes it anew, Esc goes back",
    "t                all threads together, or each by itself",
    "e                next event",
    "Ctrl+Z           stop, as a shell's job; fg goes on",
    "h, ?             this",
    "",
    "now/s    samples a second in the last interval",
    "now      share of the last interval",
    "all      share of all, as `ebs report` has it",
    "mean     cycles that the accesses took, where that is known",
    "lost     samples that the kernel made and that did not come; shares lack them",
];

pub(super) fn help(frame: &mut Frame<'_>, area: Rect) {
    for (down, text) in (0..).zip(HELP) {
        put(frame, area, down, Line::raw(text));
    }
}

pub(super) fn zoom(text: &ZoomText, frame: &mut Frame<'_>, area: Rect) {
    let Some(lines) = &text.lines else {
        let said = format!("reading the code around {} ...", printable(&text.title));
        return put(frame, area, 0, Line::styled(said, STRONG));
    };
    for (down, line) in (0..area.height).zip(lines.iter().skip(text.first)) {
        put(frame, area, down, Line::raw(line.as_str()));
    }
}
