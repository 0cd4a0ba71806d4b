//! Real programs, built by the C compiler of this machine in every way that
//! moves code about: what they say of themselves must be what we say of them.

use crate::toolchain::{command, has, rust_lld};
use perfdata::sideband::{FileIdentity, Mapping, SidebandRecord};
use perfdata::stream::{StreamDecoder, StreamRecord};
use perfdata::{CpuMode, Misc, Pid, SampleId, Task, Tid, Time};
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use symbolizer::{KernelSource, Reason, Resolution, Symbolizer, SymbolizerOptions, parse_maps};

/// Prints the addresses of two of its routines, then its maps.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) int first_routine(int a) { return a * 3 + 1; }
static __attribute__((noinline, used)) int hidden_routine(int a) { return a * 5 + 2; }
int main(void) {
    char line[4096];
    printf("%lx first_routine\n%lx hidden_routine\n%lx main\n",
        (unsigned long)first_routine, (unsigned long)hidden_routine, (unsigned long)main);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) fputs(line, stdout);
    return first_routine(1) == 0;
}
"#;

struct Run {
    path: PathBuf,
    routines: Vec<(u64, String)>,
    maps: Vec<u8>,
}

fn build(directory: &Path, flags: &[&str]) -> Option<PathBuf> {
    std::fs::write(directory.join("program.c"), PROGRAM).unwrap();
    let line = [&["gcc", "-g0", "-O1", "-o", "program", "program.c"], flags].concat();
    command(directory, &line).then(|| directory.join("program"))
}

fn run(path: &Path) -> Run {
    let output = Command::new(path).output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let routines = text.lines().take(3).map(|line| {
        let (address, name) = line.split_once(' ').unwrap();
        (u64::from_str_radix(address, 16).unwrap(), name.to_owned())
    });
    let routines = routines.collect();
    let maps = text.lines().skip(3).flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    Run { path: path.to_owned(), routines, maps }
}

fn symbolizer(options: SymbolizerOptions) -> Symbolizer {
    Symbolizer::new(SymbolizerOptions { kernel: KernelSource::None, ..options })
}

/// Every routine that the program printed has its name, and the address that
/// nm shows.
fn check(run: &Run, options: SymbolizerOptions, nm: Option<&Path>) {
    let mut symbolizer = symbolizer(options);
    symbolizer.maps(Pid(7), &parse_maps(&run.maps).unwrap(), Time(0));
    for (address, name) in &run.routines {
        for inside in [0, 1] {
            let place = symbolizer.place(CpuMode::User, Pid(7), address + inside, Time(1));
            assert_eq!(symbolizer.object_name(place.object), run.path.to_str().unwrap());
            let resolution = symbolizer.resolve(place);
            let Resolution::Routine(routine) = &resolution else {
                panic!("{name}: {resolution:?}");
            };
            assert_eq!((&*routine.name, routine.offset), (&**name, inside));
            if let Some(nm) = nm {
                assert_eq!(routine.start, nm_address(nm, name), "{name} of {}", nm.display());
            }
        }
    }
}

fn nm_address(path: &Path, name: &str) -> u64 {
    let output = Command::new("nm").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.split_whitespace().nth(2) == Some(name)).unwrap();
    u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap()
}

fn skip(why: &str) -> bool {
    eprintln!("skipped: {why}");
    true
}

#[test]
fn programs_linked_in_every_way() {
    if !has("gcc") && skip("no gcc") {
        return;
    }
    for flags in [
        &["-pie", "-fPIE"][..],
        &["-no-pie"],
        &["-static"],
        &["-static-pie"],
        &["-Wl,-z,noseparate-code"],
        &["-no-pie", "-Wl,-z,noseparate-code"],
        // Offsets and addresses apart, as prelink and odd linker scripts do.
        &["-no-pie", "-Wl,-Ttext-segment=0x10000000"],
        &["-no-pie", "-Wl,-z,max-page-size=65536"],
        &["-fuse-ld=gold"],
        // Segments share pages of the file at different distances.
        &["-fuse-ld=lld"],
        &["-fuse-ld=lld", "-no-pie"],
    ] {
        let directory = tempfile::tempdir().unwrap();
        let lld = rust_lld().filter(|_| flags.contains(&"-fuse-ld=lld"));
        let flags = [flags, &lld.iter().map(String::as_str).collect::<Vec<_>>()].concat();
        match build(directory.path(), &flags) {
            Some(path) => check(&run(&path), SymbolizerOptions::default(), Some(&path)),
            None => eprintln!("skipped: {flags:?} does not link here"),
        }
    }
}

