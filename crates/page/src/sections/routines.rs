//! The routines that are sampled most, instruction by instruction, with their
//! source.

use crate::content::{AnnotatedRoutine, PageContent};
use analysis::annotate::{InstructionLine, ListingItem};
use render::HtmlText;

/// Lines of a routine that are shown.
const MOST_LINES: usize = 400;
/// Shares of the routine from which on an instruction is hot.
const HOT: f64 = 0.05;

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let Ok(routines) = &content.routines else { return };
    for routine in routines {
        one(routine, out);
    }
}

fn one(routine: &AnnotatedRoutine, out: &mut HtmlText) {
    let of = &routine.annotation;
    out.mark("<article class=\"card\"><h3><code>").words(&of.routine.name);
    out.mark("</code> <span class=\"on\">of <code>").words(&of.routine.object);
    out.mark("</code></span></h3>");
    for (event, heat) in of.report.events.iter().zip(&of.events) {
        if heat.count > 0 {
            out.mark("<p class=\"told\"><code>").words(&event.name).mark("</code>: ");
            out.number(heat.count).mark(" samples, ").percent(heat.share).mark(". ");
            out.words(&heat.reading).mark("</p>");
        }
    }
    for note in &of.notes {
        out.mark("<p class=\"told\">").words(note).mark("</p>");
    }
    out.mark("<div class=\"wide\" role=\"group\" tabindex=\"0\" aria-label=\"Instructions of ");
    out.words(&of.routine.name).mark("\"><table class=\"code\"><caption>Instructions of ");
    out.words(&of.routine.name).mark("</caption><thead><tr>");
    for event in &of.report.events {
        out.mark("<th scope=\"col\" class=\"n\">").words(&event.name);
        out.mark("</th><th scope=\"col\" class=\"n\">share</th>");
    }
    out.mark(
        "<th scope=\"col\">address</th><th scope=\"col\">instruction</th></tr></thead><tbody>\n",
    );
    let mut at = None;
    for item in of.items.iter().take(MOST_LINES) {
        match item {
            ListingItem::Line(line) => {
                source(routine, line, &mut at, out);
                instruction(routine, line, out);
            }
            ListingItem::Gap { instructions, .. } => {
                at = None;
                let text = format!("... {instructions} instructions without samples");
                spanning(routine, &text, out);
            }
        }
    }
    out.mark("</tbody></table></div>");
    if of.items.len() > MOST_LINES {
        out.mark("<p class=\"rest\">The first ").words(&MOST_LINES.to_string());
        out.mark(" lines: <code>ebs annotate</code> has all</p>");
    }
    out.mark("</article>\n");
}

/// A line over all columns but those of counts.
fn spanning(routine: &AnnotatedRoutine, text: &str, out: &mut HtmlText) {
    out.mark("<tr class=\"src\">");
    counts(routine, None, out);
    out.mark("<td colspan=\"2\">").words(text).mark("</td></tr>\n");
}

/// Where an instruction comes from, if that is news.
fn source(
    routine: &AnnotatedRoutine,
    line: &InstructionLine,
    at: &mut Option<String>,
    out: &mut HtmlText,
) {
    let Some(place) = line.frames.first().and_then(|frame| frame.source.as_ref()) else { return };
    let file = place.file.rsplit('/').next().unwrap_or(&place.file);
    let text = routine.sources.get(&*place.file).and_then(|lines| lines.get(&place.line));
    let text = text.map(|text| text.trim_end()).unwrap_or_default();
    let told = format!("{file}:{}  {text}", place.line);
    if at.as_ref() != Some(&told) {
        spanning(routine, &told, out);
        *at = Some(told);
    }
}

fn counts(routine: &AnnotatedRoutine, address: Option<u64>, out: &mut HtmlText) {
    for heat in &routine.annotation.events {
        match address.and_then(|address| heat.hot.get(&address)) {
            Some(hot) => {
                out.mark("<td class=\"n\">").number(hot.count).mark("</td><td class=\"n\">");
                out.percent(hot.share).mark("</td>");
            }
            None => {
                out.mark("<td></td><td></td>");
            }
        }
    }
}

fn instruction(routine: &AnnotatedRoutine, line: &InstructionLine, out: &mut HtmlText) {
    let hottest = routine.annotation.events.iter().filter_map(|heat| heat.hot.get(&line.address));
    let is_hot = hottest.map(|hot| hot.share).any(|share| share >= HOT);
    out.mark(if is_hot { "<tr class=\"hot\">" } else { "<tr>" });
    counts(routine, Some(line.address), out);
    out.mark("<td>").words(&format!("{:x}", line.address)).mark("</td><td>");
    out.words(line.text.as_deref().unwrap_or("?").trim_end());
    if let Some(target) = &line.target {
        out.mark("  &lt;").words(target).mark("&gt;");
    }
    if let Some(data) = &line.data {
        out.mark("  <span class=\"on\">; ").words(&data.to_string()).mark("</span>");
    }
    out.mark("</td></tr>\n");
}
