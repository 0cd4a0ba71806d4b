//! The terminal as ratatui writes to it.

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use std::io::{self, Stdout, stdout};

/// Columns and lines that are drawn on at most. A terminal may claim 65535 of both, which would be
/// hundreds of gigabytes of cells.
const MOST: Size = Size { width: 1024, height: 512 };

/// crossterm's backend, without what would wait for an answer of the terminal, or print where it
/// has gone.
#[derive(Debug)]
pub(crate) struct TopBackend(CrosstermBackend<Stdout>);

impl TopBackend {
    pub(crate) fn new() -> TopBackend {
        TopBackend(CrosstermBackend::new(stdout()))
    }
}

fn bounded(size: Size) -> Size {
    Size { width: size.width.min(MOST.width), height: size.height.min(MOST.height) }
}

impl Backend for TopBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.0.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.0.hide_cursor()
    }

    /// Where this fails, `Terminal::drop` prints, and panics where stderr is the terminal that has
    /// gone.
    fn show_cursor(&mut self) -> io::Result<()> {
        let _gone = self.0.show_cursor();
        Ok(())
    }

    /// The cursor is hidden, so that it may be anywhere: some terminals do not answer where it is.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.0.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        self.0.size().map(bounded)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        let size = self.0.window_size()?;
        Ok(WindowSize { columns_rows: bounded(size.columns_rows), ..size })
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_bounds_gets_some() {
        assert_eq!(bounded(Size::new(u16::MAX, u16::MAX)), MOST);
        assert_eq!(bounded(Size::new(80, 24)), Size::new(80, 24));
    }
}
