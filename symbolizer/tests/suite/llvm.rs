//! Lines and inlined calls as llvm-symbolizer has them.
//!
//! Both are asked for the same addresses, drawn over the code of a file, and
//! each difference must be of a known kind (docs/symbols.md lists them).

#[allow(dead_code, reason = "not every test binary needs every tool")]
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use symbolizer::{DebugFile, Frame, FrameDetail, SymbolizerOptions, demangle};

/// Addresses asked for in each file.
const ADDRESSES: usize = 200_000;
const SHOWN: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// No function of debug info holds the address; llvm-symbolizer shows
    /// what the symbol table has, with the last STT_FILE symbol as file.
    SymbolTable,
    /// The same, and the symbol differs: llvm-symbolizer lets one without
    /// size reach beyond its section, and knows no PLT stubs.
    SymbolRules,
    /// llvm-symbolizer takes the outermost name from the symbol table.
    OutermostName,
    /// No line holds the address; llvm-symbolizer shows the last STT_FILE
    /// symbol as file.
    NoLine,
    /// Line 0, code that the compiler made up: it has no column here.
    ZeroLine,
    /// Neither: one of us is wrong.
    Unexplained,
}

/// A frame as both have it: name, file, line, column.
type Plain = (String, String, u32, u32);

fn peer() -> Option<PathBuf> {
    let given = std::env::var_os("LLVM_SYMBOLIZER").map(PathBuf::from);
    let known = ["llvm-symbolizer-19", "llvm-symbolizer"].map(PathBuf::from);
    given.into_iter().chain(known).find(|program| {
        let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        version.is_ok_and(|status| status.success())
    })
}

fn drawn(bytes: &[u8], count: usize) -> Vec<u64> {
    let file = object::File::parse(bytes).unwrap();
    let code: Vec<_> = file
        .sections()
        .filter(|section| {
            matches!(section.flags(), SectionFlags::Elf { sh_flags, .. }
                if sh_flags.contains(object::elf::SHF_EXECINSTR))
        })
        .map(|section| (section.address(), section.size()))
        .collect();
    let all: u64 = code.iter().map(|(_, size)| size).sum();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut addresses: Vec<_> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let mut at = state % all;
        for &(start, size) in &code {
            if at < size {
                return start + at;
            }
            at -= size;
        }
        unreachable!("within all code")
    })
    .take(count)
    .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

fn theirs(program: &Path, file: &Path, addresses: &[u64]) -> Vec<Vec<Plain>> {
    let mut child = Command::new(program)
        .args(["--no-demangle", "--inlines", "--functions=linkage", "--obj"])
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    let mut answers = Vec::new();
    let mut frames = Vec::new();
    let mut lines = text.lines();
    while let Some(name) = lines.next() {
        if name.is_empty() {
            answers.push(std::mem::take(&mut frames));
            continue;
        }
        let place = lines.next().unwrap();
        let mut parts = place.rsplitn(3, ':');
        let column = parts.next().unwrap().parse().unwrap();
        let line = parts.next().unwrap().parse().unwrap();
        let file = parts.next().unwrap();
        let name = demangle(name.as_bytes()).into_owned();
        frames.push((name, file.to_owned(), line, column));
    }
    answers
}

/// What lies where by the symbol table, all names of an address together.
fn symbols(bytes: &[u8]) -> BTreeMap<u64, Vec<String>> {
    let file = object::File::parse(bytes).unwrap();
    let mut symbols = BTreeMap::<_, Vec<_>>::new();
    for symbol in file.symbols() {
        let name = demangle(symbol.name_bytes().unwrap()).into_owned();
        symbols.entry(symbol.address()).or_default().push(name);
    }
    symbols
}

fn plain(frame: &Frame) -> Plain {
    let name = frame.name.as_deref().unwrap_or("??").to_owned();
    match &frame.source {
        Some(source) => (name, source.file.to_string(), source.line, source.column),
        None => (name, "??".to_owned(), 0, 0),
    }
}

fn differ(
    ours: &[Plain],
    depth: &FrameDetail,
    theirs: &[Plain],
    symbols: &[String],
) -> Option<Difference> {
    if ours == theirs {
        return None;
    }
    let mut theirs = theirs.to_vec();
    for (_, _, _, column) in theirs.iter_mut().filter(|(_, _, line, _)| *line == 0) {
        *column = 0;
    }
    if ours == theirs {
        return Some(Difference::ZeroLine);
    }
    let theirs = theirs.as_slice();
    let unnamed = |frames: &[Plain]| -> Vec<_> {
        frames.iter().map(|(_, file, line, column)| (file.clone(), *line, *column)).collect()
    };
    if matches!(depth, FrameDetail::Symbols(_)) {
        let [(name, _, 0, 0)] = theirs else { return Some(Difference::Unexplained) };
        let own = ours.first().map_or("??", |frame| frame.0.as_str());
        return Some(match own == name {
            true => Difference::SymbolTable,
            false => Difference::SymbolRules,
        });
    }
    if let ([(name, file, 0, 0)], [(other, _, 0, 0)]) = (ours, theirs)
        && file == "??"
        && (name == other || symbols.contains(other))
    {
        return Some(Difference::NoLine);
    }
    let inner = |frames: &[Plain]| frames.split_last().map(|(_, inner)| inner.to_vec());
    let outermost = theirs.last().is_some_and(|frame| symbols.contains(&frame.0));
    match inner(ours) == inner(theirs) && unnamed(ours) == unnamed(theirs) && outermost {
        true => Some(Difference::OutermostName),
        false => Some(Difference::Unexplained),
    }
}

