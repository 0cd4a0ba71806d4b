//! Code that a linker left out (--gc-sections) owns no address: its debug info
//! says that it lies at a tombstone.

use crate::toolchain::{command, has};
use std::path::Path;
use symbolizer::{DebugFile, ElfSymbols, SymbolizerOptions};

/// Nothing calls `dead`, which is longer than all of the program: at address 0
/// it would cover the rest.
const LEFT_OUT: &str = "static inline int checksum(int *p) {\n\
    __asm__ volatile(\".fill 0x8000, 1, 0x90\");\n\
    return *p; }\n\
    int dead(int *p) { return checksum(p) + 1; }\n";
const KEPT: &str = "int alive(int x) { return x + 1; }\n\
    int main(int count, char **words) { (void)words; return alive(count); }\n";

/// The routines that a program's debug info names at addresses of `alive` and
/// `main`, with the file of each.
fn named(program: &Path) -> Vec<(String, String)> {
    let symbols = ElfSymbols::parse(&std::fs::read(program).unwrap()).unwrap();
    let debug = DebugFile::open(program, &SymbolizerOptions::default()).unwrap();
    let mut found = Vec::new();
    for address in symbols.stretches().flat_map(|stretch| stretch.start..stretch.end) {
        if !matches!(symbols.find(address).map(|it| it.name).as_deref(), Some("alive" | "main")) {
            continue;
        }
        for frame in debug.frames(address).frames.iter() {
            let file = frame.source.as_ref().map(|source| source.file.to_string());
            let file = file.unwrap_or_default();
            found.push((frame.name.as_deref().unwrap_or_default().to_owned(), file));
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn what_a_linker_left_out_claims_no_code() {
    let scene = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(scene.path().join(name), text).unwrap();
    write("dead.c", LEFT_OUT);
    write("live.c", KEPT);
    write("both.c", &format!("{LEFT_OUT}{KEPT}"));
    if !command(scene.path(), &["gcc", "-o", "p", "live.c"]) {
        return eprintln!("skipped: no gcc, or it cannot link this");
    }
    let linkers = [("bfd", true), ("gold", has("ld.gold")), ("lld", has("ld.lld"))];
    let linkers = linkers.into_iter().chain([("mold", has("mold"))]);
    let linkers: Vec<_> = linkers.filter(|(_, is_there)| *is_there).collect();
    for format in ["-gdwarf-5", "-gdwarf-4"] {
        let compile = ["gcc", "-c", "-O1", format, "-ffunction-sections"];
        let compile = [&compile[..], &["dead.c", "live.c", "both.c"]].concat();
        assert!(command(scene.path(), &compile));
        for (linker, _) in &linkers {
            for objects in [&["dead.o", "live.o"][..], &["both.o"]] {
                let linker = format!("-fuse-ld={linker}");
                let link = ["gcc", &linker, "-Wl,--gc-sections", "-o", "p"];
                assert!(command(scene.path(), &[&link[..], objects].concat()));
                let found = named(&scene.path().join("p"));
                let names: Vec<_> = found.iter().map(|(name, _)| &**name).collect();
                assert_eq!(names, ["alive", "main"], "{format} {linker} {objects:?}: {found:?}");
                let source = objects.last().unwrap().replace(".o", ".c");
                let of_source = |(_, file): &(_, String)| file.ends_with(&source);
                assert!(found.iter().all(of_source), "{format} {linker} {objects:?}: {found:?}");
            }
        }
    }
}

/// A unit with routines `live`, `dead` and `scattered`, of which a linker left
/// out the latter two; the list of ranges has them at LISTED.
const ASSEMBLY: &str = r#"
    .globl _start
    .text
    _start: .fill 64, 1, 0x90
    ret
    .Lend:
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1, 0x55, 0x17, 0x11, 1, 0, 0
    .byte 2, 0x2e, 0, 3, 8, 0x11, 1, 0x12, 7, 0, 0
    .byte 3, 0x2e, 0, 3, 8, 0x55, 0x17, 0, 0
    .byte 0
    .section .debug_info,"",@progbits
    .long .Linfo_end - .Linfo
    .Linfo: .value 4
    .long 0
    .byte 8
    .byte 1
    .long .Lranges - .Lranges_start
    .quad 0
    .byte 2
    .asciz "live"
    .quad _start, .Lend - _start
    .byte 2
    .asciz "dead"
    .quad DEAD, 0x10000000
    .byte 3
    .asciz "scattered"
    .long .Lscattered - .Lranges_start
    .byte 0
    .Linfo_end:
    .section .debug_ranges,"",@progbits
    .Lranges_start:
    .Lranges: .quad LISTED, LISTED_END, _start, .Lend, 0, 0
    .Lscattered: .quad LISTED, LISTED_END, 0, 0
"#;

#[test]
fn no_tombstone_is_an_address() {
    let scene = tempfile::tempdir().unwrap();
    // 0x40: 0 and a distance. In a list of ranges -1 means something else.
    let end = "0x10000000";
    for (dead, listed, listed_end) in [
        ("0", "0", end),
        ("1", "1", "1"),
        ("0x40", "0x40", end),
        ("-1", "-2", "-2"),
        ("-2", "-2", "-2"),
    ] {
        let text = ASSEMBLY.replace("LISTED_END", listed_end).replace("LISTED", listed);
        let text = text.replace("DEAD", dead);
        std::fs::write(scene.path().join("p.s"), text).unwrap();
        let build = ["gcc", "-nostdlib", "-static", "-o", "p", "p.s"];
        if !command(scene.path(), &build) {
            return eprintln!("skipped: no gcc for x86-64, or it cannot link this");
        }
        let program = scene.path().join("p");
        let symbols = ElfSymbols::parse(&std::fs::read(&program).unwrap()).unwrap();
        let debug = DebugFile::open(&program, &SymbolizerOptions::default()).unwrap();
        let start = symbols.stretches().map(|stretch| stretch.start).min().unwrap();
        for address in start..start + 65 {
            let frames = debug.frames(address).frames;
            let names: Vec<_> = frames.iter().map(|frame| frame.name.as_deref()).collect();
            assert_eq!(names, [Some("live")], "{dead} at {address:#x}");
        }
    }
    // In what is not linked yet 0 is where code lies.
    let object = ["gcc", "-c", "-o", "p.o", "p.s"];
    assert!(command(scene.path(), &object));
    let debug = DebugFile::open(&scene.path().join("p.o"), &SymbolizerOptions::default()).unwrap();
    assert_eq!(debug.frames(0).frames[0].name.as_deref(), Some("live"));
}

const SOURCE: &str = "int first(int *n) { return *n + 1; }\n\
    int second(int *n) { return *n * 3; }\n";
/// From SHN_LORESERVE on (65,280) numbers of sections have a table of their own.
const SECTIONS: usize = 65_400;

#[test]
fn symbols_of_sections_beyond_65280_have_their_places() {
    let scene = tempfile::tempdir().unwrap();
    let at = |name: &str| scene.path().join(name);
    std::fs::write(at("few.c"), SOURCE).unwrap();
    let compile = ["gcc", "-O1", "-g", "-ffunction-sections", "-S", "few.c"];
    if !command(scene.path(), &compile) {
        return eprintln!("skipped: no gcc");
    }
    let mut many: String =
        (0..SECTIONS).map(|number| format!(".section .f{number},\"\"\n.byte 0\n")).collect();
    many.push_str(".text\n");
    many.push_str(&std::fs::read_to_string(at("few.s")).unwrap());
    std::fs::write(at("many.s"), many).unwrap();
    for name in ["few", "many"] {
        let (object, source) = (format!("{name}.o"), format!("{name}.s"));
        assert!(command(scene.path(), &["gcc", "-c", "-o", &object, &source]));
        let debug = DebugFile::open(&at(&object), &SymbolizerOptions::default()).unwrap();
        for (routine, line) in [("first", 1), ("second", 2)] {
            let start = debug.section(&format!(".text.{routine}")).unwrap();
            let frame = &debug.frames(start).frames[0];
            let found = (frame.name.as_deref(), frame.source.as_ref().map(|source| source.line));
            assert_eq!(found, (Some(routine), Some(line)), "{object} at {start:#x}");
        }
    }
}
