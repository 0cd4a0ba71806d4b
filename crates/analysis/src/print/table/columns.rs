//! Cells become aligned lines.

use super::{Style, printable};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Whole,
    Right,
}

const GAP: &str = "  ";
/// Columns are not cut below this.
const NARROWEST: usize = 12;
/// The end of a cut name: an offset or the last part of a path.
const TAIL: usize = 8;

/// A table that knows its widths once all rows are in.
#[derive(Debug)]
pub(super) struct Columns {
    headers: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    style: Style,
}

impl Columns {
    pub(super) fn new(style: Style) -> Columns {
        Columns { headers: Vec::new(), rows: Vec::new(), style }
    }

    pub(super) fn add(&mut self, header: &str, align: Align) {
        self.headers.push((header.to_owned(), align));
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| printable(cell).into_owned()).collect());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn render(&self, out: &mut String) {
        let widths = self.widths();
        let headers: Vec<String> = self.headers.iter().map(|(header, _)| header.clone()).collect();
        if self.style.color {
            out.push_str("\x1b[1m");
        }
        self.line(&headers, &widths, out);
        if self.style.color {
            out.push_str("\x1b[0m");
        }
        out.push('\n');
        for row in &self.rows {
            self.line(row, &widths, out);
            out.push('\n');
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> =
            self.headers.iter().map(|(header, _)| header.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let Some(limit) = self.style.width else { return widths };
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        loop {
            let excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
            let names = widths.iter_mut().zip(&self.headers);
            let names = names.filter(|(_, (_, align))| *align == Align::Left);
            let widest = names.map(|(width, _)| width).max();
            match widest {
                Some(width) if excess > 0 && *width > NARROWEST => *width -= 1,
                _ => return widths,
            }
        }
    }

    fn line(&self, cells: &[String], widths: &[usize], out: &mut String) {
        let last = cells.len().saturating_sub(1);
        for (index, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            let cell = cut(cell, width);
            let pad = " ".repeat(width.saturating_sub(cell.width()));
            if index > 0 {
                out.push_str(GAP);
            }
            match self.headers[index].1 {
                Align::Right => {
                    out.push_str(&pad);
                    out.push_str(&cell);
                }
                Align::Left | Align::Whole => {
                    out.push_str(&cell);
                    if index < last {
                        out.push_str(&pad);
                    }
                }
            }
        }
    }
}

/// A text that is too wide loses its middle: its start names it, its end has
/// the offset; of a path the end is the file, and has the most of the room.
/// Columns are those of a terminal, where a character may take two or none.
fn cut(cell: &str, width: usize) -> String {
    if cell.width() <= width {
        return cell.to_owned();
    }
    let room = width.saturating_sub(1);
    let tail = match cell.rsplit_once('/').filter(|_| cell.starts_with('/')) {
        Some((_, file)) => (file.width() + 1).max(room - room / 4).min(room),
        None => TAIL.min(width / 2),
    };
    let start = fitting(cell.char_indices(), room.saturating_sub(tail));
    let start = start.map_or(0, |(at, last)| at + last.len_utf8());
    let end = fitting(cell.char_indices().rev(), tail).map_or(cell.len(), |(at, _)| at);
    format!("{}…{}", &cell[..start], &cell[end.max(start)..])
}

/// The last of the first characters that fit in so many columns.
fn fitting(
    characters: impl Iterator<Item = (usize, char)>,
    columns: usize,
) -> Option<(usize, char)> {
    let mut used = 0;
    let fits = |(_, character): &(usize, char)| {
        used += character.width().unwrap_or(0);
        used <= columns
    };
    characters.take_while(fits).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_names_only_when_a_width_is_given() {
        let name = "core::iter::traits::iterator::Iterator::fold+0x1f2";
        let mut columns = Columns::new(Style { width: Some(40), ..Style::default() });
        columns.add("count", Align::Right);
        columns.add("routine", Align::Left);
        columns.add("object", Align::Left);
        columns.row(vec!["7".into(), name.into(), "/usr/lib/debug/libfoo.so.6".into()]);
        let mut text = String::new();
        columns.render(&mut text);
        assert_eq!(
            text,
            "count  routine           object\n    7  core::i…ld+0x1f2  /u…/libfoo.so.6\n"
        );
        columns.style.width = None;
        text.clear();
        columns.render(&mut text);
        assert!(text.contains(name) && text.contains("/usr/lib/debug/libfoo.so.6"));
    }

    #[test]
    fn counts_columns_of_a_terminal() {
        assert_eq!(cut("größenänderung", 14), "größenänderung");
        assert_eq!(cut("größenänderung", 9), "größ…rung");
        // Two columns each; a combining accent takes none.
        assert_eq!(cut("記録器の名前", 12), "記録器の名前");
        assert_eq!(cut("記録器の名前", 7), "記…前");
        assert_eq!(cut("cafe\u{301}-au-lait", 12), "cafe\u{301}-au-lait");
        for width in 0..20 {
            for cell in ["記録器の名前", "/usr/lib/記録/器.so", "routine_of_a_name+0x1f"] {
                assert!(cut(cell, width).width() <= width.max(1), "{cell} in {width}");
            }
        }
        let mut columns = Columns::new(Style::default());
        columns.add("routine", Align::Left);
        columns.add("object", Align::Left);
        columns.row(vec!["記録器".into(), "a".into()]);
        columns.row(vec!["recorder".into(), "b".into()]);
        let mut text = String::new();
        columns.render(&mut text);
        assert_eq!(text, "routine   object\n記録器    a\nrecorder  b\n");
    }
}
