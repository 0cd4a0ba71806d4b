//! Tables of a page: read as they are; the script sorts and searches them.

use crate::html_text::HtmlText;

#[derive(Clone, Debug)]
pub(crate) struct PageColumn {
    title: String,
    is_number: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PageCell {
    Name(String),
    /// A name that stands so deep in a tree.
    Nested(usize, String),
    Words(String),
    Number(u64),
    /// A mean, to a tenth.
    Mean(f64),
    /// A share, 0 to 1, with a bar of its length.
    Share(f64),
    Part(f64),
    Nothing,
}

#[derive(Clone, Debug)]
pub(crate) struct PageTable {
    caption: String,
    columns: Vec<PageColumn>,
    rows: Vec<Vec<PageCell>>,
    foot: Option<String>,
}

impl PageTable {
    /// Without rows; a column's title begins with `#` where it has numbers.
    pub(crate) fn new(caption: impl Into<String>, titles: &[impl AsRef<str>]) -> PageTable {
        let column = |title: &str| PageColumn {
            title: title.strip_prefix('#').unwrap_or(title).to_owned(),
            is_number: title.starts_with('#'),
        };
        PageTable {
            caption: caption.into(),
            columns: titles.iter().map(|title| column(title.as_ref())).collect(),
            rows: Vec::new(),
            foot: None,
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<PageCell>) {
        self.rows.push(cells);
    }

    pub(crate) fn rest(&mut self, rest: impl Into<String>) {
        self.foot = Some(rest.into());
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Writes it, in a box of its own that scrolls.
    pub(crate) fn write(&self, out: &mut HtmlText) {
        out.mark("<div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"");
        out.words(&self.caption).mark("\"><table class=\"sorts\"><caption>");
        out.words(&self.caption).mark("</caption><thead><tr>");
        for column in &self.columns {
            out.mark(if column.is_number {
                "<th scope=\"col\" class=\"n\">"
            } else {
                "<th scope=\"col\">"
            });
            out.words(&column.title).mark("</th>");
        }
        out.mark("</tr></thead><tbody>\n");
        for row in &self.rows {
            out.mark("<tr>");
            row.iter().for_each(|cell| cell.write(out));
            out.mark("</tr>\n");
        }
        out.mark("</tbody></table></div>");
        if let Some(foot) = &self.foot {
            out.mark("<p class=\"rest\">").words(foot).mark("</p>");
        }
        out.mark("\n");
    }
}

/// Steps in a tree that are shown.
const DEEPEST: usize = 24;

impl PageCell {
    fn write(&self, out: &mut HtmlText) {
        match self {
            PageCell::Name(name) => out.mark("<td><code>").words(name).mark("</code></td>"),
            PageCell::Nested(depth, name) => {
                out.mark("<td><code>");
                (0..(*depth).min(DEEPEST)).for_each(|_| {
                    out.mark("\u{b7} ");
                });
                out.words(name).mark("</code></td>")
            }
            PageCell::Words(words) => out.mark("<td>").words(words).mark("</td>"),
            PageCell::Number(number) => out.mark("<td class=\"n\">").number(*number).mark("</td>"),
            PageCell::Mean(mean) => {
                out.mark("<td class=\"n\">").words(&format!("{mean:.1}")).mark("</td>")
            }
            PageCell::Share(share) => {
                out.mark("<td class=\"n\">").percent(*share).mark(
                    "<svg class=\"bar\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" \
                     aria-hidden=\"true\"><rect height=\"6\" width=\"",
                );
                out.measure((share * 100.0).clamp(0.0, 100.0)).mark("\"/></svg></td>")
            }
            PageCell::Part(share) => out.mark("<td class=\"n\">").percent(*share).mark("</td>"),
            PageCell::Nothing => out.mark("<td class=\"n\">-</td>"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_bars_have_their_length() {
        let mut table = PageTable::new("a <b>", &["name", "#count", "#share"]);
        table.row(vec![
            PageCell::Name("<i>".to_owned()),
            PageCell::Number(3),
            PageCell::Share(0.375),
        ]);
        table.row(vec![
            PageCell::Nested(2, "x".to_owned()),
            PageCell::Nothing,
            PageCell::Mean(1.25),
        ]);
        table.rest("more & more");
        assert_eq!(table.len(), 2);
        let mut out = HtmlText::default();
        table.write(&mut out);
        let text = out.into_text();
        for part in [
            "<caption>a &lt;b&gt;</caption>",
            "<th scope=\"col\">name</th><th scope=\"col\" class=\"n\">count</th>",
            "<td><code>&lt;i&gt;</code></td><td class=\"n\">3</td><td class=\"n\">37.50%<svg",
            "width=\"37.5\"/>",
            "<code>\u{b7} \u{b7} x</code>",
            "<p class=\"rest\">more &amp; more</p>",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
