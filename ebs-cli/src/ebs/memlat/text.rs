//! A study for a terminal.

use super::plot::plot;
use super::rows::{Table, remarks, tables};
use latency::LatencyStudy;
use std::fmt::Write;

pub(super) fn render(study: &LatencyStudy) -> String {
    let mut text = String::new();
    for remark in remarks(study) {
        let _ = writeln!(text, "# {remark}");
    }
    if let Some(levels) = &study.levels {
        text.push_str(&plot(&levels.curves));
    }
    for table in tables(study) {
        text.push_str(&aligned(&table));
    }
    text
}

/// Columns that end in one place, but for the first one.
fn aligned(table: &Table) -> String {
    let columns = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = table.rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = format!("\n{}\n", table.title);
    for row in &table.rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_end_in_one_place() {
        let rows = vec![
            vec!["size".to_owned(), "ns".to_owned()],
            vec!["4 KiB".to_owned(), "1.25".to_owned()],
        ];
        let table = Table { title: "curve".to_owned(), rows };
        assert_eq!(aligned(&table), "\ncurve\nsize     ns\n4 KiB  1.25\n");
    }

    #[test]
    fn nothing_measured_is_no_table() {
        let text = render(&LatencyStudy { is_interrupted: true, ..LatencyStudy::default() });
        assert!(text.lines().all(|line| line.starts_with("# ")), "{text}");
        assert!(text.contains("# interrupted"), "{text}");
    }
}
