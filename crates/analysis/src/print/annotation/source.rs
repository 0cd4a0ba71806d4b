//! Source lines between instructions.

use super::SourceTexts;
use crate::annotate::InstructionLine;
use crate::print::table::{Style, printable, tidy};
use std::fmt::Write;
use std::sync::Arc;
use symbolizer::{Frame, SourcePlace};

/// What was written last.
#[derive(Debug)]
pub(super) struct SourceLines {
    style: Style,
    margin: usize,
    at: Option<(SourcePlace, Vec<Option<Arc<str>>>)>,
}

impl SourceLines {
    pub(super) fn new(style: Style, margin: usize) -> SourceLines {
        SourceLines { style, margin, at: None }
    }

    /// After a gap, where one is has to be said again.
    pub(super) fn forget(&mut self) {
        self.at = None;
    }

    /// Writes where an instruction comes from, if that is news.
    pub(super) fn write(
        &mut self,
        line: &InstructionLine,
        sources: &mut SourceTexts<'_>,
        out: &mut String,
    ) {
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
