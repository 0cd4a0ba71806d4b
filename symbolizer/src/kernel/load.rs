//! Which list of kernel symbols is used, and how far the kernel lies from it.

use super::list::{ListedSymbol, SymbolList};
use super::loaded::{KernelError, KernelListNote, LoadedKernel, anchor, anchors};
use super::table::{KernelSymbols, ModuleExtent};
use super::vmlinux::{self, KernelImage, KnownKernel};
use crate::files::options::KernelOffset;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Where x86-64 kernels are linked to lie (`__START_KERNEL_map` plus
/// CONFIG_PHYSICAL_START); KASLR moves them from there.
const X86_64_LINKED: u64 = 0xffff_ffff_8100_0000;
/// As much of /proc/kallsyms as is read to recognise a kernel: making all of
/// it takes the kernel 50 ms.
const HEAD: u64 = 128 * 1024;

/// The running kernel's symbols: `root`/proc/kallsyms, and when that is
/// hidden or absent `root`/boot/System.map-RELEASE.
pub fn load_running(root: &Path) -> Result<LoadedKernel, KernelError> {
    let path = root.join("proc/kallsyms");
    match read_list(&path).and_then(|list| table(&path, list, 0, &module_extents(root))) {
        Ok(loaded) => Ok(loaded),
        Err(kallsyms) => {
            let path = root.join("boot").join(format!("System.map-{}", release(root)));
            load_file(root, &path, KernelOffset::Detect).map_err(|system_map| {
                KernelError::Nowhere {
                    kallsyms: Box::new(kallsyms),
                    system_map: Box::new(system_map),
                }
            })
        }
    }
}

/// The symbols of a System.map, a saved /proc/kallsyms or a vmlinux. A list
/// as linked must be the running kernel's, unless the offset is given.
pub fn load_file(
    root: &Path,
    path: &Path,
    offset: KernelOffset,
) -> Result<LoadedKernel, KernelError> {
    match offset {
        _ if !vmlinux::is_image(path) => {}
        KernelOffset::Given(offset) => {
            let KernelImage { list, build_id } = KernelImage::read(path)?;
            let (list, _) = vmlinux::joined(list, offset, None);
            return vmlinux::table(path, list, &[])
                .map(|loaded| LoadedKernel { build_id, ..loaded });
        }
        KernelOffset::Detect => return vmlinux::load(path, running(root)),
    }
    let list = read_list(path)?;
    let (offset, note) = match offset {
        KernelOffset::Given(offset) => (offset, None),
        KernelOffset::Detect => detect(root, path, &list)?,
    };
    let mut loaded = table(path, list, offset, &[])?;
    loaded.notes.extend(note);
    Ok(loaded)
}

pub(super) fn running(root: &Path) -> KnownKernel<'static> {
    let list = read_list(&root.join("proc/kallsyms")).ok();
    let anchor = list.as_ref().and_then(|list| anchors(list, 0).into_iter().next());
    let modules = list.map(|list| (list, module_extents(root)));
    KnownKernel { anchor, build_id: build_id(root), modules, recording: None }
}

/// The running kernel's build id.
pub(crate) fn build_id(root: &Path) -> Option<Box<[u8]>> {
    noted(&root.join("sys/kernel/notes"))
}

/// The build id in a file of ELF notes.
pub(crate) fn noted(path: &Path) -> Option<Box<[u8]>> {
    let notes = std::fs::read(path).ok()?;
    let word = |at: usize| {
        let word = notes.get(at..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_ne_bytes(*word)).ok()
    };
    let mut at = 0_usize;
    loop {
        let (name, length, kind) = (word(at)?, word(at + 4)?, word(at + 8)?);
        let start = at.checked_add(12)?.checked_add(name.checked_next_multiple_of(4)?)?;
        let end = start.checked_add(length)?;
        // NT_GNU_BUILD_ID
        if kind == 3 && notes.get(at + 12..)?.starts_with(b"GNU\0") {
            return notes.get(start..end).filter(|id| !id.is_empty()).map(Into::into);
        }
        at = end.checked_next_multiple_of(4)?;
    }
}

/// The running kernel's release, as uname -r prints it; empty when unknown.
pub(crate) fn release(root: &Path) -> String {
    let text = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease"));
    text.map(|text| text.trim().to_owned()).unwrap_or_default()
}

