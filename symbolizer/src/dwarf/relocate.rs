//! Links the debug info of relocatable files (ET_REL): kernel modules and
//! objects. That of programs is linked already, even where a linker left
//! relocations behind, as in a vmlinux.

use super::bytes::{FileBytes, SectionBytes};
use super::layout::Layout;
use gimli::{EndianSlice, Reader};
use object::elf;

/// Where the sections of a relocatable file lie: `.text` at 0, as every tool
/// shows it, then the other loaded ones in the order of the file.
pub(crate) fn addresses(layout: &Layout) -> Vec<u64> {
    let mut addresses = vec![0; layout.sections.len()];
    let text = layout.sections.iter().position(|section| &*section.name == b".text");
    let mut next = text.map_or(0, |text| layout.sections[text].size);
    for (index, section) in layout.sections.iter().enumerate() {
        if section.is_loaded() && Some(index) != text {
            let align = section.align.clamp(16, 1 << 16).next_power_of_two();
            next = next.checked_next_multiple_of(align).unwrap_or(u64::MAX);
            addresses[index] = next;
            next = next.saturating_add(section.size);
        }
    }
    addresses
}

pub(crate) struct Relocator {
    /// Value of each symbol.
    symbols: Vec<u64>,
    /// Relocations of a section, by its index.
    tables: Vec<(usize, SectionBytes, bool)>,
    endian: gimli::RunTimeEndian,
    wide: bool,
    machine: u16,
}

struct Relocation {
    offset: u64,
    kind: u32,
    symbol: u32,
    /// None: what stands at the place.
    addend: Option<i64>,
}

enum Action {
    /// Symbol + addend in that many bytes.
    Store(usize),
    Leave,
}

impl Relocator {
    pub(crate) fn new(image: &FileBytes, layout: &Layout) -> Result<Relocator, String> {
        let addresses = addresses(layout);
        let (mut symbols, mut sections_of) = (None, None);
        let mut tables = Vec::new();
        let mut left = image.length().saturating_mul(2);
        for section in &layout.sections {
            let explicit = section.kind == elf::SHT_RELA.0;
            let target = usize::try_from(section.info).unwrap_or(usize::MAX);
            let of_debug = layout.sections.get(target).is_some_and(|target| {
                target.name.starts_with(b".debug_") && target.flags & elf::SHF_COMPRESSED.0 == 0
            });
            let is_table = (explicit || section.kind == elf::SHT_REL.0) && of_debug;
            let is_symbols = section.kind == elf::SHT_SYMTAB.0 && symbols.is_none();
            let is_sections = section.kind == elf::SHT_SYMTAB_SHNDX.0 && sections_of.is_none();
            if !is_table && !is_symbols && !is_sections {
                continue;
            }
            left = left.checked_sub(section.size).ok_or("its relocations overlap")?;
            let bytes = image.read(section.offset, section.size)?;
            match (is_table, is_symbols) {
                (true, _) => tables.push((target, bytes, explicit)),
                (false, true) => symbols = Some(bytes),
                (false, false) => sections_of = Some(bytes),
            }
        }
        let (symbols, sections_of) = (symbols.unwrap_or_default(), sections_of.unwrap_or_default());
        let symbols = values(layout, &addresses, &symbols, &sections_of);
        let Layout { endian, wide, machine, .. } = *layout;
        Ok(Relocator { symbols, tables, endian, wide, machine })
    }

    pub(crate) fn link(&self, index: usize, bytes: SectionBytes) -> Result<SectionBytes, String> {
        let mut tables = self.tables.iter().filter(|(target, ..)| *target == index).peekable();
        if tables.peek().is_none() {
            return Ok(bytes);
        }
        let mut linked = bytes.to_vec();
        for (_, table, explicit) in tables {
            let mut table = EndianSlice::new(table, self.endian);
            while !table.is_empty() {
                let relocation = self.next(&mut table, *explicit);
                let relocation = relocation.map_err(|_| "its relocations are cut short")?;
                self.apply(&relocation, &mut linked)?;
            }
        }
        Ok(SectionBytes::Owned(linked))
    }

