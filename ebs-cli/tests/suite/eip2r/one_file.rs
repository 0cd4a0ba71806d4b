//! Addresses that one file was linked for, and a vmlinux.

use super::{Scene, text};
use std::process::Command;

#[test]
fn link_time_addresses_of_one_file() {
    let scene = Scene::new();
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let symbols = symbolizer::ElfSymbols::parse(&std::fs::read(program).unwrap()).unwrap();
    let name = "suite::eip2r::one_file::link_time_addresses_of_one_file";
    let routine = symbols.routines().find(|(_, routine)| routine.name == name);
    let (stretch, _) = routine.expect("a test has its own name");
    let input = format!("{:x}\n0\n", stretch.start);
    let named = format!("{:016x} {name}\n0000000000000000 [beyond-symbols]\n", stretch.start);
    assert_eq!(scene.out(&["-e", program], &input), named);
    let counted = format!(
        "      1 0000000000000000 [beyond-symbols]\n      1 {:016x} {name}\n",
        stretch.start
    );
    assert_eq!(scene.out(&["-e", program, "--count"], &input), counted);
    for refused in [&["-e", program, "-m", "1"][..], &["-e", program, "-s", "kernel"], &["--json"]]
    {
        assert_eq!(scene.run(refused, b"").status.code(), Some(2), "{refused:?}");
    }
    scene.write("text", "no program");
    for (file, said) in [("text", "is no ELF file"), ("absent", "cannot open absent")] {
        let output = scene.run(&["-e", file], b"");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
}

#[test]
fn lines_and_inlined_callers_of_one_file() {
    let scene = Scene::new();
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let symbols = symbolizer::ElfSymbols::parse(&std::fs::read(program).unwrap()).unwrap();
    let name = "suite::eip2r::one_file::lines_and_inlined_callers_of_one_file";
    let (stretch, _) = symbols.routines().find(|(_, routine)| routine.name == name).unwrap();
    let input = format!("# kept\n{:x}\n{0:x}\n", stretch.start);
    let listed = scene.out(&["-l", "-e", program], &input);
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!((lines[0], lines.len()), ("# kept", 3), "{listed}");
    assert_eq!(lines[1], lines[2]);
    assert!(lines[1].starts_with(&format!("{:016x} ", stretch.start)), "{listed}");
    assert!(lines[1].contains("lines_and_inlined_callers_of_one_file at "), "{listed}");
    // A line for each line, whatever it says.
    let mixed = format!("{input}\nnothing\n");
    let output = scene.run(&["-l", "--json", "-e", program], mixed.as_bytes());
    let json = text(&output.stdout);
    assert_eq!(json.lines().count(), mixed.lines().count(), "{json}");
    let lines: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["comment"], "# kept");
    assert_eq!((&lines[3]["comment"], &lines[4]["bad"]), (&"".into(), &"nothing".into()), "{json}");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        json.contains(&format!("{{\"address\":\"{:#x}\",\"frames\":[{{", stretch.start)),
        "{json}"
    );
}

#[test]
fn a_vmlinux_gives_names_and_lines_where_the_kernel_lies() {
    const KERNEL: &str = "__asm__(\".text\\n.globl _text\\n_text:\\n\");\n\
        volatile int seen;\n\
        static inline __attribute__((always_inline)) int twice(int of) { seen = of; return seen * 2; }\n\
        int start(int of) { return twice(of) + 1; }\n";
    let scene = Scene::new();
    scene.write("k.c", KERNEL);
    let built = Command::new("gcc")
        .args(["-g", "-O1", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-mcmodel=kernel"])
        .args(["-Wl,--build-id", "-Wl,-Ttext=0xffffffff81000000", "-Wl,-estart", "-o", "k", "k.c"])
        .current_dir(scene.0.path())
        .output();
    if !built.is_ok_and(|built| built.status.success()) {
        return eprintln!("skipped: no gcc, or it cannot link this");
    }
    let routine = |at: u64| (at..at + 8).map(|at| format!("{at:x}\n")).collect::<String>();
    let (linked, moved) = (routine(0xffff_ffff_8100_0000), routine(0xffff_ffff_9f00_0000));
    let named = |text: String| -> Vec<String> {
        let name = |line: &str| line.get(17..).unwrap_or_default().to_owned();
        text.lines().map(name).collect()
    };
    let expected = named(scene.out(&["-l", "-e", "k"], &linked));
    assert!(expected.iter().any(|line| line.starts_with("twice at ")), "{expected:?}");
    let distance = ["--kaslr-offset", "1e000000", "-l"];
    let by_image = scene.out(&[&["--vmlinux", "k"], &distance[..]].concat(), &moved);
    assert_eq!(named(by_image), expected);
    scene.write(
        "list",
        "ffffffff81000000 T _text\nffffffff81000000 T start\nffffffff81001000 T _etext\n",
    );
    let by_both = ["--vmlinux", "k", "--kallsyms", "list"];
    let by_both = scene.out(&[&by_both, &distance[..]].concat(), &moved);
    assert_eq!(named(by_both), expected);
    // Symbols alone, and of no other kernel unless told so.
    let by_name = scene.out(&["--vmlinux", "k", "--kaslr-offset", "0"], &linked);
    assert!(named(by_name).iter().all(|name| name == "start"));
    let refused = scene.run(&["--vmlinux", "k"], linked.as_bytes());
    assert!(!refused.status.success(), "{}", text(&refused.stdout));
}
