//! The units of a file's debug info, for who reads more of them than lines.

use super::bytes::FileBytes;
use super::debug::{Sections, borrow};
use super::debug_file::{DebugHolder, FoundDebugFile, absent};
use super::finder::Finder;
use super::layout::{FirstAddresses, Layout};
use super::root::{Root, UnitForms};
use super::sections::{DebugUse, SectionReader, SectionSource};
use super::split::Splits;
use crate::answer::MissingDebugInfo;
use crate::elf::{self, ElfError};
use crate::files::located_file::{LocatedFile, named};
use crate::files::opening::open_within;
use crate::files::separate::Separate;
use crate::{Reason, SymbolizerOptions};
use gimli::{Dwarf, Reader as _, Section as _, Unit, UnitHeader};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The sections of debug info that a file has, or its separate debug file,
/// found, decompressed and linked as for [`crate::DebugFile`].
#[derive(Debug)]
pub struct DebugSections {
    main: Sections,
    alternate: Option<Sections>,
    finder: Option<Finder>,
}

/// Why there are none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingSections {
    #[error(transparent)]
    File(Reason),
    #[error(transparent)]
    Debug(MissingDebugInfo),
}

/// A unit of debug info.
#[derive(Debug)]
pub struct SectionUnit<'d, 'a> {
    /// Which section it is in: offsets of entries count from its start.
    pub section: u32,
    /// The section of which references speak that leave the unit.
    pub info: u32,
    /// Where its strings are.
    pub dwarf: &'d Dwarf<SectionReader<'a>>,
    /// The unit; of its root, no more is known than leads to strings, code and
    /// places of variables.
    pub unit: Unit<SectionReader<'a>>,
    /// Where the program's code and data begin.
    pub first: FirstAddresses,
}

type Told<'t> = dyn for<'d, 'a> FnMut(Result<SectionUnit<'d, 'a>, String>) + 't;

const MAIN: u32 = 0;
const MAIN_TYPES: u32 = 3;
const FIRST_SPLIT: u32 = 4;

impl DebugSections {
    /// The section of what several files share (.gnu_debugaltlink).
    pub const ALTERNATE: u32 = 1;

    /// Those of a file below `options.root`, or of its separate debug file.
    ///
    /// # Errors
    /// The file cannot be read, is no ELF file, or no debug info of it was
    /// found.
    pub fn open(
        path: &Path,
        options: &SymbolizerOptions,
    ) -> Result<DebugSections, MissingSections> {
        let (located, path) = named(path, options).map_err(MissingSections::File)?;
        DebugSections::of(located, path.as_os_str().as_bytes(), options)
    }

    /// Those of a file that was found where `path` leads, or of its separate
    /// debug file.
    pub(crate) fn of(
        located: LocatedFile,
        path: &[u8],
        options: &SymbolizerOptions,
    ) -> Result<DebugSections, MissingSections> {
        let found = FoundDebugFile::of(located, path, options).map_err(MissingSections::File)?;
        let file: Arc<str> = String::from_utf8_lossy(path).into();
        let FoundDebugFile { located: LocatedFile { file: program, head, root }, layout, separate } =
            found;
        let finder = Finder { root, program: path.into(), options: options.clone() };
        let sections = match separate {
            Some(Separate { file, head: other, path, root }) => {
                DebugHolder { root: &root, path: &path, head: &other, options }
                    .sections(&file.into_inner(), DebugUse::Variables)
            }
            None if layout.has_debug_info() => {
                DebugHolder { root: &finder.root, path, head: &head, options }
                    .sections(&program.into_inner(), DebugUse::Variables)
            }
            None => return Err(MissingSections::Debug(absent(&file, &head, options))),
        };
        let (main, alternate) = sections.map_err(|why| {
            MissingSections::Debug(MissingDebugInfo::Damaged { file, why: why.into() })
        })?;
        Ok(DebugSections { main, alternate, finder: Some(finder) })
    }

