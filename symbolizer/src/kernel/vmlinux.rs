//! The kernel's image as its build leaves it: symbols with sizes, where it
//! was linked to lie, and which build it is.

use super::list::{ListError, ListedSymbol, SymbolList};
use super::load::{self, Anchor, KernelError, Loaded, Note};
use super::recorded::Recording;
use super::table::KernelSymbols;
use super::table::ModuleExtent;
use crate::elf::build_id::hex;
use crate::elf::{ElfError, head, headers};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, ReadCache, elf};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest name that is taken, bytes (`KSYM_NAME_LEN` is 512).
const LONGEST: usize = 4096;
/// What stands where a symbol of known size ends: no name.
const END: u8 = b'-';

/// What one vmlinux says.
#[derive(Debug)]
pub(super) struct KernelImage {
    /// As linked, sorted, ends of sized symbols among them.
    pub(super) list: SymbolList,
    pub(super) build_id: Option<Box<[u8]>>,
}

/// Whether a file is an ELF file, and so no list of lines.
pub(super) fn is_image(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).is_ok_and(|mut file| file.read_exact(&mut magic).is_ok())
        && magic == *b"\x7fELF"
}

impl KernelImage {
    /// Reads symbols and build id, a piece at a time.
    pub(super) fn read(path: &Path) -> Result<KernelImage, KernelError> {
        let wrong = |why: String| KernelError::KernelImage { path: path.to_path_buf(), why };
        let failed = |source: io::Error| KernelError::Read { path: path.to_path_buf(), source };
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(failed(io::Error::other("not a regular file")));
        }
        let data = ReadCache::new(file);
        let head = head(&data).map_err(|error| wrong(error.to_string()))?;
        let list = symbols(&data).map_err(|error| wrong(error.to_string()))?;
        match list.is_empty() {
            true => Err(KernelError::List { path: path.to_path_buf(), source: ListError::Empty }),
            false => Ok(KernelImage { list, build_id: head.build_id }),
        }
    }
}

fn symbols(data: &ReadCache<File>) -> Result<SymbolList, ElfError> {
    type Elf = elf::FileHeader64<Endianness>;
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    if header.e_type(endian) == elf::ET_REL {
        return Err(ElfError::Structure("it is an object file, no kernel".to_owned()));
    }
    let sections = headers::sections(header, endian, data)?;
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB)?;
    let strings = symbols.strings();
    let mut found = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        let Ok(Some(section)) = symbols.symbol_section(endian, symbol, index) else { continue };
        let (Ok(section), Ok(name)) = (sections.section(section), symbol.name(endian, strings))
        else {
            continue;
        };
        let flags = section.sh_flags(endian);
        let is_there = flags.contains(elf::SHF_ALLOC) && !flags.contains(elf::SHF_TLS);
        let typed = matches!(
            symbol.st_type(),
            elf::STT_FUNC | elf::STT_GNU_IFUNC | elf::STT_OBJECT | elf::STT_NOTYPE
        );
        let is_mapping = matches!(name, [] | [b'$' | b'.', ..]);
        if !is_there || !typed || is_mapping || name.len() > LONGEST {
            continue;
        }
        let is_zeroed = section.sh_type(endian) == elf::SHT_NOBITS;
        let kind = match (flags.contains(elf::SHF_EXECINSTR), symbol.st_bind()) {
            (true, elf::STB_WEAK) => b'W',
            (true, elf::STB_GLOBAL) => b'T',
            (true, _) => b't',
            (false, elf::STB_LOCAL) => {
                if is_zeroed {
                    b'b'
                } else {
                    b'd'
                }
            }
            (false, _) => {
                if is_zeroed {
                    b'B'
                } else {
                    b'D'
                }
            }
        };
        found.push((symbol.st_value(endian), kind, symbol.st_size(endian), name));
    }
    Ok(listed(found))
}

