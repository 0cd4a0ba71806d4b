//! A mapped file, opened when first needed, its symbols read when first
//! needed.

use super::locate::locate;
use super::objects::MappedFile;
use crate::elf::{self, ranges::Ranges, segments::OffsetTranslation, symbols::Naming};
use crate::files::located_file::LocatedFile;
use crate::files::separate::symbols_of;
use crate::{Reason, SymbolizerOptions};

#[derive(Debug, Default)]
pub(crate) enum MappedSymbols {
    /// Nobody asked yet.
    #[default]
    Unopened,
    /// Segments are known, symbols are not; the file is kept open, because
    /// its name may go away.
    Opened(Box<LocatedFile>),
    /// Everything is known. `stripped`: the file has no symbol table of its
    /// own, and no debug file was found; the text says how it is known.
    Read { segments: elf::segments::Segments, ranges: Ranges, stripped: Option<String> },
    /// It cannot be used.
    Failed(Reason),
    /// Segments are known, symbols cannot be had.
    Nameless(elf::segments::Segments, Reason),
}

impl MappedSymbols {
    /// Opens the file if that was not tried before. True if it is open now
    /// and was not before.
    pub(crate) fn open(&mut self, mapped: &MappedFile, options: &SymbolizerOptions) -> bool {
        if !matches!(self, MappedSymbols::Unopened) {
            return false;
        }
        *self = match locate(mapped, options) {
            Ok(located) => MappedSymbols::Opened(Box::new(located)),
            Err(reason) => MappedSymbols::Failed(reason),
        };
        matches!(self, MappedSymbols::Opened(_))
    }

    /// Where its parts lie, if the file is open.
    pub(crate) fn segments(&self) -> Option<&elf::segments::Segments> {
        match self {
            MappedSymbols::Unopened | MappedSymbols::Failed(_) => None,
            MappedSymbols::Opened(located) => Some(&located.head.segments),
            MappedSymbols::Read { segments, .. } | MappedSymbols::Nameless(segments, _) => {
                Some(segments)
            }
        }
    }

    pub(crate) fn is_failed(&self) -> bool {
        matches!(self, MappedSymbols::Failed(_))
    }

    /// Link-time address of the code at an offset in the file, if the file
    /// is open.
    pub(crate) fn translate(&self, offset: u64) -> Option<OffsetTranslation> {
        self.segments()?.translate(offset)
    }

    /// Reads the symbols if that was not tried before, and closes the file.
    pub(crate) fn read(&mut self, mapped: &MappedFile, options: &SymbolizerOptions) {
        self.open(mapped, options);
        if let MappedSymbols::Opened(located) = self {
            let file = String::from_utf8_lossy(&mapped.path).into_owned();
            let (separate, stripped) = symbols_of(located, &mapped.path, options);
            let ranges =
                elf::ranges(&located.file, separate.as_ref().map(|it| &it.file), Naming::Code);
            let segments = std::mem::take(&mut located.head.segments);
            *self = match ranges {
                Ok(ranges) if ranges.is_empty() => {
                    MappedSymbols::Nameless(segments, Reason::NoSymbols { file })
                }
                Ok(ranges) => MappedSymbols::Read { segments, ranges, stripped },
                Err(error) => MappedSymbols::Nameless(
                    segments,
                    Reason::NotElf { file, why: error.to_string() },
                ),
            };
        }
    }

    /// The symbols, once [`MappedSymbols::read`] was called.
    pub(crate) fn ranges(&self) -> Result<&Ranges, Reason> {
        match self {
            MappedSymbols::Read { ranges, .. } => Ok(ranges),
            MappedSymbols::Failed(reason) | MappedSymbols::Nameless(_, reason) => {
                Err(reason.clone())
            }
            MappedSymbols::Unopened | MappedSymbols::Opened(_) => Err(Reason::NotMapped),
        }
    }

    /// Whether exported routines are all that has names: then its build id,
    /// or a word that it has none.
    pub(crate) fn stripped(&self) -> Option<&str> {
        match self {
            MappedSymbols::Read { stripped, .. } => stripped.as_deref(),
            _ => None,
        }
    }
}