    /// Those among the bytes of an ELF file, without other files.
    ///
    /// # Errors
    /// They are no ELF file, or have none.
    pub fn parse(bytes: &[u8]) -> Result<DebugSections, MissingSections> {
        let file: Arc<str> = "memory".into();
        let not_elf = |error: ElfError| {
            MissingSections::File(Reason::NotElf {
                file: "memory".to_owned(),
                why: error.to_string(),
            })
        };
        let layout = Layout::read(bytes).map_err(not_elf)?;
        if !layout.has_debug_info() {
            let head = elf::head(bytes).map_err(not_elf)?;
            return Err(MissingSections::Debug(absent(
                &file,
                &head,
                &SymbolizerOptions::default(),
            )));
        }
        let main = Sections::of(&FileBytes::Memory(bytes.into()), &layout, DebugUse::Variables)
            .map_err(|why| {
                MissingSections::Debug(MissingDebugInfo::Damaged { file, why: why.into() })
            })?;
        Ok(DebugSections { main, alternate: None, finder: None })
    }

    /// A section of a file by its name, decompressed; empty when there is none.
    ///
    /// # Errors
    /// The file cannot be read, is no ELF file, or the section is damaged.
    pub fn named_section(
        path: &Path,
        name: &str,
        options: &SymbolizerOptions,
    ) -> Result<Vec<u8>, Reason> {
        let (located, whole) = named(path, options)?;
        let damaged = |why: String| Reason::NotElf { file: whole.display().to_string(), why };
        let bytes =
            FileBytes::of(located.file.into_inner()).map_err(|error| damaged(error.to_string()))?;
        let layout = Layout::of(&bytes).map_err(|error| damaged(error.to_string()))?;
        let mut source = SectionSource::new(&bytes, &layout).map_err(damaged)?;
        Ok(source.named(name.as_bytes()).map_err(damaged)?.to_vec())
    }

    /// The bytes of a file that begins with one of two magics, as many as
    /// `most`. None: it begins with something else.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn raw_file(
        path: &Path,
        magic: [[u8; 2]; 2],
        most: u64,
        options: &SymbolizerOptions,
    ) -> Result<Option<Vec<u8>>, Reason> {
        let file = path.display().to_string();
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Reason::FileGone { file: file.clone() },
            _ => Reason::FileUnreadable { file: file.clone(), why: error.to_string() },
        };
        let whole = std::path::absolute(path).map_err(unreadable)?;
        let opened = open_within(&options.root, whole.as_os_str().as_bytes());
        let mut opened = opened.map_err(unreadable)?.take(most);
        let mut first = [0; 2];
        match opened.read_exact(&mut first) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
                return Err(unreadable(error));
            }
            Ok(()) if magic.contains(&first) => {}
            _ => return Ok(None),
        }
        let mut bytes = first.to_vec();
        opened.read_to_end(&mut bytes).map_err(unreadable)?;
        Ok(Some(bytes))
    }

    /// Whether numbers in it begin with their low byte.
    pub fn is_little_endian(&self) -> bool {
        self.main.borrow().debug_info.reader().endian() == gimli::RunTimeEndian::Little
    }

    /// Bytes of the sections that entries and their strings are in.
    pub fn size(&self) -> usize {
        let size = |sections: &Sections| {
            let dwarf = sections.borrow();
            let readers = [
                dwarf.debug_info.reader().len(),
                dwarf.debug_types.reader().len(),
                dwarf.debug_str.reader().len(),
                dwarf.debug_line_str.reader().len(),
            ];
            readers.iter().sum::<usize>()
        };
        size(&self.main) + self.alternate.as_ref().map_or(0, size)
    }

    /// Tells of every unit: what is shared with other files first, then the
    /// file's own, each split unit in the place of its skeleton.
    pub fn each_unit(&self, told: &mut Told<'_>) {
        let dwarf = borrow(&self.main, self.alternate.as_ref());
        let first = self.main.first;
        if let Some(alternate) = dwarf.sup() {
            let mut walk = UnitWalk::of(alternate, DebugSections::ALTERNATE, first);
            walk.all(alternate, told);
        }
        let mut walk = UnitWalk::of(&dwarf, MAIN, first);
        let splits = Splits::new(self.finder.clone());
        let mut next = FIRST_SPLIT;
        let mut units = dwarf.units();
        loop {
            let header = match units.next() {
                Ok(Some(header)) => header,
                Ok(None) => break,
                Err(error) => {
                    told(Err(format!("its list of units: {error}")));
                    break;
                }
            };
            let root = match walk.root(&dwarf, header) {
                Ok(root) => root,
                Err(why) => {
                    told(Err(why));
                    continue;
                }
            };
            let Root { unit, directory, split } = root;
            let Some(name) = split.map(|name| name.slice()) else {
                told(Ok(SectionUnit { section: MAIN, info: MAIN, dwarf: &dwarf, unit, first }));
                continue;
            };
            let Some(id) = unit.dwo_id else {
                let name = String::from_utf8_lossy(name);
                told(Err(format!("{name} is named without its id")));
                continue;
            };
            let directory = directory.map_or(&[][..], |directory| directory.slice());
            match splits.open(id, directory, name) {
                Ok(split) => match split.dwarf(&dwarf, |section| section) {
                    Ok(dwarf) => {
                        let mut walk = UnitWalk::of(&dwarf, next, first);
                        walk.skeleton = Some(&unit);
                        walk.all(&dwarf, told);
                        next = next.saturating_add(2);
                    }
                    Err(error) => told(Err(error.to_string())),
                },
                Err(why) => told(Err(why)),
            }
        }
        walk.types(&dwarf, MAIN_TYPES, told);
        splits.each_package_type(&dwarf, &mut |types| match types {
            Ok(types) => {
                UnitWalk::of(types, next, first).all(types, told);
                next = next.saturating_add(2);
            }
            Err(error) => told(Err(format!("a unit of types of the package: {error}"))),
        });
    }
}

