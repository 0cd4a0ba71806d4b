//! Curves of misses by cache size as text for a terminal.

use crate::cache_shape;
use crate::curve::curve_report::{CurveReport, EventCurve};
use crate::curve::miss_curve::MissCurve;
use crate::print::table::{Style, heads, note, percent, printable};
use render::{Cell, Head, Table};
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
    cache_shape::size(bytes)
}

/// The caches of the model that are as large.
pub fn marks(curve: &EventCurve, bytes: u64) -> String {
    let there = curve.marks.iter().filter(|mark| mark.bytes == bytes);
    there.map(|mark| mark.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn points(curve: &EventCurve, style: Style, out: &mut String) {
    let table = Table::of(
        "",
        &curve.curve.points,
        &[
            (Head::number("size"), &|it| Cell::words(size(it.bytes))),
            (Head::number("misses"), &|it| Cell::Count(it.misses)),
            (Head::number("left"), &|it| Cell::Count(it.left)),
            (Head::number("share"), &|it| Cell::Share(it.share)),
        ],
    );
    let text = table.text(None, style.color);
    let mut lines = text.lines();
    out.extend(lines.next().into_iter().chain(["\n"]));
    for (point, line) in curve.curve.points.iter().zip(lines) {
        let bar = "#".repeat(length(point.left, curve.curve.again));
        let marks = marks(curve, point.bytes);
        let beside = if marks.is_empty() { bar } else { format!("{bar:<LONGEST$}  {marks}") };
        let _ = writeln!(out, "{}", format!("{line}  {beside}").trim_end());
    }
}

/// Columns of a bar; of something at least one.
fn length(left: u64, all: u64) -> usize {
    let part = u128::from(left) * LONGEST as u128 / u128::from(all.max(1));
    usize::try_from(part).unwrap_or(LONGEST).clamp(usize::from(left > 0), LONGEST)
}
