//! One ELF file on its own, without processes.

use super::bytes::FileBytes;
use super::debug::{Debug, DebugAnswer, Sections};
use super::finder::Finder;
use super::layout::Layout;
use super::relocate;
use super::sections::DebugUse;
use crate::answer::{Frame, FrameDetail, Frames, MissingDebugInfo};
use crate::elf::head::hex;
use crate::elf::{self, ElfError, head::ElfHead, ranges::Ranges, symbols::Naming};
use crate::files::located_file::{LocatedFile, build_in_words, named};
use crate::files::separate::{DebugNeed, Separate, locate_debug, locate_supplementary};
use crate::{Reason, SymbolizerOptions};
use object::{ReadCache, ReadRef};
use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// One ELF file: a program, a library, a debug file, a vmlinux, a module.
///
/// Addresses are link-time ones, as `objdump -d` shows them; in a file that
/// is not linked (a module), `.text` lies at 0 and
/// [`DebugFile::section`] tells where the others are taken to lie. Units of
/// debug info are read when an address within one is first asked for.
#[derive(Debug)]
pub struct DebugFile {
    file: Arc<str>,
    head: ElfHead,
    /// Where the sections of a file that is not linked lie.
    sections: Vec<(Box<[u8]>, u64)>,
    /// None: its symbols are known.
    program: Option<File>,
    separate: Option<File>,
    symbols: OnceCell<Option<Ranges>>,
    debug: Result<RefCell<Debug>, MissingDebugInfo>,
    /// What is added to an address to look it up in the debug info: prelink
    /// may have moved the program.
    moved: u64,
}

/// A file, and the separate debug file that it needs, before either is read.
#[derive(Debug)]
pub(crate) struct FoundDebugFile {
    pub(crate) located: LocatedFile,
    pub(crate) layout: Layout,
    pub(crate) separate: Option<Separate>,
}

impl FoundDebugFile {
    /// The debug file is looked for only where the program has nothing.
    pub(crate) fn of(
        located: LocatedFile,
        path: &[u8],
        options: &SymbolizerOptions,
    ) -> Result<FoundDebugFile, Reason> {
        let layout = Layout::read(&located.file).map_err(|error| {
            let file = String::from_utf8_lossy(path).into_owned();
            Reason::NotElf { file, why: error.to_string() }
        })?;
        let separate = match layout.has_debug_info() {
            true => None,
            false => locate_debug(&located, path, options, DebugNeed::Lines),
        };
        Ok(FoundDebugFile { located, layout, separate })
    }

    /// Bytes of the file that has the debug info, as it lies on the disk.
    pub(crate) fn size(&self) -> u64 {
        let program = || self.layout.has_debug_info().then_some(&self.located.file);
        let file = self.separate.as_ref().map(|it| &it.file).or_else(program);
        file.map_or(0, |file| file.len().unwrap_or(0))
    }
}

impl DebugFile {
    /// Opens a file below `options.root`, and what belongs to it: its
    /// separate debug file is found as [`crate::Symbolizer`] finds it.
    ///
    /// # Errors
    /// The file is not there, cannot be read, or is no ELF file.
    pub fn open(path: &Path, options: &SymbolizerOptions) -> Result<DebugFile, Reason> {
        let (located, path) = named(path, options)?;
        let path = path.as_os_str().as_bytes();
        Ok(DebugFile::of(FoundDebugFile::of(located, path, options)?, path, options))
    }

    /// A file from its bytes alone, without a separate debug file or split
    /// units.
    ///
    /// # Errors
    /// They are no ELF file.
    pub fn parse(bytes: &[u8]) -> Result<DebugFile, ElfError> {
        let file: Arc<str> = "memory".into();
        let head = elf::head(bytes)?;
        let layout = Layout::read(bytes)?;
        let debug = match layout.has_debug_info() {
            true => {
                let sections =
                    Sections::of(&FileBytes::Memory(bytes.into()), &layout, DebugUse::Frames);
                let damaged = |why: String| MissingDebugInfo::Damaged {
                    file: Arc::clone(&file),
                    why: why.into(),
                };
                sections
                    .map(|sections| RefCell::new(Debug::new(sections, None, None)))
                    .map_err(damaged)
            }
            false => Err(absent(&file, &head, &SymbolizerOptions::default())),
        };
        let symbols = OnceCell::from(elf::ranges(bytes, None, Naming::Code).ok());
        let sections = sections(layout);
        Ok(DebugFile {
            file,
            head,
            sections,
            program: None,
            separate: None,
            symbols,
            debug,
            moved: 0,
        })
    }

    pub(crate) fn of(found: FoundDebugFile, path: &[u8], options: &SymbolizerOptions) -> DebugFile {
        let file: Arc<str> = String::from_utf8_lossy(path).into();
        let FoundDebugFile { located: LocatedFile { file: program, head, root }, layout, separate } =
            found;
        let program = program.into_inner();
        let finder = Finder { root, program: path.into(), options: options.clone() };
        let damaged =
            |why: String| MissingDebugInfo::Damaged { file: Arc::clone(&file), why: why.into() };
        let (debug, moved, separate) = match separate {
            Some(Separate { file, head: other, path, root }) => {
                let separate = file.into_inner();
                let holder = DebugHolder { root: &root, path: &path, head: &other, options };
                let debug = holder.read(&separate, finder).map_err(damaged);
                let moved = match (head.lowest(), other.lowest()) {
                    (Some(own), Some(other)) => other.wrapping_sub(own),
                    _ => 0,
                };
                (debug, moved, Some(separate))
            }
            None if layout.has_debug_info() => {
                let root = finder.root.clone();
                let holder = DebugHolder { root: &root, path, head: &head, options };
                (holder.read(&program, finder).map_err(damaged), 0, None)
            }
            None => (Err(absent(&file, &head, options)), 0, None),
        };
        let debug = debug.map(RefCell::new);
        let sections = sections(layout);
        let program = Some(program);
        let symbols = OnceCell::new();
        DebugFile { file, head, sections, program, separate, symbols, debug, moved }
    }

