//! The view as cells of a terminal.

mod above;
mod head;
mod rows;

use crate::top_view::{Above, TopView};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use ratatui_core::terminal::Frame;
use ratatui_core::text::Line;

/// Columns below which nothing can be read.
const LEAST_COLUMNS: u16 = 40;
/// Lines likewise: the head, the titles, a row, the foot.
const LEAST_LINES: u16 = 7;
const HEAD: u16 = 4;

/// What stands out, in black and white as well: colours are never the only
/// sign.
pub(crate) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Draws all of it. How much room there is is told to the view, so that keys
/// can turn pages.
pub fn draw(view: &mut TopView, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < LEAST_COLUMNS || area.height < LEAST_LINES {
        let said = format!("ebs top needs {LEAST_COLUMNS}x{LEAST_LINES}");
        return put(frame, area, 0, Line::raw(said));
    }
    for (at, line) in (0..).zip(head::head(view)) {
        put(frame, area, at, line);
    }
    let body = Rect { y: area.y + HEAD, height: area.height - HEAD - 1, ..area };
    match &view.above {
        Above::Nothing => rows::draw(view, frame, body),
        Above::Help => above::help(frame, body),
        Above::Zoom { text, .. } => {
            above::zoom(text, frame, body);
            let rows = view.rows.len();
            view.paging.resize(usize::from(body.height), rows);
        }
    }
    put(frame, area, area.height - 1, head::foot(view));
}

/// Puts a line into an area, so many lines down; what is too long is cut.
pub(crate) fn put(frame: &mut Frame<'_>, area: Rect, down: u16, line: Line<'_>) {
    if down < area.height {
        let place = Rect { y: area.y + down, height: 1, ..area };
        frame.render_widget(line, place);
    }
}

#[cfg(test)]
mod tests;