pub(super) fn table(
    path: &Path,
    mut list: SymbolList,
    offset: u64,
    extents: &[ModuleExtent],
) -> Result<LoadedKernel, KernelError> {
    let anchors = anchors(&list, offset);
    let listed = list.len();
    if offset != 0 {
        list.entries.retain(|entry| entry.module == ListedSymbol::NO_MODULE);
    }
    let path = path.to_path_buf();
    let notes = match listed - list.len() {
        0 => Vec::new(),
        count => vec![KernelListNote::ModulesLeftOut { path: path.clone(), count }],
    };
    let symbols = KernelSymbols::with_modules(list, offset, extents);
    if symbols.is_empty() {
        return Err(KernelError::NoText { path });
    }
    Ok(LoadedKernel { symbols, path, anchors, build_id: None, notes })
}

fn detect(
    root: &Path,
    path: &Path,
    list: &SymbolList,
) -> Result<(u64, Option<KernelListNote>), KernelError> {
    let Some((symbol, listed)) = anchor(list) else { return Ok((0, None)) };
    let as_linked = is_as_linked(path, listed);
    let head = match read_head(&root.join("proc/kallsyms")) {
        Ok(head) => head,
        Err(_) if !as_linked => return Ok((0, None)),
        Err(_) if is_kept_in_place(root) => return Ok((0, None)),
        Err(error) => {
            let (path, why) = (path.to_path_buf(), error.to_string());
            return Err(KernelError::OffsetUnknown { path, why });
        }
    };
    let Some(here) = head.address_of(symbol) else { return Ok((0, None)) };
    let offset = here.wrapping_sub(listed);
    let path = path.to_path_buf();
    match difference(list, &head, offset) {
        None if offset == 0 => Ok((0, None)),
        None if as_linked => Ok((offset, Some(KernelListNote::Moved { path, offset }))),
        Some(difference) if as_linked || offset == 0 => {
            Err(KernelError::OtherKernel { path, difference })
        }
        _ => {
            let symbol = symbol.to_owned();
            Ok((0, Some(KernelListNote::OtherBoot { path, symbol, listed, here })))
        }
    }
}

/// Whether a list shows the kernel where it was linked to lie.
pub(super) fn is_as_linked(path: &Path, anchor: u64) -> bool {
    anchor == X86_64_LINKED
        || path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"System.map"))
}

/// The first routine of the running kernel that the list does not have at
/// the same distance from the anchor.
pub(super) fn difference(list: &SymbolList, head: &SymbolList, offset: u64) -> Option<String> {
    let (_, first) = anchor(head)?;
    let mut own = head.entries.iter().filter(|entry| {
        entry.module == ListedSymbol::NO_MODULE && entry.is_text() && entry.address >= first
    });
    let last = own.clone().map(|entry| entry.address).max()?;
    let is_among = |entry: &&ListedSymbol| {
        entry.module == ListedSymbol::NO_MODULE
            && (first..=last).contains(&entry.address.wrapping_add(offset))
    };
    let mut listed: Vec<&ListedSymbol> = list.entries.iter().filter(is_among).collect();
    listed.sort_by_key(|entry| entry.address);
    own.find_map(|entry| {
        let address = entry.address.wrapping_sub(offset);
        let name = head.name(entry);
        let from = listed.partition_point(|other| other.address < address);
        let mut same = listed[from..].iter().take_while(|other| other.address == address);
        (!same.any(|other| list.name(other) == name)).then(|| {
            let name = String::from_utf8_lossy(name);
            format!("{name} runs at {:#x}, the list has it elsewhere or not at all", entry.address)
        })
    })
}

fn is_kept_in_place(root: &Path) -> bool {
    std::fs::read_to_string(root.join("proc/cmdline"))
        .is_ok_and(|line| line.split_whitespace().any(|word| word == "nokaslr"))
}

pub(super) fn read_list(path: &Path) -> Result<SymbolList, KernelError> {
    let bytes = std::fs::read(path)
        .map_err(|source| KernelError::Read { path: path.to_path_buf(), source })?;
    parse(path, bytes)
}