#[test]
fn a_stripped_program_finds_its_debug_file_by_link() {
    if !(has("gcc") && has("objcopy")) && skip("no gcc or no objcopy") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), &["-Wl,--build-id=none"]).unwrap();
    let full = directory.path().join("full");
    std::fs::copy(&path, &full).unwrap();
    for line in [
        &["objcopy", "--only-keep-debug", "program", "program.debug"][..],
        &["objcopy", "--strip-all", "--add-gnu-debuglink=program.debug", "program"],
    ] {
        assert!(command(directory.path(), line));
    }
    let ran = run(&path);
    check(&ran, SymbolizerOptions::default(), Some(&full));
    // In `.debug` beside it.
    let debug = directory.path().join("program.debug");
    std::fs::create_dir(directory.path().join(".debug")).unwrap();
    let moved = directory.path().join(".debug/program.debug");
    std::fs::rename(&debug, &moved).unwrap();
    check(&ran, SymbolizerOptions::default(), Some(&full));
    // Another file of that name is not believed.
    let mut bytes = std::fs::read(&moved).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&moved, bytes).unwrap();
    assert!(matches!(reason(&ran, SymbolizerOptions::default()), Reason::Stripped { .. }));
}

#[test]
fn a_stripped_program_finds_its_debug_file_by_build_id() {
    if !(has("gcc") && has("objcopy")) && skip("no gcc or no objcopy") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), &["-Wl,--build-id=0x0123456789abcdef"]).unwrap();
    let full = directory.path().join("full");
    std::fs::copy(&path, &full).unwrap();
    let store = directory.path().join("store/.build-id/01");
    std::fs::create_dir_all(&store).unwrap();
    assert!(command(
        directory.path(),
        &["objcopy", "--only-keep-debug", "program", "store/.build-id/01/23456789abcdef.debug"]
    ));
    assert!(command(directory.path(), &["objcopy", "--strip-all", "program"]));
    let ran = run(&path);
    let options = SymbolizerOptions {
        debug_directories: vec![directory.path().join("store")],
        ..SymbolizerOptions::default()
    };
    check(&ran, options.clone(), Some(&full));
    // The debug file of another build under that name.
    let path = build(directory.path(), &["-Wl,--build-id=0xfedcba9876543210"]).unwrap();
    std::fs::copy(&path, store.join("23456789abcdef.debug")).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::fs::copy(&full, &path).unwrap();
    assert!(command(directory.path(), &["objcopy", "--strip-all", "program"]));
    let ran = run(&path);
    assert!(matches!(reason(&ran, options), Reason::Stripped { .. }));
}

fn reason(run: &Run, options: SymbolizerOptions) -> Reason {
    let mut symbolizer = symbolizer(options);
    symbolizer.maps(Pid(7), &parse_maps(&run.maps).unwrap(), Time(0));
    let place = symbolizer.place(CpuMode::User, Pid(7), run.routines[0].0, Time(1));
    match symbolizer.resolve(place) {
        Resolution::Unknown(reason) => reason,
        Resolution::Routine(routine) => panic!("{routine:?}"),
    }
}

fn observe(symbolizer: &mut Symbolizer, mapping: Mapping<'_>) {
    let (record, id) = (SidebandRecord::Mmap2(mapping), SampleId::default());
    let side = StreamRecord::Sideband { event: 0, misc: Misc(2), record, id };
    symbolizer.observe(&StreamDecoder::new(), &side);
}

/// The program's text as MMAP2 with a build id would tell it.
fn mmap2(run: &Run, build_id: &[u8]) -> Symbolizer {
    let mut symbolizer = symbolizer(SymbolizerOptions::default());
    for entry in parse_maps(&run.maps).unwrap() {
        let mapping = Mapping {
            task: Task { pid: Pid(7), tid: Tid(7) },
            start: entry.start,
            length: entry.end - entry.start,
            page_offset: entry.offset,
            file: FileIdentity::BuildId(build_id),
            protection: None,
            flags: None,
            path: entry.path,
        };
        observe(&mut symbolizer, mapping);
    }
    symbolizer
}

