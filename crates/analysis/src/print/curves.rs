//! Curves of misses by cache size as text for a terminal.

use crate::causes::{MissCurve, remedy};
use crate::print::table::{Style, heads, note, percent, printable};
use crate::report::{CurveReport, EventCurve};
use std::fmt::Write;

/// Columns of a bar of all.
const LONGEST: usize = 40;

/// The curve, a line a size, or why there is none. All of it, whatever the number.
pub fn render(report: &CurveReport, _: usize, style: Style) -> String {
    let (mut out, heads) = heads(&report.report, style);
    heads.iter().for_each(|head| out.push_str(head));
    if let Some(curve) = &report.curve {
        for text in curve.told().iter().chain([&fits(curve)]).chain(&curve.notes) {
            out.push_str(&note(text, style));
        }
        points(curve, style, &mut out);
    }
    for lack in &report.without {
        let name = printable(&lack.event);
        out.push_str(&note(&format!("{name}: no curve: {}", printable(&lack.why)), style));
    }
    out
}

/// From which size on nearly all would be there, and what no size spares.
pub fn fits(curve: &EventCurve) -> String {
    let MissCurve { accesses, first, taken, again, fits_from, fits_share, .. } = curve.curve;
    let what = if curve.level.is_some() { "misses" } else { "accesses" };
    let mut text = match fits_from {
        Some(bytes) => format!(
            "fits from {} on: of {again} {what} of lines that came before {} at most are left",
            size(bytes),
            percent(fits_share)
        ),
        None => "no line comes twice, and no size spares any".to_owned(),
    };
    // Writing to a String cannot fail.
    let _ = write!(text, "; {first} of {accesses} are cold");
    if taken > 0 {
        let _ = write!(text, ", {taken} of lines that another thread wrote since");
    }
    text + ": no size spares these"
}

/// Bytes of a cache as people say them.
pub fn size(bytes: u64) -> String {
    remedy::size(bytes)
}

/// The caches of the model that are as large.
pub fn marks(curve: &EventCurve, bytes: u64) -> String {
    let there = curve.marks.iter().filter(|mark| mark.bytes == bytes);
    there.map(|mark| mark.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn points(curve: &EventCurve, style: Style, out: &mut String) {
    let rows: Vec<[String; 4]> = curve
        .curve
        .points
        .iter()
        .map(|it| [size(it.bytes), it.misses.to_string(), it.left.to_string(), percent(it.share)])
        .collect();
    let titles = ["size", "misses", "left", "share"].map(str::to_owned);
    let widths: [usize; 4] = std::array::from_fn(|column| {
        rows.iter().chain([&titles]).map(|row| row[column].len()).max().unwrap_or(0)
    });
    let line = |row: &[String; 4]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}"));
        cells.collect::<Vec<_>>().join("  ")
    };
    let (bold, plain) = if style.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let _ = writeln!(out, "{bold}{}{plain}", line(&titles));
    for (point, row) in curve.curve.points.iter().zip(&rows) {
        let bar = "#".repeat(length(point.left, curve.curve.again));
        let marks = marks(curve, point.bytes);
        let beside = if marks.is_empty() { bar } else { format!("{bar:<LONGEST$}  {marks}") };
        let _ = writeln!(out, "{}", format!("{}  {beside}", line(row)).trim_end());
    }
}

/// Columns of a bar; of something at least one.
fn length(left: u64, all: u64) -> usize {
    let part = u128::from(left) * LONGEST as u128 / u128::from(all.max(1));
    usize::try_from(part).unwrap_or(LONGEST).clamp(usize::from(left > 0), LONGEST)
}
