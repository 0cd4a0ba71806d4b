//! Lines that threads share as text for a terminal.

use crate::c2c::access_totals::AccessTotals;
use crate::c2c::sharing_report::{LineSite, SharedLine, SharingReport};
use crate::name::cell::SiteCell;
use crate::print::table::{Style, heads, note, number_of, percent, printable};
use crate::share_interval::ratio;
use std::fmt::Write;

/// Sites of a line, and waits, that are shown.
const SITES: usize = 8;
const THREADS: usize = 8;

/// `top` lines with their bytes, and who waits for whom.
pub fn render(report: &SharingReport, top: usize, style: Style) -> String {
    let (all, heads) = heads(&report.report, style);
    let mut out = all;
    heads.iter().for_each(|head| out.push_str(head));
    report.notes.iter().for_each(|text| out.push_str(&note(text, style)));
    let totals = report.totals;
    if totals != AccessTotals::default() {
        let hitm = number_of(totals.hitm_local + totals.hitm_remote, "load");
        let text = format!(
            "{}, {}; {hitm} of lines that another core had modified, {} of them in another node",
            number_of(totals.loads, "load"),
            number_of(totals.stores, "store"),
            totals.hitm_remote
        );
        out.push_str(&note(&text, style));
    }
    let lines = number_of(report.lines.len() as u64, "line");
    out.push_str(&note(
        &format!("{lines} of {} bytes that several threads used and one wrote", report.line_size),
        style,
    ));
    let transfers = report.lines.iter().map(|line| line.transfer_events).sum::<u64>();
    for (number, line) in (1..).zip(report.lines.iter().take(top)) {
        one(number, line, transfers, style, &mut out);
    }
    if !report.waits.is_empty() {
        let _ = writeln!(out, "\nwho waits for whom:");
    }
    for wait in report.waits.iter().take(top) {
        let cycles =
            if wait.cycles > 0.0 { format!(", {:.0} cycles", wait.cycles) } else { String::new() };
        let _ = writeln!(
            out,
            "  {} for {}: {:.0} transfers{cycles}",
            site(&wait.site),
            site(&wait.writer),
            wait.transfers
        );
    }
    out
}

fn site(of: &SiteCell) -> String {
    printable(&of.in_routine()).into_owned()
}

fn one(number: usize, line: &SharedLine, all: u64, style: Style, out: &mut String) {
    let (bold, plain) = if style.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let share = percent(ratio(line.transfer_events, all.max(1)));
    let cycles = line.cycles.map_or_else(String::new, |cycles| format!(", {cycles} cycles"));
    let data: Vec<String> = line.data.iter().map(|name| printable(name).into_owned()).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "\n{bold}{number:>2}. {:#x}  {}  {}{plain}: {share} of transfers, {} sampled{cycles}, {}",
        line.address,
        data.join(", "),
        line.sharing.words(),
        line.transfers,
        number_of(line.threads.len() as u64, "thread"),
    );
    for thread in line.threads.iter().take(THREADS) {
        let _ = writeln!(out, "     {}  thread {}", eights(&thread.bytes), thread.tid);
    }
    if let Some(more) = line.threads.len().checked_sub(THREADS).filter(|more| *more > 0) {
        let _ = writeln!(out, "     {}", number_of(more as u64, "more thread"));
    }
    for of in line.sites.iter().take(SITES) {
        let _ = writeln!(out, "     {}  {}", eights(&of.bytes), by_site(of));
    }
    if let Some(more) = line.sites.len().checked_sub(SITES).filter(|more| *more > 0) {
        let _ = writeln!(out, "     {}", number_of(more as u64, "more site"));
    }
    if let Some(remedy) = &line.remedy {
        let _ = writeln!(out, "     -> {}", printable(remedy));
    }
}

fn by_site(of: &LineSite) -> String {
    let mut text = site(&of.site);
    if of.transfers > 0 {
        let _ = write!(text, ": {}", number_of(of.transfers, "transfer"));
    }
    if of.others > 0 {
        let _ = write!(
            text,
            "{} {}",
            if of.transfers > 0 { "," } else { ":" },
            number_of(of.others, "other sample")
        );
    }
    let _ = write!(text, " on {}", number_of(of.threads as u64, "thread"));
    text
}

/// A map of bytes, eight by eight.
pub fn eights(bytes: &str) -> String {
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
    for (index, byte) in bytes.chars().enumerate() {
        if index > 0 && index % 8 == 0 {
            text.push(' ');
        }
        text.push(byte);
    }
    text
}
