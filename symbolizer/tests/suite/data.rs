//! Variables of real programs, built in every way that moves data about: what
//! the programs say of themselves must be what we say of them, whether the
//! recorder told of all mappings or of those of code alone.

use crate::toolchain::{command, has, rust_lld};
use perfdata::sideband::{FileIdentity, Mapping, SidebandRecord};
use perfdata::stream::{StreamDecoder, StreamRecord};
use perfdata::{CpuMode, Misc, Pid, SampleId, Task, Tid, Time};
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use symbolizer::{
    KernelOffset, KernelSource, Reason, Resolution, Symbolizer, SymbolizerOptions, parse_maps,
};

/// Prints address, size and name of variables in every section that holds
/// any, then of a heap block and of a local, then its maps.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int initialised[1000] = { 1 };
static int hidden[300] = { 2 };
int zeroed[50000];
static char last_zeroed[70000];
const int constant[64] = { 3 };
int *const relocated[16] = { initialised };
_Thread_local int own[8] = { 4 };
#define TELL(variable) \
    printf("%lx %zx " #variable "\n", (unsigned long)&variable, sizeof variable)
int main(void) {
    char line[4096];
    char local[100];
    char *heap = malloc(100);
    TELL(initialised); TELL(hidden); TELL(zeroed); TELL(last_zeroed); TELL(constant);
    TELL(relocated);
    printf("%lx 64 [heap]\n%lx 64 [stack]\n", (unsigned long)heap, (unsigned long)local);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) fputs(line, stdout);
    return hidden[0] + last_zeroed[1] + own[0] + relocated[0][0] != 7;
}
"#;

/// What a program said of one of its variables.
struct Variable {
    address: u64,
    size: u64,
    name: String,
}

struct Run {
    path: PathBuf,
    variables: Vec<Variable>,
    maps: Vec<u8>,
    /// What nm lists of it.
    listed: HashMap<String, u64>,
}

/// None when this machine cannot build it so.
fn run(directory: &Path, flags: &[&str]) -> Option<Run> {
    std::fs::write(directory.join("program.c"), PROGRAM).unwrap();
    let line = [&["gcc", "-g0", "-O1", "-o", "program", "program.c"], flags].concat();
    if !command(directory, &line) {
        eprintln!("skipped: {flags:?}");
        return None;
    }
    let path = directory.join("program");
    let output = Command::new(&path).output().unwrap();
    assert!(output.status.success(), "{flags:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let variables = text.lines().take(8).map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word| u64::from_str_radix(word, 16).unwrap();
        Variable { address: number(words[0]), size: number(words[1]), name: words[2].to_owned() }
    });
    let variables = variables.collect();
    let maps = text.lines().skip(8).flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect();
    let listed = listed(&path);
    Some(Run { path, variables, maps, listed })
}

fn symbolizer(run: &Run, code_alone: bool) -> Symbolizer {
    let options = SymbolizerOptions { kernel: KernelSource::None, ..SymbolizerOptions::default() };
    let mut symbolizer = Symbolizer::new(options);
    let mut maps = parse_maps(&run.maps).unwrap();
    maps.retain(|entry| !code_alone || entry.permissions[2] == b'x');
    symbolizer.maps(Pid(7), &maps, Time(0));
    symbolizer
}

/// Where nm says that symbols lie; nothing of a stripped program.
fn listed(path: &Path) -> HashMap<String, u64> {
    let output = Command::new("nm").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let symbols = words.filter(|words| words.len() == 3);
    let number = |word| u64::from_str_radix(word, 16).unwrap();
    symbols.map(|words| (words[2].to_owned(), number(words[0]))).collect()
}

fn has_gcc() -> bool {
    let found = has("gcc");
    if !found {
        eprintln!("skipped: no gcc");
    }
    found
}

fn check(run: &Run, code_alone: bool) {
    let mut symbolizer = symbolizer(run, code_alone);
    for Variable { address, size, name } in &run.variables {
        // Twice: what is remembered must be what is found.
        for inside in [0, 1, size / 2, size - 1, 0, size - 1] {
            let place = symbolizer.data_place(CpuMode::User, Pid(7), address + inside, Time(1));
            let object = symbolizer.object_name(place.object).to_owned();
            let resolution = symbolizer.resolve_data(place);
            match &resolution {
                Resolution::Routine(variable) => {
                    assert_eq!(object, run.path.to_str().unwrap(), "{name}");
                    assert_eq!((&*variable.name, variable.offset), (&**name, inside));
                    assert_eq!(Some(&variable.start), run.listed.get(name), "{name}");
                }
                Resolution::Unknown(reason) => {
                    assert!(name.starts_with('['), "{name}+{inside:#x}: {reason}");
                    assert_eq!(place.address, address + inside, "{name}");
                    let expected = match code_alone {
                        true => Reason::DataNotMapped { has_data: false },
                        false => Reason::NoVariables { name: name.clone() },
                    };
                    assert_eq!(*reason, expected, "{name}");
                }
            }
        }
    }
}

