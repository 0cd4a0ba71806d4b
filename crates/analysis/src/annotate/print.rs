//! An annotation as text for a terminal.

use crate::annotate::addresses::Stretch;
use crate::annotate::{Annotation, Details, HotInstruction, InstructionLine, ListingItem};
use crate::name::place_names::NOT_AVAILABLE;
use crate::print::table::{Style, heads, note, number_of, percent, printable, tidy};
use crate::query::Weighting;
use crate::share_interval::ratio;
use std::fmt::Write;
use std::sync::Arc;
use symbolizer::{Frame, SourcePlace};

/// Text of a line of a source file, without its end; None: it cannot be had.
pub type SourceTexts<'s> = dyn FnMut(&str, u32) -> Option<String> + 's;

/// Shares from which on an instruction is hot, and warm.
const HOT: f64 = 0.05;
const WARM: f64 = 0.005;
/// Characters of a full bar.
const BAR: f64 = 20.0;

/// All events of the routine, one after the other.
pub fn render(annotation: &Annotation, sources: &mut SourceTexts<'_>, style: Style) -> String {
    let (all, heads) = heads(&annotation.report, style);
    let mut out = all;
    for (index, heat) in annotation.events.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(heads.get(index).map_or("", String::as_str));
        head(annotation, index, style, &mut out);
        if heat.count > 0 {
            listing(annotation, index, sources, style, &mut out);
        }
    }
    out
}

fn head(annotation: &Annotation, index: usize, style: Style, out: &mut String) {
    let Some(heat) = annotation.events.get(index) else { return };
    let routine = &annotation.routine;
    let (start, end) = (routine.start, routine.end);
    let of_event = annotation.report.events.get(index).map_or(0, |event| event.totals.counted);
    let is_in_kernel = annotation.report.events.get(index).is_some_and(|it| it.in_kernel.is_some());
    let what = if is_in_kernel { "hits" } else { "samples" };
    let (name, object) = (&routine.name, &routine.object);
    let bytes = number_of(end.saturating_sub(start), "byte");
    out.push_str(&note(
        &format!(
            "{name} of {object}, {start:#x}-{end:#x}, {bytes}: {} of {of_event} {what} ({})",
            heat.count,
            percent(heat.share)
        ),
        style,
    ));
    if heat.count == 0 {
        return;
    }
    out.push_str(&note(&heat.reading, style));
    for text in &annotation.notes {
        out.push_str(&note(text, style));
    }
    if !heat.misplaced.is_empty() {
        let count = heat.misplaced.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        let mut places: Vec<String> =
            heat.misplaced.keys().take(4).map(|address| format!("{address:#x}")).collect();
        if heat.misplaced.len() > places.len() {
            places.push("...".to_owned());
        }
        out.push_str(&note(
            &format!(
                "{} at {}, where no instruction begins as decoded from the routine's start: in no line below",
                number_of(count, "sample"),
                places.join(", ")
            ),
            style,
        ));
    }
}

struct Widths {
    count: usize,
    period: Option<usize>,
    address: usize,
}

fn listing(
    annotation: &Annotation,
    index: usize,
    sources: &mut SourceTexts<'_>,
    style: Style,
    out: &mut String,
) {
    let Some(heat) = annotation.events.get(index) else { return };
    let by_period = annotation
        .report
        .events
        .get(index)
        .is_some_and(|event| event.weighting == Weighting::Period);
    let digits = |most: u64| most.to_string().len();
    let most = |of: fn(&HotInstruction) -> u64| heat.hot.values().map(of).max().unwrap_or(0);
    let widths = Widths {
        count: digits(most(|hot| hot.count)).max("count".len()),
        period: by_period.then(|| digits(most(|hot| hot.period)).max("period".len())),
        address: format!("{:x}", annotation.routine.end).len().max("address".len()),
    };
    let (bold, plain) = if style.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let period = widths.period.map_or_else(String::new, |width| format!("  {:>width$}", "period"));
    let _ = writeln!(
        out,
        "{bold}{:>count$}{period}    share  {:>address$}  instruction{plain}",
        "count",
        "address",
        count = widths.count,
        address = widths.address
    );
    let mut source = SourceLines::new(style, widths.margin());
    for item in &annotation.items {
        match item {
            ListingItem::Line(line) => {
                source.write(line, sources, out);
                let hot = heat.hot.get(&line.address);
                write_line(line, hot, &widths, style, out);
                if let Some(HotInstruction { details: Some(details), count, .. }) = hot {
                    write_details(details, *count, &widths, out);
                }
            }
            ListingItem::Gap { start, end, instructions } => {
                source.forget();
                let margin = " ".repeat(widths.margin());
                let left_out = number_of(*instructions as u64, "instruction");
                let _ = writeln!(out, "{margin}... {left_out}, {start:x}-{end:x}");
            }
        }
    }
}

impl Widths {
    fn margin(&self) -> usize {
        self.count + self.period.map_or(0, |width| width + 2) + 9 + self.address + 4
    }
}