/// The address that an image has a symbol at.
pub(super) fn address_of(path: &Path, symbol: &str) -> Result<u64, String> {
    let KernelImage { list, .. } = KernelImage::read(path).map_err(|error| error.to_string())?;
    list.address_of(symbol).ok_or_else(|| format!("{symbol} is not in it"))
}

/// The routines of a module's `.text`, which every object file has at 0, and
/// how many bytes that has.
pub(super) fn text_of(path: &Path) -> Result<(SymbolList, u64), String> {
    let data = ReadCache::new(File::open(path).map_err(|error| error.to_string())?);
    routines(&data).map_err(|error: ElfError| error.to_string())
}

fn routines(data: &ReadCache<File>) -> Result<(SymbolList, u64), ElfError> {
    type Elf = elf::FileHeader64<Endianness>;
    let header = Elf::parse(data)?;
    let endian = header.endian()?;
    if header.e_type(endian) != elf::ET_REL {
        return Err(ElfError::Structure("it is no object file".to_owned()));
    }
    let sections = headers::sections(header, endian, data)?;
    let (text, section) = sections
        .section_by_name(endian, b".text")
        .ok_or_else(|| ElfError::Structure("it has no .text".to_owned()))?;
    let symbols = sections.symbols(endian, data, elf::SHT_SYMTAB)?;
    let strings = symbols.strings();
    let mut found = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        let in_text = symbols.symbol_section(endian, symbol, index).ok().flatten() == Some(text);
        if let (true, elf::STT_FUNC, Ok(name)) =
            (in_text, symbol.st_type(), symbol.name(endian, strings))
        {
            found.push((symbol.st_value(endian), b't', 0, name));
        }
    }
    Ok((listed(found), section.sh_size(endian)))
}

/// In the kernel's own order: by address, then as scripts/kallsyms.c sorts
/// what starts at one address, so that aliases are chosen alike. Where a
/// sized symbol ends before the next begins, its end is listed.
fn listed(mut found: Vec<(u64, u8, u64, &[u8])>) -> SymbolList {
    found.sort_by_key(|&(address, kind, _, name)| {
        let underscores = name.iter().take_while(|&&byte| byte == b'_').count();
        let is_weak = kind.eq_ignore_ascii_case(&b'w');
        (address, is_weak, is_from_linker(name), underscores)
    });
    let mut list = SymbolList { bytes: Vec::new(), entries: Vec::new(), modules: Vec::new() };
    let mut ends = Vec::new();
    for &(address, kind, size, name) in &found {
        let entry = |address, kind, name, name_length| ListedSymbol {
            address,
            name,
            name_length,
            module: ListedSymbol::NO_MODULE,
            kind,
        };
        let (start, length) = (list.bytes.len(), name.len());
        let (Ok(start), Ok(length)) = (u32::try_from(start), u32::try_from(length)) else { break };
        list.bytes.extend_from_slice(name);
        list.entries.push(entry(address, kind, start, length));
        if let Some(end) = address.checked_add(size).filter(|_| size > 0) {
            ends.push(entry(end, END, start, 0));
        }
    }
    // Of several at one address the longest counts: the end of a shorter one
    // lies within it, and would cut it.
    let mut longest = 0;
    ends.retain(|end| {
        longest = longest.max(end.address);
        end.address == longest
    });
    list.entries.extend(ends);
    list.entries.sort_by_key(|entry| entry.address);
    list
}

/// Marks of the linker script (may_be_linker_script_provide_symbol()).
fn is_from_linker(name: &[u8]) -> bool {
    let Some(rest) = name.strip_prefix(b"__") else { return false };
    name.len() >= 8
        && (rest.starts_with(b"start_")
            || rest.starts_with(b"stop_")
            || rest.starts_with(b"end_")
            || rest.ends_with(b"_start")
            || rest.ends_with(b"_end"))
}

