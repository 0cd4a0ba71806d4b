//! A table as aligned lines.

use crate::table::{Align, Table};
use perfdata::printable::printable;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const GAP: &str = "  ";
/// Columns are not cut below this.
const NARROWEST: usize = 12;
/// The end of a cut name: an offset or the last part of a path.
const TAIL: usize = 8;

impl Table<'_> {
    /// A line of headings and a line a row, no wider than so many columns of a terminal;
    /// nothing without rows. Headings are bold where that is asked for.
    pub fn text(&self, width: Option<usize>, is_bold: bool) -> String {
        let mut out = String::new();
        if self.rows.is_empty() {
            return out;
        }
        let shown = self.shown();
        let aligns: Vec<Align> = shown.iter().map(|(_, head)| head.align).collect();
        let headings = shown.iter().map(|(_, head)| head.heading.to_string()).collect();
        let mut lines: Vec<Vec<String>> = vec![headings];
        lines.extend(self.rows.iter().map(|row| {
            let cells = shown.iter().filter_map(|(at, _)| row.get(*at));
            cells.map(|cell| printable(&cell.text()).into_owned()).collect()
        }));
        let widths = widths(&lines, &aligns, width);
        for (number, line) in lines.iter().enumerate() {
            let is_bold = is_bold && number == 0;
            out.push_str(if is_bold { "\x1b[1m" } else { "" });
            push_line(line, &aligns, &widths, &mut out);
            out.push_str(if is_bold { "\x1b[0m\n" } else { "\n" });
        }
        out
    }
}

fn widths(lines: &[Vec<String>], aligns: &[Align], limit: Option<usize>) -> Vec<usize> {
    let mut widths = vec![0; aligns.len()];
    for line in lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.width());
        }
    }
    let Some(limit) = limit else { return widths };
    let gaps = GAP.len() * widths.len().saturating_sub(1);
    loop {
        let excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
        let names = widths.iter_mut().zip(aligns).filter(|(_, align)| **align == Align::Left);
        let widest = names.map(|(width, _)| width).max();
        match widest {
            Some(width) if excess > 0 && *width > NARROWEST => *width -= 1,
            _ => return widths,
        }
    }
}

fn push_line(cells: &[String], aligns: &[Align], widths: &[usize], out: &mut String) {
    let last = cells.len().saturating_sub(1);
    for (index, ((cell, width), align)) in cells.iter().zip(widths).zip(aligns).enumerate() {
        let cell = cut(cell, *width);
        let pad = " ".repeat(width.saturating_sub(cell.width()));
        if index > 0 {
            out.push_str(GAP);
        }
        let (before, after) = if *align == Align::Right { (&*pad, "") } else { ("", &*pad) };
        out.push_str(before);
        out.push_str(&cell);
        out.push_str(if index < last { after } else { "" });
    }
}

/// A text that is too wide loses its middle: its start names it, its end has
/// the offset; of a path the end is the file, and has the most of the room.
/// Columns are those of a terminal, where a character may take two or none.
pub fn cut(cell: &str, width: usize) -> String {
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

/// Columns of a terminal that a text takes.
pub fn columns(text: &str) -> usize {
    text.width()
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
    use crate::cell::Cell;
    use crate::table::Head;

    #[test]
    fn cuts_names_only_when_a_width_is_given() {
        let name = "core::iter::traits::iterator::Iterator::fold+0x1f2";
        let heads = [Head::number("count"), Head::left("routine"), Head::left("object")];
        let mut table = Table::new("", heads);
        let object = Cell::name("/usr/lib/debug/libfoo.so.6");
        table.rows.push(vec![Cell::Count(7), Cell::name(name), object]);
        assert_eq!(
            table.text(Some(40), false),
            "count  routine           object\n    7  core::i…ld+0x1f2  /u…/libfoo.so.6\n"
        );
        let text = table.text(None, false);
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
        let mut table = Table::new("", [Head::left("routine"), Head::left("object")]);
        table.rows.push(["記録器", "a"].map(Cell::name).to_vec());
        table.rows.push(["recorder", "b"].map(Cell::name).to_vec());
        let text = table.text(None, false);
        assert_eq!(text, "routine   object\n記録器    a\nrecorder  b\n");
    }
}
