//! Where the text of routines begins.

use crate::toolchain::command;
use std::collections::BTreeMap;
use symbolizer::{DebugFile, SymbolizerOptions};

const HEADER: &str = "extern volatile int seen;\n\
    struct Box {\n\
    int of;\n\
    int twice();\n\
    };\n\
    static inline __attribute__((always_inline)) int inner(int of) {\n\
    seen = of;\n\
    return seen + 1; }\n";
const PROGRAM: &str = "#include \"box.h\"\n\
    volatile int seen;\n\
    __attribute__((noinline)) int Box::twice() {\n\
    seen = of;\n\
    return inner(of); }\n\
    __attribute__((noinline)) int elsewhere(int of) {\n\
    #include \"body.inc\"\n\
    }\n\
    int main(int count, char **) {\n\
    Box box = { count };\n\
    return box.twice() + elsewhere(count); }\n";

/// Each routine with code, by the lines of it that have some: the distance to its first.
fn lines(program: &std::path::Path) -> BTreeMap<String, Vec<Option<u32>>> {
    let symbols = symbolizer::ElfSymbols::parse(&std::fs::read(program).unwrap()).unwrap();
    let debug = DebugFile::open(program, &SymbolizerOptions::default()).unwrap();
    let mut found: BTreeMap<String, Vec<Option<u32>>> = BTreeMap::new();
    for address in symbols.stretches().flat_map(|stretch| stretch.start..stretch.end) {
        let frames = debug.frames(address).frames;
        let Some(frame) = frames.first() else { continue };
        let Some(source) = frame.source.as_ref().filter(|source| source.line > 0) else { continue };
        let distance = frame.first_line.and_then(|first| source.line.checked_sub(first));
        found
            .entry(frame.name.as_deref().unwrap_or_default().to_owned())
            .or_default()
            .push(distance);
    }
    for distances in found.values_mut() {
        distances.sort_unstable();
        distances.dedup();
    }
    found
}

#[test]
fn routines_begin_where_they_are_defined() {
    let scene = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(scene.path().join(name), text).unwrap();
    write("box.h", HEADER);
    write("body.inc", "\n\nseen = of * 3;\nreturn seen;\n");
    write("box.cc", PROGRAM);
    for format in ["-gdwarf-5", "-gdwarf-4", "-gdwarf-3", "-gsplit-dwarf", "-flto"] {
        let build = ["g++", "-g", format, "-O1", "-o", "box", "box.cc"];
        if !command(scene.path(), &build) {
            return eprintln!("skipped: no g++, or it cannot link this");
        }
        let found = lines(&scene.path().join("box"));
        let of = |name: &str| {
            found.get(name).unwrap_or_else(|| panic!("{format}: no {name}: {found:?}")).clone()
        };
        // Declared in the header, defined in the program: the definition counts.
        let twice = of("Box::twice()");
        assert!(twice.contains(&Some(1)), "{format}: {found:?}");
        assert!(twice.iter().all(|it| matches!(it, Some(0..=2))), "{format}: {found:?}");
        // Inlined, from its own first line.
        assert!(of("inner").iter().all(|it| matches!(it, Some(1 | 2))), "{format}: {found:?}");
        // Text of another file has no distance; of a split unit that is not known.
        let others = of("elsewhere(int)");
        if format != "-gsplit-dwarf" {
            assert_eq!(others[0], None, "{format}: {found:?}");
        }
    }
}