struct UnitWalk<'u, 'a> {
    forms: UnitForms,
    info: u32,
    /// What split units take their addresses from.
    skeleton: Option<&'u Unit<SectionReader<'a>>>,
    first: FirstAddresses,
}

impl<'u, 'a> UnitWalk<'u, 'a> {
    fn of(dwarf: &Dwarf<SectionReader<'a>>, info: u32, first: FirstAddresses) -> UnitWalk<'u, 'a> {
        UnitWalk { forms: UnitForms::new(dwarf), info, skeleton: None, first }
    }

    fn root(
        &mut self,
        dwarf: &Dwarf<SectionReader<'a>>,
        header: UnitHeader<SectionReader<'a>>,
    ) -> Result<Root<'a>, String> {
        let at = header.debug_info_offset().map_or(0, |offset| offset.0);
        let failed = |error: gimli::Error| format!("unit at {at:#x}: {error}");
        let forms = self.forms.of(dwarf, &header).map_err(failed)?;
        let forms = forms.ok_or_else(|| {
            format!("unit at {at:#x}: more forms are listed than the file can hold")
        })?;
        let mut root = Root::read(dwarf, header, forms).map_err(failed)?;
        if let Some(skeleton) = &self.skeleton {
            root.unit.copy_relocated_attributes(skeleton);
        }
        Ok(root)
    }

    /// Units of a file that has no skeletons.
    fn all(&mut self, dwarf: &Dwarf<SectionReader<'a>>, told: &mut Told<'_>) {
        let mut units = dwarf.units();
        let (info, first) = (self.info, self.first);
        loop {
            let unit = match units.next() {
                Ok(Some(header)) => self.root(dwarf, header).map(|root| root.unit),
                Ok(None) => break,
                Err(error) => {
                    told(Err(format!("its list of units: {error}")));
                    break;
                }
            };
            told(unit.map(|unit| SectionUnit { section: info, info, dwarf, unit, first }));
        }
        self.types(dwarf, info.saturating_add(1), told);
    }

    /// Units of `.debug_types`.
    fn types(&mut self, dwarf: &Dwarf<SectionReader<'a>>, section: u32, told: &mut Told<'_>) {
        let mut units = dwarf.type_units();
        loop {
            let unit = match units.next() {
                Ok(Some(header)) => self.root(dwarf, header).map(|root| root.unit),
                Ok(None) => break,
                Err(error) => {
                    told(Err(format!("its list of units of types: {error}")));
                    break;
                }
            };
            let (info, first) = (self.info, self.first);
            told(unit.map(|unit| SectionUnit { section, info, dwarf, unit, first }));
        }
    }
}
