//! A list for the kernel that a recording was made under.

use super::list::SymbolList;
use super::load;
use super::loaded::{self, KernelAnchor, KernelError, KernelListNote, LoadedKernel, Recording};
use super::vmlinux::{self, KnownKernel};
use crate::kernel::table::{KernelSymbols, ModuleExtent};
use perfdata::kernel_list::{KernelModule, PackedKernelList};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn kept(
    packed: &Arc<PackedKernelList>,
    anchor: Option<&KernelAnchor>,
) -> Result<LoadedKernel, String> {
    let list = packed.unpack().map_err(|error| error.to_string())?;
    let build_id = Some(list.build_id.clone()).filter(|id| !id.is_empty()).map(Into::into);
    let extents: Vec<ModuleExtent> = list.modules.iter().filter_map(extent).collect();
    let list = SymbolList::recorded(list).map_err(|error| error.to_string())?;
    let anchors = loaded::anchors(&list, 0);
    if let Some(KernelAnchor { symbol, address }) = anchor
        && !anchors.iter().any(|known| known.symbol == *symbol && known.address == *address)
    {
        return Err(format!("they are of a kernel that has no {symbol} at {address:#x}"));
    }
    let symbols = KernelSymbols::recorded(list, packed, &extents);
    match symbols.is_empty() {
        true => Err("none of them is of type t, T, w or W".to_owned()),
        false => Ok(LoadedKernel {
            symbols,
            path: PathBuf::from("the recording"),
            anchors,
            build_id,
            notes: Vec::new(),
        }),
    }
}

fn extent(module: &KernelModule) -> Option<ModuleExtent> {
    let KernelModule { name, base, size, .. } = module;
    (*base != 0).then(|| ModuleExtent { name: name.clone(), base: *base, size: *size })
}

/// The symbols of a System.map or a saved /proc/kallsyms, moved to where the
/// recorded kernel lay. The list must be that kernel's as far as can be told.
pub(crate) fn load(
    root: &Path,
    path: &Path,
    recording: &Recording,
) -> Result<LoadedKernel, KernelError> {
    if vmlinux::is_image(path) {
        return vmlinux::load(path, known(root, recording));
    }
    let list = load::read_list(path)?;
    let (offset, moved) = distance(path, &list, recording)?;
    let unchecked = check(root, path, &list, recording)?;
    let mut loaded = load::table(path, list, offset, &[])?;
    loaded.notes.extend(moved.into_iter().chain(unchecked));
    Ok(loaded)
}

/// What is known of the recorded kernel: by what the recording keeps, else
/// by the running kernel, if that is the recorded one.
pub(super) fn known<'a>(root: &Path, recording: &'a Recording) -> KnownKernel<'a> {
    let kept = recording.list.as_ref().and_then(|packed| packed.unpack().ok());
    let anchor = recording.anchor.clone();
    let recording = Some(recording);
    if let Some(list) = kept {
        let build_id = Some(list.build_id.clone()).filter(|id| !id.is_empty()).map(Into::into);
        let extents = list.modules.iter().filter_map(extent).collect();
        let modules = SymbolList::recorded(list).ok().map(|list| (list, extents));
        let own =
            modules.as_ref().and_then(|(list, _)| loaded::anchors(list, 0).into_iter().next());
        return KnownKernel { anchor: anchor.or(own), build_id, modules, recording };
    }
    let Some(head) = load::read_head(&root.join("proc/kallsyms")).ok() else {
        return KnownKernel { anchor, build_id: None, modules: None, recording };
    };
    let is_recorded = recording.is_some_and(|recording| is_recorded(root, &head, recording));
    let build_id = is_recorded.then(|| load::build_id(root)).flatten();
    let is_same_boot = is_recorded
        && anchor.as_ref().is_some_and(|at| head.address_of(&at.symbol) == Some(at.address));
    let modules = is_same_boot.then(|| load::running(root).modules).flatten();
    KnownKernel { anchor, build_id, modules, recording }
}

