//! Types that are sampled most, member by member.

use crate::content::PageContent;
use crate::figure::PagePicture;
use analysis::layout::{MemberUse, RowUse, SampledType};
use render::{Cell, Head, HtmlText, Table};
use std::collections::BTreeMap;
use types::{ClassLayout, LayoutRow, MemberRow};

/// Types that are shown.
const MOST_TYPES: usize = 8;
/// Lines of a type that are drawn.
const MOST_LINES: u64 = 16;
/// Bytes of a line.
const LINE: u64 = 64;
/// Pixels.
const BYTE: f64 = 15.0;
const ROW: f64 = 30.0;
const NAMES: f64 = 60.0;
/// Pixels that a letter takes, at most.
const LETTER: f64 = 6.6;
/// Colours by heat.
const HEAT: [&str; 6] = ["h0", "h1", "h2", "h3", "h4", "h5"];

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(report) = &content.types else { return };
    for note in &report.notes {
        out.mark("<p>").words(note).mark("</p>\n");
    }
    for (number, of) in report.types.iter().take(MOST_TYPES).enumerate() {
        one(number, of, out);
    }
    let untyped = report.untyped.iter().fold(0_u64, |sum, of| sum.saturating_add(of.count));
    out.mark("<p class=\"rest\">").words(&report.types.len().to_string());
    out.mark(" types have samples; ").number(untyped);
    out.mark(" samples are on none: <code>ebs layout</code> has all</p>\n");
}

struct DrawnType<'r> {
    of: &'r SampledType,
    layout: &'r ClassLayout,
    uses: BTreeMap<usize, &'r RowUse>,
}

fn one(number: usize, of: &SampledType, out: &mut HtmlText) {
    out.mark("<article class=\"card\"><h3><code>").words(&of.name);
    out.mark("</code> <span class=\"on\">").number(of.whole.samples()).mark(" samples, of <code>");
    out.words(&of.object).mark("</code></span></h3>");
    if !of.variables.is_empty() {
        let named = of.variables.iter().map(|(name, count)| format!("{name} ({count})"));
        out.mark("<p class=\"told\">Data in ").words(&named.collect::<Vec<_>>().join(", "));
        out.mark("</p>");
    }
    if let Some(layout) = of.program.types.layout(of.of, LINE) {
        let rows = of.rows(&layout);
        let uses = rows.iter().filter_map(|row| Some((row.row?, row))).collect();
        let drawn = DrawnType { of, layout: &layout, uses };
        let table = drawn.table(rows.iter().filter(|row| row.row.is_none()));
        drawn.figure(number, &table).write(out, |out| drawn.draw(out));
    }
    out.mark("</article>\n");
}

