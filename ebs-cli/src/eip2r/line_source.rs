//! Who knows source lines: debug info of one file, or of all that is mapped.

use super::arguments::Arguments;
use super::machine::Machine;
use crate::cache;
use crate::debuginfod;
use anyhow::anyhow;
use std::io::{self, Write};
use std::path::PathBuf;
use symbolizer::cache::folder::Folder;
use symbolizer::cache::indexed_file::IndexedFile;
use symbolizer::{Frames, Options, Reason};

/// Who knows the lines.
pub(super) enum LineSource {
    /// One file, by its index if it has one.
    File(Box<FileLines>),
    /// What -s and -m describe.
    Machine(Box<Machine>),
}

/// What `-e` names.
pub(super) struct FileLines {
    file: IndexedFile,
    path: PathBuf,
    folder: Option<Folder>,
}

impl LineSource {
    pub(super) fn open(arguments: &Arguments) -> anyhow::Result<LineSource> {
        let Some(path) = &arguments.executable else {
            return Ok(LineSource::Machine(Box::new(Machine::new(arguments)?)));
        };
        let folder = if arguments.no_cache { None } else { cache::folder("eip2r")? };
        let options = Options { debuginfod: debuginfod::servers()?, ..Options::default() };
        let file = IndexedFile::open(path, options, folder.as_ref());
        let file = file.map_err(|why| anyhow!("{why}"))?;
        Ok(LineSource::File(Box::new(FileLines { file, path: path.clone(), folder })))
    }

    pub(super) fn frames(&mut self, address: u64) -> Result<Frames, Reason> {
        match self {
            LineSource::Machine(machine) => machine.frames(address),
            LineSource::File(lines) => {
                let frames = lines.file.frames(address)?;
                match frames.frames.is_empty() {
                    true => {
                        let object = lines.path.display().to_string();
                        Err(Reason::BetweenSymbols { object })
                    }
                    false => Ok(frames),
                }
            }
        }
    }

    /// Says that an index was passed over, and makes it anew.
    pub(super) fn mend(&self) -> io::Result<()> {
        let LineSource::File(lines) = self else { return Ok(()) };
        let (Some(why), Some(folder)) = (lines.file.damage(), &lines.folder) else { return Ok(()) };
        let path = lines.path.display();
        let anew = match cache::add(folder, &lines.path) {
            Ok(_) => "made anew".to_owned(),
            Err(error) => format!("and not made anew: {error:#}"),
        };
        writeln!(io::stderr(), "eip2r: the index of {path} was not used: {why}; {anew}")
    }
}
