//! Lines that threads share, byte by byte.

use crate::content::PageContent;
use crate::figure::PagePicture;
use crate::sections::threads;
use analysis::c2c::eights;
use analysis::c2c::{LineThread, SharedLine, SharingReport};
use render::{Cell, Head, HtmlText, Table};
use std::collections::BTreeMap;

/// Lines, and threads of each, that are drawn.
const MOST_LINES: usize = 12;
const MOST_THREADS: usize = 16;
/// Instructions of a line that are listed.
const MOST_SITES: usize = 8;
/// Who waits for whom.
const MOST_WAITS: usize = 20;
/// Pixels.
const BYTE: f64 = 13.0;
const ROW: f64 = 18.0;
const NAMES: f64 = 190.0;
/// Letters of a thread's name and number.
const LETTERS: usize = 26;

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(sharing) = &content.sharing else { return };
    for note in &sharing.notes {
        out.mark("<p>").words(note).mark("</p>\n");
    }
    let names = content.threads.as_ref().map(threads::names).unwrap_or_default();
    for (number, line) in sharing.lines.iter().take(MOST_LINES).enumerate() {
        one(number, &NamedLine { line, names: &names }, sharing, out);
    }
    if let Some(more) = sharing.lines.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        out.mark("<p class=\"rest\">").words(&more.to_string());
        out.mark(" more lines: <code>ebs c2c</code> has them</p>\n");
    }
    waits(sharing, out);
}

struct NamedLine<'r> {
    line: &'r SharedLine,
    names: &'r BTreeMap<i64, String>,
}

impl NamedLine<'_> {
    fn named(&self, thread: &LineThread) -> String {
        match self.names.get(&i64::from(thread.tid)) {
            Some(name) => format!("{} {name}", thread.tid),
            None => thread.tid.to_string(),
        }
    }
}

fn one(number: usize, named: &NamedLine<'_>, sharing: &SharingReport, out: &mut HtmlText) {
    let line = named.line;
    out.mark("<article class=\"card\"><h3><code>").words(&line.data.join(", "));
    out.mark("</code> <span class=\"on\">").words(line.sharing.words()).mark("</span></h3>");
    let title = format!("Line {:#x} of process {}", line.address, line.pid);
    let table = bytes_by_thread(&title, named);
    let shown = line.threads.len().min(MOST_THREADS);
    let told = format!(
        "{} sampled transfers between cores, {} threads. A row a thread, a box a byte: light where it \
         was read, dark where it was written, both letters tell which.",
        line.transfers,
        line.threads.len()
    );
    let bytes = u32::try_from(sharing.line_size.min(128)).unwrap_or(128);
    let figure = PagePicture {
        id: format!("line-{number}"),
        kind: "bytes-of-line",
        title,
        told,
        width: NAMES + f64::from(bytes) * BYTE,
        height: f64::from(u32::try_from(shown).unwrap_or(0)) * ROW + 14.0,
        table: &table,
    };
    figure.write(out, |out| {
        for byte in (0..bytes).step_by(8) {
            out.mark("<text class=\"axis\" x=\"").measure(NAMES + f64::from(byte) * BYTE);
            out.mark("\" y=\"9\">").number(u64::from(byte)).mark("</text>");
        }
        for (place, thread) in (0_u32..).zip(line.threads.iter().take(MOST_THREADS)) {
            row(f64::from(place) * ROW + 14.0, &named.named(thread), &thread.bytes, out);
        }
    });
    sites(line).html(out);
    if let Some(remedy) = &line.remedy {
        out.mark("<ul class=\"remedies\"><li>").words(remedy).mark("</li></ul>");
    }
    out.mark("</article>\n");
}

fn row(y: f64, thread: &str, bytes: &str, out: &mut HtmlText) {
    out.mark("<text class=\"axis\" x=\"0\" y=\"").measure(y + 12.0).mark("\">");
    out.words_in(thread, LETTERS).mark("</text>");
    for (place, byte) in (0_u32..).zip(bytes.chars()) {
        let x = NAMES + f64::from(place) * BYTE;
        let (class, letter) = match byte {
            'r' => ("<rect class=\"h1\" x=\"", "r"),
            'w' => ("<rect class=\"h3\" x=\"", "w"),
            'b' => ("<rect class=\"h4\" x=\"", "b"),
            _ => ("<rect class=\"h0\" x=\"", ""),
        };
        out.mark(class)
            .measure(x)
            .mark("\" y=\"")
            .measure(y)
            .mark("\" width=\"12\" height=\"16\"/>");
        if !letter.is_empty() {
            out.mark("<text x=\"").measure(x + 3.0).mark("\" y=\"").measure(y + 12.0).mark("\">");
            out.mark(letter).mark("</text>");
        }
    }
    out.mark("\n");
}

fn bytes_by_thread<'r>(title: &str, named: &NamedLine<'r>) -> Table<'r> {
    let line = named.line;
    let mut table = Table::of(
        format!("{title}, byte by byte: r read, w written, b both"),
        line.threads.iter().take(MOST_THREADS),
        &[
            (Head::left("thread"), &|thread| Cell::name(named.named(thread))),
            (Head::left("bytes"), &|thread| Cell::name(eights(&thread.bytes))),
        ],
    );
    let more = line.threads.len().checked_sub(MOST_THREADS).filter(|more| *more > 0);
    table.foot = more.map(|more| format!("{more} more threads"));
    table
}

fn sites(line: &SharedLine) -> Table<'_> {
    let mut table = Table::of(
        "Who uses it",
        line.sites.iter().take(MOST_SITES),
        &[
            (Head::left("instruction"), &|of| Cell::name(of.site.to_string())),
            (Head::left("data"), &|of| Cell::name(&*of.data)),
            (Head::number("transfers"), &|of| Cell::Count(of.transfers)),
            (Head::number("cycles"), &|of| Cell::Count(of.cycles)),
            (Head::number("other samples"), &|of| Cell::Count(of.others)),
            (Head::number("threads"), &|of| Cell::of_list(of.threads)),
        ],
    );
    let more = line.sites.len().checked_sub(MOST_SITES).filter(|more| *more > 0);
    table.foot = more.map(|more| format!("{more} more instructions"));
    table
}

fn waits(sharing: &SharingReport, out: &mut HtmlText) {
    if sharing.waits.is_empty() {
        return;
    }
    let table = Table::of(
        "Who waits for whom",
        sharing.waits.iter().take(MOST_WAITS),
        &[
            (Head::left("waits"), &|wait| Cell::name(wait.site.to_string())),
            (Head::left("for the writer"), &|wait| Cell::name(wait.writer.to_string())),
            (Head::number("transfers"), &|wait| Cell::Mean(wait.transfers)),
            (Head::number("cycles"), &|wait| Cell::Mean(wait.cycles)),
        ],
    );
    table.html(out);
}
