//! The debug info of one file.

use super::bytes::{FileBytes, SectionBytes};
use super::finder::Finder;
use super::functions::DebugPart;
use super::index::Index;
use super::layout::{FirstAddresses, Layout};
use super::names::{FunctionNames, FunctionStart, UnitHome};
use super::sections::{DebugUse, SectionReader, SectionSource};
use super::split::Splits;
use super::unit::{CallStep, Units};
use crate::answer::{Frame, SourcePlace};
use gimli::{Dwarf, DwarfSections, EndianSlice, RunTimeEndian};

#[derive(Debug)]
pub(crate) struct Debug {
    main: Sections,
    alternate: Option<Sections>,
    index: Option<Index>,
    units: Units,
    names: FunctionNames,
    splits: Splits,
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
        self.sections.borrow(|bytes| EndianSlice::new(bytes, self.endian))
    }
}

impl Debug {
    /// `finder` leads to the rest of units that were split.
    pub(crate) fn new(
        main: Sections,
        alternate: Option<Sections>,
        finder: Option<Finder>,
    ) -> Debug {
        Debug {
            units: Units::new(main.first.code),
            main,
            alternate,
            index: None,
            names: FunctionNames::default(),
            splits: Splits::new(finder),
        }
    }

    /// What it says of a link-time address. None: nothing.
    pub(crate) fn frames(&mut self, address: u64) -> Result<Option<DebugAnswer>, String> {
        let dwarf = borrow(&self.main, self.alternate.as_ref());
        let index = self.index.get_or_insert_with(|| Index::listed(&dwarf, self.main.first.code));
        let Some(offset) = index.find(&dwarf, address).map_err(str::to_owned)? else {
            return Ok(None);
        };
        let unit = self.units.get(&dwarf, &mut self.splits, offset)?;
        let apart = unit.apart.clone();
        let Some(steps) = unit.steps(&dwarf, address)? else {
            let spot = unit.lines.as_ref().and_then(|lines| lines.find(address));
            let Some(spot) = spot else { return Ok(None) };
            let lines = unit.lines.as_mut();
            let source = lines.and_then(|lines| {
                let file = lines.paths.get(&dwarf, &mut self.names.texts, spot.file)?;
                Some(SourcePlace { file, line: spot.line, column: spot.column })
            });
            let frame = Frame { name: None, source, first_line: None, inlined: false };
            return Ok(Some(DebugAnswer { frames: vec![frame], is_short: true, apart }));
        };
        let names = &mut self.names;
        let outermost = steps.len() - 1;
        let named = unit.with_home(&dwarf, |home, part, head| {
            let name = |step: &CallStep| {
                let (dwarf, part, head) = match step.function.of {
                    DebugPart::Alternate => (&dwarf, DebugPart::Main, head),
                    _ => (home, part, head),
                };
                names.get(step.function, UnitHome { part, dwarf, head })
            };
            steps.iter().map(name).collect::<gimli::Result<Vec<_>>>()
        });
        let named = named.map_err(|error| format!("a name in the unit at {offset:#x}: {error}"))?;
        let is_short = unit.mangles && named.last().is_none_or(|name| !name.linked);
        let mut frames = Vec::with_capacity(steps.len());
        for (number, (step, name)) in steps.iter().zip(named).enumerate() {
            let mut path = |number: u32| {
                let paths = &mut unit.lines.as_mut()?.paths;
                paths.get(&dwarf, &mut self.names.texts, number)
            };
            let source = step.spot.and_then(|spot| {
                let file = path(spot.file)?;
                Some(SourcePlace { file, line: spot.line, column: spot.column })
            });
            // The same file may have several numbers; that of another unit is taken for the same.
            let mut is_here = |start: &FunctionStart| match (start.file, step.spot, &source) {
                (Some(file), Some(spot), Some(source)) => {
                    file.unit != offset
                        || file.number == spot.file
                        || path(file.number).is_some_and(|path| path == source.file)
                }
                _ => true,
            };
            let first_line = name.start.filter(|start| is_here(start)).map(|start| start.line);
            let inlined = number < outermost;
            frames.push(Frame { name: name.text, source, first_line, inlined });
        }
        Ok(Some(DebugAnswer { frames, is_short, apart }))
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
