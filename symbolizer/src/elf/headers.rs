//! Program and section headers of files that can be read without harm: a
//! hostile file, perhaps one of holes, claims what no sound one does.

use super::ElfError;
use object::ReadRef;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader, SectionTable};

/// Headers of either kind.
const MOST_HEADERS: u32 = 1 << 20;
/// What is read may take this many times the length of the file together. In
/// a sound file no byte belongs to two sections; in a hostile one each of
/// thousands covers the whole file, and all would be kept at once.
const MOST_TIMES: u64 = 2;
/// Bytes that are read of one file. Symbols and strings of the largest
/// programs known take a quarter.
const MOST_BYTES: u64 = 2 << 30;

/// Bytes that sections or segments to be read may claim together.
pub(super) fn allowance<'data, R: ReadRef<'data>>(data: R) -> u64 {
    data.len().unwrap_or(0).saturating_mul(MOST_TIMES).min(MOST_BYTES)
}

/// The program headers. Refuses too many.
pub(super) fn programs<'data, Elf, R>(
    header: &Elf,
    endian: Elf::Endian,
    data: R,
) -> Result<&'data [Elf::ProgramHeader], ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    check_number("program", header.phnum(endian, data)?)?;
    Ok(header.program_headers(endian, data)?)
}

/// The section headers. Refuses too many, and sections that claim too much.
pub(crate) fn sections<'data, Elf, R>(
    header: &Elf,
    endian: Elf::Endian,
    data: R,
) -> Result<SectionTable<'data, Elf, R>, ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    check_number("section", header.shnum(endian, data)?)?;
    let sections = header.sections(endian, data)?;
    let sizes = sections
        .iter()
        .filter(|section| is_read(section.sh_type(endian)))
        .map(|section| section.sh_size(endian).into());
    let claimed = sizes.fold(0, u64::saturating_add);
    let allowed = allowance(data);
    if claimed > allowed {
        return Err(ElfError::Structure(format!(
            "its symbols, strings, relocations and notes claim {claimed} bytes; at most {allowed} \
             are read of a file of its length"
        )));
    }
    Ok(sections)
}

fn check_number(kind: &str, number: u32) -> Result<(), ElfError> {
    match number <= MOST_HEADERS {
        true => Ok(()),
        false => Err(ElfError::Structure(format!(
            "it claims {number} {kind} headers; at most {MOST_HEADERS} are read"
        ))),
    }
}

fn is_read(kind: elf::SectionType) -> bool {
    matches!(
        kind,
        elf::SHT_SYMTAB
            | elf::SHT_DYNSYM
            | elf::SHT_SYMTAB_SHNDX
            | elf::SHT_STRTAB
            | elf::SHT_RELA
            | elf::SHT_NOTE
    )
}

#[cfg(test)]
mod tests;