#[test]
fn variables_have_the_names_that_their_programs_say() {
    if !has_gcc() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    let mut ways: Vec<Vec<&str>> = vec![
        vec![],
        vec!["-no-pie"],
        vec!["-static"],
        vec!["-static-pie"],
        vec!["-Wl,-z,noseparate-code"],
        vec!["-no-pie", "-Wl,-z,noseparate-code"],
        vec!["-Wl,-z,norelro"],
        vec!["-Wl,-z,max-page-size=0x200000"],
        vec!["-m32"],
    ];
    let lld = rust_lld();
    match &lld {
        Some(lld) => ways.extend([
            vec!["-fuse-ld=lld", lld],
            vec!["-fuse-ld=lld", lld, "-no-pie"],
            vec!["-fuse-ld=lld", lld, "-Wl,-z,separate-code"],
            vec!["-fuse-ld=lld", lld, "-Wl,--no-rosegment"],
        ]),
        None => eprintln!("skipped: rustc has no ld.lld"),
    }
    let mut built = 0;
    for flags in ways {
        let Some(run) = run(&directory, &flags) else { continue };
        for code_alone in [false, true] {
            eprintln!("{flags:?}, mappings of code alone: {code_alone}");
            check(&run, code_alone);
        }
        built += 1;
    }
    assert!(built >= 4);
}

#[test]
fn stripped_files_name_what_they_export() {
    if !has_gcc() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    let Some(run) = run(&directory, &["-rdynamic", "-s"]) else {
        panic!("the plain program does not build");
    };
    let mut symbolizer = symbolizer(&run, false);
    for Variable { address, name, .. } in &run.variables[..6] {
        let place = symbolizer.data_place(CpuMode::Kernel, Pid(7), *address, Time(1));
        let exported = !matches!(name.as_str(), "hidden" | "last_zeroed");
        match symbolizer.resolve_data(place) {
            Resolution::Routine(variable) => {
                assert_eq!((&*variable.name, exported), (&**name, true))
            }
            Resolution::Unknown(reason) => {
                assert!(!exported, "{name}: {reason}");
                let text = reason.to_string();
                assert!(text.contains("no symbol of") || text.contains("beyond"), "{text}");
            }
        }
    }
}

/// Programs map files of their own for their data.
#[test]
fn files_that_are_no_programs_have_a_name_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table");
    std::fs::write(&path, [7; 10_000]).unwrap();
    let line = format!("700000000000-700000003000 r--p 00001000 00:00 0 {}\n", path.display());
    let options = SymbolizerOptions { kernel: KernelSource::None, ..SymbolizerOptions::default() };
    let mut symbolizer = Symbolizer::new(options);
    symbolizer.maps(Pid(7), &parse_maps(line.as_bytes()).unwrap(), Time(0));
    let place = symbolizer.data_place(CpuMode::User, Pid(7), 0x7000_0000_0123, Time(1));
    let name = path.display().to_string();
    assert_eq!((symbolizer.object_name(place.object), place.address), (name.as_str(), 0x1123));
    let reason = Reason::NoVariables { name };
    assert_eq!(symbolizer.resolve_data(place), Resolution::Unknown(reason));
}

/// Of another process, or before anything was mapped, nothing is known.
#[test]
fn what_was_never_told_is_not_guessed() {
    if !has_gcc() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(run) = run(directory.path(), &[]) else { panic!("it does not build") };
    let mut symbolizer = symbolizer(&run, false);
    let address = run.variables[0].address;
    for (mode, pid, time, tag) in [
        (CpuMode::User, 8, 1, "[unknown-process]"),
        (CpuMode::GuestUser, 7, 1, "[guest]"),
        (CpuMode::Hypervisor, 7, 1, "[hypervisor]"),
        (CpuMode::Unknown, 7, 1, "[unknown-mode]"),
    ] {
        let place = symbolizer.data_place(mode, Pid(pid), address, Time(time));
        assert_eq!(symbolizer.resolve_data(place).text(), tag);
    }
    let kernel = symbolizer.data_place(CpuMode::User, Pid(7), 0xffff_8880_0000_0000, Time(1));
    assert_eq!(symbolizer.object_name(kernel.object), "[kernel]");
    assert_eq!(symbolizer.resolve_data(kernel).text(), "[no-kernel-symbols]");
}