fn distance(
    path: &Path,
    list: &SymbolList,
    recording: &Recording,
) -> Result<(u64, Option<KernelListNote>), KernelError> {
    let differs = |difference| not_recorded(path, difference);
    let Some(KernelAnchor { symbol, address }) = &recording.anchor else {
        let linked =
            loaded::anchor(list).is_none_or(|(_, address)| load::is_as_linked(path, address));
        return match linked {
            true => Err(differs("the recording does not say where its kernel lay".to_owned())),
            false => Ok((0, None)),
        };
    };
    let listed =
        list.address_of(symbol).ok_or_else(|| differs(format!("{symbol} is not in it")))?;
    let offset = address.wrapping_sub(listed);
    if !offset.is_multiple_of(loaded::KASLR_STEP) {
        return Err(differs(format!(
            "{symbol} is at {listed:#x} in it, was recorded at {address:#x}"
        )));
    }
    let path = path.to_path_buf();
    Ok((offset, (offset != 0).then_some(KernelListNote::Moved { path, offset })))
}

/// Refuses a list that is known to be another kernel's: by the running
/// kernel's routines if that one was recorded, else by the list's own name.
fn check(
    root: &Path,
    path: &Path,
    list: &SymbolList,
    recording: &Recording,
) -> Result<Option<KernelListNote>, KernelError> {
    let head = load::read_head(&root.join("proc/kallsyms")).ok();
    let running = head.filter(|head| is_recorded(root, head, recording));
    let compared = running.and_then(|head| {
        let (symbol, listed) = loaded::anchor(list)?;
        let offset = head.address_of(symbol)?.wrapping_sub(listed);
        Some(load::difference(list, &head, offset))
    });
    let release = recording.release.as_deref();
    match (compared, named_release(path).zip(release)) {
        (Some(Some(difference)), _) => Err(not_recorded(path, difference)),
        (Some(None), _) => Ok(None),
        (None, Some((named, recorded))) if named != recorded => {
            Err(not_recorded(path, format!("recorded was {recorded}, its name says {named}")))
        }
        (None, Some(_)) => Ok(None),
        (None, None) => {
            let (path, release) = (path.to_path_buf(), recording.release.clone());
            Ok(Some(KernelListNote::Unchecked { path, release }))
        }
    }
}

/// Whether the running kernel is the recorded one, of this boot or another.
fn is_recorded(root: &Path, head: &SymbolList, recording: &Recording) -> bool {
    let here = load::release(root);
    match (&recording.release, &recording.anchor) {
        (Some(recorded), _) if !here.is_empty() => *recorded == here,
        (_, Some(KernelAnchor { symbol, address })) => head.address_of(symbol) == Some(*address),
        (_, None) => false,
    }
}

/// RELEASE of a file called System.map-RELEASE; releases begin with a digit.
fn named_release(path: &Path) -> Option<&str> {
    let release = path.file_name()?.to_str()?.strip_prefix("System.map-")?;
    release.starts_with(|first: char| first.is_ascii_digit()).then_some(release)
}

fn not_recorded(path: &Path, difference: String) -> KernelError {
    KernelError::NotRecorded { path: path.to_path_buf(), difference }
}

#[cfg(test)]
mod tests {
    //! Lists against what recordings say.

    use super::*;
    use std::fs;
    use std::path::PathBuf;