    fn next(
        &self,
        table: &mut EndianSlice<'_, gimli::RunTimeEndian>,
        explicit: bool,
    ) -> gimli::Result<Relocation> {
        Ok(match self.wide {
            true => {
                let offset = table.read_u64()?;
                let info = table.read_u64()?;
                let addend = if explicit { Some(table.read_i64()?) } else { None };
                let (kind, symbol) = (low(info), low(info >> 32));
                Relocation { offset, kind, symbol, addend }
            }
            false => {
                let offset = u64::from(table.read_u32()?);
                let info = table.read_u32()?;
                let addend = if explicit { Some(i64::from(table.read_i32()?)) } else { None };
                Relocation { offset, kind: info & 0xff, symbol: info >> 8, addend }
            }
        })
    }

    fn apply(&self, relocation: &Relocation, linked: &mut [u8]) -> Result<(), String> {
        let &Relocation { offset, kind, symbol, addend } = relocation;
        let size = match action(elf::Machine(self.machine), kind) {
            Some(Action::Store(size)) => size,
            Some(Action::Leave) => return Ok(()),
            None => {
                return Err(format!(
                    "relocation type {kind} of machine {} is not known",
                    self.machine
                ));
            }
        };
        let place = usize::try_from(offset)
            .ok()
            .and_then(|start| linked.get_mut(start..start.checked_add(size)?))
            .ok_or_else(|| format!("a relocation at {offset:#x} lies beyond its end"))?;
        let value = usize::try_from(symbol).ok().and_then(|symbol| self.symbols.get(symbol));
        let value = value.ok_or_else(|| format!("a relocation names symbol {symbol}"))?;
        let little = self.endian == gimli::RunTimeEndian::Little;
        let addend = addend.map_or_else(|| stored(place, little), i64::cast_unsigned);
        store(place, value.wrapping_add(addend), little);
        Ok(())
    }
}

fn low(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn stored(place: &[u8], little: bool) -> u64 {
    let shift = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
    match little {
        true => place.iter().rev().fold(0, shift),
        false => place.iter().fold(0, shift),
    }
}

fn store(place: &mut [u8], value: u64, little: bool) {
    let size = place.len();
    match little {
        true => place.copy_from_slice(&value.to_le_bytes()[..size]),
        false => place.copy_from_slice(&value.to_be_bytes()[8 - size..]),
    }
}

/// The kinds that compilers use in debug info.
fn action(machine: elf::Machine, kind: u32) -> Option<Action> {
    use Action::{Leave, Store};
    let kind = elf::RelocationType(kind);
    Some(match (machine, kind) {
        (_, elf::RelocationType(0)) => Leave,
        (elf::EM_X86_64, elf::R_X86_64_64) => Store(8),
        (elf::EM_X86_64, elf::R_X86_64_32 | elf::R_X86_64_32S) => Store(4),
        // Variables of threads.
        (elf::EM_X86_64, elf::R_X86_64_DTPOFF64 | elf::R_X86_64_DTPOFF32) => Leave,
        (elf::EM_386, elf::R_386_32) => Store(4),
        (elf::EM_386, elf::R_386_TLS_LDO_32) => Leave,
        (elf::EM_AARCH64, elf::R_AARCH64_ABS64) => Store(8),
        (elf::EM_AARCH64, elf::R_AARCH64_ABS32) => Store(4),
        _ => return None,
    })
}

/// Values of symbols: st_value from where their section lies. `sections_of`:
/// for each symbol the number of its section, where that is too large for
/// st_shndx (SHT_SYMTAB_SHNDX).
fn values(layout: &Layout, addresses: &[u64], bytes: &[u8], sections_of: &[u8]) -> Vec<u64> {
    let mut sections_of = EndianSlice::new(sections_of, layout.endian);
    let mut table = EndianSlice::new(bytes, layout.endian);
    let mut values = Vec::new();
    let mut next = || -> gimli::Result<u64> {
        table.read_u32()?;
        let (section, value) = match layout.wide {
            true => {
                table.read_u16()?;
                let section = table.read_u16()?;
                let value = table.read_u64()?;
                table.read_u64()?;
                (section, value)
            }
            false => {
                let value = u64::from(table.read_u32()?);
                table.read_u32()?;
                table.read_u16()?;
                (table.read_u16()?, value)
            }
        };
        let large = sections_of.read_u32();
        let section = match elf::SymbolSection(section) {
            elf::SHN_XINDEX => usize::try_from(large?).ok(),
            // SHN_ABS and its like are of no section.
            index if index.is_reserved() => None,
            index => Some(usize::from(index.0)),
        };
        let base = section.and_then(|section| addresses.get(section)).copied().unwrap_or(0);
        Ok(value.wrapping_add(base))
    };
    while let Ok(value) = next() {
        values.push(value);
    }
    values
}
