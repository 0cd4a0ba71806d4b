//! What sections an ELF file has, and how to read numbers in it.

use super::bytes::FileBytes;
use crate::elf::ElfError;
use gimli::RunTimeEndian;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, ReadCache, ReadRef};

/// Bytes of a section's name that are looked at: no known one has more.
const LONGEST_NAME: usize = 64;
/// Section headers that are read.
const MOST_SECTIONS: u32 = 1 << 20;

#[derive(Debug)]
pub(crate) struct Section {
    /// Its first bytes.
    pub(crate) name: Box<[u8]>,
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    /// Where it is loaded, as linked.
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// `sh_info`.
    pub(crate) info: u32,
}

impl Section {
    pub(crate) fn is_loaded(&self) -> bool {
        self.flags & elf::SHF_ALLOC.0 != 0
    }

    pub(crate) fn has_bytes(&self) -> bool {
        self.kind != elf::SHT_NOBITS.0
    }
}

/// Where the code and the data of a linked file begin. A linker writes 0 or 1,
/// or that and a distance, for the address of what it left out
/// (--gc-sections): nothing of the file lies there. In a relocatable file 0 is
/// an address as any other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstAddresses {
    /// The lowest address of a section with code.
    pub code: u64,
    /// The lowest address of a section that is loaded.
    pub data: u64,
}

#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) endian: RunTimeEndian,
    /// ELFCLASS64.
    pub(crate) wide: bool,
    pub(crate) machine: u16,
    /// ET_REL: to be linked, a kernel module.
    pub(crate) relocatable: bool,
    pub(crate) sections: Vec<Section>,
}

impl Layout {
    pub(crate) fn of(image: &FileBytes) -> Result<Layout, ElfError> {
        match image.whole() {
            Ok(bytes) => Layout::read(bytes),
            Err(file) => Layout::read(&ReadCache::new(file)),
        }
    }

    /// The same of a file that is read a piece at a time.
    pub(crate) fn read<'data, R: ReadRef<'data>>(data: R) -> Result<Layout, ElfError> {
        match crate::elf::is_64(data)? {
            false => of_class::<FileHeader32<Endianness>, R>(data, false),
            true => of_class::<FileHeader64<Endianness>, R>(data, true),
        }
    }

    pub(crate) fn section(&self, name: &[u8]) -> Option<&Section> {
        self.sections.iter().find(|section| &*section.name == name && section.has_bytes())
    }

    pub(crate) fn first_addresses(&self) -> FirstAddresses {
        let first = |flags: u64| {
            let loaded = self.sections.iter().filter(|section| {
                section.size > 0
                    && section.flags & flags == flags
                    && section.flags & elf::SHF_TLS.0 == 0
            });
            loaded.map(|section| section.address).min().unwrap_or(0)
        };
        match self.relocatable {
            true => FirstAddresses::default(),
            false => FirstAddresses {
                code: first(elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0),
                data: first(elf::SHF_ALLOC.0),
            },
        }
    }

    pub(crate) fn has_debug_info(&self) -> bool {
        [b".debug_info".as_slice(), b".zdebug_info"]
            .iter()
            .any(|name| self.section(name).is_some_and(|section| section.size > 0))
    }
}

fn of_class<'data, Elf, R>(data: R, wide: bool) -> Result<Layout, ElfError>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    let number = header.shnum(endian, data)?;
    if number > MOST_SECTIONS {
        return Err(ElfError::Structure(format!(
            "it claims {number} section headers; at most {MOST_SECTIONS} are read"
        )));
    }
    let headers = header.section_headers(endian, data)?;
    let strings = match headers.is_empty() {
        true => &[],
        false => {
            let index = usize::try_from(header.shstrndx(endian, data)?).unwrap_or(usize::MAX);
            match headers.get(index) {
                Some(section) => section.data(endian, data)?,
                None => &[],
            }
        }
    };
    let name = |offset: u32| {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = strings.get(start..).unwrap_or_default();
        let rest = &rest[..rest.len().min(LONGEST_NAME)];
        Box::from(&rest[..memchr::memchr(0, rest).unwrap_or(rest.len())])
    };
    let sections = headers.iter().map(|section| Section {
        name: name(section.sh_name(endian)),
        kind: section.sh_type(endian).0,
        flags: section.sh_flags(endian).0,
        address: section.sh_addr(endian).into(),
        offset: section.sh_offset(endian).into(),
        size: section.sh_size(endian).into(),
        align: section.sh_addralign(endian).into(),
        info: section.sh_info(endian),
    });
    Ok(Layout {
        endian: match header.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        },
        wide,
        machine: header.e_machine(endian).0,
        relocatable: header.e_type(endian) == elf::ET_REL,
        sections: sections.collect(),
    })
}
