//! Variables that a linker left out (--gc-sections) lie nowhere.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "a test that skips says why")]

use std::process::Command;
use symbolizer::{DebugSections, SymbolizerOptions};
use types::ProgramTypes;

/// At address 0 `unused` would cover all of the program.
const PROGRAM: &str = "long unused[1 << 20], used[4];\n\
    int main(int count, char **words) { (void)words; return (int)used[count & 3]; }\n";

#[test]
fn a_variable_that_was_left_out_lies_nowhere() {
    let scene = tempfile::tempdir().unwrap();
    std::fs::write(scene.path().join("p.c"), PROGRAM).unwrap();
    let gcc = |line: &[&str]| {
        let built = Command::new("gcc").args(line).current_dir(scene.path()).status();
        built.is_ok_and(|status| status.success())
    };
    if !gcc(&["-g", "-fdata-sections", "-Wl,--gc-sections", "-o", "p", "p.c"]) {
        return eprintln!("skipped: no gcc, or it cannot link this");
    }
    let read = |name: &str| {
        let path = scene.path().join(name);
        ProgramTypes::read(&DebugSections::open(&path, &SymbolizerOptions::default()).unwrap())
    };
    let program = read("p");
    assert_eq!(program.variables.static_before(0x1000), None);
    let used = program.variables.static_before(u64::MAX).unwrap();
    assert_eq!(program.types.size_of(used.of), Some(32));
    // In what is not linked yet 0 is where data lies.
    assert!(gcc(&["-g", "-fdata-sections", "-c", "-o", "p.o", "p.c"]));
    let object = read("p.o").variables;
    let last = object.static_before(u64::MAX).unwrap();
    assert!(object.static_before(last.start - 1).is_some(), "both are there");
}
