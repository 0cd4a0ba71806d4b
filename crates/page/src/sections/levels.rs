//! Which levels served accesses, and how long they took.

use crate::content::PageContent;
use crate::figure::PagePicture;
use crate::sections::threads::name;
use analysis::report::{EventReport, Latencies, Row};
use render::{Cell, Head, HtmlText, Table};

/// Pixels.
const WIDTH: f64 = 820.0;
const ROW: f64 = 34.0;
const NAMES: f64 = 150.0;
const BARS: f64 = 500.0;

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(report) = &content.levels else { return };
    for (number, event) in report.events.iter().enumerate() {
        if !event.levels.is_empty() {
            picture(number, event, out);
        }
    }
}

/// From the core outwards, as the event has its levels; others behind.
fn in_order(event: &EventReport) -> Vec<&Row> {
    let mut rows: Vec<&Row> = event.rows.iter().collect();
    let place = |row: &Row| {
        let name = name(row);
        event.levels.iter().position(|level| *level == name).unwrap_or(event.levels.len())
    };
    rows.sort_by_key(|row| place(row));
    rows
}

fn table(event: &EventReport, rows: &[&Row]) -> Table<'static> {
    let latency = |row: &Row, value: fn(Latencies) -> Cell<'static>| {
        let latency = row.served.as_ref().and_then(|served| served.latency);
        latency.map_or(Cell::Nothing, value)
    };
    Table::of(
        format!("Levels that served {}", event.name),
        rows.iter().copied(),
        &[
            (Head::left("level"), &|row| Cell::name(name(row))),
            (Head::number("count"), &|row| Cell::Count(row.count)),
            (Head::number("share"), &|row| Cell::Share(row.share)),
            (Head::number("with latency"), &|row| latency(row, |of| Cell::Count(of.samples))),
            (Head::number("mean"), &|row| latency(row, |of| Cell::Mean(of.mean))),
            (Head::number("median"), &|row| latency(row, |of| Cell::Count(of.median))),
            (Head::number("p95"), &|row| latency(row, |of| Cell::Count(of.p95))),
            (Head::number("of cycles"), &|row| latency(row, |of| Cell::Part(of.share))),
        ],
    )
}

fn picture(number: usize, event: &EventReport, out: &mut HtmlText) {
    let rows = in_order(event);
    let table = table(event, &rows);
    let mut told =
        "Two bars a level: above its share of the samples, below its share of the cycles \
                    that they waited."
            .to_owned();
    if let Some(of) = &event.latency_of {
        told.push_str(&format!(" Latencies are {of}."));
    }
    let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let figure = PagePicture {
        id: format!("levels-{number}"),
        kind: "levels",
        title: format!("Latency by level: {}", event.name),
        told,
        width: WIDTH,
        height: f64::from(count) * ROW,
        table: &table,
    };
    figure.write(out, |out| {
        for (place, row) in (0_u32..).zip(&rows) {
            bars(f64::from(place) * ROW, row, out);
        }
    });
}

fn bars(y: f64, row: &Row, out: &mut HtmlText) {
    out.mark("<text class=\"axis\" x=\"0\" y=\"").measure(y + 19.0).mark("\">");
    out.words_in(&name(row), 24).mark("</text><rect class=\"series\" x=\"").measure(NAMES);
    out.mark("\" y=\"").measure(y + 4.0).mark("\" height=\"12\" width=\"");
    out.measure(row.share * BARS).mark("\"/>");
    let mut beside = format!("{:.1}%", row.share * 100.0);
    if let Some(latency) = row.served.as_ref().and_then(|served| served.latency) {
        out.mark("<rect class=\"h3\" x=\"").measure(NAMES).mark("\" y=\"").measure(y + 18.0);
        out.mark("\" height=\"8\" width=\"").measure(latency.share * BARS).mark("\"/>");
        beside.push_str(&format!(", mean {:.0} cycles", latency.mean));
    }
    out.mark("<text class=\"axis\" x=\"").measure(NAMES + BARS + 10.0).mark("\" y=\"");
    out.measure(y + 19.0).mark("\">").words(&beside).mark("</text>\n");
}