#[test]
fn variables_of_the_kernel_come_from_its_list() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("System.map");
    let ask = |text: &str, address: u64| {
        std::fs::write(&list, text).unwrap();
        let kernel = KernelSource::File { path: list.clone(), offset: KernelOffset::Given(0) };
        let mut symbolizer =
            Symbolizer::new(SymbolizerOptions { kernel, ..SymbolizerOptions::default() });
        // Users' samples have the kernel's addresses, too, and the other way.
        let place = symbolizer.data_place(CpuMode::User, Pid(7), address, Time(1));
        assert_eq!(place.address, address);
        let object = symbolizer.object_name(place.object).to_owned();
        let resolution = symbolizer.resolve_data(place);
        (object, resolution.text().to_owned(), resolution.offset())
    };
    let text = "ffffffff81000000 T _text\nffffffff82000000 D init_task\n\
                ffffffff82000100 D jiffies\nffffffffc0000000 d own\t[mod]\n";
    let known = |object: &str, name: &str, offset| (object.into(), name.into(), Some(offset));
    assert_eq!(ask(text, 0xffff_ffff_8200_0040), known("[kernel]", "init_task", 0x40));
    assert_eq!(ask(text, 0xffff_ffff_8200_0100), known("[kernel]", "jiffies", 0));
    assert_eq!(ask(text, 0xffff_ffff_c000_0008), known("[mod]", "own", 8));
    let (object, name, offset) = ask(text, 0xffff_8880_0000_1000);
    assert_eq!((&*object, &*name, offset), ("[kernel]", "[beyond-symbols]", None));
    let marks = "ffffffff81000000 T _text\nffffffff82000000 D __start_rodata\n";
    assert_eq!(ask(marks, 0xffff_ffff_8200_0040).1, "[no-kernel-symbols]");
}

/// Answers are remembered for stretches of addresses: each must be what one
/// who was asked nothing before would say.
#[test]
fn what_is_remembered_is_what_would_be_found() {
    if !has_gcc() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let Some(run) = run(directory.path(), &[]) else { panic!("it does not build") };
    for code_alone in [false, true] {
        let mut asked = symbolizer(&run, code_alone);
        let mut places = std::collections::HashSet::new();
        // Borders of all mappings and variables, and what lies around them.
        let maps = parse_maps(&run.maps).unwrap();
        let borders = maps.iter().flat_map(|entry| [entry.start, entry.end]);
        let variables = run.variables.iter().flat_map(|it| [it.address, it.address + it.size]);
        let mut addresses: Vec<u64> = borders
            .chain(variables)
            .flat_map(|at| {
                [-4097, -4096, -1, 0, 1, 2000, 4095, 4096].map(|by| at.wrapping_add_signed(by))
            })
            .collect();
        // Forth and back: what is remembered depends on the order.
        addresses.extend(addresses.clone().into_iter().rev());
        for address in addresses {
            let place = asked.data_place(CpuMode::User, Pid(7), address, Time(1));
            let fresh =
                symbolizer(&run, code_alone).data_place(CpuMode::User, Pid(7), address, Time(1));
            assert_eq!(place, fresh, "{address:#x}, code alone: {code_alone}");
            places.insert(place);
        }
        assert!(places.len() > 50);
    }
}

/// A number that is likely to be at an edge of something.
fn edgy() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..0x9000,
        (0u64..64, -2i64..3).prop_map(|(bit, by)| (1u64 << bit).wrapping_add_signed(by)),
        (0u64..4096).prop_map(|by| u64::MAX - by),
    ]
}

proptest! {
    /// Mappings that no kernel makes: whatever they are of, an answer, and the
    /// same when asked again or first.
    #[test]
    fn no_mapping_is_too_odd(
        mappings in prop::collection::vec(
            (edgy(), edgy(), edgy(), any::<bool>(), 0usize..3), 0..8),
        addresses in prop::collection::vec(edgy(), 1..16),
    ) {
        let program = std::env::current_exe().unwrap();
        let paths = [program.to_str().unwrap(), "/nowhere", "//anon"];
        let told = || {
            let mut symbolizer =
                Symbolizer::new(SymbolizerOptions { kernel: KernelSource::None, ..SymbolizerOptions::default() });
            for &(start, length, page_offset, code, path) in &mappings {
                let mapping = Mapping {
                    task: Task { pid: Pid(7), tid: Tid(7) },
                    start,
                    length,
                    page_offset,
                    file: FileIdentity::Unknown,
                    protection: None,
                    flags: None,
                    path: paths[path].as_bytes(),
                };
                let misc = if code { Misc(2) } else { Misc(2 | Misc::MMAP_DATA.0) };
                let (record, id) = (SidebandRecord::Mmap(mapping), SampleId::default());
                let side = StreamRecord::Sideband { event: 0, misc, record, id };
                symbolizer.observe(&StreamDecoder::new(), &side);
            }
            symbolizer
        };
        let mut asked = told();
        for address in addresses.iter().chain(addresses.iter().rev()) {
            let place = asked.data_place(CpuMode::User, Pid(7), *address, Time(1));
            prop_assert!(!asked.resolve_data(place).text().is_empty());
            let fresh = told().data_place(CpuMode::User, Pid(7), *address, Time(1));
            prop_assert_eq!(place, fresh, "{:#x}", address);
        }
    }
}
