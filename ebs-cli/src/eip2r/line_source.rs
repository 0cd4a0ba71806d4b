//! Who knows source lines: debug info of one file, or of all that is mapped.

use super::arguments::Arguments;
use super::machine::Machine;
use symbolizer::{DebugFile, Frames, Options, Reason};

/// Who knows the lines.
pub(super) enum LineSource {
    File(Box<DebugFile>, String),
    Machine(Box<Machine>),
}

impl LineSource {
    pub(super) fn open(arguments: &Arguments) -> anyhow::Result<LineSource> {
        let Some(path) = &arguments.executable else {
            return Ok(LineSource::Machine(Box::new(Machine::new(arguments)?)));
        };
        let file =
            DebugFile::open(path, &Options::default()).map_err(|why| anyhow::anyhow!("{why}"))?;
        Ok(LineSource::File(Box::new(file), path.display().to_string()))
    }

    pub(super) fn frames(&mut self, address: u64) -> Result<Frames, Reason> {
        match self {
            LineSource::Machine(machine) => machine.frames(address),
            LineSource::File(file, shown) => {
                let frames = file.frames(address);
                match frames.frames.is_empty() {
                    true => Err(Reason::BetweenSymbols { object: shown.clone() }),
                    false => Ok(frames),
                }
            }
        }
    }
}
