//! Who knows source lines: debug info of one file, or of all that is mapped.

use super::arguments::Arguments;
use super::file_symbols::FileSymbols;
use super::machine::Machine;
use crate::terminal::debuginfod;
use anyhow::anyhow;
use std::cell::OnceCell;
use std::path::PathBuf;
use symbolizer::{DebugFile, Frames, Reason, Resolution, SymbolizerOptions};

pub(super) enum LineSource {
    File(Box<FileLines>),
    /// What -s and -m describe.
    Machine(Box<Machine>),
}

/// What `-e` names.
pub(super) struct FileLines {
    file: DebugFile,
    path: PathBuf,
    /// Read once an address has no name; none if they cannot be.
    symbols: OnceCell<Option<FileSymbols>>,
}

impl LineSource {
    pub(super) fn open(arguments: &Arguments) -> anyhow::Result<LineSource> {
        let Some(path) = &arguments.executable else {
            return Ok(LineSource::Machine(Box::new(Machine::new(arguments)?)));
        };
        let options = SymbolizerOptions {
            debuginfod: debuginfod::servers()?,
            ..SymbolizerOptions::default()
        };
        let file = DebugFile::open(path, &options).map_err(|why| anyhow!("{why}"))?;
        let (path, symbols) = (path.clone(), OnceCell::new());
        Ok(LineSource::File(Box::new(FileLines { file, path, symbols })))
    }

    pub(super) fn frames(&mut self, addresses: &[u64]) -> Vec<Result<Frames, Reason>> {
        match self {
            LineSource::Machine(machine) => machine.frames(addresses),
            LineSource::File(lines) => addresses.iter().map(|at| lines.frames(*at)).collect(),
        }
    }
}

impl FileLines {
    fn frames(&self, address: u64) -> Result<Frames, Reason> {
        let frames = self.file.frames(address);
        match frames.frames.is_empty() {
            true => Err(self.why(address)),
            false => Ok(frames),
        }
    }

    fn why(&self, address: u64) -> Reason {
        let symbols = self.symbols.get_or_init(|| FileSymbols::open(&self.path).ok());
        match symbols.as_ref().map(|symbols| symbols.resolve(address)) {
            Some(Resolution::Unknown(why)) => why,
            _ => Reason::BetweenSymbols { object: self.path.display().to_string() },
        }
    }
}
