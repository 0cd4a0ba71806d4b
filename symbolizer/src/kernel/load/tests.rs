//! Machines made of a few files.

use super::*;
use std::fs;
use tempfile::TempDir;

const LINKED: u64 = 0xffff_ffff_8100_0000;
const MOVED: u64 = 0x1e20_0000;

/// A list of a small kernel at `base`; `variant` shifts what follows.
fn kernel(base: u64, variant: u64) -> String {
    let line = |distance: u64, rest: &str| format!("{:016x} {rest}\n", base.wrapping_add(distance));
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

    fn file(&self, path: &str, offset: KernelOffset) -> Result<Loaded, KernelError> {
        load_file(self.0.path(), &self.path(path), offset)
    }
}

fn name(loaded: &Loaded, address: u64) -> Option<String> {
    loaded.symbols.find(address).map(|routine| String::from_utf8_lossy(routine.name).into_owned())
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
    assert!(matches!(loaded.notes[..], [Note::Moved { offset: MOVED, .. }]));
    assert!(loaded.notes[0].to_string().contains("+0x1e200000"));
    // Moved down, as some architectures do.
    let machine = Machine::new(&kernel(LINKED - MOVED, 0)).write("System.map", &kernel(LINKED, 0));
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
    assert!(matches!(loaded.notes[..], [Note::OtherBoot { .. }]));
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
    assert!(matches!(loaded.notes[..], [Note::ModulesLeftOut { count: 1, .. }]));
}
