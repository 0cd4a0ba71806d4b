//! The rows as a table.

use super::Tested;
use super::judge::Measure;
use super::observed::Opened;
use super::row::{By, Judged, Outcome, Row, Verdict};
use render::{Cell, Head, Table};
use std::fmt::Write;

/// The table, what failed and why, what was not sampled and why, the sum.
pub(super) fn render(tested: &Tested) -> String {
    let sampled = tested.rows.iter().filter(|row| row.verdict() != Verdict::WhyNot);
    let mut text = table(sampled).text(None, false);
    failures(tested, &mut text);
    why_not(tested, &mut text);
    text.push_str(&sum(tested));
    text
}

fn table<'r>(rows: impl Iterator<Item = &'r Row>) -> Table<'r> {
    type Value = fn(&Judged) -> Cell<'static>;
    fn judged<'r>(row: &'r Row, none: Cell<'r>, value: Value) -> Cell<'r> {
        if let Outcome::Judged(judged) = &row.outcome { value(judged) } else { none }
    }
    let number = |row: &'r Row, value: Value| judged(row, Cell::Nothing, value);
    Table::of(
        "",
        rows,
        &[
            (Head::left("type"), &|row| Cell::words(row.name())),
            (Head::left("program"), &|row| {
                Cell::words(row.on.map_or_else(String::new, |(program, _)| program.to_string()))
            }),
            (Head::left("by"), &|row| Cell::words(row.by().map_or("-", By::word))),
            (Head::left("opened"), &|row| {
                judged(row, Cell::words(""), |it| {
                    Cell::words(it.opened.iter().map(of).collect::<Vec<_>>().join(" "))
                })
            }),
            (Head::number("samples"), &|row| number(row, |it| Cell::Count(it.samples))),
            (Head::number("exact"), &|row| number(row, |it| part(&it.judgement.shares.exact_ip))),
            (Head::number("right IP"), &|row| {
                number(row, |it| part(&it.judgement.shares.instruction))
            }),
            (Head::number("address"), &|row| number(row, |it| part(&it.judgement.shares.address))),
            (Head::number("registers"), &|row| {
                number(row, |it| part(&it.judgement.shares.registers))
            }),
            (Head::number("latency"), &|row| number(row, |it| part(&it.judgement.shares.latency))),
            (Head::number("lost"), &|row| {
                number(row, |it| match it.account.throttled {
                    0 => Cell::Count(it.account.lost),
                    times => Cell::words(format!("{}, throttled {times}", it.account.lost)),
                })
            }),
            (Head::number("overhead"), &|row| {
                number(row, |it| {
                    it.slower().map_or(Cell::Nothing, |times| Cell::words(format!("x{times:.1}")))
                })
            }),
            (Head::left("verdict"), &|row| Cell::words(row.verdict().word())),
        ],
    )
}

fn of(opened: &Opened) -> String {
    let Opened { pmu, config, config1, precise_ip, interval, .. } = opened;
    let config1 = if *config1 == 0 { String::new() } else { format!(",{config1:#x}") };
    format!("{pmu}/{config:#x}{config1}/{} every {interval}", "p".repeat((*precise_ip).into()))
}

/// A share, rounded away from 100: what is not whole must not seem so.
fn part(measure: &Measure) -> Cell<'static> {
    match measure.of {
        0 => Cell::Nothing,
        of => Cell::words(format!(
            "{:.1}%",
            (measure.right as f64 / of as f64 * 1000.0).floor() / 10.0
        )),
    }
}

fn failures(tested: &Tested, text: &mut String) {
    for row in tested.rows.iter().filter(|row| row.verdict() == Verdict::Fail) {
        let on = row.on.map_or_else(String::new, |(program, _)| format!(" on {program}"));
        let _ = writeln!(text, "\nFAIL {}{on}:", row.name());
        for reason in row.reasons() {
            let _ = writeln!(text, "  {reason}");
        }
    }
}

/// Each reason once, with the types that it is of.
fn why_not(tested: &Tested, text: &mut String) {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in tested.rows.iter().filter(|row| row.verdict() == Verdict::WhyNot) {
        let name = row.name();
        for reason in row.reasons() {
            // What is the same but for the type's name is one reason.
            let why = reason.strip_prefix(row.entry.name).unwrap_or(reason);
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) if names.contains(&name) => {}
                Some((_, names)) => names.push(name.clone()),
                None => reasons.push((why, vec![name.clone()])),
            }
        }
    }
    for (reason, names) in reasons {
        let _ = writeln!(text, "\nwhy not {}:\n  {}", names.join(", "), reason.trim_start());
    }
}

fn sum(tested: &Tested) -> String {
    let count = |verdict| tested.rows.iter().filter(|row| row.verdict() == verdict).count();
    let by = |by| tested.rows.iter().filter(|row| row.by() == Some(by)).count();
    let hardware = match (by(By::Hardware), by(By::Emulated)) {
        (0, 1..) => "; no hardware was sampled",
        _ => "",
    };
    let interrupted = if tested.is_interrupted { ", interrupted" } else { "" };
    format!(
        "\n# {} PASS, {} FAIL, {} not sampled, {:.1} s{interrupted}; counted by hardware {}, by the \
         kernel {}, emulated {}{hardware}\n",
        count(Verdict::Pass),
        count(Verdict::Fail),
        count(Verdict::WhyNot),
        tested.took.as_secs_f64(),
        by(By::Hardware),
        by(By::Kernel),
        by(By::Emulated),
    )
}
