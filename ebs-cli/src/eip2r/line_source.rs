//! Who knows source lines: debug info of one file, or of all that is mapped.

use super::arguments::Arguments;
use super::machine::Machine;
use crate::cache;
use crate::debuginfod;
use anyhow::anyhow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use symbolizer::cache::indexed_file::IndexedFile;
use symbolizer::cache::indexes::Indexes;
use symbolizer::{Frames, Options, Reason};

/// Who knows the lines.
pub(super) struct LineSource {
    source: Source,
    indexes: Option<Arc<Indexes>>,
}

enum Source {
    /// What `-e` names.
    File(Box<IndexedFile>, PathBuf),
    /// What -s and -m describe.
    Machine(Box<Machine>),
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
                Source::File(Box::new(file), path.clone())
            }
        };
        Ok(LineSource { source, indexes })
    }

    /// Lines and inlined callers of each of these addresses.
    pub(super) fn frames(&mut self, addresses: &[u64]) -> Vec<Result<Frames, Reason>> {
        match &mut self.source {
            Source::Machine(machine) => machine.frames(addresses),
            Source::File(file, path) => {
                addresses.iter().map(|at| of_file(file, path, *at)).collect()
            }
        }
    }

    /// Says that indexes were passed over, and makes them anew.
    pub(super) fn mend(self) {
        let LineSource { source, indexes } = self;
        drop(source);
        cache::mend("eip2r", indexes.as_deref());
    }
}

fn of_file(file: &mut IndexedFile, path: &Path, address: u64) -> Result<Frames, Reason> {
    let frames = file.frames(address)?;
    match frames.frames.is_empty() {
        true => Err(Reason::BetweenSymbols { object: path.display().to_string() }),
        false => Ok(frames),
    }
}
