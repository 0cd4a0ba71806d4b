//! Why accesses miss, or are stalled, and what to change: a card an
//! instruction and object.

use crate::content::PageContent;
use analysis::causes::Remedy;
use analysis::causes::{EventCauses, EventStalls};
use analysis::causes::{judged_by, stall_method, told, told_of_stall};
use analysis::report::SiteCell;
use render::HtmlText;

/// Cards of an event.
const MOST_CARDS: usize = 12;

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(causes) = &content.causes else { return };
    for note in &causes.notes {
        out.mark("<p>").words(note).mark("</p>\n");
    }
    causes.events.iter().for_each(|event| misses(event, out));
    causes.stalls.iter().for_each(|event| stalls(event, out));
}

struct CauseCard<'r> {
    share: f64,
    cycle_share: Option<f64>,
    site: &'r SiteCell,
    data: &'r str,
    told: Vec<String>,
    remedies: &'r [Remedy],
}

fn misses(event: &EventCauses, out: &mut HtmlText) {
    heading(&event.event, &judged_by(event), out);
    out.mark("<div class=\"cards\">\n");
    for row in event.rows.iter().take(MOST_CARDS) {
        let card = CauseCard {
            share: row.share,
            cycle_share: row.cycle_share,
            site: &row.site,
            data: &row.data,
            told: told(row, event),
            remedies: &row.remedies,
        };
        write_card(&card, out);
    }
    out.mark("</div>\n");
    rest(event.rows.iter().skip(MOST_CARDS).map(|row| row.samples), out);
}

fn stalls(event: &EventStalls, out: &mut HtmlText) {
    heading(&event.event, &stall_method(event), out);
    out.mark("<div class=\"cards\">\n");
    for row in event.rows.iter().take(MOST_CARDS) {
        let card = CauseCard {
            share: row.share,
            cycle_share: None,
            site: &row.site,
            data: &row.data,
            told: told_of_stall(row),
            remedies: &row.remedies,
        };
        write_card(&card, out);
    }
    out.mark("</div>\n");
    rest(event.rows.iter().skip(MOST_CARDS).map(|row| row.samples), out);
}

fn heading(event: &str, method: &str, out: &mut HtmlText) {
    out.mark("<h3><code>").words(event).mark("</code></h3><p class=\"told\">").words(method);
    out.mark("</p>\n");
}

fn write_card(card: &CauseCard<'_>, out: &mut HtmlText) {
    out.mark("<article class=\"card cause-card\"><h4><code>");
    out.words(&card.site.to_string()).mark("</code> <span class=\"on\">on</span> <code>");
    out.words(card.data).mark("</code></h4><p class=\"share\">").percent(card.share);
    out.mark(" of the samples");
    if let Some(cycles) = card.cycle_share {
        out.mark(", ").percent(cycles).mark(" of the cycles");
    }
    out.mark(" <span class=\"on\">in <code>").words(&card.site.object).mark("</code></span></p>\n");
    for (number, line) in card.told.iter().enumerate() {
        out.mark(if number == 0 { "<p class=\"cause\">" } else { "<p class=\"evidence\">" });
        out.words(line).mark("</p>");
    }
    if !card.remedies.is_empty() {
        out.mark("<ul class=\"remedies\">");
        for remedy in card.remedies {
            out.mark("<li><strong>").words(remedy.kind).mark("</strong> ").words(&remedy.text);
            out.mark("</li>");
        }
        out.mark("</ul>");
    }
    out.mark("</article>\n");
}

fn rest(samples: impl Iterator<Item = u64>, out: &mut HtmlText) {
    let (rows, samples) =
        samples.fold((0_u64, 0_u64), |(rows, sum), of| (rows + 1, sum.saturating_add(of)));
    if rows > 0 {
        out.mark("<p class=\"rest\">").number(rows).mark(" more, ").number(samples);
        out.mark(" samples: <code>ebs causes</code> has them</p>\n");
    }
}