#[test]
fn a_replaced_program_gets_no_names() {
    if !has("gcc") && skip("no gcc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), &["-Wl,--build-id=0x0123456789abcdef"]).unwrap();
    let ran = run(&path);
    let ask = |symbolizer: &mut Symbolizer| {
        let place = symbolizer.place(CpuMode::User, Pid(7), ran.routines[0].0, Time(1));
        symbolizer.resolve(place).text().to_owned()
    };
    assert_eq!(ask(&mut mmap2(&ran, b"\x01\x23\x45\x67\x89\xab\xcd\xef")), "first_routine");
    // Padded as perf pads.
    let mut padded = *b"\x01\x23\x45\x67\x89\xab\xcd\xef\0\0\0\0\0\0\0\0\0\0\0\0";
    assert_eq!(ask(&mut mmap2(&ran, &padded)), "first_routine");
    padded[19] = 1;
    assert_eq!(ask(&mut mmap2(&ran, &padded)), "[build-id-differs]");
    // By inode where the file system has plain ones, by absence elsewhere.
    std::fs::rename(&path, directory.path().join("old")).unwrap();
    assert!(matches!(reason(&ran, SymbolizerOptions::default()), Reason::FileGone { .. }));
    std::fs::copy(directory.path().join("old"), &path).unwrap();
    match reason_or_name(&ran) {
        Err(Reason::FileReplaced { .. }) => {}
        other => eprintln!("skipped: no plain inodes on this file system ({other:?})"),
    }
    // Gone from the path, but a living process still has it.
    let deleted = String::from_utf8(ran.maps.clone()).unwrap();
    let name = path.to_str().unwrap();
    let deleted = deleted.replace(name, &format!("{name} (deleted)"));
    let deleted =
        Run { maps: deleted.into_bytes(), path: path.clone(), routines: ran.routines.clone() };
    assert!(matches!(
        reason(&deleted, SymbolizerOptions::default()),
        Reason::FileGone { .. } | Reason::FileReplaced { .. }
    ));
}

fn reason_or_name(run: &Run) -> Result<String, Reason> {
    let mut symbolizer = symbolizer(SymbolizerOptions::default());
    symbolizer.maps(Pid(7), &parse_maps(&run.maps).unwrap(), Time(0));
    let place = symbolizer.place(CpuMode::User, Pid(7), run.routines[0].0, Time(1));
    match symbolizer.resolve(place) {
        Resolution::Unknown(reason) => Err(reason),
        Resolution::Routine(routine) => Ok(routine.name.into_owned()),
    }
}

#[test]
fn a_living_process_shows_its_deleted_program() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sleeper");
    let sleep = Path::new("/bin/sleep");
    if !sleep.exists() && skip("no /bin/sleep") {
        return;
    }
    std::fs::copy(sleep, &path).unwrap();
    let mut child = Command::new(&path).arg("60").spawn().unwrap();
    let pid = Pid(child.id().cast_signed());
    std::fs::remove_file(&path).unwrap();
    // exec is known to have succeeded before the program is mapped.
    let mut maps = Vec::new();
    for _ in 0..500 {
        maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap();
        if String::from_utf8_lossy(&maps).contains("sleeper (deleted)") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let mut symbolizer = symbolizer(SymbolizerOptions::default());
    let entries = parse_maps(&maps).unwrap();
    symbolizer.maps(pid, &entries, Time(0));
    let text = entries
        .iter()
        .find(|entry| entry.permissions[2] == b'x' && entry.path.ends_with(b"sleeper (deleted)"))
        .unwrap();
    let place = symbolizer.place(CpuMode::User, pid, text.start + 0x10, Time(1));
    let resolution = symbolizer.resolve(place);
    // Debian's sleep is stripped: that its dynamic symbols were read shows
    // that the file was found.
    let found = match &resolution {
        Resolution::Routine(_) => true,
        Resolution::Unknown(reason) => {
            !matches!(reason, Reason::FileGone { .. } | Reason::FileReplaced { .. })
        }
    };
    let shown = format!("{resolution:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found, "{shown}");
}

fn demangled(name: &str) -> String {
    match rustc_demangle::try_demangle(name) {
        Ok(rust) => format!("{rust:#}"),
        Err(_) => name.to_owned(),
    }
}

#[test]
fn a_living_process_shows_its_memfd_program() {
    const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>
__attribute__((noinline)) int first_routine(int a) { return a * 3 + 1; }
int main(int argc, char **argv) {
    if (argc > 1) {
        printf("%lx\n", (unsigned long)first_routine);
        fflush(stdout);
        pause();
    }
    struct stat stat;
    int own = open("/proc/self/exe", O_RDONLY), memory = memfd_create("prog", 0);
    fstat(own, &stat);
    while (sendfile(memory, own, 0, stat.st_size) > 0) {}
    char path[64];
    sprintf(path, "/proc/self/fd/%d", memory);
    char *words[] = {"prog", "again", 0}, *none[] = {0};
    execve(path, words, none);
    return 1;
}
"#;
    if !has("gcc") && skip("no gcc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("memory.c"), PROGRAM).unwrap();
    assert!(command(directory.path(), &["gcc", "-O1", "-o", "memory", "memory.c"]));
    let mut child = Command::new(directory.path().join("memory"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = u64::from_str_radix(line.trim(), 16).unwrap();
    let pid = Pid(child.id().cast_signed());
    let maps = std::fs::read(format!("/proc/{pid}/maps")).unwrap();
    let ask = |asked: Pid| {
        let mut symbolizer = symbolizer(SymbolizerOptions::default());
        symbolizer.maps(asked, &parse_maps(&maps).unwrap(), Time(0));
        let place = symbolizer.place(CpuMode::User, asked, address, Time(1));
        let name = symbolizer.resolve(place).text().to_owned();
        (name, symbolizer.object_name(place.object).to_owned(), place.address)
    };
    let (alive, gone) = (ask(pid), ask(Pid(0)));
    child.kill().unwrap();
    child.wait().unwrap();
    let object = "/memfd:prog (deleted)".to_owned();
    let linked = nm_address(&directory.path().join("memory"), "first_routine");
    assert_eq!(alive, ("first_routine".to_owned(), object.clone(), linked));
    // Nobody shows it any more: memory as any other, at its address.
    assert_eq!(gone, ("[anonymous]".to_owned(), object, address));
}

#[test]
fn symbols_of_libraries_equal_nm() {
    if !has("nm") && skip("no nm") {
        return;
    }
    let own = std::env::current_exe().unwrap();
    let mut files = vec![(own, "--defined-only")];
    for library in ["/lib/x86_64-linux-gnu/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"] {
        if Path::new(library).exists() {
            files.push((library.into(), "-D"));
        }
    }
    for (path, flag) in files {
        let symbols = symbolizer::ElfSymbols::parse(&std::fs::read(&path).unwrap()).unwrap();
        let output = Command::new("nm").args([flag, "-S"]).arg(&path).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let hex = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let lines: Vec<(u64, u64, &str)> = text
            .lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let [start, size, "t" | "T" | "w" | "W" | "i", name] = words[..] else {
                    return None;
                };
                // Without the version of a dynamic symbol.
                Some((hex(start), hex(size), name.split('@').next()?))
            })
            .collect();
        let mut there: HashMap<u64, Vec<(u64, String)>> = HashMap::new();
        for &(start, size, name) in &lines {
            there.entry(start).or_default().push((size, demangled(name)));
        }
        for (start, names) in &there {
            let routine =
                symbols.find(*start).unwrap_or_else(|| panic!("{names:?} of {}", path.display()));
            // Of aliases one is taken, with its own extent.
            let found = (routine.end - routine.start, routine.name.to_string());
            assert_eq!(routine.start, *start, "{names:?}");
            assert!(names.contains(&found), "{found:?} at {start:#x} is none of {names:?}");
        }
        let checked = lines.len();
        eprintln!("{}: {checked} symbols", path.display());
        assert!(checked > 500);
    }
}

#[test]
fn a_program_inside_another_root_is_found_through_its_process() {
    if !has("gcc") && skip("no gcc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("program.c"),
        "#include <unistd.h>\nint first_routine(void) { return 1; }\nint main(void) { pause(); return first_routine(); }\n",
    )
    .unwrap();
    let inside = directory.path().join("root");
    std::fs::create_dir(&inside).unwrap();
    let line = ["gcc", "-static", "-O1", "-Wl,--build-id", "-o", "root/only-inside", "program.c"];
    if !command(directory.path(), &line) && skip("no static libc") {
        return;
    }
    let chroot = Command::new("chroot").arg(&inside).arg("/only-inside").spawn();
    let Ok(mut child) = chroot else {
        skip("no chroot command");
        return;
    };
    let pid = Pid(child.id().cast_signed());
    let is_inside = || {
        std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("only-inside"))
    };
    let waited = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        is_inside()
    });
    if !waited {
        let status = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(status.is_some(), "the program did not start");
        skip("chroot needs root");
        return;
    }
    let file = inside.join("only-inside");
    let bytes = std::fs::read(&file).unwrap();
    let symbols = symbolizer::ElfSymbols::parse(&bytes).unwrap();
    let id = symbols.build_id().unwrap().to_vec();
    let address = nm_address(&file, "first_routine");
    // As the kernel tells it: the path as the program's own root has it.
    let mapping = Mapping {
        task: Task { pid, tid: Tid(pid.0) },
        start: 0x10000,
        length: bytes.len() as u64,
        page_offset: 0,
        file: FileIdentity::BuildId(&id),
        protection: None,
        flags: None,
        path: b"/only-inside",
    };
    let mut symbolizer = symbolizer(SymbolizerOptions::default());
    observe(&mut symbolizer, mapping);
    let offset =
        (0..bytes.len() as u64).find(|&offset| symbols.translate(offset) == Some(address)).unwrap();
    let place = symbolizer.place(CpuMode::User, pid, 0x10000 + offset, Time(1));
    let named = symbolizer.resolve(place).text().to_owned();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((place.address, &*named), (address, "first_routine"));
}
