//! Lists against what recordings say.

use super::*;
use std::fs;
use std::path::PathBuf;

const LINKED: u64 = 0xffff_ffff_8100_0000;
const MOVED: u64 = 0x1e20_0000;

/// A small kernel at `base`; `variant` shifts what follows `alpha`.
fn kernel(base: u64, variant: u64) -> String {
    let (alpha, beta, end) = (base + 0x100, base + 0x200 + variant, base + 0x300 + variant);
    format!("{base:x} T _text\n{alpha:x} T alpha\n{beta:x} t beta\n{end:x} T _etext\n")
}

struct Machine(tempfile::TempDir);

impl Machine {
    fn new(kallsyms: &str) -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        fs::create_dir_all(machine.path("proc/sys/kernel")).unwrap();
        fs::write(machine.path("proc/sys/kernel/osrelease"), "6.1.0\n").unwrap();
        fs::write(machine.path("proc/kallsyms"), kallsyms).unwrap();
        machine
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// What becomes of `list`, called `name`, for a kernel recorded with
    /// `_text` at `anchor`.
    fn load(
        &self,
        (name, list): (&str, &str),
        anchor: u64,
        release: &str,
    ) -> Result<Loaded, KernelError> {
        fs::write(self.path(name), list).unwrap();
        let anchor = (anchor != 0).then(|| Anchor { symbol: "_text".to_owned(), address: anchor });
        let release = (!release.is_empty()).then(|| release.to_owned());
        load(self.0.path(), &self.path(name), &Recording { anchor, release })
    }
}

fn alpha_is_at(loaded: &Loaded, address: u64) -> bool {
    loaded.symbols.find(address).is_some_and(|routine| routine.name == b"alpha")
}

fn refused(result: Result<Loaded, KernelError>, why: &str) {
    match result {
        Err(error @ KernelError::NotRecorded { .. }) => {
            let text = error.to_string();
            assert!(text.contains(why) && !text.contains("--kaslr-offset"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_recorded_anchor_moves_a_list_or_refuses_it() {
    let machine = Machine::new(&kernel(LINKED + MOVED, 0));
    let list = ("map", &*kernel(LINKED, 0));
    let loaded = machine.load(list, LINKED + MOVED, "6.1.0").unwrap();
    assert!(alpha_is_at(&loaded, LINKED + MOVED + 0x101));
    assert!(matches!(loaded.notes[..], [Note::Moved { offset: MOVED, .. }]));
    // The same kernel under another boot.
    let loaded = machine.load(list, LINKED + 0x20_0000, "6.1.0").unwrap();
    assert!(alpha_is_at(&loaded, LINKED + 0x20_0101));
    refused(machine.load(list, LINKED + 0x1234, "6.1.0"), "_text");
    let nameless = ("map", &*kernel(LINKED, 0).replace("_text", "text"));
    refused(machine.load(nameless, LINKED, "6.1.0"), "_text is not in it");
}

#[test]
fn the_running_kernels_routines_tell_another_kernels_list() {
    let machine = Machine::new(&kernel(LINKED + MOVED, 0));
    let other = kernel(LINKED, 8);
    // By release, whatever the boot and the list's name; by `_text` without.
    for (anchor, release) in
        [(LINKED + MOVED, "6.1.0"), (LINKED + 0x20_0000, "6.1.0"), (LINKED + MOVED, "")]
    {
        refused(machine.load(("System.map-6.1.0", &other), anchor, release), "beta");
    }
}

#[test]
fn a_list_of_a_kernel_that_does_not_run_here_goes_by_its_name() {
    let hidden = "0000000000000000 T _text\n0000000000000000 T alpha\n";
    let list = kernel(LINKED, 8);
    for (kallsyms, recorded) in [(kernel(LINKED, 0), "6.2.0"), (hidden.to_owned(), "6.1.0")] {
        let machine = Machine::new(&kallsyms);
        let named = format!("System.map-{recorded}");
        let loaded = machine.load((&named, &list), LINKED, recorded).unwrap();
        assert!(alpha_is_at(&loaded, LINKED + 0x101) && loaded.notes.is_empty());
        refused(machine.load(("System.map-6.3.0", &list), LINKED, recorded), "6.3.0");
        for name in ["System.map", "System.map-mine", "kallsyms"] {
            let loaded = machine.load((name, &list), LINKED, recorded).unwrap();
            let [note @ Note::Unchecked { .. }] = &loaded.notes[..] else { panic!("{loaded:?}") };
            assert!(note.to_string().contains(recorded), "{note}");
        }
    }
}

#[test]
fn a_recording_without_an_anchor_moves_nothing() {
    let machine = Machine::new(&kernel(LINKED + MOVED, 0));
    let linked = ("map", &*kernel(LINKED, 0));
    refused(machine.load(linked, 0, "6.1.0"), "does not say where");
    let saved = ("saved", &*kernel(LINKED + 0x20_0000, 0));
    assert!(alpha_is_at(&machine.load(saved, 0, "6.1.0").unwrap(), LINKED + 0x20_0101));
}
