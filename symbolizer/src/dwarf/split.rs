//! Units whose entries are in another file: .dwo and .dwp.

use super::bytes::{FileBytes, SectionBytes};
use super::finder::Finder;
use super::functions::DebugPart;
use super::layout::Layout;
use super::root::{Root, UnitHead};
use super::sections::{SectionReader, SectionSource};
use gimli::{Dwarf, DwarfPackageSections, DwarfSections, DwoId, EndianSlice, RunTimeEndian};
use std::sync::Arc;

/// The rest of one unit.
#[derive(Debug)]
pub(crate) struct Split {
    pub(crate) part: DebugPart,
    pub(crate) head: UnitHead,
    pub(crate) mangles: bool,
    sections: Sections,
    id: DwoId,
    endian: RunTimeEndian,
}

#[derive(Clone, Debug)]
enum Sections {
    Alone(Arc<DwarfSections<SectionBytes>>),
    Packed(Arc<DwarfPackageSections<SectionBytes>>),
}

/// Opens the files with the rest of units.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    finder: Option<Finder>,
    /// None: not looked for yet.
    package: Option<Option<(Arc<DwarfPackageSections<SectionBytes>>, RunTimeEndian)>>,
    opened: u32,
}

impl Splits {
    pub(crate) fn new(finder: Option<Finder>) -> Splits {
        Splits { finder, package: None, opened: 0 }
    }

    pub(crate) fn each_package_type(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        act: &mut dyn FnMut(gimli::Result<&Dwarf<SectionReader<'_>>>),
    ) {
        let Some((package, endian)) = self.packed() else { return };
        let empty = EndianSlice::new(&[], endian);
        let package = match package.borrow(|bytes| EndianSlice::new(bytes, endian), empty) {
            Ok(package) => package,
            Err(error) => return act(Err(error)),
        };
        for row in 1..=package.tu_index.unit_count() {
            match package.tu_sections(row, dwarf) {
                Ok(types) => act(Ok(&types)),
                Err(error) => act(Err(error)),
            }
        }
    }

    /// The rest of the unit of which `skeleton` is in the program, or why it
    /// cannot be had.
    pub(crate) fn open(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        skeleton: &Root<'_>,
    ) -> Result<Split, String> {
        let name = skeleton.split.map_or(&[][..], |name| name.slice());
        let shown = String::from_utf8_lossy(name);
        let id = skeleton.dwo_id().ok_or_else(|| format!("{shown} is named without its id"))?;
        let (sections, endian) = match self.packed() {
            Some((package, endian)) if has(&package, endian, id, dwarf) => {
                (Sections::Packed(package), endian)
            }
            _ => {
                let finder = self.finder.as_ref().ok_or_else(|| format!("{shown} is not read"))?;
                let directory = skeleton.directory.map_or(&[][..], |directory| directory.slice());
                let (image, layout) = finder
                    .split(directory, name)
                    .ok_or_else(|| format!("{shown} (split debug info) was not found"))?;
                let mut source = SectionSource::new(&image, &layout)?;
                let sections = DwarfSections::load(|id| source.split(id).map_err(Unread))
                    .map_err(|why| format!("{shown}: {}", why.0))?;
                (Sections::Alone(Arc::new(sections)), layout.endian)
            }
        };
        let failed = |error: gimli::Error| format!("{shown}: {error}");
        let part = DebugPart::Split(self.opened);
        let (head, mangles) = {
            let split = sections.borrow(id, endian, dwarf).map_err(failed)?;
            let mut units = split.units();
            let mut found = None;
            while let Some(header) = units.next().map_err(failed)? {
                let forms = split.abbreviations(&header).map_err(failed)?;
                let mut root = Root::read(&split, header, forms).map_err(failed)?;
                if root.dwo_id() == Some(id) {
                    skeleton.head().lend(&mut root.unit);
                    found = Some((root.head(), root.mangles));
                    break;
                }
            }
            found.ok_or_else(|| {
                format!("{shown} is of another build (id {:#x} is not in it)", id.0)
            })?
        };
        self.opened += 1;
        Ok(Split { part, head, mangles, sections, id, endian })
    }

    fn packed(&mut self) -> Option<(Arc<DwarfPackageSections<SectionBytes>>, RunTimeEndian)> {
        let finder = self.finder.as_ref();
        let package = self.package.get_or_insert_with(|| {
            let (image, layout) = finder?.package()?;
            read_package(&image, &layout).map(|package| (Arc::new(package), layout.endian))
        });
        package.clone()
    }
}

/// Carries a reason through a loader of gimli's.
struct Unread(String);

impl From<gimli::Error> for Unread {
    fn from(error: gimli::Error) -> Unread {
        Unread(error.to_string())
    }
}

fn read_package(image: &FileBytes, layout: &Layout) -> Option<DwarfPackageSections<SectionBytes>> {
    let mut source = SectionSource::new(image, layout).ok()?;
    DwarfPackageSections::load(|id| source.split(id).map_err(Unread)).ok()
}

fn has(
    package: &DwarfPackageSections<SectionBytes>,
    endian: RunTimeEndian,
    id: DwoId,
    parent: &Dwarf<SectionReader<'_>>,
) -> bool {
    unpack(package, endian, id, parent).is_ok()
}

fn unpack<'a>(
    package: &'a DwarfPackageSections<SectionBytes>,
    endian: RunTimeEndian,
    id: DwoId,
    parent: &Dwarf<SectionReader<'a>>,
) -> gimli::Result<Dwarf<SectionReader<'a>>> {
    let empty = EndianSlice::new(&[], endian);
    let package = package.borrow(|bytes| EndianSlice::new(bytes, endian), empty)?;
    package.find_cu(id, parent)?.ok_or(gimli::Error::MissingUnitDie)
}

impl Sections {
    fn borrow<'a>(
        &'a self,
        id: DwoId,
        endian: RunTimeEndian,
        parent: &Dwarf<SectionReader<'a>>,
    ) -> gimli::Result<Dwarf<SectionReader<'a>>> {
        match self {
            Sections::Packed(package) => unpack(package, endian, id, parent),
            Sections::Alone(sections) => {
                let mut dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, endian));
                dwarf.make_dwo(parent);
                Ok(dwarf)
            }
        }
    }
}

impl Split {
    /// Its debug info, which takes addresses from the program's.
    pub(crate) fn dwarf<'a>(
        &'a self,
        parent: &Dwarf<SectionReader<'a>>,
    ) -> gimli::Result<Dwarf<SectionReader<'a>>> {
        self.sections.borrow(self.id, self.endian, parent)
    }
}
