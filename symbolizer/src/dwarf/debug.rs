//! The debug info of one file.

use super::bytes::{FileBytes, SectionBytes};
use super::finder::Finder;
use super::function_names::FunctionNames;
use super::guarded_reader::{GuardedReader, ReadGuard};
use super::layout::{FirstAddresses, Layout};
use super::root::UnitForms;
use super::sections::{DebugUse, SectionReader, SectionSource};
use super::split::{Split, Splits};
use crate::answer::{Frame, SourcePlace};
use addr2line::{Context, Location, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{
    AbbreviationsCacheStrategy, DebugRanges, Dwarf, DwarfFileType, DwarfSections, EndianSlice,
    Reader, RunTimeEndian, Section,
};
use rustc_hash::FxHashMap;
use self_cell::self_cell;
use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

/// Calls inlined into each other; compilers make some tens.
const MOST_NESTED: usize = 256;
/// Numbers that are read of a file before what is known of it is dropped, for
/// each byte of its sections, and beyond: a sound file is known as a whole
/// before that. What is known takes some 25 bytes of memory for each.
const MOST_READ_OF_BYTE: u64 = 2;
const MOST_READ_BEYOND: u64 = 4 << 20;
/// The fewest bytes that units have on average, and how many may have fewer:
/// some 500 bytes of memory are taken for each.
const UNIT: usize = 32;
const SMALL_UNITS: usize = 1024;

const TOO_MUCH: &str = "more is listed, or calls are inlined deeper, than the file can hold";

/// What a file says of addresses. Units, functions and lines that were read are
/// kept until too much was read.
pub(crate) struct Debug {
    index: Index,
    names: FunctionNames,
    /// Why split units cannot be had, by their ids.
    apart: FxHashMap<u64, String>,
}

enum Index {
    Unread(Box<DebugSource>),
    Read(DebugIndex),
    Unusable(String),
}

self_cell!(
    /// The units of a file, and the bytes that they are read from.
    struct DebugIndex {
        owner: DebugSource,

        #[not_covariant]
        dependent: DebugContext,
    }
);

type DebugContext<'a> = Context<GuardedReader<'a>>;

struct DebugSource {
    main: Sections,
    alternate: Option<Sections>,
    splits: Splits,
    /// As many as there may be, in the order in which they were opened.
    opened: Box<[OnceCell<Split>]>,
    listed: ListedUnits,
    guard: ReadGuard,
    /// Of `.debug_ranges`, where a low number is no address, but counts from a
    /// base.
    ranges_guard: ReadGuard,
}

#[derive(Debug)]
pub(crate) struct DebugAnswer {
    /// The innermost first. The last one has no name when no function holds
    /// the address, but a line does.
    pub(crate) frames: Vec<Frame>,
    /// The outermost name is as declared, without the namespaces and types
    /// that the symbol table has.
    pub(crate) is_short: bool,
    /// Why there can be no inlined calls among them.
    pub(crate) apart: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Sections {
    sections: DwarfSections<SectionBytes>,
    endian: RunTimeEndian,
    pub(crate) first: FirstAddresses,
}

/// Why a section cannot be used.
struct Unread(String);

impl From<gimli::Error> for Unread {
    fn from(error: gimli::Error) -> Unread {
        Unread(error.to_string())
    }
}

impl Sections {
    /// Finds them, decompresses and links those that need it.
    pub(crate) fn of(
        image: &FileBytes,
        layout: &Layout,
        what_for: DebugUse,
    ) -> Result<Sections, String> {
        let mut source = SectionSource::new(image, layout)?;
        let sections = DwarfSections::load(|id| source.program(id, what_for).map_err(Unread));
        let sections = sections.map_err(|why| why.0)?;
        Ok(Sections { sections, endian: layout.endian, first: layout.first_addresses() })
    }

    pub(crate) fn borrow(&self) -> Dwarf<SectionReader<'_>> {
        self.read_by(|section| section)
    }

    /// Bytes of all.
    fn size(&self) -> u64 {
        let mut size = 0;
        self.read_by(|section| size += section.len() as u64);
        size
    }

    fn read_by<'a, R>(&'a self, mut reader: impl FnMut(SectionReader<'a>) -> R) -> Dwarf<R> {
        self.sections.borrow(|bytes| reader(EndianSlice::new(bytes, self.endian)))
    }
}

impl Debug {
    /// `finder` leads to the rest of units that were split.
    pub(crate) fn new(
        main: Sections,
        alternate: Option<Sections>,
        finder: Option<Finder>,
    ) -> Debug {
        let source = DebugSource {
            main,
            alternate,
            splits: Splits::new(finder),
            opened: Box::default(),
            listed: ListedUnits::default(),
            guard: ReadGuard::default(),
            ranges_guard: ReadGuard::default(),
        };
        let index = Index::Unread(source.into());
        Debug { index, names: FunctionNames::default(), apart: FxHashMap::default() }
    }

    /// What it says of a link-time address. None: nothing.
    pub(crate) fn frames(&mut self, address: u64) -> Result<Option<DebugAnswer>, String> {
        loop {
            let is_new = self.read()?;
            let Index::Read(index) = &self.index else { return Ok(None) };
            let (names, apart) = (&mut self.names, &mut self.apart);
            let answer = index.with_dependent(|source, context| {
                Lookup { source, context, names, apart }.answer(address)
            });
            if !index.borrow_owner().is_spent() {
                return answer;
            }
            // What was read for other addresses has no part in an answer.
            self.index = match std::mem::take(&mut self.index) {
                Index::Read(index) => Index::Unread(index.into_owner().into()),
                other => other,
            };
            if is_new {
                return Err(TOO_MUCH.to_owned());
            }
        }
    }

    /// Finds the units. Gives whether they were not known before.
    fn read(&mut self) -> Result<bool, String> {
        let source = match &mut self.index {
            Index::Read(_) => return Ok(false),
            Index::Unusable(why) => return Err(why.clone()),
            Index::Unread(_) => std::mem::take(&mut self.index),
        };
        let Index::Unread(mut source) = source else { return Ok(false) };
        let read = source.fill().and_then(|()| DebugIndex::try_new(*source, DebugSource::context));
        match read {
            Ok(index) => {
                self.index = Index::Read(index);
                Ok(true)
            }
            Err(why) => {
                self.index = Index::Unusable(why.clone());
                Err(why)
            }
        }
    }
}

impl Default for Index {
    fn default() -> Index {
        Index::Unusable(String::new())
    }
}

impl fmt::Debug for Debug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debug").field("names", &self.names).finish_non_exhaustive()
    }
}

