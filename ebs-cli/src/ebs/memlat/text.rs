//! A study for a terminal.

use super::plot::plot;
use super::rows::{remarks, tables};
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
        let _ = write!(text, "\n{}\n{}", table.caption, table.text(None, false));
    }
    text
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
