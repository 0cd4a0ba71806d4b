//! What a terminal is sent for cells that have changed (ECMA-48).

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::Modifier;
use rustix::termios::tcgetwinsize;
use std::io::{self, Write, stdout};

/// Columns and lines that are drawn on at most. A terminal may claim 65535 of both, which would be
/// hundreds of gigabytes of cells.
const MOST: Size = Size { width: 1024, height: 512 };

/// Bytes of a changed cell, more or less.
const CELL: usize = 4;

/// The terminal of stdout. It is not asked for anything: some do not answer.
#[derive(Debug)]
pub(crate) struct TopBackend;

pub(crate) fn size() -> io::Result<Size> {
    let size = tcgetwinsize(stdout())?;
    Ok(bounded(Size { width: size.ws_col, height: size.ws_row }))
}

pub(crate) fn send(terminal: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    terminal.write_all(bytes)?;
    terminal.flush()
}

fn bounded(size: Size) -> Size {
    Size { width: size.width.min(MOST.width), height: size.height.min(MOST.height) }
}

/// The changed cells as bytes; bold and reversed is all that the view has.
fn painted<'a>(cells: impl Iterator<Item = (u16, u16, &'a Cell)>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(cells.size_hint().0 * CELL);
    let mut style = Modifier::empty();
    let mut cursor = None;
    for (x, y, cell) in cells {
        let place = Position { x, y };
        if cursor != Some(place) {
            write!(bytes, "\x1b[{};{}H", u32::from(y) + 1, u32::from(x) + 1)?;
        }
        // Behind wide letters it is not, which costs a move.
        cursor = x.checked_add(1).map(|x| Position { x, y });
        if cell.modifier != style {
            style = cell.modifier;
            bytes.extend_from_slice(b"\x1b[0m");
            for (one, code) in [(Modifier::BOLD, b"\x1b[1m"), (Modifier::REVERSED, b"\x1b[7m")] {
                if style.contains(one) {
                    bytes.extend_from_slice(code);
                }
            }
        }
        bytes.extend_from_slice(cell.symbol().as_bytes());
    }
    if !style.is_empty() {
        bytes.extend_from_slice(b"\x1b[0m");
    }
    Ok(bytes)
}

impl Backend for TopBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        stdout().write_all(&painted(content)?)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        send(&mut stdout(), b"\x1b[?25l")
    }

    /// Where this fails, `Terminal::drop` prints, and panics where stderr is the terminal that has
    /// gone.
    fn show_cursor(&mut self) -> io::Result<()> {
        let _gone = send(&mut stdout(), b"\x1b[?25h");
        Ok(())
    }

    /// The cursor is hidden, so that it may be anywhere.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        let bytes = format!("\x1b[{};{}H", u32::from(y) + 1, u32::from(x) + 1);
        send(&mut stdout(), bytes.as_bytes())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        let bytes: &[u8] = match clear_type {
            ClearType::All => b"\x1b[2J",
            ClearType::AfterCursor => b"\x1b[J",
            ClearType::BeforeCursor => b"\x1b[1J",
            ClearType::CurrentLine => b"\x1b[2K",
            ClearType::UntilNewLine => b"\x1b[K",
        };
        send(&mut stdout(), bytes)
    }

    fn size(&self) -> io::Result<Size> {
        size()
    }

    /// Pixels are nothing to the view.
    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: size()?, pixels: Size::ZERO })
    }

    fn flush(&mut self) -> io::Result<()> {
        stdout().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::buffer::Buffer;
    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    #[test]
    fn a_terminal_without_bounds_gets_some() {
        assert_eq!(bounded(Size::new(u16::MAX, u16::MAX)), MOST);
        assert_eq!(bounded(Size::new(80, 24)), Size::new(80, 24));
    }

    #[test]
    fn cells_that_have_changed_are_sent_with_their_styles_and_nothing_else() {
        let before = Buffer::empty(Rect::new(0, 0, 8, 3));
        let mut after = before.clone();
        after.set_string(1, 0, "ab", Style::new());
        after.set_string(3, 0, "c", Style::new().add_modifier(Modifier::BOLD));
        // A letter two columns wide.
        after.set_string(0, 2, "字", Style::new().add_modifier(Modifier::REVERSED));
        after.set_string(2, 2, "é", Style::new().add_modifier(Modifier::REVERSED));
        let bytes = painted(before.diff(&after).into_iter()).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "\x1b[1;2Hab\x1b[0m\x1b[1mc\x1b[3;1H\x1b[0m\x1b[7m字\x1b[3;3Hé\x1b[0m"
        );
        assert!(painted(before.diff(&before).into_iter()).unwrap().is_empty());
    }
}
