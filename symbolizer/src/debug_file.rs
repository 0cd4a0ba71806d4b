//! One ELF file on its own, without processes.

use crate::dwarf::debug::{Answer, Debug, Sections};
use crate::dwarf::finder::Finder;
use crate::dwarf::image::Image;
use crate::dwarf::layout::Layout;
use crate::dwarf::relocate;
use crate::elf::{self, ElfError, head::Head, ranges::Ranges, symbols::Naming};
use crate::file::open_within;
use crate::frames::{Depth, Frame, Frames, NoDebug};
use crate::locate::debug::{Separate, Wanted, locate_debug, locate_supplementary};
use crate::locate::{Located, build_in_words, hex};
use crate::{Options, Reason};
use object::{ReadCache, ReadRef};
use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
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
    head: Head,
    /// Where the sections of a file that is not linked lie.
    sections: Vec<(Box<[u8]>, u64)>,
    /// None: its symbols are known.
    program: Option<File>,
    /// Its separate debug file.
    separate: Option<File>,
    symbols: OnceCell<Option<Ranges>>,
    debug: Result<RefCell<Debug>, NoDebug>,
    /// What is added to an address to look it up in the debug info: prelink
    /// may have moved the program.
    moved: u64,
}

/// A file, and the separate debug file that it needs, before either is read.
#[derive(Debug)]
pub(crate) struct Found {
    located: Located,
    layout: Layout,
    separate: Option<Separate>,
}

impl Found {
    /// The debug file is looked for only where the program has nothing.
    pub(crate) fn of(located: Located, path: &[u8], options: &Options) -> Result<Found, Reason> {
        let layout = Layout::read(&located.file).map_err(|error| {
            let file = String::from_utf8_lossy(path).into_owned();
            Reason::NotElf { file, why: error.to_string() }
        })?;
        let separate = match layout.has_debug_info() {
            true => None,
            false => locate_debug(&located, path, options, Wanted::Lines),
        };
        Ok(Found { located, layout, separate })
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
    pub fn open(path: &Path, options: &Options) -> Result<DebugFile, Reason> {
        let (located, path) = named(path, options)?;
        let path = path.as_os_str().as_bytes();
        DebugFile::of(Found::of(located, path, options)?, path, options)
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
                let sections = Sections::of(&Image::Memory(bytes.into()), &layout);
                let damaged =
                    |why: String| NoDebug::Damaged { file: Arc::clone(&file), why: why.into() };
                sections
                    .map(|sections| RefCell::new(Debug::new(sections, None, None)))
                    .map_err(damaged)
            }
            false => Err(absent(&file, &head, &Options::default())),
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

    /// What was found of a file that `path` names.
    pub(crate) fn of(found: Found, path: &[u8], options: &Options) -> Result<DebugFile, Reason> {
        let file: Arc<str> = String::from_utf8_lossy(path).into();
        let unreadable = |error: io::Error| Reason::FileUnreadable {
            file: file.to_string(),
            why: error.to_string(),
        };
        let Found { located: Located { file: program, head, root }, layout, separate } = found;
        let program = program.into_inner();
        let finder = Finder { root, program: path.into() };
        let damaged = |why: String| NoDebug::Damaged { file: Arc::clone(&file), why: why.into() };
        let (debug, moved, separate) = match separate {
            Some(Separate { file, head: other, path, root }) => {
                let separate = file.into_inner();
                let holder = (&*root, &*path, &other);
                let debug = of_separate(&separate, holder, (finder, options)).map_err(damaged);
                let moved = match (head.lowest(), other.lowest()) {
                    (Some(own), Some(other)) => other.wrapping_sub(own),
                    _ => 0,
                };
                (debug, moved, Some(separate))
            }
            None if layout.has_debug_info() => {
                let image = Image::of(program.try_clone().map_err(unreadable)?);
                let image = image.map_err(unreadable)?;
                let root = finder.root.clone();
                let holder = (&*root, path, &head);
                let debug = of_image(&image, &layout, holder, (finder, options)).map_err(damaged);
                (debug, 0, None)
            }
            None => (Err(absent(&file, &head, options)), 0, None),
        };
        let debug = debug.map(RefCell::new);
        let sections = sections(layout);
        let program = Some(program);
        let symbols = OnceCell::new();
        Ok(DebugFile { file, head, sections, program, separate, symbols, debug, moved })
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
            Ok(None) => self.of_symbol(address, NoDebug::NotCovered { file: file() }),
            Err(why) => self.of_symbol(address, NoDebug::Damaged { file: file(), why: why.into() }),
        }
    }