impl DrawnType<'_> {
    fn declared(&self, row: &MemberRow) -> String {
        let types = &self.of.program.types;
        let member = types.member(row.member);
        let name = member.name.map_or("", |name| types.text(name));
        types.declaration(member.of, name, types.unit(self.of.of).language)
    }

    fn named(&self, row: &MemberRow) -> String {
        let types = &self.of.program.types;
        let name = types.member(row.member).name;
        name.map_or_else(|| "[no name]".to_owned(), |name| types.text(name).to_owned())
    }

    /// Share of the type's samples, 0 to 1.
    fn share(&self, of: &MemberUse) -> f64 {
        share(of.samples(), self.of.whole.samples())
    }

    fn figure<'t>(&self, number: usize, table: &'t Table<'t>) -> PagePicture<'t> {
        let sums = self.layout.sums;
        let lines = sums.lines().min(MOST_LINES);
        let mut told = format!(
            "{} bytes in {} lines of {LINE}; a row a line, a box a member as wide as its bytes, darker \
             the more samples it has of the type's. {} bytes are lost in holes and padding.",
            sums.size,
            sums.lines(),
            sums.sum_holes.saturating_add(sums.padding)
        );
        if sums.lines() > MOST_LINES {
            told.push_str(&format!(" The first {MOST_LINES} lines are drawn."));
        }
        PagePicture {
            id: format!("type-{number}"),
            kind: "members",
            title: format!("Members of {}", self.of.name),
            told,
            width: NAMES + f64::from(u32::try_from(LINE).unwrap_or(64)) * BYTE,
            height: f64::from(u32::try_from(lines).unwrap_or(16)) * ROW,
            table,
        }
    }

    fn table<'u>(&'u self, beyond: impl Iterator<Item = &'u RowUse>) -> Table<'u> {
        let none = MemberUse::default();
        let mut rows: Vec<(Cell<'_>, [Option<u64>; 2], &MemberUse)> = Vec::new();
        for (number, row) in self.layout.rows.iter().enumerate() {
            let (LayoutRow::Member(member) | LayoutRow::Open(member)) = row else { continue };
            let used = self.uses.get(&number);
            let name = Cell::Nested(member.depth, self.declared(member).into());
            let place = [member.offset, member.size];
            rows.push((name, place, used.map_or(&none, |used| &used.whole)));
            for part in used.map(|used| used.parts.as_slice()).unwrap_or_default() {
                let name = Cell::Nested(member.depth + 1, format!(".. {}", part.name).into());
                rows.push((name, [Some(part.offset), None], &part.sampled));
            }
        }
        let beyond = beyond.map(|row| ("padding, or behind the end", &row.whole));
        let unplaced = Some(("some member: which is not known", &self.of.unplaced));
        let unplaced = unplaced.filter(|(_, of)| of.samples() > 0);
        rows.extend(beyond.chain(unplaced).map(|(words, of)| (Cell::words(words), [None; 2], of)));
        let number = |number: Option<u64>| number.map_or(Cell::Nothing, Cell::Count);
        Table::of(
            format!("Members of {}", self.of.name),
            &rows,
            &[
                (Head::left("member"), &|(name, ..)| name.clone()),
                (Head::number("offset"), &|(_, [offset, _], _)| number(*offset)),
                (Head::number("bytes"), &|(_, [_, bytes], _)| number(*bytes)),
                (Head::number("count"), &|(.., of)| Cell::Count(of.samples())),
                (Head::number("share of type"), &|(.., of)| Cell::Share(self.share(of))),
                (Head::number("reads"), &|(.., of)| Cell::Count(of.reads)),
                (Head::number("writes"), &|(.., of)| Cell::Count(of.writes)),
                (Head::number("readers"), &|(.., of)| Cell::of_list(of.readers)),
                (Head::number("writers"), &|(.., of)| Cell::of_list(of.writers)),
                (Head::number("mean cycles"), &|(.., of)| {
                    of.latency.map_or(Cell::Nothing, Cell::Mean)
                }),
            ],
        )
    }

    fn draw(&self, out: &mut HtmlText) {
        for line in 0..self.layout.sums.lines().min(MOST_LINES) {
            out.mark("<text class=\"axis\" x=\"0\" y=\"").measure(pixels(line, ROW) + 18.0);
            out.mark("\">").number(line * LINE).mark("</text>");
        }
        for (number, row) in self.layout.rows.iter().enumerate() {
            let LayoutRow::Member(member) = row else { continue };
            let (Some(offset), Some(size)) = (member.offset, member.size) else { continue };
            let share = self.uses.get(&number).map_or(0.0, |used| self.share(&used.whole));
            let name = self.named(member);
            let mut from = offset;
            let end = offset.saturating_add(size).min(MOST_LINES * LINE);
            // A box in each line that it is in.
            while from < end {
                let to = end.min((from / LINE + 1) * LINE);
                draw_box(&BoxOfMember { from, to, share, name: &name }, out);
                from = to;
            }
        }
    }
}

struct BoxOfMember<'r> {
    from: u64,
    to: u64,
    share: f64,
    name: &'r str,
}

fn draw_box(of: &BoxOfMember<'_>, out: &mut HtmlText) {
    let (x, y) = (NAMES + pixels(of.from % LINE, BYTE), pixels(of.from / LINE, ROW));
    let width = pixels(of.to - of.from, BYTE) - 1.0;
    let heat = heat(of.share);
    out.mark("<g><title>").words(of.name).mark(": ").percent(of.share);
    out.mark(" of the type's samples</title><rect class=\"").mark(HEAT[heat]).mark("\" x=\"");
    out.measure(x).mark("\" y=\"").measure(y).mark("\" width=\"").measure(width);
    out.mark("\" height=\"28\"/>");
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a line has room for some hundred letters, and for no fewer than none"
    )]
    let room = ((width - 6.0) / LETTER).max(0.0) as usize;
    if room >= 2 {
        out.mark(if heat >= 4 { "<text class=\"on-dark\" x=\"" } else { "<text x=\"" });
        out.measure(x + 4.0).mark("\" y=\"").measure(y + 18.0).mark("\">");
        out.words_in(of.name, room).mark("</text>");
    }
    out.mark("</g>\n");
}

/// A colour by a share: none, then in steps that double.
fn heat(share: f64) -> usize {
    let steps = [0.0, 0.03, 0.08, 0.2, 0.4];
    steps.iter().filter(|step| share > **step).count()
}

#[expect(clippy::cast_precision_loss, reason = "a picture has some thousand pixels")]
fn pixels(count: u64, each: f64) -> f64 {
    count as f64 * each
}

#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
fn share(of: u64, whole: u64) -> f64 {
    of as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_rises_with_the_share() {
        let all: Vec<usize> = [0.0, 0.01, 0.05, 0.1, 0.3, 0.9].map(heat).to_vec();
        assert_eq!(all, [0, 1, 2, 3, 4, 5]);
    }
}
