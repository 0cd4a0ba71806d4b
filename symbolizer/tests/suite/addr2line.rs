//! Lines and inlined calls as the crate addr2line has them.
//!
//! It reads the same sections with an index of its own, so it stands as an
//! oracle wherever there is no llvm-symbolizer; each difference must be of a
//! known kind (docs/symbols.md lists them).

use crate::toolchain;
use ::addr2line::Context;
use gimli::{DwarfSections, EndianSlice, LittleEndian};
use object::{Object, ObjectSection, SectionKind};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use symbolizer::{DebugFile, Depth, ElfSymbols, Frame, SymbolizerOptions, demangle};

/// Addresses asked for in each file, at most.
const ADDRESSES: usize = 20_000;
const SHOWN: usize = 8;

type Oracle<'a> = Context<EndianSlice<'a, LittleEndian>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// No debug info holds the address: addr2line has nothing, we ask the
    /// symbol table.
    SymbolTable,
    /// Debug info has but a declared name, or none, of the outermost routine:
    /// ours is the symbol table's.
    OutermostName,
    /// addr2line gives line 0, code that the compiler made up, no column.
    ZeroLine,
    /// Neither: one of us is wrong.
    Unexplained,
}

/// A frame as both have it. No line, and line 0, are one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Plain {
    name: Option<String>,
    file: Option<String>,
    line: u32,
    column: u32,
}

/// The sections of debug info, decompressed.
fn sections(bytes: &[u8]) -> DwarfSections<Cow<'_, [u8]>> {
    let file = object::File::parse(bytes).unwrap();
    let sections = DwarfSections::load(|id| {
        let section = file.section_by_name(id.name());
        let data = section.map(|section| section.uncompressed_data()).transpose()?;
        Ok::<_, object::Error>(data.unwrap_or_default())
    });
    sections.unwrap()
}

fn theirs(oracle: &Oracle<'_>, address: u64) -> Vec<Plain> {
    let mut frames = oracle.find_frames(address).skip_all_loads().unwrap();
    let mut found = Vec::new();
    while let Some(frame) = frames.next().unwrap() {
        let name = frame.function.map(|function| function.raw_name().unwrap().into_owned());
        let place = frame.location;
        found.push(Plain {
            name: name.map(|name| demangle(name.as_bytes()).into_owned()),
            file: place.as_ref().and_then(|place| place.file).map(str::to_owned),
            line: place.as_ref().and_then(|place| place.line).unwrap_or(0),
            column: place.as_ref().and_then(|place| place.column).unwrap_or(0),
        });
    }
    found
}

fn plain(frame: &Frame) -> Plain {
    let source = frame.source.as_ref();
    Plain {
        name: frame.name.as_deref().map(str::to_owned),
        file: source.map(|source| source.file.to_string()),
        line: source.map_or(0, |source| source.line),
        column: source.map_or(0, |source| source.column),
    }
}

/// `symbol`: what the symbol table calls the routine.
fn differ(
    ours: &[Plain],
    depth: &Depth,
    theirs: &[Plain],
    symbol: Option<&str>,
) -> Option<Difference> {
    if ours == theirs {
        return None;
    }
    if matches!(depth, Depth::Symbols(_)) && theirs.is_empty() {
        return Some(Difference::SymbolTable);
    }
    let mut ours = ours.to_vec();
    for frame in ours.iter_mut().filter(|frame| frame.line == 0) {
        frame.column = 0;
    }
    if ours == theirs {
        return Some(Difference::ZeroLine);
    }
    if let (Some(ours), Some(theirs)) = (ours.last_mut(), theirs.last())
        && ours.name.as_deref() == symbol
    {
        ours.name.clone_from(&theirs.name);
    }
    match ours == theirs {
        true => Some(Difference::OutermostName),
        false => Some(Difference::Unexplained),
    }
}

/// Addresses at even distances over the code of a file.
fn spread(bytes: &[u8]) -> Vec<u64> {
    let file = object::File::parse(bytes).unwrap();
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let code: Vec<_> = code.map(|section| (section.address(), section.size())).collect();
    let all: u64 = code.iter().map(|(_, size)| size).sum();
    let step = usize::try_from(all).unwrap().div_ceil(ADDRESSES).max(1);
    code.iter().flat_map(|&(start, size)| (start..start + size).step_by(step)).collect()
}

/// Differences by kind; none is unexplained, or this fails.
fn compare(path: &Path) -> BTreeMap<Option<Difference>, usize> {
    let bytes = std::fs::read(path).unwrap();
    let sections = sections(&bytes);
    let dwarf = sections.borrow(|data| EndianSlice::new(data, LittleEndian));
    let oracle: Oracle<'_> = Context::from_dwarf(dwarf).unwrap();
    let debug = DebugFile::open(path, &SymbolizerOptions::default()).unwrap();
    let symbols = ElfSymbols::parse(&bytes).unwrap();
    let mut tally = BTreeMap::new();
    for address in spread(&bytes) {
        let frames = debug.frames(address);
        let ours: Vec<_> = frames.frames.iter().map(plain).collect();
        let theirs = theirs(&oracle, address);
        let symbol = symbols.find(address).map(|routine| routine.name);
        let difference = differ(&ours, &frames.depth, &theirs, symbol.as_deref());
        let count = tally.entry(difference).or_insert(0);
        *count += 1;
        if difference == Some(Difference::Unexplained) && *count <= SHOWN {
            eprintln!("{address:#x}\n  ours   {ours:?} {:?}\n  theirs {theirs:?}", frames.depth);
        }
    }
    eprintln!("{}: {tally:?}", path.display());
    assert_eq!(tally.get(&Some(Difference::Unexplained)), None, "{}", path.display());
    tally
}

#[test]
fn given_files_are_answered_as_addr2line_does() {
    let Some(files) = std::env::var_os("HARDMETER_DEBUG_FILES") else {
        return eprintln!("skipped: HARDMETER_DEBUG_FILES names no files");
    };
    for file in std::env::split_paths(&files) {
        compare(&file);
    }
}

/// A program of many thousand functions that is there wherever tests run.
#[test]
fn this_very_test_is_answered_as_addr2line_does() {
    let tally = compare(&std::env::current_exe().unwrap());
    assert!(tally.get(&None).is_some_and(|&equal| equal > 1000), "{tally:?}");
}

const PROGRAM: &str = r#"
template <class T> static inline __attribute__((always_inline)) T inner(T value) {
    volatile T seen = value;
    return seen * 3;
}
template <class T> static inline __attribute__((always_inline)) T outer(T value) {
    if (value > 1000) __builtin_abort();
    return inner(value) + inner(value + 1);
}
template <class T> __attribute__((noinline)) T twice(T value) { return outer(value) + value; }
int main(int count, char **) { return twice(count) + static_cast<int>(twice(2.5 * count)); }
"#;

#[test]
fn programs_of_every_kind_are_answered_as_addr2line_does() {
    if !toolchain::has("c++") {
        return eprintln!("skipped: no c++ here");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("program.cc"), PROGRAM).unwrap();
    for kind in [
        ["-O2", "-gdwarf-2"],
        ["-O2", "-gdwarf-3"],
        ["-O2", "-gdwarf-4"],
        ["-O2", "-gdwarf-5"],
        ["-O0", "-gdwarf-5"],
    ] {
        let line = [&["c++", "program.cc", "-o", "program"][..], &kind].concat();
        assert!(toolchain::command(folder.path(), &line));
        let tally = compare(&folder.path().join("program"));
        assert!(tally.get(&None).is_some_and(|&equal| equal > 20), "{kind:?}: {tally:?}");
    }
}
