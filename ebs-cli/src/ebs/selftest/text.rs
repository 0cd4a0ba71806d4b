//! The rows as a table.

use super::Tested;
use super::judge::Measure;
use super::observed::Opened;
use super::row::{By, Judged, Outcome, Row, Verdict};
use std::fmt::Write;

const HEAD: [&str; 13] = [
    "type",
    "program",
    "by",
    "opened",
    "samples",
    "exact",
    "right IP",
    "address",
    "registers",
    "latency",
    "lost",
    "overhead",
    "verdict",
];
/// Columns of words; numbers end in one place.
const LEFT: [usize; 5] = [0, 1, 2, 3, 12];

/// The table, what failed and why, what was not sampled and why, the sum.
pub(super) fn render(tested: &Tested) -> String {
    let sampled = tested.rows.iter().filter(|row| row.verdict() != Verdict::WhyNot);
    let lines: Vec<[String; 13]> = sampled.map(line).collect();
    let mut text = String::new();
    if !lines.is_empty() {
        let head = HEAD.map(str::to_owned);
        let width = |column: usize| {
            let cells = lines.iter().chain([&head]).map(|line| line[column].len());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        for line in [&head].into_iter().chain(&lines) {
            text.push_str(&aligned(line, &widths));
        }
    }
    failures(tested, &mut text);
    why_not(tested, &mut text);
    text.push_str(&sum(tested));
    text
}

fn aligned(line: &[String; 13], widths: &[usize]) -> String {
    let mut text = String::new();
    for (column, (cell, width)) in line.iter().zip(widths).enumerate() {
        let _ = match LEFT.contains(&column) {
            true => write!(text, "{cell:<width$}  "),
            false => write!(text, "{cell:>width$}  "),
        };
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn line(row: &Row) -> [String; 13] {
    let mut cells: [String; 13] = Default::default();
    cells[4..12].fill_with(|| "-".to_owned());
    cells[0] = row.name();
    cells[1] = row.on.map_or_else(String::new, |(program, _)| program.to_string());
    cells[2] = row.by().map_or("-", By::word).to_owned();
    cells[12] = row.verdict().word().to_owned();
    let Outcome::Judged(judged) = &row.outcome else { return cells };
    let Judged { opened, samples, account, judgement, .. } = &**judged;
    let shares = &judgement.shares;
    cells[3] = opened.iter().map(of).collect::<Vec<_>>().join(" ");
    cells[4] = samples.to_string();
    cells[5] = percent(&shares.exact_ip);
    cells[6] = percent(&shares.instruction);
    cells[7] = percent(&shares.address);
    cells[8] = percent(&shares.registers);
    cells[9] = percent(&shares.latency);
    cells[10] = match account.throttled {
        0 => account.lost.to_string(),
        times => format!("{}, throttled {times}", account.lost),
    };
    cells[11] = judged.slower().map_or_else(|| "-".to_owned(), |times| format!("x{times:.1}"));
    cells
}

fn of(opened: &Opened) -> String {
    let Opened { pmu, config, config1, precise_ip, interval, .. } = opened;
    let config1 = if *config1 == 0 { String::new() } else { format!(",{config1:#x}") };
    format!("{pmu}/{config:#x}{config1}/{} every {interval}", "p".repeat((*precise_ip).into()))
}

/// A share, rounded away from 100: what is not whole must not seem so.
fn percent(measure: &Measure) -> String {
    match measure.of {
        0 => "-".to_owned(),
        of => format!("{:.1}%", (measure.right as f64 / of as f64 * 1000.0).floor() / 10.0),
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