fn write_line(
    line: &InstructionLine,
    hot: Option<&HotInstruction>,
    widths: &Widths,
    style: Style,
    out: &mut String,
) {
    let color = hot.filter(|_| style.color).and_then(|hot| match hot.share {
        share if share >= HOT => Some("\x1b[31m"),
        share if share >= WARM => Some("\x1b[32m"),
        _ => None,
    });
    out.push_str(color.unwrap_or(""));
    let (count, period, share) = match hot {
        Some(hot) => (hot.count.to_string(), hot.period.to_string(), percent(hot.share)),
        None => Default::default(),
    };
    let _ = write!(out, "{count:>width$}", width = widths.count);
    if let Some(width) = widths.period {
        let _ = write!(out, "  {period:>width$}");
    }
    let _ = write!(out, "  {share:>7}  {:>width$x}  ", line.address, width = widths.address);
    let text = match (&line.text, &line.target) {
        (Some(text), Some(target)) => format!("{}  <{target}>", text.trim_end()),
        (Some(text), None) => text.trim_end().to_owned(),
        (None, _) => "?".to_owned(),
    };
    out.push_str(&printable(&text));
    out.push_str(color.map_or("", |_| "\x1b[0m"));
    if let Some(data) = &line.data {
        let (dim, plain) = if style.color { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        let _ = write!(out, "  {dim}; {}{plain}", printable(&data.to_string()));
    }
    out.push('\n');
}

fn write_details(details: &Details, count: u64, widths: &Widths, out: &mut String) {
    let margin = " ".repeat(widths.margin());
    let mut line = |text: &str| {
        let _ = writeln!(out, "{margin}> {}", printable(text));
    };
    if let Some(access) = &details.access {
        let operands: Vec<&str> =
            access.operands.iter().map(|operand| operand.text.as_str()).collect();
        line(&format!("{} {}", access.verb, operands.join(" and ")));
    }
    details.findings.iter().for_each(|finding| line(finding));
    for (what, names) in [("from", &details.levels), ("in", &details.variables)] {
        let told: Vec<String> = names
            .iter()
            .map(|(name, samples)| format!("{name} {}", percent(ratio(*samples, count))))
            .collect();
        // That the machine does not say is no news of any instruction.
        if !told.is_empty() && names[0].0 != NOT_AVAILABLE {
            line(&format!("{what} {}", told.join(", ")));
        }
    }
    let most = details.addresses.iter().map(|stretch| stretch.count).max().unwrap_or(0);
    if details.addresses.len() < 2 {
        return;
    }
    let whole = details.addresses.iter().fold(0_u64, |sum, it| sum.saturating_add(it.count));
    let digits = most.to_string().len();
    for stretch @ Stretch { from, count, .. } in &details.addresses {
        let length = stretch.length();
        let bar = "#".repeat(bar(ratio(*count, most)));
        let share = percent(ratio(*count, whole));
        line(&format!("{from:#x} +{length:<4} {count:>digits$} {share:>7} {bar}"));
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of 20, from 0 to 1"
)]
fn bar(part: f64) -> usize {
    (part * BAR).ceil() as usize
}

#[derive(Debug)]
struct SourceLines {
    style: Style,
    margin: usize,
    at: Option<(SourcePlace, Vec<Option<Arc<str>>>)>,
}

impl SourceLines {
    fn new(style: Style, margin: usize) -> SourceLines {
        SourceLines { style, margin, at: None }
    }

    /// After a gap, where one is has to be said again.
    fn forget(&mut self) {
        self.at = None;
    }

    /// Writes where an instruction comes from, if that is news.
    fn write(&mut self, line: &InstructionLine, sources: &mut SourceTexts<'_>, out: &mut String) {
        let Some(innermost) = line.frames.first() else { return };
        let Some(source) = &innermost.source else { return };
        let names: Vec<Option<Arc<str>>> =
            line.frames.iter().map(|frame| frame.name.clone()).collect();
        let place = SourcePlace { column: 0, ..source.clone() };
        let now = (place, names);
        if self.at.as_ref() == Some(&now) {
            return;
        }
        let is_new_chain = self.at.as_ref().is_none_or(|(_, names)| *names != now.1);
        let (dim, plain) = if self.style.color { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        let margin = " ".repeat(self.margin);
        let mut write = |text: &str| {
            let _ = writeln!(out, "{dim}{margin}; {}{plain}", printable(text));
        };
        if is_new_chain && innermost.inlined {
            write(&chain(&line.frames));
        }
        let SourcePlace { file, line: number, .. } = source;
        let text = (*number > 0).then(|| sources(file, *number)).flatten();
        let name = file.rsplit('/').next().unwrap_or(file);
        match text {
            _ if *number == 0 => write(&format!("{name}, of no line: the compiler's own")),
            Some(text) => write(&format!("{name}:{number}  {}", tidy(&text))),
            None => write(&format!("{file}:{number}")),
        }
        self.at = Some(now);
    }
}

/// `inlined: inner (at outer.rs:12) into middle (at main.rs:3) into outer`.
fn chain(frames: &[Frame]) -> String {
    let mut text = "inlined: ".to_owned();
    for (index, frame) in frames.iter().enumerate() {
        if index > 0 {
            text.push_str(" into ");
        }
        text.push_str(frame.name.as_deref().unwrap_or("a routine without a name"));
        if let (true, Some(SourcePlace { file, line, .. })) = (index > 0, &frame.source) {
            let name = file.rsplit('/').next().unwrap_or(file);
            // Writing to a String cannot fail.
            let _ = write!(text, " (at {name}:{line})");
        }
    }
    text
}
