//! The kernel's image as its build leaves it: symbols with sizes, where it
//! was linked to lie, and which build it is.

use super::list::{ListError, ListedSymbol, SymbolList};
use super::loaded::{self, KernelAnchor, KernelError, KernelListNote, LoadedKernel, Recording};
use super::table::KernelSymbols;
use super::table::ModuleExtent;
use crate::elf::head::hex;
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
pub(super) struct KnownKernel<'a> {
    pub(super) anchor: Option<KernelAnchor>,
    pub(super) build_id: Option<Box<[u8]>>,
    /// Modules and BPF programs come from there.
    pub(super) modules: Option<(SymbolList, Vec<ModuleExtent>)>,
    pub(super) recording: Option<&'a Recording>,
}

/// The symbols of a vmlinux, moved to where the kernel lies, and the modules
/// of that kernel.
pub(super) fn load(path: &Path, known: KnownKernel<'_>) -> Result<LoadedKernel, KernelError> {
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
        _ => notes.push(KernelListNote::Unchecked {
            path: path.to_path_buf(),
            release: known.recording.and_then(|recording| recording.release.clone()),
        }),
    }
    let Some(KernelAnchor { symbol, address }) = known.anchor else {
        let why = "nothing tells where it lay: its addresses are hidden (kptr_restrict)";
        return Err(refused(why.to_owned()));
    };
    let listed = image.list.address_of(&symbol);
    let listed = listed.ok_or_else(|| refused(format!("{symbol} is not in it")))?;
    let offset = address.wrapping_sub(listed);
    if !offset.is_multiple_of(loaded::KASLR_STEP) {
        let moved = format!("{symbol} is at {listed:#x} in it, runs at {address:#x}");
        return Err(refused(moved));
    }
    if offset != 0 {
        notes.push(KernelListNote::Moved { path: path.to_path_buf(), offset });
    }
    let (list, extents) = joined(image.list, offset, known.modules);
    table(path, list, &extents).map(|loaded| LoadedKernel {
        build_id: image.build_id,
        notes,
        ..loaded
    })
}

