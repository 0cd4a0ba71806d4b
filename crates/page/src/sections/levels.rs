//! Which levels served accesses, and how long they took.

use crate::content::PageContent;
use crate::figure::PagePicture;
use crate::html_text::HtmlText;
use crate::table::{PageCell, PageTable};
use analysis::report::{Cell, EventReport, Row};

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

fn name(row: &Row) -> String {
    match row.cells.first() {
        Some(Cell::Text(name)) => name.to_string(),
        Some(Cell::Missing(missing)) => format!("[{missing}]"),
        _ => "-".to_owned(),
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

fn table(event: &EventReport, rows: &[&Row]) -> PageTable {
    let titles =
        ["level", "#count", "#share", "#with latency", "#mean", "#median", "#p95", "#of cycles"];
    let mut table = PageTable::new(format!("Levels that served {}", event.name), &titles);
    for row in rows {
        let mut cells = vec![
            PageCell::Name(name(row)),
            PageCell::Number(row.count),
            PageCell::Share(row.share),
        ];
        let latency = row.served.as_ref().and_then(|served| served.latency);
        cells.extend(latency.map_or([const { PageCell::Nothing }; 5], |of| {
            [
                PageCell::Number(of.samples),
                PageCell::Mean(of.mean),
                PageCell::Number(of.median),
                PageCell::Number(of.p95),
                PageCell::Part(of.share),
            ]
        }));
        table.row(cells);
    }
    table
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
