//! A study for a terminal: its tables, and its curves in characters, both axes of which are
//! logarithms.

use super::chart::{Scale, Span, name};
use super::rows::{remarks, size, tables};
use latency::LatencyStudy;
use latency::part::curves::LatencyCurve;
use std::fmt::Write;

const WIDTH: usize = 68;
const HEIGHT: usize = 16;
/// A sign for each curve; where two are at one place, the later one's.
const SIGNS: [char; 3] = ['*', 'o', '.'];

pub(super) fn render(study: &LatencyStudy) -> String {
    let mut text = String::new();
    for remark in remarks(study) {
        let _ = writeln!(text, "# {remark}");
    }
    if let Some(levels) = &study.levels {
        text.push_str(&plot(&levels.curves));
    }
    for table in tables(study) {
        let _ = write!(text, "\n{}\n{}", table.caption, table.text(None, false));
    }
    text
}

/// The curves with their axes, or nothing where none has two points.
fn plot(curves: &[LatencyCurve]) -> String {
    let Some(scale) = Scale::of(curves) else { return String::new() };
    let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
    for (curve, sign) in curves.iter().zip(SIGNS) {
        for point in &curve.points {
            let column = place(scale.sizes, point.size as f64, WIDTH);
            let row = place(scale.times, point.load.nanoseconds.minimum, HEIGHT);
            if let Some(cell) = grid.get_mut(HEIGHT - 1 - row).and_then(|row| row.get_mut(column)) {
                *cell = sign;
            }
        }
    }
    let mut text = String::from("\n      ns\n");
    for (row, cells) in grid.iter().enumerate() {
        let height = (HEIGHT - 1 - row) as f64 / (HEIGHT - 1) as f64;
        let label = match row % 3 {
            0 => format!("{:.1}", scale.times.at(height)),
            _ => String::new(),
        };
        let line: String = cells.iter().collect();
        let _ = writeln!(text, "{label:>8} |{}", line.trim_end());
    }
    let _ = writeln!(text, "{:>8} +{}", "", "-".repeat(WIDTH));
    let (first, last) = (size(whole(scale.sizes.least)), size(whole(scale.sizes.most)));
    let _ = writeln!(text, "{:>10}{first}{last:>width$}", "", width = WIDTH - first.len());
    for (curve, sign) in curves.iter().zip(SIGNS).filter(|(curve, _)| !curve.points.is_empty()) {
        let _ = writeln!(text, "{:>10}{sign} {}", "", name(curve));
    }
    text
}

/// Which of so many places a value is at.
fn place(span: Span, value: f64, places: usize) -> usize {
    let part = span.part(value) * (places - 1) as f64;
    (0..places).find(|place| *place as f64 + 0.5 > part).unwrap_or(places - 1)
}

/// A size, which was a whole number.
fn whole(size: f64) -> u64 {
    format!("{size:.0}").parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_measured_is_no_table() {
        let text = render(&LatencyStudy { is_interrupted: true, ..LatencyStudy::default() });
        assert!(text.lines().all(|line| line.starts_with("# ")), "{text}");
        assert!(text.contains("# interrupted"), "{text}");
    }
}