    fn of_debug(&self, address: u64, answer: Answer) -> Frames {
        let Answer { mut frames, is_short, apart } = answer;
        if let Some(outermost) = frames.last_mut()
            && (is_short || outermost.name.is_none())
            && let Some(name) = self.symbol(address)
        {
            outermost.name = Some(name);
        }
        let depth = match apart {
            Some(why) => {
                Depth::Lines(NoDebug::Damaged { file: Arc::clone(&self.file), why: why.into() })
            }
            None => Depth::Debug,
        };
        Frames { frames: frames.into(), depth }
    }

    fn of_symbol(&self, address: u64, why: NoDebug) -> Frames {
        let name = self.symbol(address);
        let frame = name.map(|name| Frame { name: Some(name), source: None, inlined: false });
        Frames { frames: frame.into_iter().collect(), depth: Depth::Symbols(why) }
    }

    /// What the symbol table calls the routine.
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

    /// Tells every link-time address at which the answer of
    /// [`DebugFile::frames`] can change, in any order, some more than once.
    pub fn edges(&self, mut tell: impl FnMut(u64)) {
        if let Ok(debug) = &self.debug {
            debug.borrow_mut().edges(&mut |address| tell(address.wrapping_sub(self.moved)));
        }
        for (stretch, _) in self.symbols().iter().flat_map(|symbols| symbols.iter()) {
            tell(stretch.start);
            tell(stretch.end);
        }
    }
}

/// The file that `path` names below `options.root`, and its whole path there.
pub(crate) fn named(path: &Path, options: &Options) -> Result<(Located, PathBuf), Reason> {
    let name = || path.display().to_string();
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Reason::FileGone { file: name() },
        _ => Reason::FileUnreadable { file: name(), why: error.to_string() },
    };
    let whole = std::path::absolute(path).map_err(unreadable)?;
    let file = open_within(&options.root, whole.as_os_str().as_bytes()).map_err(unreadable)?;
    let file = ReadCache::new(file);
    let head = elf::head(&file)
        .map_err(|error| Reason::NotElf { file: name(), why: error.to_string() })?;
    Ok((Located { file, head, root: options.root.clone() }, whole))
}

/// Where the sections of a file lie that is not linked.
fn sections(layout: Layout) -> Vec<(Box<[u8]>, u64)> {
    if !layout.relocatable {
        return Vec::new();
    }
    let addresses = relocate::addresses(&layout);
    layout.sections.into_iter().map(|section| section.name).zip(addresses).collect()
}

fn absent(file: &Arc<str>, head: &Head, options: &Options) -> NoDebug {
    let build = build_in_words(head.build_id.as_deref(), options);
    NoDebug::Absent { file: Arc::clone(file), build: build.into() }
}

/// A file with debug info: the root below which it was found, its path there,
/// and what it says of itself.
type Holder<'a> = (&'a Path, &'a [u8], &'a Head);

fn of_separate(
    file: &File,
    holder: Holder<'_>,
    options: (Finder, &Options),
) -> Result<Debug, String> {
    let unreadable = |error: io::Error| error.to_string();
    let image = Image::of(file.try_clone().map_err(unreadable)?).map_err(unreadable)?;
    let layout = Layout::of(&image).map_err(|error| error.to_string())?;
    of_image(&image, &layout, holder, options)
}

fn of_image(
    image: &Image,
    layout: &Layout,
    (root, path, head): Holder<'_>,
    (finder, options): (Finder, &Options),
) -> Result<Debug, String> {
    let main = Sections::of(image, layout)?;
    let Some(link) = &head.alt_link else { return Ok(Debug::new(main, None, Some(finder))) };
    let id = hex(&link.build_id);
    let shared = locate_supplementary((root, path), link, options)
        .ok_or_else(|| format!("what it shares with others (build id {id}) was not found"))?;
    let image = Image::of(shared.file.into_inner()).map_err(|error| error.to_string())?;
    let layout = Layout::of(&image).map_err(|error| error.to_string())?;
    let shared = Sections::of(&image, &layout)?;
    Ok(Debug::new(main, Some(shared), Some(finder)))
}

/// Addresses of one file may be asked for on another thread than it was
/// opened on.
const _: fn() = || {
    fn is_send<T: Send>() {}
    is_send::<DebugFile>();
    is_send::<Arc<Frames>>();
};