pub(super) fn read_head(path: &Path) -> Result<SymbolList, KernelError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(HEAD).read_to_end(&mut bytes))
        .map_err(|source| KernelError::Read { path: path.to_path_buf(), source })?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |last| last + 1);
    bytes.truncate(whole);
    parse(path, bytes)
}

fn parse(path: &Path, bytes: Vec<u8>) -> Result<SymbolList, KernelError> {
    SymbolList::parse(bytes)
        .map_err(|source| KernelError::List { path: path.to_path_buf(), source })
}

/// `NAME SIZE REFERENCES USERS STATE BASE`; lines that say less are no help
/// and no harm.
pub(super) fn module_extents(root: &Path) -> Vec<ModuleExtent> {
    let text = std::fs::read_to_string(root.join("proc/modules")).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let base = u64::from_str_radix(words.get(5)?.strip_prefix("0x")?, 16).ok()?;
            let (name, size) = (words[0].as_bytes().to_vec(), words[1].parse().ok()?);
            (base != 0).then_some(ModuleExtent { name, base, size })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    //! Machines made of a few files.

    use super::*;
    use std::fs;
    use std::path::PathBuf;
    use tempfile::TempDir;

    const LINKED: u64 = 0xffff_ffff_8100_0000;
    const MOVED: u64 = 0x1e20_0000;

    /// A list of a small kernel at `base`; `variant` shifts what follows.
    fn kernel(base: u64, variant: u64) -> String {
        let line =
            |distance: u64, rest: &str| format!("{:016x} {rest}\n", base.wrapping_add(distance));
        [
            line(0, "T _text"),
            line(0, "T startup_64"),
            line(0x100, "T alpha"),
            line(0x200 + variant, "t beta"),
            line(0x300 + variant, "T _etext"),
            line(0x1000, "D data"),
        ]
        .concat()
    }

    struct Machine(TempDir);

    impl Machine {
        fn new(kallsyms: &str) -> Machine {
            let machine = Machine(tempfile::tempdir().unwrap());
            fs::create_dir_all(machine.path("proc/sys/kernel")).unwrap();
            fs::create_dir_all(machine.path("boot")).unwrap();
            fs::write(machine.path("proc/sys/kernel/osrelease"), "6.1.0-test\n").unwrap();
            machine.write("proc/kallsyms", kallsyms)
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn write(self, path: &str, text: &str) -> Machine {
            fs::write(self.path(path), text).unwrap();
            self
        }

        fn file(&self, path: &str, offset: KernelOffset) -> Result<LoadedKernel, KernelError> {
            load_file(self.0.path(), &self.path(path), offset)
        }
    }

    fn name(loaded: &LoadedKernel, address: u64) -> Option<String> {
        loaded
            .symbols
            .find(address)
            .map(|routine| String::from_utf8_lossy(routine.name).into_owned())
    }

    fn hidden() -> String {
        kernel(0, 0).lines().map(|line| format!("{:016x}{}\n", 0, &line[16..])).collect()
    }

    #[test]
    fn the_running_kernel() {
        let machine = Machine::new(&kernel(LINKED + MOVED, 0));
        let loaded = load_running(machine.0.path()).unwrap();
        assert_eq!(name(&loaded, LINKED + MOVED + 0x101).as_deref(), Some("alpha"));
        assert_eq!(name(&loaded, LINKED + MOVED + 0x300), None);
        assert_eq!(loaded.address_of("_text"), Some(LINKED + MOVED));
    }

    #[test]
    fn a_system_map_follows_kaslr_and_says_so() {
        let machine = Machine::new(&kernel(LINKED + MOVED, 0)).write("map", &kernel(LINKED, 0));
        let loaded = machine.file("map", KernelOffset::Detect).unwrap();
        assert_eq!(name(&loaded, LINKED + MOVED + 0x101).as_deref(), Some("alpha"));
        assert!(matches!(loaded.notes[..], [KernelListNote::Moved { offset: MOVED, .. }]));
        assert!(loaded.notes[0].to_string().contains("+0x1e200000"));
        // Moved down, as some architectures do.
        let machine =
            Machine::new(&kernel(LINKED - MOVED, 0)).write("System.map", &kernel(LINKED, 0));
        let loaded = machine.file("System.map", KernelOffset::Detect).unwrap();
        assert_eq!(name(&loaded, LINKED - MOVED + 0x101).as_deref(), Some("alpha"));
        assert!(loaded.notes[0].to_string().contains("-0x1e200000"));
    }

    #[test]
    fn a_system_map_of_another_kernel_is_refused() {
        for base in [LINKED, LINKED + MOVED] {
            let machine = Machine::new(&kernel(base, 0)).write("map", &kernel(LINKED, 8));
            let error = machine.file("map", KernelOffset::Detect).unwrap_err();
            assert!(matches!(error, KernelError::OtherKernel { .. }), "{error}");
            assert!(error.to_string().contains("beta"), "{error}");
            // Unless the user knows better.
            let loaded = machine.file("map", KernelOffset::Given(0x1000)).unwrap();
            assert_eq!(name(&loaded, LINKED + 0x1100).as_deref(), Some("alpha"));
        }
    }

    #[test]
    fn a_saved_kallsyms_of_another_boot_is_used_as_it_is() {
        let machine =
            Machine::new(&kernel(LINKED + MOVED, 0)).write("saved", &kernel(LINKED + 0x20_0000, 0));
        let loaded = machine.file("saved", KernelOffset::Detect).unwrap();
        assert_eq!(name(&loaded, LINKED + 0x20_0101).as_deref(), Some("alpha"));
        assert!(matches!(loaded.notes[..], [KernelListNote::OtherBoot { .. }]));
    }

    #[test]
    fn hidden_addresses_ask_for_the_offset() {
        let machine = Machine::new(&hidden()).write("map", &kernel(LINKED, 0));
        let error = machine.file("map", KernelOffset::Detect).unwrap_err();
        assert!(error.to_string().contains("--kaslr-offset"), "{error}");
        let machine = machine.write("proc/cmdline", "quiet nokaslr\n");
        assert!(machine.file("map", KernelOffset::Detect).unwrap().notes.is_empty());
        let error = load_running(machine.0.path()).unwrap_err();
        assert!(error.is_hidden(), "{error}");
        // With a System.map where it belongs, and a kernel kept in place.
        let machine = machine.write("boot/System.map-6.1.0-test", &kernel(LINKED, 0));
        let loaded = load_running(machine.0.path()).unwrap();
        assert_eq!(name(&loaded, LINKED + 0x101).as_deref(), Some("alpha"));
    }

    #[test]
    fn what_is_no_list_is_said_to_be_none() {
        let machine = Machine::new("")
            .write(
                "stub",
                "ffffffffffffffff B The real System.map is in the linux-image-6.1.0-dbg package\n",
            )
            .write("text", "ffffffff81000000 T _text\nhello\n")
            .write("data", "ffffffff81000000 D data\n");
        for (file, said) in [
            ("stub", "The real System.map is in the linux-image-6.1.0-dbg package"),
            ("text", "line 2 is no symbol (ADDRESS TYPE NAME [MODULE]): `hello`"),
            ("data", "none of its symbols is of type t, T, w or W"),
            ("proc/kallsyms", "it is empty"),
            ("absent", "No such file"),
        ] {
            let error = machine.file(file, KernelOffset::Given(0)).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains(file), "{error}");
        }
    }

    #[test]
    fn what_is_loaded_elsewhere_does_not_move_with_the_kernel() {
        let saved = kernel(LINKED, 0) + "ffffffffc0000000 t probe\t[nf_tables]\n";
        let machine = Machine::new("").write("saved", &saved);
        let loaded = machine.file("saved", KernelOffset::Given(0)).unwrap();
        assert_eq!(name(&loaded, 0xffff_ffff_c000_0008).as_deref(), Some("probe"));
        assert!(loaded.notes.is_empty());
        let loaded = machine.file("saved", KernelOffset::Given(MOVED)).unwrap();
        assert_eq!(name(&loaded, LINKED + MOVED + 0x101).as_deref(), Some("alpha"));
        for address in [0xffff_ffff_c000_0008, 0xffff_ffff_c000_0008 + MOVED] {
            assert_eq!(name(&loaded, address), None);
        }
        assert!(matches!(loaded.notes[..], [KernelListNote::ModulesLeftOut { count: 1, .. }]));
    }
}
