//! Units whose entries are in another file: .dwo and .dwp.

use super::bytes::{FileBytes, SectionBytes};
use super::finder::Finder;
use super::layout::Layout;
use super::root::Root;
use super::sections::{SectionReader, SectionSource};
use gimli::{
    Dwarf, DwarfPackageSections, DwarfSections, DwoId, EndianSlice, Reader, RunTimeEndian, UnitType,
};
use std::cell::OnceCell;
use std::sync::Arc;

/// The rest of one unit.
#[derive(Debug)]
pub(crate) struct Split {
    /// Where the unit begins among the entries of its file.
    pub(crate) offset: usize,
    sections: Sections,
    id: DwoId,
    endian: RunTimeEndian,
}

#[derive(Debug)]
enum Sections {
    Alone(Box<DwarfSections<SectionBytes>>),
    Packed(Arc<DwarfPackageSections<SectionBytes>>),
}

/// Opens the files with the rest of units.
#[derive(Debug, Default)]
pub(crate) struct Splits {
    finder: Option<Finder>,
    /// Empty: not looked for yet.
    package: OnceCell<Option<(Arc<DwarfPackageSections<SectionBytes>>, RunTimeEndian)>>,
}

impl Splits {
    pub(crate) fn new(finder: Option<Finder>) -> Splits {
        Splits { finder, package: OnceCell::new() }
    }

    pub(crate) fn each_package_type(
        &self,
        dwarf: &Dwarf<SectionReader<'_>>,
        act: &mut dyn FnMut(gimli::Result<&Dwarf<SectionReader<'_>>>),
    ) {
        let Some((package, endian)) = self.packed() else { return };
        let empty = EndianSlice::new(&[], *endian);
        let package = match package.borrow(|bytes| EndianSlice::new(bytes, *endian), empty) {
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

    /// The rest of the unit of an id, of which a skeleton in the program names
    /// the file; or why it cannot be had.
    pub(crate) fn open(&self, id: DwoId, directory: &[u8], name: &[u8]) -> Result<Split, String> {
        let shown = String::from_utf8_lossy(name);
        let mut split = match self.packed() {
            Some((package, endian)) if has(package, *endian, id) => {
                let sections = Sections::Packed(Arc::clone(package));
                Split { offset: 0, sections, id, endian: *endian }
            }
            _ => {
                let finder = self.finder.as_ref().ok_or_else(|| format!("{shown} is not read"))?;
                let (image, layout) = finder
                    .split(directory, name)
                    .ok_or_else(|| format!("{shown} (split debug info) was not found"))?;
                let mut source = SectionSource::new(&image, &layout)?;
                let sections = DwarfSections::load(|id| source.split(id).map_err(Unread))
                    .map_err(|why| format!("{shown}: {}", why.0))?;
                Split {
                    offset: 0,
                    sections: Sections::Alone(sections.into()),
                    id,
                    endian: layout.endian,
                }
            }
        };
        let offset = split.find().map_err(|error| format!("{shown}: {error}"))?;
        split.offset = offset
            .ok_or_else(|| format!("{shown} is of another build (id {:#x} is not in it)", id.0))?;
        Ok(split)
    }

    fn packed(&self) -> Option<&(Arc<DwarfPackageSections<SectionBytes>>, RunTimeEndian)> {
        let package = self.package.get_or_init(|| {
            let (image, layout) = self.finder.as_ref()?.package()?;
            read_package(&image, &layout).map(|package| (Arc::new(package), layout.endian))
        });
        package.as_ref()
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

fn has(package: &DwarfPackageSections<SectionBytes>, endian: RunTimeEndian, id: DwoId) -> bool {
    let empty = EndianSlice::new(&[], endian);
    let package = package.borrow(|bytes| EndianSlice::new(bytes, endian), empty);
    package.is_ok_and(|package| package.cu_index.find(id.0).is_some())
}

impl Split {
    /// Its debug info, which takes addresses from the program's. `reader`: how
    /// its sections are read.
    pub(crate) fn dwarf<'a, R: Reader<Offset = usize>>(
        &'a self,
        parent: &Dwarf<R>,
        reader: impl Fn(SectionReader<'a>) -> R,
    ) -> gimli::Result<Dwarf<R>> {
        let reader = |bytes: &'a [u8]| reader(EndianSlice::new(bytes, self.endian));
        match &self.sections {
            Sections::Packed(package) => {
                let package = package.borrow(|bytes| reader(bytes), reader(&[]))?;
                package.find_cu(self.id, parent)?.ok_or(gimli::Error::MissingUnitDie)
            }
            Sections::Alone(sections) => {
                let mut dwarf = sections.borrow(|bytes| reader(bytes));
                dwarf.make_dwo(parent);
                Ok(dwarf)
            }
        }
    }

    /// Where the unit of its id begins.
    fn find(&self) -> gimli::Result<Option<usize>> {
        let dwarf = self.dwarf(&Dwarf::default(), |section| section)?;
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let id = match header.type_() {
                UnitType::SplitCompilation(id) => Some(id),
                // Before DWARF 5 its first entry has it.
                UnitType::Compilation => {
                    Root::read(&dwarf, header, dwarf.abbreviations(&header)?)?.unit.dwo_id
                }
                _ => None,
            };
            if id == Some(self.id) {
                return Ok(header.debug_info_offset().map(|offset| offset.0));
            }
        }
        Ok(None)
    }
}
