//! Address -> its line of output, and those of the callers that it was
//! inlined into.
//!
//! What a profile hits, it hits again: each address is asked for once. Those
//! of a batch can be asked for together, in their order, which reads each
//! unit of debug info once.

use super::arguments::Arguments;
use super::line_source::LineSource;
use super::names::Names;
use super::shortfalls::Shortfalls;
use super::shown_frames::{Style, shown};
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use symbolizer::Depth;

/// Bytes of answers kept; then they begin anew.
const MOST_KEPT: usize = 64 << 20;

pub(super) struct Answers {
    source: AnswerSource,
    known: FxHashMap<u64, Answer>,
    kept: usize,
    shortfalls: Shortfalls,
}

enum AnswerSource {
    Names { names: Names, offset: bool },
    Lines { lines: LineSource, style: Style },
}

struct Answer {
    text: Box<[u8]>,
    /// The reason for what it lacks.
    shortfall: Option<usize>,
}

impl Answers {
    pub(super) fn new(arguments: &Arguments) -> anyhow::Result<Answers> {
        let source = match arguments.lines {
            true => AnswerSource::Lines {
                lines: LineSource::open(arguments)?,
                style: Style::of(arguments),
            },
            false => {
                AnswerSource::Names { names: Names::new(arguments)?, offset: arguments.offset }
            }
        };
        let (known, shortfalls) = (FxHashMap::default(), Shortfalls::default());
        Ok(Answers { source, known, kept: 0, shortfalls })
    }

    /// Asks for those of the addresses that are not known.
    pub(super) fn learn(&mut self, mut addresses: Vec<u64>) {
        let Answers { source, known, kept, shortfalls } = self;
        if *kept > MOST_KEPT {
            known.clear();
            *kept = 0;
        }
        addresses.retain(|address| !known.contains_key(address));
        addresses.sort_unstable();
        addresses.dedup();
        let mut keep = |address, text: Vec<u8>, why: Option<&str>| {
            *kept += text.len() + size_of::<(u64, Answer)>();
            let shortfall = why.map(|why| shortfalls.number(why));
            known.insert(address, Answer { text: text.into(), shortfall });
        };
        match source {
            AnswerSource::Names { names, offset } => {
                for address in addresses {
                    let (text, why) = named(names, address, *offset);
                    keep(address, text, why);
                }
            }
            AnswerSource::Lines { lines, style } => {
                for (&address, found) in addresses.iter().zip(lines.frames(&addresses)) {
                    let why = match &found {
                        Ok(frames) => match &frames.depth {
                            Depth::Debug => None,
                            Depth::Lines(why) => Some(format!("without inlined callers: {why}")),
                            Depth::Symbols(why) => Some(format!("without a line: {why}")),
                        },
                        Err(reason) => Some(format!("without a name: {reason}")),
                    };
                    keep(address, shown(address, found.as_ref(), *style), why.as_deref());
                }
            }
        }
    }

    pub(super) fn write(&mut self, address: u64, out: &mut impl Write) -> io::Result<()> {
        let answer = match self.known.get(&address) {
            Some(answer) => answer,
            None => {
                self.learn(vec![address]);
                &self.known[&address]
            }
        };
        if let Some(number) = answer.shortfall {
            self.shortfalls.add(number, 1);
        }
        out.write_all(&answer.text)
    }

    /// Says on stderr which addresses got no name or line and why.
    pub(super) fn report(&self) {
        self.shortfalls.report();
    }
}

/// A line of output; and why it has no name.
fn named(names: &mut Names, address: u64, offset: bool) -> (Vec<u8>, Option<&str>) {
    let named = names.find(address);
    let name = names.get(named.name);
    let text = match named.offset.filter(|_| offset) {
        Some(offset) => format!("{address:016x} {}+{offset:#x}\n", name.text),
        None => format!("{address:016x} {}\n", name.text),
    };
    (text.into_bytes(), name.start.as_ref().err().map(String::as_str))
}
