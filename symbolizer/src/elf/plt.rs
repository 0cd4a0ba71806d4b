//! PLT stubs: small jumps through the GOT, named after where they lead.

use super::ranges::{Binding, Symbol};
use super::symbols::{Tables, add_strings};
use super::{ElfError, headers};
use object::ReadRef;
use object::elf;
use object::read::elf::{FileHeader, Rela, SectionHeader, SectionTable, Sym};
use rustc_hash::FxHashMap;

/// `jmp *disp(%rip)`, which every x86-64 stub that leads somewhere contains.
const JUMP: [u8; 2] = [0xff, 0x25];

/// Names the stubs of an x86-64 file. Other machines' stubs keep none.
pub(super) fn add<'data, Elf, R>(tables: &mut Tables, data: R) -> Result<(), ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    if header.e_machine(endian) != elf::EM_X86_64 {
        return Ok(());
    }
    let sections = headers::sections(header, endian, data)?;
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    if symbols.is_empty() {
        return Ok(());
    }
    let slots = slots::<Elf, R>(endian, data, &sections)?;
    let table = add_strings::<Elf, R>(tables, endian, data, &sections, symbols.string_section())?;
    for name in [b".plt".as_slice(), b".plt.sec", b".plt.got"] {
        let Some((_, section)) = sections.section_by_name(endian, name) else { continue };
        let entry = match section.sh_entsize(endian).into() {
            8 => 8,
            _ => 16,
        };
        if section.sh_size(endian).into() > headers::allowance(data) {
            continue;
        }
        let start: u64 = section.sh_addr(endian).into();
        for (index, stub) in (0_u64..).zip(section.data(endian, data)?.chunks_exact(entry)) {
            let start = start.wrapping_add(index * entry as u64);
            let Some(symbol) = target(stub, start).and_then(|slot| slots.get(&slot)) else {
                continue;
            };
            let Ok(symbol) = symbols.symbol(object::SymbolIndex(*symbol)) else { continue };
            let end = start.saturating_add(entry as u64);
            let name = symbol.st_name(endian);
            let (binding, limit) = (Binding::Local, end);
            tables.symbols.push(Symbol {
                start,
                end,
                limit,
                name,
                table,
                binding,
                typed: true,
                stub: true,
            });
        }
    }
    Ok(())
}

/// GOT slot -> number of the dynamic symbol whose address it will hold.
fn slots<'data, Elf, R>(
    endian: Elf::Endian,
    data: R,
    sections: &SectionTable<'data, Elf, R>,
) -> Result<FxHashMap<u64, usize>, ElfError>
where
    Elf: FileHeader,
    R: ReadRef<'data>,
{
    let mut slots = FxHashMap::default();
    for section in sections.iter() {
        let Some((relocations, _)) = section.rela(endian, data)? else { continue };
        for relocation in relocations {
            let kind = relocation.r_type(endian, false);
            if kind == elf::R_X86_64_JUMP_SLOT || kind == elf::R_X86_64_GLOB_DAT {
                let symbol = usize::try_from(relocation.r_sym(endian, false));
                slots.insert(relocation.r_offset(endian).into(), symbol.unwrap_or(0));
            }
        }
    }
    Ok(slots)
}

fn target(stub: &[u8], start: u64) -> Option<u64> {
    let at = memchr::memmem::find(stub, &JUMP)?;
    let displacement = i32::from_le_bytes(*stub.get(at + 2..)?.first_chunk()?);
    let after = start.wrapping_add(at as u64 + 6);
    Some(after.wrapping_add_signed(i64::from(displacement)))
}
