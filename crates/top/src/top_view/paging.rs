//! Which rows are on the screen, and which of them is the one.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paging {
    pub(crate) at: usize,
    pub(crate) first: usize,
    /// Rows that are seen at once; 0: nothing was drawn yet.
    height: usize,
}

impl Paging {
    /// Rows of a page, for a key that turns it.
    pub(crate) fn page(self) -> isize {
        isize::try_from(self.height.max(2) - 1).unwrap_or(isize::MAX)
    }

    pub(crate) fn step(&mut self, by: isize, rows: usize) {
        self.put(self.at.saturating_add_signed(by), rows);
    }

    pub(crate) fn put(&mut self, at: usize, rows: usize) {
        self.at = at.min(rows.saturating_sub(1));
        let least = (self.at + 1).saturating_sub(self.height.max(1));
        self.first = self.first.clamp(least, self.at);
    }

    pub(crate) fn resize(&mut self, height: usize, rows: usize) {
        self.height = height;
        self.put(self.at, rows);
        // No empty lines at the end while there are rows before.
        self.first = self.first.min(rows.saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_always_seen() {
        let mut paging = Paging::default();
        paging.resize(5, 20);
        paging.step(7, 20);
        assert_eq!((paging.at, paging.first), (7, 3));
        paging.step(-6, 20);
        assert_eq!((paging.at, paging.first), (1, 1));
        paging.step(isize::MAX, 20);
        assert_eq!((paging.at, paging.first), (19, 15));
        paging.resize(30, 20);
        assert_eq!((paging.at, paging.first), (19, 0));
        paging.put(19, 3);
        assert_eq!((paging.at, paging.first), (2, 0));
        paging.step(isize::MIN, 0);
        assert_eq!((paging.at, paging.first), (0, 0));
    }
}
