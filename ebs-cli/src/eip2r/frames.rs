//! `--lines`: source lines and inlined callers of each address.
//!
//! What a profile hits, it hits again: of each chunk of the input the
//! addresses that were not seen before are sorted, asked for in that order,
//! which reads each unit of debug info once, and then every line is answered
//! from what is known.

use super::arguments::Arguments;
use super::bad_lines::BadLines;
use super::input::{Buffer, Input};
use super::line::{Line, Lines};
use super::line_source::LineSource;
use super::output::Output;
use super::shown_frames::{Style, push, push_bad, push_comment};
use crate::terminal::say;
use anyhow::Context;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use symbolizer::Depth;

/// Bytes of a regular file that are one chunk; of a pipe it is what one read
/// gives, since somebody may wait for the answer.
const CHUNK: usize = 16 << 20;
/// Addresses that are asked for together: their answers are in memory twice.
const AT_ONCE: usize = 1 << 16;
/// Bytes of answers kept; then they begin anew.
const MOST_KEPT: usize = 256 << 20;
#[derive(Default)]
struct Known {
    texts: Vec<u8>,
    answers: FxHashMap<u64, Answer>,
    /// Why there is no name, or no line.
    reasons: Vec<String>,
    numbers: FxHashMap<String, u32>,
    counts: Vec<u64>,
}

#[derive(Clone)]
struct Answer {
    text: Range<usize>,
    reason: Option<u32>,
}

impl Known {
    fn ask(&mut self, mut addresses: Vec<u64>, source: &mut LineSource, style: Style) {
        if self.texts.len() > MOST_KEPT {
            self.texts.clear();
            self.answers.clear();
        }
        addresses.retain(|address| !self.answers.contains_key(address));
        addresses.sort_unstable();
        addresses.dedup();
        for some in addresses.chunks(AT_ONCE) {
            self.learn(some, source, style);
        }
    }

    fn learn(&mut self, addresses: &[u64], source: &mut LineSource, style: Style) {
        for (&address, found) in addresses.iter().zip(source.frames(addresses)) {
            let why = match &found {
                Ok(frames) => match &frames.depth {
                    Depth::Debug => None,
                    Depth::Lines(why) => Some(format!("without inlined callers: {why}")),
                    Depth::Symbols(why) => Some(format!("without a line: {why}")),
                },
                Err(reason) => Some(format!("without a name: {reason}")),
            };
            let at = self.texts.len();
            push(&mut self.texts, address, found.as_ref(), style);
            let reason = why.map(|why| self.reason(why));
            self.answers.insert(address, Answer { text: at..self.texts.len(), reason });
        }
    }

    fn reason(&mut self, why: String) -> u32 {
        *self.numbers.entry(why).or_insert_with_key(|why| {
            self.reasons.push(why.clone());
            self.counts.push(0);
            u32::try_from(self.reasons.len() - 1).unwrap_or(u32::MAX)
        })
    }

    fn replay(&mut self, address: u64, output: &mut Output) -> io::Result<()> {
        if let Some(answer) = self.answers.get(&address) {
            output.buffer.extend_from_slice(&self.texts[answer.text.clone()]);
            if let Some(count) =
                answer.reason.and_then(|reason| self.counts.get_mut(reason as usize))
            {
                *count += 1;
            }
        }
        output.settle()
    }

    /// Says on stderr which addresses got no name or line and why.
    fn report(&self) {
        let counted: BTreeMap<&String, &u64> =
            self.reasons.iter().zip(&self.counts).filter(|(_, count)| **count > 0).collect();
        for (reason, count) in counted {
            let addresses = if *count == 1 { "address" } else { "addresses" };
            say("eip2r", &format!("{count} {addresses} {reason}"));
        }
    }
}

pub(super) fn print(
    input: &File,
    output: &mut Output,
    source: &mut LineSource,
    arguments: &Arguments,
) -> anyhow::Result<BadLines> {
    let mut known = Known::default();
    let mut bad = BadLines::default();
    let position = arguments.position.get() - 1;
    let style = if arguments.json { Style::Json } else { Style::Text };
    let is_file = input.metadata().is_ok_and(|metadata| metadata.is_file());
    let chunk_size = if is_file { CHUNK } else { 1 };
    let mut input = Input::new(input);
    let (mut text, mut buffer) = (Vec::new(), Buffer::new());
    while fill((&mut input, &mut buffer), &mut text, chunk_size).context("cannot read the input")? {
        known.ask(addresses(&text, position), source, style);
        for line in Lines::new(&text, position) {
            match line {
                Line::Address(address) => {
                    bad.good(1);
                    known.replay(address, output).context("cannot write the output")?;
                }
                Line::Comment(line) => {
                    bad.good(1);
                    push_comment(&mut output.buffer, line, style);
                }
                Line::Heading => bad.good(1),
                Line::Bad(line) => {
                    bad.bad(line);
                    push_bad(&mut output.buffer, line, style);
                }
            }
        }
        output.flush().context("cannot write the output")?;
    }
    known.report();
    Ok(bad)
}

/// Whole lines, about `size` bytes of them; whether there were any.
fn fill(
    (input, buffer): (&mut Input<impl Read>, &mut Buffer),
    text: &mut Vec<u8>,
    size: usize,
) -> io::Result<bool> {
    text.clear();
    while text.len() < size {
        let Some(block) = input.next_block(buffer)? else { break };
        text.extend_from_slice(block);
    }
    Ok(!text.is_empty())
}

fn addresses(text: &[u8], position: usize) -> Vec<u64> {
    let address = |line| match line {
        Line::Address(address) => Some(address),
        Line::Comment(_) | Line::Heading | Line::Bad(_) => None,
    };
    Lines::new(text, position).filter_map(address).collect()
}
