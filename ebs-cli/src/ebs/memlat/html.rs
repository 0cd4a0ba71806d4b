//! A study as one page that needs nothing else: no script, no network.

use super::chart::svg;
use super::rows::{remarks, tables};
use latency::LatencyStudy;
use render::Cell;
use std::fmt::Write;

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<title>ebs memlat</title>
<style>
body { font: 14px sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; }
svg { width: 100%; font: 12px sans-serif; }
table { border-collapse: collapse; margin: 1em 0; }
caption { text-align: left; font-weight: bold; padding: 0.3em 0; }
th, td { text-align: right; padding: 0.15em 0.8em; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
</style></head><body>
<h1>How long this machine's memory takes</h1>
";

pub(super) fn page(study: &LatencyStudy) -> String {
    let mut text = String::from(HEAD);
    for remark in remarks(study) {
        let _ = writeln!(text, "<p>{}</p>", escaped(&remark));
    }
    if let Some(levels) = &study.levels {
        text.push_str(&svg(&levels.curves));
    }
    for table in tables(study) {
        let _ = writeln!(text, "<table><caption>{}</caption>", escaped(&table.caption));
        let heads = table.heads.iter().map(|head| head.heading.as_ref());
        push_row("th", heads, &mut text);
        for row in &table.rows {
            push_row("td", row.iter().map(Cell::text), &mut text);
        }
        text.push_str("</table>\n");
    }
    text.push_str("</body></html>\n");
    text
}

fn push_row(tag: &str, cells: impl Iterator<Item = impl AsRef<str>>, text: &mut String) {
    text.push_str("<tr>");
    for cell in cells {
        let _ = write!(text, "<{tag}>{}</{tag}>", escaped(cell.as_ref()));
    }
    text.push_str("</tr>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
