//! Object files with more sections than a symbol's 16 bits can number.

use crate::toolchain::command;
use symbolizer::{DebugFile, SymbolizerOptions};

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