    /// Lines and inlined callers at a link-time address. Addresses are
    /// answered fastest in ascending order.
    pub fn frames(&self, address: u64) -> Frames {
        let debug = match &self.debug {
            Ok(debug) => debug.borrow_mut().frames(address.wrapping_add(self.moved)),
            Err(why) => return self.of_symbol(address, why.clone()),
        };
        let file = || Arc::clone(&self.file);
        match debug {
            Ok(Some(answer)) => self.of_debug(address, answer),
            Ok(None) => self.of_symbol(address, MissingDebugInfo::NotCovered { file: file() }),
            Err(why) => {
                self.of_symbol(address, MissingDebugInfo::Damaged { file: file(), why: why.into() })
            }
        }
    }

    fn of_debug(&self, address: u64, answer: DebugAnswer) -> Frames {
        let DebugAnswer { mut frames, is_short, apart } = answer;
        if let Some(outermost) = frames.last_mut()
            && (is_short || outermost.name.is_none())
            && let Some(name) = self.symbol(address)
        {
            outermost.name = Some(name);
        }
        let depth = match apart {
            Some(why) => FrameDetail::Lines(MissingDebugInfo::Damaged {
                file: Arc::clone(&self.file),
                why: why.into(),
            }),
            None => FrameDetail::Debug,
        };
        Frames { frames: frames.into(), depth }
    }

    fn of_symbol(&self, address: u64, why: MissingDebugInfo) -> Frames {
        let name = self.symbol(address);
        let frame = name.map(Frame::of_symbol);
        Frames { frames: frame.into_iter().collect(), depth: FrameDetail::Symbols(why) }
    }

    fn symbol(&self, address: u64) -> Option<Arc<str>> {
        let hit = self.symbols()?.find(address)?;
        Some(elf::routine(hit, address).name.into())
    }

    fn symbols(&self) -> Option<&Ranges> {
        let symbols = self.symbols.get_or_init(|| {
            let program = ReadCache::new(self.program.as_ref()?);
            let separate = self.separate.as_ref().map(ReadCache::new);
            elf::ranges(&program, separate.as_ref(), Naming::Code).ok()
        });
        symbols.as_ref()
    }

    /// NT_GNU_BUILD_ID.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.head.build_id.as_deref()
    }

    /// Where a section of a file that is not linked is taken to lie. None:
    /// there is no such section, or the file is linked.
    pub fn section(&self, name: &str) -> Option<u64> {
        let mut sections = self.sections.iter();
        sections.find(|(known, _)| **known == *name.as_bytes()).map(|&(_, address)| address)
    }
}

/// Where the sections of a file lie that is not linked.
fn sections(layout: Layout) -> Vec<(Box<[u8]>, u64)> {
    if !layout.relocatable {
        return Vec::new();
    }
    let addresses = relocate::addresses(&layout);
    layout.sections.into_iter().map(|section| section.name).zip(addresses).collect()
}

pub(crate) fn absent(
    file: &Arc<str>,
    head: &ElfHead,
    options: &SymbolizerOptions,
) -> MissingDebugInfo {
    let build = build_in_words(head.build_id.as_deref(), options);
    MissingDebugInfo::Absent { file: Arc::clone(file), build: build.into() }
}

/// A file with debug info, and where to look for what belongs to it.
pub(crate) struct DebugHolder<'a> {
    /// Below which it was found.
    pub(crate) root: &'a Path,
    pub(crate) path: &'a [u8],
    pub(crate) head: &'a ElfHead,
    pub(crate) options: &'a SymbolizerOptions,
}

impl DebugHolder<'_> {
    fn read(&self, file: &File, finder: Finder) -> Result<Debug, String> {
        let (main, alternate) = self.sections(file, DebugUse::Frames)?;
        Ok(Debug::new(main, alternate, Some(finder)))
    }

    /// Its sections, and those of what it shares with others.
    pub(crate) fn sections(
        &self,
        file: &File,
        of: DebugUse,
    ) -> Result<(Sections, Option<Sections>), String> {
        let bytes = file.try_clone().and_then(FileBytes::of).map_err(|error| error.to_string())?;
        let layout = Layout::of(&bytes).map_err(|error| error.to_string())?;
        let main = Sections::of(&bytes, &layout, of)?;
        let Some(link) = &self.head.alt_link else {
            return Ok((main, None));
        };
        let id = hex(&link.build_id);
        let shared = locate_supplementary(self.root, self.path, link, self.options)
            .ok_or_else(|| format!("what it shares with others (build id {id}) was not found"))?;
        let bytes = FileBytes::of(shared.file.into_inner()).map_err(|error| error.to_string())?;
        let layout = Layout::of(&bytes).map_err(|error| error.to_string())?;
        Ok((main, Some(Sections::of(&bytes, &layout, of)?)))
    }
}

/// Addresses of one file may be asked for on another thread than it was
/// opened on.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<DebugFile>();
    is_send::<Arc<Frames>>();
};
