use super::*;
use crate::jit::dump::tests::{self as dump, Written};
use crate::{KernelSource, SymbolizerOptions};
use perfdata::sideband::Mapping;
use perfdata::{CpuMode, Misc, Task, Tid};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

/// A machine made up: its `/`, and the user whose process 7 is.
struct Scene {
    root: tempfile::TempDir,
}

impl Scene {
    /// Process 7 lives, sees itself as 3, and began 5 s after the boot.
    fn new() -> Scene {
        let root = tempfile::tempdir().unwrap();
        let scene = Scene { root };
        let proc = scene.path("proc/7");
        fs::create_dir_all(&proc).unwrap();
        fs::create_dir_all(scene.path("inside/tmp")).unwrap();
        fs::create_dir_all(scene.path("tmp")).unwrap();
        symlink(scene.path("inside"), proc.join("root")).unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let status =
            format!("Name:\tx\nTgid:\t7\nNSpid:\t7\t3\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
        fs::write(proc.join("status"), status).unwrap();
        let ticks = 5 * rustix::param::clock_ticks_per_second();
        let stat = format!("7 (x) S 1 1 1 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 {ticks} 1 1");
        fs::write(proc.join("stat"), stat).unwrap();
        scene
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn ended(self) -> Scene {
        fs::remove_dir_all(self.path("proc")).unwrap();
        self
    }

    fn symbolizer(&self) -> Symbolizer {
        Symbolizer::new(SymbolizerOptions {
            root: self.root.path().to_owned(),
            kernel: KernelSource::None,
            ..SymbolizerOptions::default()
        })
    }
}

fn mapping(path: &[u8], start: u64) -> SidebandRecord<'_> {
    SidebandRecord::Mmap2(Mapping {
        task: Task { pid: Pid(7), tid: Tid(7) },
        start,
        length: 0x1000,
        page_offset: 0,
        file: FileIdentity::Unknown,
        protection: Some(7),
        flags: Some(0x22),
        path,
    })
}

fn tell(symbolizer: &mut Symbolizer, seconds: u64, record: &SidebandRecord<'_>) {
    let id = SampleId { time: Some(Time(seconds * SECOND)), ..SampleId::default() };
    symbolizer.side(Misc(2), record, &id);
}

/// The name of an address at a time, or the reason's tag and text.
fn name(symbolizer: &mut Symbolizer, seconds: u64, address: u64) -> String {
    let place = symbolizer.place(CpuMode::User, Pid(7), address, Time(seconds * SECOND));
    assert_eq!(place.address, address);
    match symbolizer.resolve(place) {
        Resolution::Routine(routine) => format!("{}+{:#x}", routine.name, routine.offset),
        Resolution::Unknown(reason) => format!("{} {reason}", reason.tag()),
    }
}

/// What the made-up process's code at 0x1010 is called.
fn named(scene: &Scene) -> String {
    let mut symbolizer = scene.symbolizer();
    tell(&mut symbolizer, 10, &mapping(b"//anon", 0x1000));
    name(&mut symbolizer, 11, 0x1010)
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

#[test]
fn a_living_processs_map_is_the_one_of_its_own_namespaces() {
    let scene = Scene::new();
    write(&scene.path("tmp/perf-7.map"), "1000 20 outside\n");
    assert!(named(&scene).starts_with("[anonymous]"), "its own /tmp has none");
    write(&scene.path("inside/tmp/perf-3.map"), "1000 20 inside\n1100 10 other\nbad line\n");
    assert_eq!(named(&scene), "inside+0x10");
    let mut symbolizer = scene.symbolizer();
    tell(&mut symbolizer, 10, &mapping(b"", 0x1000));
    let beyond = name(&mut symbolizer, 11, 0x1030);
    let said = "[between-symbols] no symbol of /tmp/perf-3.map (1 lines of it name nothing)";
    assert!(beyond.starts_with(said), "{beyond}");
}

/// Of processes that have ended, whose maps are all of this machine's /tmp.
#[test]
fn all_maps_together_are_bounded_and_that_is_said() {
    let scene = Scene::new().ended();
    let mut symbolizer = scene.symbolizer();
    symbolizer.jit.room = MapRoom { lines: 100, names: 25 };
    let mut named = |pid: i32, text: &str| {
        write(&scene.path(&format!("tmp/perf-{pid}.map")), text);
        let task = Task { pid: Pid(pid), tid: Tid(pid) };
        let SidebandRecord::Mmap2(mapping) = mapping(b"//anon", 0x1000) else { panic!() };
        tell(&mut symbolizer, 10, &SidebandRecord::Mmap2(Mapping { task, ..mapping }));
        let at = Time(11 * SECOND);
        let place = symbolizer.place(CpuMode::User, Pid(pid), 0x1010, at);
        match symbolizer.resolve(place) {
            Resolution::Routine(routine) => routine.name.into_owned(),
            Resolution::Unknown(reason) => reason.to_string(),
        }
    };
    assert_eq!(named(21, "1000 20 twelve_bytes\n"), "twelve_bytes");
    let said = named(22, "1000 20 ten_bytes_\n");
    let why = "its names have more than 11 bytes, all that is kept in memory beside the other maps";
    assert!(said.contains(why), "{said}");
    assert_eq!(named(23, "1000 20 nine_byte\n"), "nine_byte");
    let said = named(24, "1000 20 f\n");
    assert!(said.contains("before it have 16000000 lines, or names of 1073741824 bytes"), "{said}");
}

#[test]
fn a_map_of_an_ended_process_is_that_of_the_machine() {
    let scene = Scene::new().ended();
    write(&scene.path("tmp/perf-7.map"), "1000 20 outside\n");
    assert_eq!(named(&scene), "outside+0x10");
}

#[test]
fn another_process_of_the_same_number_is_not_asked() {
    let scene = Scene::new();
    write(&scene.path("inside/tmp/perf-3.map"), "1000 20 later\n");
    // Recorded at 2 s; the process of today began at 5 s.
    let mut symbolizer = scene.symbolizer();
    tell(&mut symbolizer, 2, &mapping(b"//anon", 0x1000));
    let said = name(&mut symbolizer, 2, 0x1010);
    assert!(said.starts_with("[anonymous]"), "{said}");
}

#[test]
fn what_others_could_have_written_is_refused_and_said() {
    let refused = |prepare: &dyn Fn(&Path), why: &str| {
        let scene = Scene::new();
        let map = scene.path("inside/tmp/perf-3.map");
        write(&map, "1000 20 forged\n");
        prepare(&map);
        let said = named(&scene);
        let expected = "[jit-refused] /tmp/perf-3.map is not used for generated code: ";
        assert!(said.starts_with(expected) && said.contains(why), "{said}");
    };
    let aside = |map: &Path| {
        let aside = map.with_extension("aside");
        fs::rename(map, &aside).unwrap();
        symlink("perf-3.aside", map).unwrap();
    };
    refused(&aside, "it is a symbolic link");
    let open = |map: &Path| fs::set_permissions(map, fs::Permissions::from_mode(0o646)).unwrap();
    refused(&open, "anybody may write to it (mode 646)");
    let folder = |map: &Path| {
        fs::remove_file(map).unwrap();
        fs::create_dir(map).unwrap();
    };
    refused(&folder, "not a regular file");
    refused(&|map| write(map, "nothing\n"), "no line of it is START SIZE NAME");
    match rustix::process::geteuid().is_root() {
        true => refused(&|map| chown(map, Some(4242), None).unwrap(), "it belongs to uid 4242"),
        false => eprintln!("skipped a file of another user: only root can make one"),
    }
}

/// The dump of process 7, with `fill` from 20 s and `drain` from 30 s at one
/// address.
fn dump(scene: &Scene) {
    let mut written = Written::new(7, 0);
    written.load(20 * SECOND, dump::WrittenRoutine { start: 0x1000, size: 0x40, index: 1 }, "fill");
    written.load(
        30 * SECOND,
        dump::WrittenRoutine { start: 0x1000, size: 0x20, index: 2 },
        "drain",
    );
    fs::write(scene.path("tmp/jit-7.dump"), &written.bytes).unwrap();
}

#[test]
fn code_is_named_by_what_lay_there_at_the_time() {
    let scene = Scene::new().ended();
    dump(&scene);
    let mut symbolizer = scene.symbolizer();
    let clocked = Attr { flags: AttrFlags::USE_CLOCKID, clockid: MONOTONIC, ..Attr::default() };
    symbolizer.sampled_with(&clocked);
    tell(&mut symbolizer, 10, &mapping(b"//anon", 0x1000));
    tell(&mut symbolizer, 10, &mapping(b"/tmp/jit-7.dump", 0x9000));
    let mut at = |seconds, address| name(&mut symbolizer, seconds, address);
    assert_eq!(at(25, 0x1010), "fill+0x10");
    assert_eq!(at(30, 0x1010), "drain+0x10");
    assert_eq!(at(31, 0x101f), "drain+0x1f");
    assert_eq!(at(31, 0x1020), "fill+0x20");
    assert_eq!(at(25, 0x1011), "fill+0x11");
    assert!(at(19, 0x1010).starts_with("[anonymous]"));
    assert!(at(31, 0x1040).starts_with("[anonymous]"));
}

#[test]
fn without_the_dumps_clock_only_what_never_changed_has_a_name() {
    let scene = Scene::new().ended();
    dump(&scene);
    let mut symbolizer = scene.symbolizer();
    tell(&mut symbolizer, 10, &mapping(b"//anon", 0x1000));
    tell(&mut symbolizer, 10, &mapping(b"/tmp/jit-7.dump", 0x9000));
    assert_eq!(name(&mut symbolizer, 12, 0x1020), "fill+0x20");
    let said = name(&mut symbolizer, 31, 0x1010);
    assert!(said.starts_with("[jit-refused] /tmp/jit-7.dump"), "{said}");
    assert!(said.contains("another clock"), "{said}");
}

#[test]
fn the_dump_of_another_process_is_refused() {
    let scene = Scene::new().ended();
    fs::write(scene.path("tmp/jit-7.dump"), Written::new(8, 0).bytes).unwrap();
    let mut symbolizer = scene.symbolizer();
    tell(&mut symbolizer, 10, &mapping(b"//anon", 0x1000));
    tell(&mut symbolizer, 10, &mapping(b"/tmp/jit-7.dump", 0x9000));
    let said = name(&mut symbolizer, 11, 0x1010);
    assert!(said.contains("it is of process 8, not 7"), "{said}");
}