impl DebugSource {
    fn is_spent(&self) -> bool {
        self.guard.is_spent() || self.ranges_guard.is_spent()
    }

    /// Makes room for what a file of its size needs.
    fn fill(&mut self) -> Result<(), String> {
        let dwarf = borrow(&self.main, self.alternate.as_ref());
        self.listed = ListedUnits::of(&dwarf)?;
        dwarf.sup().map(ListedUnits::of).transpose()?;
        let files = [Some(&self.main), self.alternate.as_ref()];
        let size: u64 = files.into_iter().flatten().map(Sections::size).sum();
        let numbers = size.saturating_mul(MOST_READ_OF_BYTE).saturating_add(MOST_READ_BEYOND);
        self.guard.fill(numbers);
        self.ranges_guard.fill(numbers);
        self.opened = std::iter::repeat_with(OnceCell::new).take(self.listed.count).collect();
        Ok(())
    }

    fn context(&self) -> Result<DebugContext<'_>, String> {
        let mut dwarf = self.dwarf_of(&self.main);
        let mut units = *dwarf.debug_info.reader();
        units.truncate(self.listed.end).map_err(|error| error.to_string())?;
        dwarf.debug_info = units.into();
        if let Some(alternate) = &self.alternate {
            dwarf.set_sup(self.dwarf_of(alternate));
        }
        let context = Context::from_dwarf(dwarf);
        match self.is_spent() {
            true => Err(TOO_MUCH.to_owned()),
            false => context.map_err(|error| format!("its units: {error}")),
        }
    }

    fn dwarf_of<'a>(&'a self, sections: &'a Sections) -> Dwarf<GuardedReader<'a>> {
        let mut dwarf = sections.read_by(|section| GuardedReader::new(section, &self.guard));
        let ranges = sections.borrow();
        let ranges = *ranges.ranges.debug_ranges().reader();
        let ranges = GuardedReader::new(ranges, &self.ranges_guard);
        dwarf.ranges.set_debug_ranges(DebugRanges::from(ranges));
        dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::All);
        dwarf
    }

    /// The rest of a unit. An error says why it cannot be had.
    fn split<'a>(
        &'a self,
        load: &SplitDwarfLoad<GuardedReader<'a>>,
    ) -> Result<Arc<Dwarf<GuardedReader<'a>>>, String> {
        let text = |text: Option<GuardedReader<'a>>| text.map_or(&[][..], GuardedReader::bytes);
        let split = self.splits.open(load.dwo_id, text(load.comp_dir), text(load.path))?;
        let free = self.opened.partition_point(|cell| cell.get().is_some());
        let split = self.opened.get(free).ok_or(TOO_MUCH)?.get_or_init(|| split);
        let failed = |error: gimli::Error| error.to_string();
        let reader = |section| GuardedReader::new(section, &self.guard);
        let mut dwarf = split.dwarf(&load.parent, reader).map_err(failed)?;
        // addr2line takes the first.
        let mut units = *dwarf.debug_info.reader();
        units.skip(split.offset).map_err(failed)?;
        dwarf.debug_info = units.into();
        let size = units.len() + dwarf.debug_abbrev.reader().len();
        self.guard.grow(MOST_READ_OF_BYTE.saturating_mul(size as u64));
        Ok(Arc::new(dwarf))
    }
}

