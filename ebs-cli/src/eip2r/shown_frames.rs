//! Frames as a user sees them.

use super::arguments::Arguments;
use perfdata::printable::push_printable;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};
use symbolizer::{Frame, Frames, Reason};

/// What stands in the output for a line without a number.
const NO_NUMBER: &[u8] = b"- [no-number]\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// As `addr2line -a -f -i -p` does, with columns.
    Text,
    /// An object a line.
    Json,
}

impl Style {
    pub(super) fn of(arguments: &Arguments) -> Style {
        if arguments.json { Style::Json } else { Style::Text }
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    frames: Vec<ShownFrame<'a>>,
}

#[derive(Serialize)]
struct ShownFrame<'a> {
    routine: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
    inlined: bool,
}

/// A line of input that asks for nothing, or says nothing.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Other<'a> {
    /// Blank, or starts with #.
    Comment(Cow<'a, str>),
    Bad(Cow<'a, str>),
}

/// Writes a comment or a blank line as it came, so that there are as many
/// lines of output as of input.
pub(super) fn write_comment(out: &mut impl Write, line: &[u8], style: Style) -> io::Result<()> {
    match style {
        Style::Text => {
            out.write_all(line)?;
            out.write_all(b"\n")
        }
        Style::Json => write_other(out, &Other::Comment(String::from_utf8_lossy(line))),
    }
}

pub(super) fn write_bad(out: &mut impl Write, line: &[u8], style: Style) -> io::Result<()> {
    match style {
        Style::Text => out.write_all(NO_NUMBER),
        Style::Json => write_other(out, &Other::Bad(String::from_utf8_lossy(line))),
    }
}

fn write_other(out: &mut impl Write, line: &Other<'_>) -> io::Result<()> {
    analysis::json::write_line(line, &mut *out)?;
    out.write_all(b"\n")
}

/// What stands in the output for an address.
pub(super) fn shown(address: u64, found: Result<&Frames, &Reason>, style: Style) -> Vec<u8> {
    let mut out = Vec::new();
    match style {
        Style::Text => push_text(&mut out, address, found),
        Style::Json => push_json(&mut out, address, found),
    }
    out
}

fn push_text(out: &mut Vec<u8>, address: u64, found: Result<&Frames, &Reason>) {
    // A Vec takes everything.
    let _ = write!(out, "{address:016x} ");
    match found {
        Err(reason) => {
            out.extend_from_slice(reason.tag().as_bytes());
            out.push(b'\n');
        }
        Ok(frames) => {
            for (index, frame) in frames.frames.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(b" (inlined by) ");
                }
                push_frame(out, frame);
            }
        }
    }
}

fn push_frame(out: &mut Vec<u8>, frame: &Frame) {
    push_printable(frame.name.as_deref().unwrap_or("??").as_bytes(), out);
    out.extend_from_slice(b" at ");
    push_printable(frame.source.as_ref().map_or("??", |it| &it.file).as_bytes(), out);
    // As above.
    let _ = match &frame.source {
        None => writeln!(out, ":0"),
        Some(source) if source.column == 0 => writeln!(out, ":{}", source.line),
        Some(source) => writeln!(out, ":{}:{}", source.line, source.column),
    };
}

fn push_json(out: &mut Vec<u8>, address: u64, found: Result<&Frames, &Reason>) {
    let shown = Shown {
        address: format!("{address:#x}"),
        reason: found.err().map(ToString::to_string),
        frames: found.map_or(Vec::new(), |frames| frames.frames.iter().map(shown_frame).collect()),
    };
    // Strings and numbers can always be written, and a Vec takes everything.
    let _ = analysis::json::write_line(&shown, &mut *out);
    out.push(b'\n');
}

fn shown_frame(frame: &Frame) -> ShownFrame<'_> {
    let source = frame.source.as_ref();
    let known = |number: u32| (number != 0).then_some(number);
    ShownFrame {
        routine: frame.name.as_deref(),
        file: source.map(|source| &*source.file),
        line: source.and_then(|source| known(source.line)),
        column: source.and_then(|source| known(source.column)),
        inlined: frame.inlined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use symbolizer::{FrameDetail, SourcePlace};

    fn text(style: Style) -> String {
        let frame = |name: Option<&str>, line, column, inlined| Frame {
            name: name.map(Into::into),
            source: (line > 0).then(|| SourcePlace { file: "/s/a.c".into(), line, column }),
            first_line: None,
            inlined,
        };
        let frames = Frames {
            frames: [
                frame(Some("leaf"), 3, 7, true),
                frame(None, 9, 0, true),
                frame(Some("main"), 0, 0, false),
            ]
            .into(),
            depth: FrameDetail::Debug,
        };
        let reason = Reason::BetweenSymbols { object: "prog".to_owned() };
        let both = [shown(0x1234, Ok(&frames), style), shown(5, Err(&reason), style)];
        String::from_utf8(both.concat()).unwrap()
    }

    #[test]
    fn callers_follow_what_was_inlined_into_them() {
        let expected = "\
0000000000001234 leaf at /s/a.c:3:7
 (inlined by) ?? at /s/a.c:9
 (inlined by) main at ??:0
0000000000000005 [between-symbols]
";
        assert_eq!(text(Style::Text), expected);
    }

    #[test]
    fn json_has_an_object_for_each_address() {
        let all = text(Style::Json);
        let lines: Vec<serde_json::Value> =
            all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["frames"][0]["column"], 7);
        assert_eq!(lines[0]["frames"][2]["line"], serde_json::Value::Null);
        assert!(lines[1]["reason"].as_str().unwrap().contains("prog"), "{all}");
    }
}
