//! Addresses -> routines, each asked for once.

use super::arguments::Arguments;
use super::direct::Direct;
use super::file_symbols::FileSymbols;
use super::machine::Machine;
use crate::terminal::say;
use perfdata::printable::printable;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;
use symbolizer::{ObjectId, Reason, Resolution};

/// A routine, or a reason against: a number to count by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NameId(u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: NameId,
    /// Bytes from the routine's start; none without a routine.
    pub(super) offset: Option<u64>,
}

#[derive(Debug)]
struct Name {
    text: Box<str>,
    start: Option<u64>,
}

#[derive(Debug)]
enum Source {
    /// The kernel's list, and what a process maps.
    Machine(Box<Machine>),
    File(Box<FileSymbols>),
}

#[derive(Debug)]
pub(super) struct Names {
    source: Source,
    names: Vec<Name>,
    /// By object, of which one file alone has no number, and first address.
    known: FxHashMap<(Option<ObjectId>, u64), NameId>,
    reasons: FxHashMap<Reason, NameId>,
    /// Addresses of one routine of the kernel. Those of files may have others
    /// inside.
    last: (Range<u64>, NameId),
    dense: Vec<Range<u64>>,
    /// How many addresses got each reason.
    without: FxHashMap<NameId, u64>,
}

impl Names {
    pub(super) fn new(arguments: &Arguments) -> anyhow::Result<Names> {
        let source = match &arguments.executable {
            Some(path) => Source::File(Box::new(FileSymbols::open(path)?)),
            None => Source::Machine(Box::new(Machine::new(arguments)?)),
        };
        let dense = match &source {
            Source::Machine(machine) => machine.dense().to_vec(),
            Source::File(symbols) => symbols.extent().into_iter().collect(),
        };
        Ok(Names {
            source,
            names: Vec::new(),
            known: FxHashMap::default(),
            reasons: FxHashMap::default(),
            last: (0..0, NameId(0)),
            dense,
            without: FxHashMap::default(),
        })
    }

    pub(super) fn dense(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.dense.iter().cloned()
    }

    /// The routines that need no search: the kernel's, or those of the file.
    pub(super) fn direct(&mut self) -> Direct {
        match &mut self.source {
            Source::Machine(machine) => machine.direct(),
            Source::File(symbols) => Direct::new(symbols.stretches()),
        }
    }

    /// Whether a stretch of [`Names::direct`] that is no gap is a whole
    /// routine: of the kernel, none lies within another.
    pub(super) fn is_flat(&self) -> bool {
        matches!(self.source, Source::Machine(_))
    }

    /// Appends the name of a routine of [`Names::direct`], of which `address`
    /// is one; gives its first address.
    pub(super) fn push_routine(&mut self, out: &mut Vec<u8>, routine: u32, address: u64) -> u64 {
        match &mut self.source {
            Source::Machine(machine) => {
                machine.push_routine(out, routine);
                address
            }
            Source::File(symbols) => symbols.push_routine(out, address),
        }
    }

    pub(super) fn find(&mut self, address: u64, count: u64) -> Named {
        let named = self.look_up(address);
        if named.offset.is_none() {
            self.without(named.name, count);
        }
        named
    }

    /// The routine of an address; the caller tells how often there was none.
    pub(super) fn look_up(&mut self, address: u64) -> Named {
        let (range, name) = &self.last;
        if range.contains(&address) {
            return Named { name: *name, offset: Some(address - range.start) };
        }
        self.ask(address)
    }

    /// So many addresses got a reason in place of a name.
    pub(super) fn without(&mut self, name: NameId, count: u64) {
        *self.without.entry(name).or_default() += count;
    }

    fn ask(&mut self, address: u64) -> Named {
        let next = NameId(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        let (object, resolution, is_flat) = match &mut self.source {
            Source::Machine(machine) => {
                let is_kernel = machine.is_kernel(address);
                let (object, resolution) = machine.resolve(address);
                (Some(object), resolution, is_kernel)
            }
            Source::File(symbols) => (None, symbols.resolve(address), false),
        };
        match resolution {
            Resolution::Routine(routine) => {
                let (start, offset) = (routine.start, Some(routine.offset));
                let name = *self.known.entry((object, start)).or_insert_with(|| {
                    let text = printable(&routine.name).into();
                    self.names.push(Name { text, start: Some(start) });
                    next
                });
                if is_flat {
                    self.last = (start..routine.end, name);
                }
                Named { name, offset }
            }
            Resolution::Unknown(reason) => {
                let text = reason.tag().into();
                let name = *self.reasons.entry(reason).or_insert_with(|| {
                    self.names.push(Name { text, start: None });
                    next
                });
                Named { name, offset: None }
            }
        }
    }

    /// The routine's name, or a reason's tag.
    pub(super) fn text(&self, name: NameId) -> &str {
        &self.name(name).text
    }

    /// The routine's first address: in its file for user code.
    pub(super) fn start(&self, name: NameId) -> Option<u64> {
        self.name(name).start
    }

    fn name(&self, name: NameId) -> &Name {
        &self.names[name.0 as usize]
    }

    fn has_no_process(&self) -> bool {
        matches!(&self.source, Source::Machine(machine) if machine.has_no_process())
    }

    fn reason_text(&self, name: NameId) -> String {
        let reason =
            self.reasons.iter().find(|(_, known)| **known == name).map(|(reason, _)| reason);
        match reason {
            Some(Reason::UnknownProcess) if self.has_no_process() => {
                "user address; say where the process's code lies with -m".to_owned()
            }
            Some(reason) => reason.to_string(),
            None => String::new(),
        }
    }

    /// Says on stderr which addresses got no name and why.
    pub(super) fn report(&self) {
        let mut without: BTreeMap<String, u64> = BTreeMap::new();
        for (&name, count) in &self.without {
            *without.entry(self.reason_text(name)).or_default() += count;
        }
        for (reason, count) in &without {
            let addresses = if *count == 1 { "address" } else { "addresses" };
            say("eip2r", &format!("{count} {addresses} without a name: {reason}"));
        }
    }
}