/// The units of a file, up to the first that is damaged.
#[derive(Debug, Default)]
struct ListedUnits {
    count: usize,
    /// Where the last ends.
    end: usize,
    /// Why there may be more.
    damage: Option<String>,
}

impl ListedUnits {
    /// An error says that there are too many, or too many forms of theirs.
    fn of(dwarf: &Dwarf<SectionReader<'_>>) -> Result<ListedUnits, String> {
        let mut units = dwarf.units();
        let (mut lists, mut listed) = (Vec::new(), ListedUnits::default());
        loop {
            match units.next() {
                Ok(Some(unit)) => {
                    let start = unit.debug_info_offset().map_or(0, |offset| offset.0);
                    listed.end = start + unit.length_including_self();
                    lists.push(unit.debug_abbrev_offset());
                }
                Ok(None) => break,
                Err(error) => {
                    listed.damage = Some(format!("its list of units: {error}"));
                    break;
                }
            }
        }
        listed.count = lists.len();
        lists.sort_unstable_by_key(|at| at.0);
        lists.dedup();
        let mut forms = UnitForms::new(dwarf);
        // A list of forms that is damaged has no unit.
        let are_few = lists.into_iter().all(|at| forms.take(dwarf, at).unwrap_or(true));
        match are_few && listed.count <= listed.end / UNIT + SMALL_UNITS {
            true => Ok(listed),
            false => Err(TOO_MUCH.to_owned()),
        }
    }
}

/// One question, and what answers it.
struct Lookup<'o, 'a> {
    source: &'a DebugSource,
    context: &'o DebugContext<'a>,
    names: &'o mut FunctionNames,
    apart: &'o mut FxHashMap<u64, String>,
}

impl<'a> Lookup<'_, 'a> {
    fn answer(&mut self, address: u64) -> Result<Option<DebugAnswer>, String> {
        let failed = |error: gimli::Error| match error {
            gimli::Error::Io => TOO_MUCH.to_owned(),
            error => format!("a unit of it: {error}"),
        };
        let first = self.source.main.first.code;
        // addr2line adds 1.
        if address < first || address == u64::MAX {
            return Ok(None);
        }
        self.source.guard.enter(first);
        self.source.ranges_guard.enter(0);
        let mut lookup = self.context.find_frames(address);
        let mut found = loop {
            match lookup {
                LookupResult::Output(found) => break found.map_err(failed)?,
                LookupResult::Load { load, continuation } => {
                    let split = self.source.split(&load);
                    let split = split.map_err(|why| self.apart.insert(load.dwo_id.0, why));
                    lookup = continuation.resume(split.ok());
                }
            }
        };
        let unit = self.context.find_dwarf_and_unit(address).skip_all_loads();
        let Some(unit) = unit else {
            return self.source.listed.damage.clone().map_or(Ok(None), Err);
        };
        let (mut frames, mut is_short) = (Vec::new(), true);
        while let Some(frame) = found.next().map_err(failed)? {
            if frames.len() > MOST_NESTED {
                return Err(TOO_MUCH.to_owned());
            }
            let source = frame.location.and_then(|place| self.place(&place));
            let mut shown = Frame { name: None, source, first_line: None, inlined: true };
            if let Some(at) = frame.dw_die_offset {
                let known = self.names.get(unit, at, frame.function.as_ref()).map_err(failed)?;
                let file = shown.source.as_ref().map(|source| &source.file);
                shown.first_line = known.first_line(file);
                shown.name.clone_from(&known.name);
                is_short = known.is_short;
            }
            frames.push(shown);
        }
        if let Some(outermost) = frames.last_mut() {
            outermost.inlined = false;
        }
        let is_apart = unit.dwarf.file_type == DwarfFileType::Main;
        let id = unit.dwo_id.filter(|_| is_apart);
        let apart = id.and_then(|id| self.apart.get(&id.0).cloned());
        Ok(Some(DebugAnswer { frames, is_short, apart }))
    }

    fn place(&mut self, place: &Location<'_>) -> Option<SourcePlace> {
        let file = self.names.texts.file(place.file?);
        let (line, column) = (place.line.unwrap_or(0), place.column.unwrap_or(0));
        Some(SourcePlace { file, line, column })
    }
}

/// The sections of a file, which refer to what it shares with others.
pub(crate) fn borrow<'a>(
    main: &'a Sections,
    alternate: Option<&'a Sections>,
) -> Dwarf<SectionReader<'a>> {
    let mut dwarf = main.borrow();
    if let Some(alternate) = alternate {
        dwarf.set_sup(alternate.borrow());
    }
    dwarf
}
