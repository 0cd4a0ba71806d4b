//! Addresses of user code.

use super::{Scene, text};
use std::process::{Command, Stdio};

#[test]
fn user_addresses_by_a_process_and_by_its_saved_maps() {
    let scene = Scene::new();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    scene.write("maps", &maps);
    // Extern so that its symbol has no hash.
    let here = user_addresses_by_a_process_and_by_its_saved_maps as fn() as usize;
    let input = format!("{here:x}\n1\n");
    for described in ["maps".to_owned(), std::process::id().to_string()] {
        let output = scene.out(&["-s", "kernel", "-m", &described], &input);
        let lines: Vec<&str> = output.lines().collect();
        assert!(
            lines[0].ends_with(
                " suite::eip2r::process::user_addresses_by_a_process_and_by_its_saved_maps"
            ),
            "{output}"
        );
        assert_eq!(lines[1], "0000000000000001 [not-mapped]");
    }
    let output = scene.run(&["-s", "kernel"], input.as_bytes());
    let said = text(&output.stderr);
    assert!(
        said.contains("2 addresses without a name: user address") && said.contains("-m"),
        "{said}"
    );
}

/// A routine of hand-written code inside another: whoever asks first, and
/// however, each address has the name of the innermost.
#[test]
fn routines_inside_others_keep_their_addresses() {
    const NESTED: &str = "int main(void) { return 0; }\n\
        __asm__(\".text\\n.globl outer\\n.type outer, @function\\nouter: .skip 16, 0x90\\n\"\n\
        \".globl inner\\n.type inner, @function\\ninner: .skip 16, 0x90\\n.size inner, 16\\n\"\n\
        \".skip 16, 0x90\\n.size outer, 48\\n\");\n";
    let scene = Scene::new();
    scene.write("nested.c", NESTED);
    let built = Command::new("gcc")
        .args(["-no-pie", "-Wl,-z,noseparate-code", "-o", "nested", "nested.c"])
        .current_dir(scene.0.path())
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        return eprintln!("skipped: no gcc, or it cannot link this");
    }
    let symbols =
        symbolizer::ElfSymbols::parse(&std::fs::read(scene.path("nested")).unwrap()).unwrap();
    let (inner, _) =
        symbols.routines().find(|(_, routine)| routine.name == "inner").expect("it has inner");
    assert_eq!(symbols.translate(0).map(|first| inner.start - first < 0x10000), Some(true));
    let first = symbols.translate(0).unwrap();
    let file = scene.path("nested");
    scene.write(
        "maps",
        &format!("{first:08x}-{:08x} r-xp 00000000 00:00 0 {}\n", first + 0x10000, file.display()),
    );
    let line = |distance: u64, name: &str| {
        format!("{:016x} {name}\n", inner.start.wrapping_add(distance).wrapping_sub(16))
    };
    let lines = [line(0, "outer"), line(16, "inner"), line(40, "outer"), line(31, "inner")];
    let words = ["-s", "kernel", "-m", "maps"];
    let words = |more: &'static str| [&words[..], &[more]].concat();
    for turned in 0..lines.len() {
        let mut turned_lines = lines.clone();
        turned_lines.rotate_left(turned);
        let all = turned_lines.concat();
        assert_eq!(scene.out(&words("-"), &all), all);
    }
    let all = lines.concat();
    let mut sorted = lines.clone();
    sorted.sort();
    let expected: String = sorted.iter().map(|line| format!("      1 {line}")).collect();
    assert_eq!(scene.out(&words("--count"), &all), expected);
    let by_routine = scene.out(&[&words("--count")[..], &["--by", "routine"]].concat(), &all);
    assert_eq!(by_routine.matches("      2 ").count(), 2, "{by_routine}");
}

#[test]
fn a_process_shows_its_deleted_program() {
    let scene = Scene::new();
    // This very command waits for its input.
    std::fs::copy(std::env::var("CARGO_BIN_EXE_eip2r").unwrap(), scene.path("copy")).unwrap();
    let mut child = Command::new(scene.path("copy"))
        .args(["-s", "kernel"])
        .current_dir(scene.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id().to_string();
    let maps = || std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut waits = 0..500;
    while !maps().contains("/copy") && waits.next().is_some() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let maps = maps();
    let code = maps.lines().find(|line| line.contains("r-xp") && line.ends_with("/copy")).unwrap();
    let start = u64::from_str_radix(code.split('-').next().unwrap(), 16).unwrap();
    let eips: String = (0..64).map(|step| format!("{:x}\n", start + step * 0x400)).collect();
    let words = ["-s", "kernel", "-m", &pid];
    let before = scene.out(&words, &eips);
    std::fs::remove_file(scene.path("copy")).unwrap();
    let after = scene.out(&words, &eips);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(before.lines().filter(|line| !line.contains('[')).count() > 32, "{before}");
    assert_eq!(after, before);
}
