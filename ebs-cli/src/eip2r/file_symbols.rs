//! The symbols of one ELF file, at the addresses that it was linked for.

use crate::terminal::debuginfod;
use anyhow::Context;
use std::fs::File;
use std::ops::Range;
use std::path::Path;
use symbolizer::{ElfSymbols, Reason, Resolution, SymbolizerOptions};

#[derive(Debug)]
pub(super) struct FileSymbols {
    symbols: ElfSymbols,
    /// From the first routine to the last.
    extent: Option<Range<u64>>,
    shown: String,
}

impl FileSymbols {
    pub(super) fn open(path: &Path) -> anyhow::Result<FileSymbols> {
        let shown = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {shown}"))?;
        let options = SymbolizerOptions {
            debuginfod: debuginfod::servers()?,
            ..SymbolizerOptions::default()
        };
        let symbols = ElfSymbols::find_for(file, path, &options)
            .with_context(|| format!("{shown} is no ELF file that can be read"))?;
        let mut stretches = symbols.stretches();
        let extent = stretches.next().map(|first| {
            let end = stretches.last().map_or(first.end, |last| last.end);
            first.start..end
        });
        Ok(FileSymbols { symbols, extent, shown })
    }

    pub(super) fn resolve(&self, address: u64) -> Resolution<'_> {
        let object = || self.shown.clone();
        match (self.symbols.find(address), &self.extent) {
            (Some(routine), _) => Resolution::Routine(routine),
            (None, _) if self.symbols.stripped().is_some() => {
                let id = self.symbols.stripped().unwrap_or_default().to_owned();
                Resolution::Unknown(Reason::Stripped { file: object(), id })
            }
            (None, None) => Resolution::Unknown(Reason::NoSymbols { file: object() }),
            (None, Some(extent)) if extent.contains(&address) => {
                Resolution::Unknown(Reason::BetweenSymbols { object: object() })
            }
            (None, Some(_)) => Resolution::Unknown(Reason::BeyondSymbols { object: object() }),
        }
    }
}
