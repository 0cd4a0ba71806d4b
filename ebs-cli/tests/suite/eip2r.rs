//! The command `eip2r` as a user runs it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A small kernel that KASLR moved to no address any kernel is linked for:
/// believed as it is on every machine.
const KERNEL: &str = "\
ffffffff9a000000 T _text
ffffffff9a000000 T startup_64
ffffffff9a000100 T alpha
ffffffff9a000200 t beta
ffffffff9a000300 T alpha
ffffffff9a000400 T _etext
ffffffff9a100000 D data
ffffffffc0000000 t probe\t[nf_tables]
";

struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Scene {
        let scene = Scene(tempfile::tempdir().unwrap());
        scene.write("kernel", KERNEL);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(std::env::var("CARGO_BIN_EXE_eip2r").unwrap());
        command.args(words).current_dir(self.0.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &[&str], input: &[u8]) -> Output {
        let mut child = self.command(words).spawn().unwrap();
        // It may end without reading.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    fn out(&self, words: &[&str], input: &str) -> String {
        let output = self.run(words, input.as_bytes());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const EIPS: &str = "\
ffffffff9a000105
FFFFFFFF9A000305
0xffffffff9a000105 rest of the line
ffffffffc0000001
ffffffff9a000201\r
ffffffff9a000400
ffffffff9a000105
";

#[test]
fn a_line_for_each_line() {
    let scene = Scene::new();
    let expected = "\
ffffffff9a000105 alpha
ffffffff9a000305 alpha
ffffffff9a000105 alpha
ffffffffc0000001 probe
ffffffff9a000201 beta
ffffffff9a000400 [between-symbols]
ffffffff9a000105 alpha
";
    assert_eq!(scene.out(&["-s", "kernel"], EIPS), expected);
    scene.write("eips", EIPS);
    assert_eq!(scene.out(&["-s", "kernel", "-o", "out", "eips"], ""), "");
    assert_eq!(std::fs::read_to_string(scene.path("out")).unwrap(), expected);
    let first = "ffffffff9a000105 alpha+0x5\n";
    assert!(scene.out(&["-s", "kernel", "--offset", "-"], EIPS).starts_with(first));
}

#[test]
fn the_column_of_a_record_file() {
    let scene = Scene::new();
    let records =
        "#eflags linear_ip eax\n00000246 ffffffff9a000105 0\n\n00000246\tffffffff9a000201\t0\n";
    let expected = "#eflags linear_ip eax\nffffffff9a000105 alpha\n\nffffffff9a000201 beta\n";
    assert_eq!(scene.out(&["-s", "kernel", "-p", "2"], records), expected);
}

#[test]
fn counts_equal_sort_and_uniq() {
    let scene = Scene::new();
    let expected = "      3 ffffffff9a000105 alpha
      1 ffffffff9a000201 beta
      1 ffffffff9a000305 alpha
      1 ffffffff9a000400 [between-symbols]
      1 ffffffffc0000001 probe
";
    assert_eq!(scene.out(&["-s", "kernel", "--count"], EIPS), expected);
    // Two routines of one name stay two.
    let expected = "      3 ffffffff9a000100 alpha
      1                - [between-symbols]
      1 ffffffff9a000200 beta
      1 ffffffff9a000300 alpha
      1 ffffffffc0000000 probe
";
    assert_eq!(scene.out(&["-s", "kernel", "--count", "--by", "routine"], EIPS), expected);
    // On many lines of every shape, against the tools themselves.
    let mut input = String::new();
    for step in 0..40_000_u64 {
        let address = 0xffff_ffff_9a00_0000 + step.wrapping_mul(7919) % 0x500;
        match step % 5 {
            0 => input.push_str(&format!("0x{address:X} x\n")),
            1 => input.push_str(&format!("# {step}\n{}\n", step % 3000)),
            _ => input.push_str(&format!("{address:016x}\n")),
        }
    }
    let listed = scene.out(&["-s", "kernel"], &input);
    let mut lines: Vec<&str> = listed.lines().filter(|line| !line.starts_with('#')).collect();
    lines.sort_unstable();
    let mut counted: Vec<(usize, &str)> =
        lines.chunk_by(|a, b| a == b).map(|same| (same.len(), same[0])).collect();
    counted.sort_by_key(|&(count, line)| (std::cmp::Reverse(count), line));
    let expected: String =
        counted.iter().map(|(count, line)| format!("{count:7} {line}\n")).collect();
    assert_eq!(scene.out(&["-s", "kernel", "--count"], &input), expected);
}

/// Some megabytes of every shape of line: more than one piece for a thread.
#[test]
fn any_number_of_threads_and_a_pipe_give_the_same_output() {
    let scene = Scene::new();
    let mut input = String::new();
    for step in 0..300_000_u64 {
        let address = 0xffff_ffff_9a00_0000 + step.wrapping_mul(7919) % 0x500;
        match step % 1000 {
            0 => input.push_str(&format!("0x{address:X} x\n")),
            1 => input.push_str(&format!("# {step}\n{}\n\n", step % 3000)),
            2 if step > 250_000 => input.push_str("main+0x5\n"),
            _ => input.push_str(&format!("{address:016x}\n")),
        }
    }
    scene.write("eips", &input);
    for more in [&[][..], &["--offset"], &["--count"], &["--count", "--by", "routine"]] {
        let words = [&["-s", "kernel"], more].concat();
        let from_pipe = Command::new("sh")
            .args(["-c", "cat eips | exec \"$0\" \"$@\""])
            .arg(std::env::var("CARGO_BIN_EXE_eip2r").unwrap())
            .args(&words)
            .current_dir(scene.0.path())
            .output()
            .unwrap();
        assert_eq!(from_pipe.status.code(), Some(1));
        let said = text(&from_pipe.stderr).replace("stdin", "eips");
        for threads in ["1", "2", "7"] {
            let words = [&words[..], &["--threads", threads, "eips"]].concat();
            let from_file = scene.run(&words, b"");
            assert!(from_file.stdout == from_pipe.stdout, "{words:?}");
            assert_eq!(text(&from_file.stderr), said, "{words:?}");
        }
        // Short inputs are answered one address after the other, without tables.
        if !more.contains(&"--count") {
            let lines: Vec<&str> = input.split_inclusive('\n').collect();
            let pieces = lines.chunks(40_000).map(|lines| lines.concat());
            let in_pieces = pieces.map(|piece| scene.run(&words, piece.as_bytes()).stdout);
            assert!(in_pieces.collect::<Vec<_>>().concat() == from_pipe.stdout, "{words:?}");
        }
    }
}

#[test]
fn link_time_addresses_of_one_file() {
    let scene = Scene::new();
    let program = std::env::current_exe().unwrap();
    let program = program.to_str().unwrap();
    let symbols = symbolizer::ElfSymbols::parse(&std::fs::read(program).unwrap()).unwrap();
    let name = "suite::eip2r::link_time_addresses_of_one_file";
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
    let name = "suite::eip2r::lines_and_inlined_callers_of_one_file";
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

#[test]
fn lines_that_are_no_numbers_are_counted_and_quoted() {
    let scene = Scene::new();
    let input = "# c\nffffffff9a000105\nmain+0x5\n10000000000000000\n";
    for words in [&["-s", "kernel"][..], &["-s", "kernel", "--count"]] {
        let output = scene.run(words, input.as_bytes());
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        assert!(
            said.contains("2 lines hold no hexadecimal number in column 1 of stdin")
                && said.contains("the first is line 3: `main+0x5`"),
            "{said}"
        );
    }
    let expected = "# c\nffffffff9a000105 alpha\n- [no-number]\n- [no-number]\n";
    assert_eq!(text(&scene.run(&["-s", "kernel"], input.as_bytes()).stdout), expected);
    let short = scene.run(&["-s", "kernel", "-p", "3"], b"1 2\n");
    assert_eq!(short.status.code(), Some(1));
    assert!(text(&short.stderr).contains("column 3"));
}

#[test]
fn what_cannot_be_used_is_said() {
    let scene = Scene::new();
    scene.write(
        "stub",
        "ffffffffffffffff B The real System.map is in the linux-image-6.1-dbg package\n",
    );
    scene.write(
        "hidden",
        &KERNEL.lines().map(|line| format!("{:016x}{}\n", 0, &line[16..])).collect::<String>(),
    );
    scene.write("foreign", "ffffffff9a000000 T _text\nnot a symbol at all\n");
    scene.write("empty", "");
    scene.write("nomaps", "hello\n");
    for (words, said) in [
        (&["-s", "stub"][..], "The real System.map is in the linux-image-6.1-dbg package"),
        (&["-s", "hidden"], "kptr_restrict"),
        (&["-s", "foreign"], "line 2 is no symbol"),
        (&["-s", "empty"], "it is empty"),
        (&["-s", "absent"], "cannot read absent: No such file"),
        (&["-s", "kernel", "absent"], "cannot open absent: No such file"),
        (&["-s", "kernel", "-m", "absent"], "cannot read absent"),
        (&["-s", "kernel", "-m", "4194305"], "no process 4194305"),
        (&["-s", "kernel", "-m", "nomaps"], "nomaps: line 1 is no mapping"),
        (&["-s", "kernel", "-m", "empty"], "empty: it holds no mappings"),
        (&["-s", "kernel", "-o", "absent/out"], "cannot write absent/out"),
        (&["-s", "kernel", "."], "Is a directory"),
    ] {
        let output = scene.run(words, b"");
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {stderr}");
        assert!(stderr.starts_with("eip2r: ") && stderr.contains(said), "{words:?}: {stderr}");
    }
    for words in
        [&["-p", "0"][..], &["-p", "x"], &["--no-such"], &["--kaslr-offset", "0"], &["a", "b"]]
    {
        assert_eq!(scene.run(words, b"").status.code(), Some(2), "{words:?}");
    }
    let said = text(&scene.run(&["-p", "0"], b"").stderr);
    assert!(said.contains("-p counts columns from 1"), "{said}");
    assert_eq!(scene.run(&["--help"], b"").status.code(), Some(0));
}

/// A System.map as linked: the running kernel's, or another's.
#[test]
fn a_system_map_of_another_kernel_is_refused_unless_told_otherwise() {
    let scene = Scene::new();
    let linked = KERNEL.replace("ffffffff9a", "ffffffff81");
    scene.write("System.map", &linked);
    let output = scene.run(&["-s", "System.map"], b"");
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("--kaslr-offset"), "{stderr}");
    let words = ["-s", "System.map", "--kaslr-offset", "0x19000000"];
    assert_eq!(scene.out(&words, "ffffffff9a000105\n"), "ffffffff9a000105 alpha\n");
}

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
            lines[0].ends_with(" suite::eip2r::user_addresses_by_a_process_and_by_its_saved_maps"),
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

#[test]
fn a_kernel_moved_across_the_last_address_is_no_panic() {
    let scene = Scene::new();
    scene.write("list", "ffffffff81000000 T _text\nffffffffffffff00 T last\n");
    let words = ["-s", "list", "--kaslr-offset", "1"];
    let eips = "ffffffff81000001\nffffffffffffff01\n0\n";
    for more in ["-", "--count"] {
        let output = scene.run(&[&words[..], &[more]].concat(), eips.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    scene.write("list", "ffffffffffffff00 T last\n");
    assert_eq!(scene.run(&words, eips.as_bytes()).status.code(), Some(0));
}

#[test]
fn the_input_is_not_overwritten() {
    let scene = Scene::new();
    scene.write("eips", EIPS);
    std::fs::hard_link(scene.path("eips"), scene.path("linked")).unwrap();
    for output in ["eips", "linked", "./eips"] {
        let output = scene.run(&["-s", "kernel", "-o", output, "eips"], b"");
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains("is the input"), "{}", text(&output.stderr));
    }
    let mut stdin = scene.command(&["-s", "kernel", "-o", "eips"]);
    stdin.stdin(std::fs::File::open(scene.path("eips")).unwrap());
    assert_eq!(stdin.output().unwrap().status.code(), Some(2));
    let mut stdout = scene.command(&["-s", "kernel", "eips"]);
    let appended = std::fs::OpenOptions::new().append(true).open(scene.path("eips")).unwrap();
    assert_eq!(stdout.stdout(appended).output().unwrap().status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(scene.path("eips")).unwrap(), EIPS);
    // A longer file from before leaves nothing behind.
    scene.write("out", &EIPS.repeat(9));
    scene.out(&["-s", "kernel", "-o", "out", "eips"], "");
    assert_eq!(std::fs::read_to_string(scene.path("out")).unwrap().lines().count(), 7);
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let scene = Scene::new();
    let mut child = scene.command(&["-s", "kernel"]).spawn().unwrap();
    drop(child.stdout.take());
    let input = "ffffffff9a000105\n".repeat(100_000);
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    // What the list of another boot makes it say, it says to every reader.
    let read_to_the_end = scene.run(&["-s", "kernel"], b"ffffffff9a000105\n");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), text(&read_to_the_end.stderr));
}

#[test]
fn a_full_disk_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return eprintln!("skipped: no /dev/full");
    }
    let scene = Scene::new();
    let output = scene.run(&["-s", "kernel", "-o", "/dev/full"], EIPS.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("No space left"), "{}", text(&output.stderr));
}

#[test]
fn without_s_the_running_kernel_names() {
    let scene = Scene::new();
    let kallsyms = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    let Some(line) = kallsyms.lines().find(|line| line.ends_with(" T schedule")) else {
        return eprintln!("skipped: /proc/kallsyms does not tell where `schedule` is");
    };
    let address = &line[..16];
    if address == "0000000000000000" {
        return eprintln!("skipped: kptr_restrict hides kernel addresses");
    }
    assert_eq!(scene.out(&[], &format!("{address}\n")), format!("{address} schedule\n"));
    // The same from a copy of it.
    scene.write("saved", &kallsyms);
    assert_eq!(
        scene.out(&["-s", "saved"], &format!("{address}\n")),
        format!("{address} schedule\n")
    );
}
