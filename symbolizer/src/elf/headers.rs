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
mod tests {
    //! Files that claim more than they have.

    use crate::{ElfError, ElfSymbols};
    use std::io::Cursor;

    /// Header, section header.
    const SIZES: [u64; 2] = [64, 64];
    const SHT_STRTAB: u32 = 3;
    const SHT_NOTE: u32 = 7;

    fn put(bytes: &mut [u8], at: u64, field: &[u8]) {
        let at = usize::try_from(at).unwrap();
        bytes[at..at + field.len()].copy_from_slice(field);
    }

    /// An x86-64 file of nothing but `sections` notes, each of `size` bytes from
    /// another offset, and a string table.
    fn notes(sections: u16, size: impl Fn(u64) -> u64) -> Vec<u8> {
        let length = SIZES[0] + SIZES[1] * (u64::from(sections) + 2);
        let mut bytes = vec![0; usize::try_from(length).unwrap()];
        put(&mut bytes, 0, b"\x7fELF\x02\x01\x01");
        put(&mut bytes, 18, &62_u16.to_le_bytes());
        put(&mut bytes, 20, &1_u32.to_le_bytes());
        put(&mut bytes, 40, &SIZES[0].to_le_bytes());
        put(&mut bytes, 58, &64_u16.to_le_bytes());
        put(&mut bytes, 60, &(sections + 2).to_le_bytes());
        put(&mut bytes, 62, &1_u16.to_le_bytes());
        put(&mut bytes, SIZES[0] + SIZES[1] + 4, &SHT_STRTAB.to_le_bytes());
        for index in 0..u64::from(sections) {
            let at = SIZES[0] + SIZES[1] * (index + 2);
            put(&mut bytes, at + 4, &SHT_NOTE.to_le_bytes());
            put(&mut bytes, at + 24, &index.to_le_bytes());
            put(&mut bytes, at + 32, &size(length - index).to_le_bytes());
        }
        bytes
    }

    fn refusal(bytes: &[u8]) -> String {
        let error = ElfSymbols::read(Cursor::new(bytes)).unwrap_err();
        assert_eq!(ElfSymbols::parse(bytes).unwrap_err(), error);
        let ElfError::Structure(text) = error else { panic!("{error:?}") };
        text
    }

    #[test]
    fn sections_that_all_cover_the_whole_file() {
        let sound = notes(1000, |_| 64);
        assert_eq!(ElfSymbols::read(Cursor::new(&sound)).unwrap().routines().count(), 0);
        let twofold = notes(2, |left| left);
        assert!(ElfSymbols::read(Cursor::new(&twofold)).is_ok());
        let text = refusal(&notes(1000, |left| left));
        assert!(text.contains("claim 63692500 bytes; at most 128384 are read"), "{text}");
        let text = refusal(&notes(2, |_| u64::MAX));
        assert!(text.contains("claim 18446744073709551615 bytes"), "{text}");
    }

    #[test]
    fn more_headers_than_any_file_has() {
        let mut bytes = notes(2, |_| 0);
        // The number stands in the first section.
        put(&mut bytes, 60, &0_u16.to_le_bytes());
        put(&mut bytes, SIZES[0] + 32, &(1_u64 << 21).to_le_bytes());
        let text = refusal(&bytes);
        assert!(text.contains("claims 2097152 section headers; at most 1048576"), "{text}");
    }
}