/// Differences by kind; all are known, or this fails.
fn compare(file: &Path, count: usize) -> BTreeMap<Option<Difference>, usize> {
    let program = peer().unwrap();
    let bytes = std::fs::read(file).unwrap();
    let addresses = drawn(&bytes, count);
    let symbols = symbols(&bytes);
    let debug = DebugFile::open(file, &SymbolizerOptions::default()).unwrap();
    let theirs = theirs(&program, file, &addresses);
    assert_eq!(theirs.len(), addresses.len());
    let shows_all = std::env::var_os("HARDMETER_SHOW_DIFFERENCES").is_some();
    let mut tally = BTreeMap::new();
    let mut shown = BTreeMap::<Difference, usize>::new();
    for (&address, theirs) in addresses.iter().zip(&theirs) {
        let frames = debug.frames(address);
        let ours: Vec<_> = frames.frames.iter().map(plain).collect();
        // Aliases of the symbol that begins nearest before the address.
        let names = symbols.range(..=address).next_back().map_or(&[][..], |(_, names)| names);
        let difference = differ(&ours, &frames.depth, theirs, names);
        *tally.entry(difference).or_insert(0) += 1;
        if let Some(kind) = difference {
            let shown = shown.entry(kind).or_default();
            *shown += 1;
            if *shown <= SHOWN && (kind == Difference::Unexplained || shows_all) {
                eprintln!(
                    "{kind:?} {address:#x}\n  ours   {ours:?} {:?}\n  theirs {theirs:?}",
                    frames.depth
                );
            }
        }
    }
    eprintln!("{}: {} addresses, {tally:?}", file.display(), addresses.len());
    tally
}

#[test]
fn given_files_are_answered_as_llvm_does() {
    let (Some(files), Some(_)) = (std::env::var_os("HARDMETER_DEBUG_FILES"), peer()) else {
        eprintln!("skipped: HARDMETER_DEBUG_FILES names no files, or there is no llvm-symbolizer");
        return;
    };
    for file in std::env::split_paths(&files) {
        let tally = compare(&file, ADDRESSES);
        assert_eq!(tally.get(&Some(Difference::Unexplained)), None, "{}", file.display());
    }
}

/// A program of many thousand functions that is there wherever tests run.
#[test]
fn this_very_test_is_answered_as_llvm_does() {
    if peer().is_none() {
        return eprintln!("skipped: there is no llvm-symbolizer");
    }
    let tally = compare(&std::env::current_exe().unwrap(), 5000);
    assert_eq!(tally.get(&Some(Difference::Unexplained)), None);
    assert!(tally.get(&None).is_some_and(|&equal| equal > 500), "{tally:?}");
}

/// Calls inlined into each other from another file, one function in parts,
/// one that is a template.
const PROGRAM: &str = r#"
#include "inner.h"
template <class T> __attribute__((noinline)) T twice(T value) { return outer(value) + value; }
int main(int count, char **) { return twice(count) + static_cast<int>(twice(2.5 * count)); }
"#;
const INNER: &str = r#"
static inline __attribute__((always_inline)) int inner(int value) {
    volatile int seen = value;
    return seen * 3;
}
static inline __attribute__((always_inline)) int outer(int value) {
    if (value > 1000) __builtin_abort();
    return inner(value) + inner(value + 1);
}
"#;

/// llvm-symbolizer reads these no more.
#[test]
fn sections_compressed_in_the_old_way_answer_as_plain_ones() {
    if !crate::toolchain::has("c++") {
        eprintln!("skipped: no c++ here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.cc"), PROGRAM).unwrap();
    std::fs::write(folder.path().join("inner.h"), INNER).unwrap();
    let answers = |kind| {
        let line = ["c++", "program.cc", "-o", "program", "-O2", "-gdwarf-4", kind];
        assert!(crate::toolchain::command(folder.path(), &line));
        let path = folder.path().join("program");
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(memchr::memmem::find(&bytes, b".zdebug_info").is_some(), kind == "-gz=zlib-gnu");
        let debug = DebugFile::open(&path, &SymbolizerOptions::default()).unwrap();
        let addresses = drawn(&bytes, 2000);
        addresses.iter().map(|&address| debug.frames(address)).collect::<Vec<_>>()
    };
    let plain = answers("-gz=none");
    assert!(
        plain.iter().any(|frames| frames.depth == FrameDetail::Debug && frames.frames.len() > 2)
    );
    assert_eq!(plain, answers("-gz=zlib-gnu"));
}

#[test]
fn programs_of_every_kind_are_answered_as_llvm_does() {
    if !crate::toolchain::has("c++") || peer().is_none() {
        eprintln!("skipped: no c++ here, or no llvm-symbolizer");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.cc"), PROGRAM).unwrap();
    std::fs::write(folder.path().join("inner.h"), INNER).unwrap();
    for kind in [
        ["-O2", "-gdwarf-2"].as_slice(),
        &["-O2", "-gdwarf-3"],
        &["-O2", "-gdwarf-4"],
        &["-O2", "-gdwarf-5"],
        &["-O0", "-gdwarf-5"],
        &["-O1", "-gdwarf-5", "-gz=zlib"],
        &["-O2", "-gdwarf-5", "-gsplit-dwarf"],
        &["-O2", "-gdwarf-4", "-gsplit-dwarf"],
        &["-O2", "-gdwarf-5", "-ffunction-sections", "-no-pie"],
    ] {
        let line = [&["c++", "program.cc", "-o", "program"], kind].concat();
        assert!(crate::toolchain::command(folder.path(), &line));
        let tally = compare(&folder.path().join("program"), 2000);
        assert_eq!(tally.get(&Some(Difference::Unexplained)), None, "{kind:?}");
        assert!(tally.get(&None).is_some_and(|&equal| equal > 20), "{kind:?}: {tally:?}");
    }
}