/// What is known of the kernel whose addresses are to be named.
pub(super) struct Known<'a> {
    /// Where it lies.
    pub(super) anchor: Option<Anchor>,
    pub(super) build_id: Option<Box<[u8]>>,
    /// Modules and BPF programs come from there.
    pub(super) modules: Option<(SymbolList, Vec<ModuleExtent>)>,
    pub(super) recording: Option<&'a Recording>,
}

/// The symbols of a vmlinux, moved to where the kernel lies, and the modules
/// of that kernel.
pub(super) fn load(path: &Path, known: Known<'_>) -> Result<Loaded, KernelError> {
    let image = KernelImage::read(path)?;
    let refused = |difference: String| {
        let path = path.to_path_buf();
        match known.recording {
            Some(_) => KernelError::NotRecorded { path, difference },
            None => KernelError::OtherKernel { path, difference },
        }
    };
    let mut notes = Vec::new();
    match (&image.build_id, &known.build_id) {
        (Some(own), Some(kernels)) if own != kernels => {
            return Err(refused(format!(
                "its build id is {}, the kernel's {}",
                hex(own),
                hex(kernels)
            )));
        }
        (Some(_), Some(_)) => {}
        _ => notes.push(Note::Unchecked {
            path: path.to_path_buf(),
            release: known.recording.and_then(|recording| recording.release.clone()),
        }),
    }
    let Some(Anchor { symbol, address }) = known.anchor else {
        let why = "nothing tells where it lay: its addresses are hidden (kptr_restrict)";
        return Err(refused(why.to_owned()));
    };
    let listed = image.list.address_of(&symbol);
    let listed = listed.ok_or_else(|| refused(format!("{symbol} is not in it")))?;
    let offset = address.wrapping_sub(listed);
    if !offset.is_multiple_of(load::KASLR_STEP) {
        let moved = format!("{symbol} is at {listed:#x} in it, runs at {address:#x}");
        return Err(refused(moved));
    }
    if offset != 0 {
        notes.push(Note::Moved { path: path.to_path_buf(), offset });
    }
    let (list, extents) = joined(image.list, offset, known.modules);
    table(path, list, &extents).map(|loaded| Loaded { build_id: image.build_id, notes, ..loaded })
}

/// An image where it runs as a table.
pub(super) fn table(
    path: &Path,
    list: SymbolList,
    extents: &[ModuleExtent],
) -> Result<Loaded, KernelError> {
    let (path, anchors) = (path.to_path_buf(), load::anchors(&list, 0));
    let symbols = KernelSymbols::of_image(list, extents);
    match symbols.is_empty() {
        true => Err(KernelError::NoText { path }),
        false => Ok(Loaded { symbols, path, anchors, build_id: None, notes: Vec::new() }),
    }
}

/// The image where it runs, with the modules of `others`.
pub(super) fn joined(
    mut image: SymbolList,
    offset: u64,
    others: Option<(SymbolList, Vec<ModuleExtent>)>,
) -> (SymbolList, Vec<ModuleExtent>) {
    // Offsets of each CPU's variables do not move, and are no addresses.
    image.entries.retain(|entry| entry.address >> 63 == 1);
    for entry in &mut image.entries {
        entry.address = entry.address.wrapping_add(offset);
    }
    let Some((others, extents)) = others else { return (image, Vec::new()) };
    let start = image.bytes.len();
    let (Ok(start), Ok(_)) =
        (u32::try_from(start), u32::try_from(start.saturating_add(others.bytes.len())))
    else {
        return (image, Vec::new());
    };
    image.bytes.extend_from_slice(&others.bytes);
    image.modules = others.modules;
    let of_modules =
        others.entries.into_iter().filter(|entry| entry.module != ListedSymbol::NO_MODULE);
    image
        .entries
        .extend(of_modules.map(|entry| ListedSymbol { name: entry.name + start, ..entry }));
    (image, extents)
}

#[cfg(test)]
mod tests;
