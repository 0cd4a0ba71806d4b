//! What the text of misses and of stalled accesses has in common.

use crate::name::cell::SiteCell;
use crate::print::table::{Style, note, number_of, printable};

pub(crate) fn more_rows(left: impl Iterator<Item = u64>, style: Style, out: &mut String) {
    let (mut rows, mut samples) = (0_u64, 0_u64);
    for of in left {
        rows += 1;
        samples = samples.saturating_add(of);
    }
    if rows > 0 {
        let (rows, samples) = (number_of(rows, "more row"), number_of(samples, "sample"));
        out.push_str(&note(&format!("{rows}, {samples}"), style));
    }
}

pub(crate) fn heading(
    number: usize,
    shares: &str,
    site: &SiteCell,
    data: &str,
    style: Style,
) -> String {
    let (bold, plain) = if style.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    format!(
        "\n{bold}{number:>2}. {shares}  {}  on {}{plain}  ({})\n",
        printable(&site.in_routine()),
        printable(data),
        printable(&site.object)
    )
}
