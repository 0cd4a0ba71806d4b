//! Address -> its line of output, and those of the callers that it was
//! inlined into.
//!
//! What a profile hits, it hits again: each address is asked for once. Those
//! of a batch can be asked for together, in their order, which reads each
//! unit of debug info once.

use super::arguments::Arguments;
use super::line_source::LineSource;
use super::names::{NameId, Named, Names};
use super::shortfalls::Shortfalls;
use super::shown_frames::{Style, shown};
use perfdata::text::hexadecimal;
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use symbolizer::FrameDetail;

/// Addresses whose names are kept, and bytes of answers with lines; then they begin anew.
const MOST_NAMED: usize = 1 << 21;
const MOST_BYTES: usize = 64 << 20;

pub(super) enum Answers {
    Names(NameAnswers),
    Lines(LineAnswers),
}

/// The routine of an address is a number: the texts of routines are few, and a profile's
/// addresses are many.
pub(super) struct NameAnswers {
    names: Names,
    has_offset: bool,
    known: FxHashMap<u64, Named>,
    /// Lines of output for each name that is a reason against one, by its number.
    unnamed: FxHashMap<NameId, u64>,
}

pub(super) struct LineAnswers {
    lines: LineSource,
    style: Style,
    known: FxHashMap<u64, LineAnswer>,
    bytes: usize,
    shortfalls: Shortfalls,
}

struct LineAnswer {
    text: Box<[u8]>,
    /// The reason for what it lacks.
    shortfall: Option<usize>,
}

impl Answers {
    pub(super) fn new(arguments: &Arguments) -> anyhow::Result<Answers> {
        Ok(match arguments.lines {
            true => Answers::Lines(LineAnswers {
                lines: LineSource::open(arguments)?,
                style: Style::of(arguments),
                known: FxHashMap::default(),
                bytes: 0,
                shortfalls: Shortfalls::default(),
            }),
            false => Answers::Names(NameAnswers {
                names: Names::new(arguments)?,
                has_offset: arguments.offset,
                known: FxHashMap::default(),
                unnamed: FxHashMap::default(),
            }),
        })
    }

    pub(super) fn write(&mut self, address: u64, out: &mut impl Write) -> io::Result<()> {
        match self {
            Answers::Names(answers) => answers.write(address, out),
            Answers::Lines(answers) => answers.write(address, out),
        }
    }

    /// Says on stderr which addresses got no name or line and why.
    pub(super) fn report(self) {
        match self {
            Answers::Names(answers) => {
                let mut shortfalls = Shortfalls::default();
                for (name, addresses) in answers.unnamed {
                    if let Err(why) = &answers.names.get(name).start {
                        let number = shortfalls.number(why);
                        shortfalls.add(number, addresses);
                    }
                }
                shortfalls.report();
            }
            Answers::Lines(answers) => answers.shortfalls.report(),
        }
    }
}

impl NameAnswers {
    fn write(&mut self, address: u64, out: &mut impl Write) -> io::Result<()> {
        if self.known.len() >= MOST_NAMED {
            self.known.clear();
        }
        let NameAnswers { names, known, .. } = self;
        let named = *known.entry(address).or_insert_with(|| names.find(address));
        out.write_all(&hexadecimal(address))?;
        out.write_all(b" ")?;
        out.write_all(names.get(named.name).text.as_bytes())?;
        match named.offset {
            Some(offset) if self.has_offset => write!(out, "+{offset:#x}")?,
            Some(_) => {}
            None => *self.unnamed.entry(named.name).or_default() += 1,
        }
        out.write_all(b"\n")
    }
}

impl LineAnswers {
    /// Asks for those of the addresses that are not known.
    pub(super) fn learn(&mut self, mut addresses: Vec<u64>) {
        let LineAnswers { lines, style, known, bytes, shortfalls } = self;
        if *bytes > MOST_BYTES {
            known.clear();
            *bytes = 0;
        }
        addresses.retain(|address| !known.contains_key(address));
        addresses.sort_unstable();
        addresses.dedup();
        for (&address, found) in addresses.iter().zip(lines.frames(&addresses)) {
            let why = match &found {
                Ok(frames) => match &frames.depth {
                    FrameDetail::Debug => None,
                    FrameDetail::Lines(why) => Some(format!("without inlined callers: {why}")),
                    FrameDetail::Symbols(why) => Some(format!("without a line: {why}")),
                },
                Err(reason) => Some(format!("without a name: {reason}")),
            };
            let text = shown(address, found.as_ref(), *style).into_boxed_slice();
            *bytes += text.len() + size_of::<(u64, LineAnswer)>();
            let shortfall = why.map(|why| shortfalls.number(&why));
            known.insert(address, LineAnswer { text, shortfall });
        }
    }

    fn write(&mut self, address: u64, out: &mut impl Write) -> io::Result<()> {
        if !self.known.contains_key(&address) {
            self.learn(vec![address]);
        }
        let answer = &self.known[&address];
        if let Some(number) = answer.shortfall {
            self.shortfalls.add(number, 1);
        }
        out.write_all(&answer.text)
    }
}
