//! Source files with what was counted in their lines.

use super::{Style, Text, head, percent, printable};
use crate::collect::event::request;
use crate::report::{ListedCounts, ListedFile, Report, SourceListing};
use std::fmt::Write;
use std::ops::RangeInclusive;
use unicode_width::UnicodeWidthStr;

/// The longest gap that is shown rather than told: as long as its mark.
const SHORT_GAP: u32 = 1;

/// The totals, and each file with its lines; `context` lines without counts
/// on each side of those with some, None: all that there are. `texts` gives the
/// text of a line of a file.
pub fn render_listing(
    listing: &SourceListing,
    report: &Report,
    context: Option<u32>,
    texts: &mut dyn FnMut(&str, u32) -> Option<String>,
    style: Style,
) -> String {
    let mut out = Text { text: String::new(), style };
    head::report(report, &mut out);
    for event in &report.events {
        head::event(event, &mut out);
    }
    let mut page = Page { widths: widths(listing), style, text: out.text };
    page.totals(listing);
    for file in &listing.files {
        page.file(file, context, texts);
    }
    page.text
}

struct Page {
    widths: Vec<usize>,
    style: Style,
    text: String,
}

impl Page {
    fn totals(&mut self, listing: &SourceListing) {
        let names: Vec<&str> = listing.events.iter().map(|event| request(&event.name)).collect();
        let mut header = String::new();
        for (name, width) in names.iter().zip(&self.widths) {
            let _ = write!(header, "{}{name}  ", " ".repeat(width.saturating_sub(name.width())));
        }
        self.bold(header.trim_end());
        let totals = listing.events.iter().map(|event| event.period.to_string());
        let line = self.numbers(totals);
        self.plain(&line, "all");
        if listing.without_line.largest() > 0.0 {
            self.counted(&listing.without_line, "without a source line");
        }
        for file in &listing.files {
            self.counted(&file.sums, &file.file);
        }
    }

    fn file(
        &mut self,
        file: &ListedFile,
        context: Option<u32>,
        texts: &mut dyn FnMut(&str, u32) -> Option<String>,
    ) {
        self.text.push('\n');
        self.bold(&printable(&file.file));
        if let Some(counts) = file.lines.get(&0) {
            self.counted(counts, "of no line: the compiler's own");
        }
        let mut shown = 0;
        for lines in shown_lines(file, context) {
            let (first, last) = (*lines.start(), *lines.end());
            if shown > 0 || first > 1 {
                self.gap(first);
            }
            let mut next = Some(first);
            while let Some(line) = next {
                let text = texts(&file.file, line);
                next = line.checked_add(1).filter(|next| *next <= last);
                match (file.lines.get(&line), text) {
                    (Some(counts), text) => {
                        let text =
                            text.map_or_else(|| format!("(line {line})"), |text| tidy(&text));
                        self.counted(counts, &text);
                    }
                    (None, Some(text)) => {
                        let nothing = self.numbers(self.widths.iter().map(|_| ".".to_owned()));
                        self.plain(&nothing, &tidy(&text));
                    }
                    // Beyond its end, or it is not there: counts say where to go on.
                    (None, None) => {
                        let more = next.map(|next| file.lines.range(next..=last));
                        next = more.and_then(|mut lines| lines.next()).map(|(line, _)| *line);
                    }
                }
            }
            shown = last;
        }
    }

    fn gap(&mut self, next: u32) {
        let (dim, plain) = if self.style.color { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        let _ = writeln!(self.text, "{dim}-- line {next} --{plain}");
    }

    fn counted(&mut self, counts: &ListedCounts, text: &str) {
        let cells = counts.0.iter().map(|count| match count.count {
            0 => "-".to_owned(),
            _ => format!("{} {:>7}", count.period, format!("({})", percent(count.share))),
        });
        let line = self.numbers(cells);
        self.plain(&line, text);
    }

    fn numbers(&self, cells: impl Iterator<Item = String>) -> String {
        let mut line = String::new();
        for (cell, width) in cells.zip(&self.widths) {
            let _ = write!(line, "{}{cell}  ", " ".repeat(width.saturating_sub(cell.width())));
        }
        line
    }

    fn plain(&mut self, numbers: &str, text: &str) {
        let line = format!("{numbers}{}", printable(text));
        let _ = writeln!(self.text, "{}", line.trim_end());
    }

    fn bold(&mut self, text: &str) {
        let (bold, plain) = if self.style.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        let _ = writeln!(self.text, "{bold}{text}{plain}");
    }
}

/// Room for the largest number of each event with its share, and its name.
fn widths(listing: &SourceListing) -> Vec<usize> {
    let width = |name: &str, period: u64| {
        let share = " (100.00%)".len();
        request(name).width().max(period.to_string().len() + share)
    };
    listing.events.iter().map(|event| width(&event.name, event.period)).collect()
}

/// Stretches of lines, in order, that do not touch. Without a context all lines
/// that there can be.
fn shown_lines(file: &ListedFile, context: Option<u32>) -> Vec<RangeInclusive<u32>> {
    let counted = file.lines.keys().copied().filter(|line| *line > 0);
    let Some(context) = context else {
        return vec![1..=u32::MAX];
    };
    let mut stretches: Vec<RangeInclusive<u32>> = Vec::new();
    for line in counted {
        let (first, last) = (line.saturating_sub(context).max(1), line.saturating_add(context));
        match stretches.last_mut() {
            Some(before) if first <= before.end().saturating_add(1 + SHORT_GAP) => {
                *before = *before.start()..=last;
            }
            _ => stretches.push(first..=last),
        }
    }
    stretches
}

/// A line of source without what no terminal shows.
pub(crate) fn tidy(text: &str) -> String {
    text.trim_end().replace('\t', "    ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn stretches_join_where_no_gap_is_worth_a_mark() {
        let file = |lines: &[u32]| ListedFile {
            file: "a.c".into(),
            sums: ListedCounts::default(),
            lines: lines
                .iter()
                .map(|line| (*line, ListedCounts::default()))
                .collect::<BTreeMap<_, _>>(),
        };
        let shown = |lines: &[u32], context| shown_lines(&file(lines), context);
        assert_eq!(shown(&[0, 3, 20, 26, 40], Some(2)), [1..=5, 18..=28, 38..=42]);
        assert_eq!(shown(&[3, 5], Some(0)), [3..=5], "one line is not worth a mark");
        assert_eq!(shown(&[3, 6], Some(0)), [3..=3, 6..=6]);
        assert_eq!(shown(&[u32::MAX], Some(2)), [u32::MAX - 2..=u32::MAX]);
        assert!(shown(&[0], Some(2)).is_empty());
        assert_eq!(shown(&[7], None), [1..=u32::MAX]);
    }
}
