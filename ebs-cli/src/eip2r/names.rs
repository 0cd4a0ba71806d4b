//! Addresses -> routines, or reasons against.

use super::arguments::Arguments;
use super::file_symbols::FileSymbols;
use super::machine::Machine;
use perfdata::printable::printable;
use rustc_hash::FxHashMap;
use symbolizer::{ObjectId, Reason, Resolution};

/// A routine, or a reason against: a number to count by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NameId(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: NameId,
    /// Bytes from the routine's start; none without a routine.
    pub(super) offset: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Name {
    /// The routine's name, or the reason's tag.
    pub(super) text: Box<str>,
    /// The routine's first address, in its file for user code; or why there
    /// is none.
    pub(super) start: Result<u64, String>,
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
    routines: FxHashMap<(Option<ObjectId>, u64), NameId>,
    reasons: FxHashMap<Reason, NameId>,
}

impl Names {
    pub(super) fn new(arguments: &Arguments) -> anyhow::Result<Names> {
        let source = match &arguments.executable {
            Some(path) => Source::File(Box::new(FileSymbols::open(path)?)),
            None => Source::Machine(Box::new(Machine::new(arguments)?)),
        };
        let (routines, reasons) = (FxHashMap::default(), FxHashMap::default());
        Ok(Names { source, names: Vec::new(), routines, reasons })
    }

    pub(super) fn find(&mut self, address: u64) -> Named {
        let next = NameId(self.names.len());
        let (object, resolution, has_process) = match &mut self.source {
            Source::Machine(machine) => {
                let has_process = machine.has_process();
                let (object, resolution) = machine.resolve(address);
                (Some(object), resolution, has_process)
            }
            Source::File(symbols) => (None, symbols.resolve(address), true),
        };
        match resolution {
            Resolution::Routine(routine) => {
                let name = *self.routines.entry((object, routine.start)).or_insert_with(|| {
                    let (text, start) = (printable(&routine.name).into(), Ok(routine.start));
                    self.names.push(Name { text, start });
                    next
                });
                Named { name, offset: Some(routine.offset) }
            }
            Resolution::Unknown(reason) => {
                let name = *self.reasons.entry(reason).or_insert_with_key(|reason| {
                    let why = match reason {
                        Reason::UnknownProcess if !has_process => {
                            "user address; say where the process's code lies with -m".to_owned()
                        }
                        reason => reason.to_string(),
                    };
                    let start = Err(format!("without a name: {why}"));
                    self.names.push(Name { text: reason.tag().into(), start });
                    next
                });
                Named { name, offset: None }
            }
        }
    }

    pub(super) fn get(&self, name: NameId) -> &Name {
        &self.names[name.0]
    }
}
