//! Who knows source lines: debug info of one file, or of all that is mapped.

use super::arguments::Arguments;
use super::file_symbols::FileSymbols;
use super::machine::Machine;
use crate::cache;
use crate::debuginfod;
use anyhow::anyhow;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;
use symbolizer::cache::indexed_file::IndexedFile;
use symbolizer::cache::indexes::Indexes;
use symbolizer::{Frames, Options, Reason, Resolution};

/// Who knows the lines.
pub(super) struct LineSource {
    source: Source,
    indexes: Option<Arc<Indexes>>,
}

enum Source {
    File(Box<FileLines>),
    /// What -s and -m describe.
    Machine(Box<Machine>),
}

/// What `-e` names.
struct FileLines {
    file: IndexedFile,
    path: PathBuf,
    /// Read once an address has no name; none if they cannot be.
    symbols: OnceCell<Option<FileSymbols>>,
}

impl LineSource {
    pub(super) fn open(arguments: &Arguments) -> anyhow::Result<LineSource> {
        let indexes = cache::indexes("eip2r", arguments.no_cache);
        let source = match &arguments.executable {
            None => Source::Machine(Box::new(Machine::new(arguments, indexes.clone())?)),
            Some(path) => {
                let debuginfod = debuginfod::servers()?;
                let options =
                    Options { indexes: indexes.clone(), debuginfod, ..Options::default() };
                let file = IndexedFile::open(path, &options).map_err(|why| anyhow!("{why}"))?;
                let (path, symbols) = (path.clone(), OnceCell::new());
                Source::File(Box::new(FileLines { file, path, symbols }))
            }
        };
        Ok(LineSource { source, indexes })
    }

    /// Lines and inlined callers of each of these addresses.
    pub(super) fn frames(&mut self, addresses: &[u64]) -> Vec<Result<Frames, Reason>> {
        match &mut self.source {
            Source::Machine(machine) => machine.frames(addresses),
            Source::File(lines) => addresses.iter().map(|at| lines.frames(*at)).collect(),
        }
    }

    /// Says that indexes were passed over, and makes them anew.
    pub(super) fn mend(self) {
        let LineSource { source, indexes } = self;
        drop(source);
        cache::mend("eip2r", indexes.as_deref());
    }
}

impl FileLines {
    fn frames(&mut self, address: u64) -> Result<Frames, Reason> {
        let frames = self.file.frames(address)?;
        match frames.frames.is_empty() {
            true => Err(self.why(address)),
            false => Ok(frames),
        }
    }

    /// Why an address has no name: as without lines.
    fn why(&self, address: u64) -> Reason {
        let symbols = self.symbols.get_or_init(|| FileSymbols::open(&self.path).ok());
        match symbols.as_ref().map(|symbols| symbols.resolve(address)) {
            Some(Resolution::Unknown(why)) => why,
            _ => Reason::BetweenSymbols { object: self.path.display().to_string() },
        }
    }
}