pub(super) fn table(
    path: &Path,
    list: SymbolList,
    extents: &[ModuleExtent],
) -> Result<LoadedKernel, KernelError> {
    let (path, anchors) = (path.to_path_buf(), loaded::anchors(&list, 0));
    let symbols = KernelSymbols::of_image(list, extents);
    match symbols.is_empty() {
        true => Err(KernelError::NoText { path }),
        false => Ok(LoadedKernel { symbols, path, anchors, build_id: None, notes: Vec::new() }),
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
mod tests {
    //! Images put together byte by byte, and a real one where there is one.

    use super::*;
    use crate::kernel::load;
    use std::fs;
    use std::path::PathBuf;

    const LINKED: u64 = 0xffff_ffff_8100_0000;
    const MOVED: u64 = 0x1e20_0000;

    /// (address, size, type and binding, section, name)
    type Told<'a> = (u64, u64, u8, u16, &'a str);

    const GLOBAL_FUNCTION: u8 = 0x12;
    const LOCAL_FUNCTION: u8 = 0x02;
    const WEAK_FUNCTION: u8 = 0x22;
    const GLOBAL_LABEL: u8 = 0x10;
    const GLOBAL_VARIABLE: u8 = 0x11;

    /// An ELF file of `.text` (1), `.data` (2), a note, symbols and their names.
    fn image(kind: u16, id: &[u8], told: &[Told<'_>]) -> Vec<u8> {
        let mut names = vec![0];
        let mut table = vec![0; 24];
        for &(value, size, info, section, name) in told {
            table.extend(u32::try_from(names.len()).unwrap().to_le_bytes());
            table.extend([info, 0]);
            table.extend(section.to_le_bytes());
            table.extend(value.to_le_bytes());
            table.extend(size.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        let length = u32::try_from(id.len()).unwrap().to_le_bytes();
        let note = [&[4, 0, 0, 0], &length[..], &[3, 0, 0, 0], b"GNU\0", id].concat();
        let titles = b"\0.text\0.data\0.note\0.symtab\0.strtab\0";
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        let mut places = Vec::new();
        let mut body = Vec::new();
        for part in [&note[..], &table, &names, titles] {
            places.push((64 + body.len() as u64, part.len() as u64));
            body.extend(part);
            body.resize(body.len().next_multiple_of(8), 0);
        }
        file.extend(kind.to_le_bytes());
        file.extend(62_u16.to_le_bytes());
        file.extend(1_u32.to_le_bytes());
        for word in [0, 0, 64 + body.len() as u64] {
            file.extend(word.to_le_bytes());
        }
        file.extend(0_u32.to_le_bytes());
        for half in [64_u16, 0, 0, 64, 7, 6] {
            file.extend(half.to_le_bytes());
        }
        file.extend(&body);
        let mut section =
            |name: u32, kind: u32, flags: u64, (at, size): (u64, u64), link: u32, each| {
                file.extend(name.to_le_bytes());
                file.extend(kind.to_le_bytes());
                for word in [flags, 0, at, size] {
                    file.extend(word.to_le_bytes());
                }
                file.extend(link.to_le_bytes());
                file.extend(0_u32.to_le_bytes());
                for word in [4_u64, each] {
                    file.extend(word.to_le_bytes());
                }
            };
        section(0, 0, 0, (0, 0), 0, 0);
        // No bytes are behind code and data: nobody reads them.
        section(1, 8, 6, (64, 0x1000), 0, 0);
        section(7, 8, 3, (64, 0x1000), 0, 0);
        section(13, 7, 2, places[0], 0, 0);
        section(19, 2, 0, places[1], 5, 24);
        section(27, 3, 0, places[2], 0, 0);
        section(27, 3, 0, places[3], 0, 0);
        file
    }

    fn kernel(id: &[u8]) -> Vec<u8> {
        image(
            2,
            id,
            &[
                (LINKED, 0, GLOBAL_LABEL, 1, "_text"),
                (LINKED + 0x100, 0x40, GLOBAL_FUNCTION, 1, "alpha"),
                (LINKED + 0x100, 0x40, WEAK_FUNCTION, 1, "weak_alpha"),
                (LINKED + 0x180, 0x20, LOCAL_FUNCTION, 1, "beta"),
                (LINKED + 0x800, 8, GLOBAL_VARIABLE, 2, "init_task"),
                (0x1000, 8, GLOBAL_VARIABLE, 2, "of_each_cpu"),
            ],
        )
    }

    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new(kallsyms: &str, id: &[u8]) -> Machine {
            let machine = Machine(tempfile::tempdir().unwrap());
            machine.write("proc/kallsyms", kallsyms.as_bytes());
            let length = u32::try_from(id.len()).unwrap().to_ne_bytes();
            let (name, kind) = (4_u32.to_ne_bytes(), 3_u32.to_ne_bytes());
            let note = [&name[..], &length, &kind, b"GNU\0", id].concat();
            machine.write("sys/kernel/notes", &note);
            machine
        }

        fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
            let path = self.0.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            path
        }
    }

    fn name(loaded: &LoadedKernel, address: u64) -> Option<String> {
        let routine = loaded.symbols.find(address)?;
        Some(String::from_utf8_lossy(routine.name).into_owned())
    }

    #[test]
    fn an_image_is_moved_to_where_the_kernel_runs_and_its_sizes_count() {
        let here = LINKED + MOVED;
        let list = format!("{here:x} T _text\n{:x} t probe\t[loop]\n", here + 0x20_0000);
        let machine = Machine::new(&list, &[7; 20]);
        let path = machine.write("vmlinux", &kernel(&[7; 20]));
        let loaded = load::load_file(machine.0.path(), &path, crate::KernelOffset::Detect).unwrap();
        // Of aliases the kernel lists the weak one last, and the last counts.
        assert_eq!(name(&loaded, here + 0x13f).as_deref(), Some("weak_alpha"));
        assert_eq!(name(&loaded, here + 0x140), None, "beyond its size");
        assert_eq!(name(&loaded, here + 0x19f).as_deref(), Some("beta"));
        assert_eq!(name(&loaded, here + 0x1a0), None);
        assert_eq!(name(&loaded, here + 0x20_0000).as_deref(), Some("probe"), "a module stays");
        let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
        assert!(notes.iter().any(|note| note.contains("+0x1e200000")), "{notes:?}");
        let variables = loaded.symbols.variables().unwrap().unwrap();
        assert_eq!(variables.find(here + 0x807).unwrap().name, b"init_task");
        assert_eq!(variables.find(here + 0x808), None);
    }

    #[test]
    fn another_build_is_refused() {
        let machine = Machine::new(&format!("{LINKED:x} T _text\n"), &[7; 20]);
        let path = machine.write("vmlinux", &kernel(&[8; 20]));
        let error =
            load::load_file(machine.0.path(), &path, crate::KernelOffset::Detect).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("build id is 0808") && text.contains("0707"), "{text}");
    }

    #[test]
    fn a_kernel_that_hides_where_it_lies_gets_no_names_of_an_image() {
        let machine = Machine::new("0000000000000000 T _text\n", &[7; 20]);
        let path = machine.write("vmlinux", &kernel(&[7; 20]));
        let error =
            load::load_file(machine.0.path(), &path, crate::KernelOffset::Detect).unwrap_err();
        assert!(error.to_string().contains("hidden"), "{error}");
    }

    #[test]
    fn what_is_no_image_says_so() {
        let machine = Machine::new("", &[]);
        let object = machine.write("x.o", &image(1, &[7; 20], &[]));
        let error = KernelImage::read(&object).unwrap_err().to_string();
        assert!(error.contains("object file"), "{error}");
        let whole = kernel(&[7; 20]);
        for length in 4..whole.len() {
            let cut = machine.write("cut", &whole[..length]);
            // Some cuts are after all that is read.
            let _ = KernelImage::read(&cut);
        }
    }

    #[test]
    fn a_modules_routines_are_those_of_its_text() {
        let machine = Machine::new("", &[]);
        let path = machine.write(
            "loop.ko",
            &image(
                1,
                &[9; 20],
                &[
                    (0x10, 0x20, GLOBAL_FUNCTION, 1, "probe"),
                    (0x40, 0x20, LOCAL_FUNCTION, 1, "other"),
                    (0, 8, GLOBAL_VARIABLE, 2, "data"),
                ],
            ),
        );
        let (routines, size) = text_of(&path).unwrap();
        let names: Vec<&[u8]> = routines.entries.iter().map(|entry| routines.name(entry)).collect();
        assert_eq!((names, size), (vec![&b"probe"[..], b"other"], 0x1000));
        assert!(text_of(&machine.write("vmlinux", &kernel(&[7; 20]))).is_err());
    }
}
