//! `.symtab` and `.dynsym` of one file.

use super::ranges::{Binding, Ranges, Symbol};
use super::{ElfError, headers};
use object::ReadRef;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};

/// Symbol tables are the sections of one file; strings are kept whole.
pub(super) struct Tables {
    pub(super) symbols: Vec<Symbol>,
    pub(super) strings: Vec<Box<[u8]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// Routines and PLT stubs.
    Code,
    /// Variables that all threads share.
    Data,
    /// Variables that each thread has for itself.
    ThreadData,
}

/// The symbols of both tables, those of the debug file first.
pub(super) fn tables<'data, Elf, R>(
    data: R,
    separate: Option<R>,
    naming: Naming,
) -> Result<Tables, ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    let mut tables = Tables { symbols: Vec::new(), strings: Vec::new() };
    let own_base = base::<Elf, R>(data)?;
    if let Some(separate) = separate {
        // A debug file that does not hold together is as good as none.
        if let Ok(other_base) = base::<Elf, R>(separate)
            && add::<Elf, R>(&mut tables, separate, elf::SHT_SYMTAB, naming).is_ok()
            && let (Some(own), Some(other)) = (own_base, other_base)
        {
            Ranges::shift(&mut tables.symbols, own.wrapping_sub(other));
        }
    }
    add::<Elf, R>(&mut tables, data, elf::SHT_SYMTAB, naming)?;
    add::<Elf, R>(&mut tables, data, elf::SHT_DYNSYM, naming)?;
    Ok(tables)
}

fn base<'data, Elf, R>(data: R) -> Result<Option<u64>, ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    let loads = headers::programs(header, endian, data)?.iter();
    Ok(loads
        .filter(|program| program.p_type(endian) == elf::PT_LOAD)
        .map(|program| program.p_vaddr(endian).into())
        .min())
}

fn add<'data, Elf, R>(
    tables: &mut Tables,
    data: R,
    kind: elf::SectionType,
    naming: Naming,
) -> Result<(), ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    let sections = headers::sections(header, endian, data)?;
    let symbols = sections.symbols(endian, data, kind)?;
    if symbols.is_empty() {
        return Ok(());
    }
    let table = add_strings::<Elf, R>(tables, endian, data, &sections, symbols.string_section())?;
    let arm = header.e_machine(endian) == elf::EM_ARM;
    let strings = &tables.strings[usize::from(table)];
    let found = symbols.enumerate().filter_map(|(index, symbol)| {
        let section = symbols.symbol_section(endian, symbol, index).ok()??;
        let section = sections.section(section).ok()?;
        let flags = section.sh_flags(endian);
        let is_code = flags.contains(elf::SHF_EXECINSTR);
        let is_own = flags.contains(elf::SHF_TLS);
        let is_shared = flags.contains(elf::SHF_ALLOC) && !is_own;
        let typed = match (symbol.st_type(), naming) {
            (elf::STT_FUNC | elf::STT_GNU_IFUNC, Naming::Code) if is_code => true,
            (elf::STT_NOTYPE, Naming::Code) if is_code => false,
            // Tables among the code, too.
            (elf::STT_OBJECT | elf::STT_COMMON, Naming::Data) if is_shared => true,
            (elf::STT_TLS, Naming::ThreadData) if is_own => true,
            _ => return None,
        };
        let name = symbol.st_name(endian);
        let text = strings.get(usize::try_from(name).ok()?..)?;
        // `$x`, `$d`: where ARM code and data alternate, no routines.
        if matches!(text.first(), None | Some(0)) || (!typed && matches!(text, [b'$' | b'.', ..])) {
            return None;
        }
        let start: u64 = symbol.st_value(endian).into();
        // Bit 0 says Thumb.
        let start = if arm && typed && naming == Naming::Code { start & !1 } else { start };
        let size: u64 = symbol.st_size(endian).into();
        let section_end: u64 =
            section.sh_addr(endian).into().saturating_add(section.sh_size(endian).into());
        let binding = match symbol.st_bind() {
            elf::STB_WEAK => Binding::Weak,
            elf::STB_GLOBAL => Binding::Global,
            _ => Binding::Local,
        };
        let end = start.saturating_add(size);
        let limit = section_end;
        Some(Symbol { start, end, limit, name, table, binding, typed, stub: false })
    });
    tables.symbols.extend(found.collect::<Vec<_>>());
    Ok(())
}

/// Keeps a string table; gives its number.
pub(super) fn add_strings<'data, Elf, R>(
    tables: &mut Tables,
    endian: Elf::Endian,
    data: R,
    sections: &SectionTable<'data, Elf, R>,
    index: object::SectionIndex,
) -> Result<u8, ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    let bytes = sections.section(index)?.data(endian, data)?;
    let number = u8::try_from(tables.strings.len())
        .map_err(|_| ElfError::Structure("more than 255 string tables".to_owned()))?;
    tables.strings.push(bytes.into());
    Ok(number)
}