    use crate::{SampledAddress, Symbolizer, SymbolizerOptions};
    use perfdata::kernel_list::KernelSymbol;
    use perfdata::sideband::{FileIdentity, Mapping};
    use perfdata::stream::Features;
    use perfdata::{CpuMode, KernelList, Misc, Pid, SampleId, SidebandRecord, Task, Tid, Time};

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
            name: &str,
            list: &str,
            anchor: u64,
            release: &str,
        ) -> Result<LoadedKernel, KernelError> {
            fs::write(self.path(name), list).unwrap();
            let anchor =
                (anchor != 0).then(|| KernelAnchor { symbol: "_text".to_owned(), address: anchor });
            let release = (!release.is_empty()).then(|| release.to_owned());
            load(self.0.path(), &self.path(name), &Recording { anchor, release, list: None })
        }
    }

    fn alpha_is_at(loaded: &LoadedKernel, address: u64) -> bool {
        loaded.symbols.find(address).is_some_and(|routine| routine.name == b"alpha")
    }

    fn refused(result: Result<LoadedKernel, KernelError>, why: &str) {
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
        let loaded = machine.load(list.0, list.1, LINKED + MOVED, "6.1.0").unwrap();
        assert!(alpha_is_at(&loaded, LINKED + MOVED + 0x101));
        assert!(matches!(loaded.notes[..], [KernelListNote::Moved { offset: MOVED, .. }]));
        // The same kernel under another boot.
        let loaded = machine.load(list.0, list.1, LINKED + 0x20_0000, "6.1.0").unwrap();
        assert!(alpha_is_at(&loaded, LINKED + 0x20_0101));
        refused(machine.load(list.0, list.1, LINKED + 0x1234, "6.1.0"), "_text");
        let nameless = ("map", &*kernel(LINKED, 0).replace("_text", "text"));
        refused(machine.load(nameless.0, nameless.1, LINKED, "6.1.0"), "_text is not in it");
    }

    #[test]
    fn the_running_kernels_routines_tell_another_kernels_list() {
        let machine = Machine::new(&kernel(LINKED + MOVED, 0));
        let other = kernel(LINKED, 8);
        // By release, whatever the boot and the list's name; by `_text` without.
        for (anchor, release) in
            [(LINKED + MOVED, "6.1.0"), (LINKED + 0x20_0000, "6.1.0"), (LINKED + MOVED, "")]
        {
            refused(machine.load("System.map-6.1.0", &other, anchor, release), "beta");
        }
    }

    #[test]
    fn a_list_of_a_kernel_that_does_not_run_here_goes_by_its_name() {
        let hidden = "0000000000000000 T _text\n0000000000000000 T alpha\n";
        let list = kernel(LINKED, 8);
        for (kallsyms, recorded) in [(kernel(LINKED, 0), "6.2.0"), (hidden.to_owned(), "6.1.0")] {
            let machine = Machine::new(&kallsyms);
            let named = format!("System.map-{recorded}");
            let loaded = machine.load(&named, &list, LINKED, recorded).unwrap();
            assert!(alpha_is_at(&loaded, LINKED + 0x101) && loaded.notes.is_empty());
            refused(machine.load("System.map-6.3.0", &list, LINKED, recorded), "6.3.0");
            for name in ["System.map", "System.map-mine", "kallsyms"] {
                let loaded = machine.load(name, &list, LINKED, recorded).unwrap();
                let [note @ KernelListNote::Unchecked { .. }] = &loaded.notes[..] else {
                    panic!("{loaded:?}")
                };
                assert!(note.to_string().contains(recorded), "{note}");
            }
        }
    }

    #[test]
    fn a_recording_without_an_anchor_moves_nothing() {
        let machine = Machine::new(&kernel(LINKED + MOVED, 0));
        let linked = ("map", &*kernel(LINKED, 0));
        refused(machine.load(linked.0, linked.1, 0, "6.1.0"), "does not say where");
        let saved = ("saved", &*kernel(LINKED + 0x20_0000, 0));
        assert!(alpha_is_at(
            &machine.load(saved.0, saved.1, 0, "6.1.0").unwrap(),
            LINKED + 0x20_0101
        ));
    }

    fn packed(kallsyms: &str) -> (KernelList, Arc<PackedKernelList>) {
        let listed = SymbolList::parse(kallsyms.as_bytes().to_vec()).unwrap();
        let mut list = KernelList::default();
        for name in &listed.modules {
            let name = name.to_vec();
            list.modules.push(KernelModule { name, ..KernelModule::default() });
        }
        for entry in &listed.entries {
            let (start, name) = (list.names.len(), listed.name(entry));
            list.names.extend_from_slice(name);
            list.names.push(b'\n');
            list.symbols.push(KernelSymbol {
                address: entry.address,
                name: u32::try_from(start).unwrap(),
                length: u16::try_from(name.len()).unwrap(),
                module: entry.module,
                kind: entry.kind,
            });
        }
        list.keep_code();
        let packed = Arc::new(list.pack().unwrap());
        (list, packed)
    }

    /// A symbolizer for what was recorded under `kernel(MOVED + LINKED, 0)`, read
    /// on `machine`.
    fn reader(machine: &Machine, list: Option<&Arc<PackedKernelList>>) -> Symbolizer {
        let options =
            SymbolizerOptions { root: machine.0.path().to_owned(), ..SymbolizerOptions::default() };
        let mut symbolizer = Symbolizer::new(options);
        let features = Features {
            os_release: Some("6.1.0".to_owned()),
            kernel_list: list.map(Arc::clone),
            ..Features::default()
        };
        symbolizer.recorded(&features);
        let mapping = Mapping {
            task: Task { pid: Pid(-1), tid: Tid(0) },
            start: LINKED + MOVED,
            length: 0x300,
            page_offset: LINKED + MOVED,
            file: FileIdentity::Unknown,
            protection: None,
            flags: None,
            path: b"[kernel.kallsyms]_text",
        };
        symbolizer.side(Misc(1), &SidebandRecord::Mmap(mapping), &SampleId::default());
        symbolizer
    }

    fn named(symbolizer: &mut Symbolizer, address: u64) -> String {
        let place = symbolizer.place(CpuMode::Kernel, Pid(1), address, Time(1));
        let object = symbolizer.object_name(place.object).to_owned();
        format!("{} {object}", symbolizer.resolve(place).text())
    }

    #[test]
    fn a_recording_that_keeps_its_kernels_symbols_is_read_anywhere() {
        let here = LINKED + MOVED;
        let module = here + 0x20_0000;
        let whole = format!("{}{module:x} t probe\t[loop]\n", kernel(here, 0));
        let (_, list) = packed(&whole);
        let machines = [
            ("the same boot", Machine::new(&whole)),
            ("another boot", Machine::new(&kernel(LINKED, 0))),
            ("another kernel", Machine::new(&kernel(here, 0x40))),
            ("hidden addresses", Machine::new("0000000000000000 T _text\n")),
            ("no list", Machine::new("")),
        ];
        for (machine, there) in &machines {
            let mut symbolizer = reader(there, Some(&list));
            assert_eq!(named(&mut symbolizer, here + 0x1ff), "alpha [kernel]", "{machine}");
            assert_eq!(named(&mut symbolizer, here + 0x200), "beta [kernel]", "{machine}");
            assert_eq!(named(&mut symbolizer, here + 0x300), "[between-symbols] [kernel]");
            assert_eq!(named(&mut symbolizer, module + 1), "probe [loop]", "{machine}");
            assert_eq!(symbolizer.notes(), &[]);
            let mut without = reader(there, None);
            let names = named(&mut without, here + 0x1ff) == "alpha [kernel]";
            assert_eq!(names, matches!(*machine, "the same boot" | "another kernel"), "{machine}");
        }
    }

    /// Which kernel's code this machine runs is not told by what was recorded.
    #[test]
    fn code_is_not_read_from_another_kernel_than_the_recorded_one() {
        let here = LINKED + MOVED;
        let (_, list) = packed(&kernel(here, 0));
        let code = |there: Machine| {
            let mut symbolizer = reader(&there, Some(&list));
            symbolizer
                .code(SampledAddress {
                    mode: CpuMode::Kernel,
                    pid: Pid(1),
                    address: here + 0x101,
                    time: Time(1),
                })
                .unwrap_err()
                .to_string()
        };
        let error = code(Machine::new(&kernel(LINKED, 0)));
        assert!(error.contains("another boot"), "{error}");
        // The same boot as far as anything tells; another routine is there now.
        let changed = kernel(here, 0).replace("alpha", "gamma");
        let error = code(Machine::new(&changed));
        assert!(!error.contains("kcore"), "{error}");
        let error = code(Machine::new(&kernel(here, 0)));
        assert!(error.contains("kcore"), "{error}");
    }

    #[test]
    fn symbols_that_are_not_the_recorded_kernels_are_said_and_left() {
        let here = LINKED + MOVED;
        let (_, list) = packed(&kernel(LINKED, 0));
        let machine = Machine::new(&kernel(here, 0));
        let mut symbolizer = reader(&machine, Some(&list));
        assert_eq!(named(&mut symbolizer, here + 0x100), "alpha [kernel]");
        let notes: Vec<String> = symbolizer.notes().iter().map(ToString::to_string).collect();
        assert!(notes.iter().any(|note| note.contains("left out")), "{notes:?}");
    }

    #[allow(clippy::print_stderr, reason = "a test that skips says so")]
    fn skipped(why: &str) {
        eprintln!("skipped: {why}");
    }

    /// What is not kept names nothing.
    #[test]
    fn all_of_the_running_kernels_names_are_kept() {
        let Ok(text) = fs::read_to_string("/proc/kallsyms") else { return };
        let Ok(list) = SymbolList::parse(text.clone().into_bytes()) else {
            skipped("/proc/kallsyms shows no addresses");
            return;
        };
        let whole = KernelSymbols::with_modules(list, 0, &[]);
        let (_, packed) = packed(&text);
        let kept = kept(&packed, None).unwrap().symbols;
        assert_eq!(kept.len(), whole.len());
        for index in 0..whole.len() {
            assert_eq!(kept.routine(index), whole.routine(index));
        }
    }
}
