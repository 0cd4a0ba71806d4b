//! What was sampled, what the samples promise, and what was lost.

use crate::content::PageContent;
use analysis::report::{EventReport, RecorderLedger};
use analysis::table::remarks;
use render::{Cell, Head, HtmlText, Table};

pub(crate) fn write(content: &PageContent, out: &mut HtmlText) {
    let report = &content.sites;
    if let Some(damage) = &content.damage {
        out.mark(
            "<p class=\"warning\" role=\"note\">This recording is damaged, and the page shows what \
                  could be read: ",
        );
        out.words(damage).mark("</p>\n");
    }
    out.mark("<dl class=\"facts\">");
    let machine = &report.machine;
    for (what, value) in [
        ("Command", &machine.command_line),
        ("Host", &machine.hostname),
        ("Kernel", &machine.os_release),
        ("Architecture", &machine.arch),
    ] {
        let Some(value) = value else { continue };
        out.mark("<dt>").mark(what).mark("</dt><dd><code>").words(value).mark("</code></dd>");
    }
    out.mark("</dl>\n");
    let said = remarks(report);
    list(&said.all, out);
    for (number, (event, lines)) in report.events.iter().zip(&said.events).enumerate() {
        card(number, event, lines, out);
    }
}

fn list(lines: &[String], out: &mut HtmlText) {
    if lines.is_empty() {
        return;
    }
    out.mark("<ul class=\"notes\">");
    for line in lines {
        out.mark("<li>").words(line).mark("</li>");
    }
    out.mark("</ul>\n");
}

fn card(number: usize, event: &EventReport, lines: &[String], out: &mut HtmlText) {
    out.mark("<article class=\"card\"><h3><code>").words(&event.name).mark("</code></h3>");
    out.mark("<dl class=\"figures\">");
    figure("samples counted", event.totals.counted, out);
    figure("events they stand for", event.totals.period, out);
    if let Some(ledger) = &event.ledger {
        figure("samples lost", lost(ledger), out);
    }
    out.mark("</dl>\n");
    list(lines, out);
    if !event.promises.is_empty() {
        // They are much the same for all.
        out.mark(if number == 0 { "<details open><summary>" } else { "<details><summary>" });
        out.mark("What its samples promise</summary>\n");
        promises(event).html(out);
        out.mark("</details>");
    }
    out.mark("</article>\n");
}

fn figure(what: &'static str, number: u64, out: &mut HtmlText) {
    out.mark("<div><dt>").mark(what).mark("</dt><dd>").number(number).mark("</dd></div>");
}

/// Lost samples: sideband records are none, and what came after the count nobody misses.
fn lost(ledger: &RecorderLedger) -> u64 {
    let causes =
        ledger.lost.iter().filter(|(cause, _)| !["side", "count"].contains(&cause.as_str()));
    causes.fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

fn promises(event: &EventReport) -> Table<'_> {
    Table::of(
        "What its samples promise",
        &event.promises,
        &[
            (Head::left("of"), &|(key, _)| Cell::name(&**key)),
            (Head::left("promise"), &|(_, value)| Cell::name(&**value)),
            (Head::left("which is about"), &|(key, _)| Cell::words(about(key))),
        ],
    )
}

fn about(key: &str) -> &'static str {
    match key {
        "ip" => "the instruction pointer",
        "addr" => "the data address",
        "regs" => "the registers",
        "callers" => "where callers come from",
        "periods" => "the intervals from sample to sample",
        "seed" => "what drew them",
        "weight" => "what a sample's weight is",
        "filter" => "which samples are meant",
        "source" => "who counted",
        "model" => "the caches of the emulated PMU",
        "class" => "why a miss is one",
        "counted" => "who added the samples up",
        _ => "",
    }
}
