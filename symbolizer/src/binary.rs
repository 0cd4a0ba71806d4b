//! A mapped file, opened when first needed, its symbols read when first
//! needed.

use crate::elf::{self, ranges::Ranges, segments::Translation, symbols::Naming};
use crate::locate::{Located, locate, symbols_of};
use crate::object::MappedFile;
use crate::{Options, Reason};

/// What is known of a file so far.
#[derive(Debug, Default)]
pub(crate) enum Binary {
    /// Nobody asked yet.
    #[default]
    Unopened,
    /// Segments are known, symbols are not; the file is kept open, because
    /// its name may go away.
    Opened(Box<Located>),
    /// Everything is known. `stripped`: the file has no symbol table of its
    /// own, and no debug file was found; the text says how it is known.
    Read { segments: elf::segments::Segments, ranges: Ranges, stripped: Option<String> },
    /// It cannot be used.
    Failed(Reason),
    /// Segments are known, symbols cannot be had.
    Nameless(elf::segments::Segments, Reason),
}

impl Binary {
    /// Opens the file if that was not tried before. True if it is open now
    /// and was not before.
    pub(crate) fn open(&mut self, mapped: &MappedFile, options: &Options) -> bool {
        if !matches!(self, Binary::Unopened) {
            return false;
        }
        *self = match locate(mapped, options) {
            Ok(located) => Binary::Opened(Box::new(located)),
            Err(reason) => Binary::Failed(reason),
        };
        matches!(self, Binary::Opened(_))
    }

    /// Where its parts lie, if the file is open.
    pub(crate) fn segments(&self) -> Option<&elf::segments::Segments> {
        match self {
            Binary::Unopened | Binary::Failed(_) => None,
            Binary::Opened(located) => Some(&located.head.segments),
            Binary::Read { segments, .. } | Binary::Nameless(segments, _) => Some(segments),
        }
    }

    /// Whether it turned out that the file cannot be used.
    pub(crate) fn is_failed(&self) -> bool {
        matches!(self, Binary::Failed(_))
    }

    /// Link-time address of the code at an offset in the file, if the file
    /// is open.
    pub(crate) fn translate(&self, offset: u64) -> Option<Translation> {
        self.segments()?.translate(offset)
    }

    /// Reads the symbols if that was not tried before, and closes the file.
    pub(crate) fn read(&mut self, mapped: &MappedFile, options: &Options) {
        self.open(mapped, options);
        if let Binary::Opened(located) = self {
            let file = String::from_utf8_lossy(&mapped.path).into_owned();
            let (separate, stripped) = symbols_of(located, &mapped.path, options);
            let ranges =
                elf::ranges(&located.file, separate.as_ref().map(|it| &it.file), Naming::Code);
            let segments = std::mem::take(&mut located.head.segments);
            *self = match ranges {
                Ok(ranges) if ranges.is_empty() => {
                    Binary::Nameless(segments, Reason::NoSymbols { file })
                }
                Ok(ranges) => Binary::Read { segments, ranges, stripped },
                Err(error) => {
                    Binary::Nameless(segments, Reason::NotElf { file, why: error.to_string() })
                }
            };
        }
    }

    /// The symbols, once [`Binary::read`] was called.
    pub(crate) fn ranges(&self) -> Result<&Ranges, Reason> {
        match self {
            Binary::Read { ranges, .. } => Ok(ranges),
            Binary::Failed(reason) | Binary::Nameless(_, reason) => Err(reason.clone()),
            Binary::Unopened | Binary::Opened(_) => Err(Reason::NotMapped),
        }
    }

    /// Whether exported routines are all that has names: then its build id,
    /// or a word that it has none.
    pub(crate) fn stripped(&self) -> Option<&str> {
        match self {
            Binary::Read { stripped, .. } => stripped.as_deref(),
            _ => None,
        }
    }
}
