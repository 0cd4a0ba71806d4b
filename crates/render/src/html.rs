//! A table of a page: it is read as it is; the page's script sorts and searches it.

use crate::cell::Cell;
use crate::html_text::HtmlText;
use crate::table::{Align, Table};

/// Steps in a tree that are shown.
const DEEPEST: usize = 24;

impl Table<'_> {
    /// Writes it, in a box of its own that scrolls.
    pub fn html(&self, out: &mut HtmlText) {
        let shown = self.shown();
        out.mark("<div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"");
        out.words(&self.caption).mark("\"><table class=\"sorts\"><caption>");
        out.words(&self.caption).mark("</caption><thead><tr>");
        for (_, head) in &shown {
            out.mark(match head.align {
                Align::Right => "<th scope=\"col\" class=\"n\">",
                Align::Left | Align::Whole => "<th scope=\"col\">",
            });
            out.words(&head.heading).mark("</th>");
        }
        out.mark("</tr></thead><tbody>\n");
        for row in &self.rows {
            out.mark("<tr>");
            shown.iter().filter_map(|(at, _)| row.get(*at)).for_each(|cell| cell.html(out));
            out.mark("</tr>\n");
        }
        out.mark("</tbody></table></div>");
        if let Some(foot) = &self.foot {
            out.mark("<p class=\"rest\">").words(foot).mark("</p>");
        }
        out.mark("\n");
    }
}

impl Cell<'_> {
    fn html(&self, out: &mut HtmlText) {
        match self {
            Cell::Name(name) => out.mark("<td><code>").words(name).mark("</code></td>"),
            Cell::Nested(depth, name) => {
                out.mark("<td><code>");
                (0..(*depth).min(DEEPEST)).for_each(|_| {
                    out.mark("\u{b7} ");
                });
                out.words(name).mark("</code></td>")
            }
            Cell::Address(_) => out.mark("<td><code>").words(&self.text()).mark("</code></td>"),
            Cell::Words(words) => out.mark("<td>").words(words).mark("</td>"),
            Cell::Share(share) => {
                out.mark("<td class=\"n\">").percent(*share).mark(
                    "<svg class=\"bar\" viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" \
                     aria-hidden=\"true\"><rect height=\"6\" width=\"",
                );
                out.measure((share * 100.0).clamp(0.0, 100.0)).mark("\"/></svg></td>")
            }
            Cell::Count(_)
            | Cell::Signed(_)
            | Cell::Flag(_)
            | Cell::Part(_)
            | Cell::Mean(_)
            | Cell::Rounded(..)
            | Cell::Missing { .. }
            | Cell::Nothing => out.mark("<td class=\"n\">").words(&self.text()).mark("</td>"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Head;

    #[test]
    fn cells_are_escaped_and_bars_have_their_length() {
        let heads = [Head::left("name"), Head::number("count"), Head::number("share")];
        let mut table = Table::new("a <b>", heads);
        table.rows.push(vec![Cell::name("<i>"), Cell::Count(3), Cell::Share(0.375)]);
        table.rows.push(vec![Cell::Nested(2, "x".into()), Cell::Nothing, Cell::Mean(1.25)]);
        table.foot = Some("more & more".to_owned());
        let mut out = HtmlText::default();
        table.html(&mut out);
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
