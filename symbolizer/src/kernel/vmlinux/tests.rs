//! Images put together byte by byte, and a real one where there is one.

use super::*;
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

fn name(loaded: &Loaded, address: u64) -> Option<String> {
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
    let error = load::load_file(machine.0.path(), &path, crate::KernelOffset::Detect).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("build id is 0808") && text.contains("0707"), "{text}");
}

#[test]
fn a_kernel_that_hides_where_it_lies_gets_no_names_of_an_image() {
    let machine = Machine::new("0000000000000000 T _text\n", &[7; 20]);
    let path = machine.write("vmlinux", &kernel(&[7; 20]));
    let error = load::load_file(machine.0.path(), &path, crate::KernelOffset::Detect).unwrap_err();
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
