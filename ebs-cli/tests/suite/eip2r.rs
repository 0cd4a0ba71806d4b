//! The command `eip2r` as a user runs it.

mod one_file;
mod process;

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

/// `grep -v '#\ '` lets the header line through, of which awk leaves a heading.
#[test]
fn a_heading_is_no_number() {
    let scene = Scene::new();
    let words = "linear_ip\nffffffff9a000105\nlinear_ip\nffffffff9a000201\n";
    let expected = "ffffffff9a000105 alpha\nffffffff9a000201 beta\n";
    assert_eq!(scene.out(&["-s", "kernel"], words), expected);
    let counted = "      1 ffffffff9a000105 alpha\n      1 ffffffff9a000201 beta\n";
    assert_eq!(scene.out(&["-s", "kernel", "--count"], words), counted);
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

/// Some megabytes of every shape of line: more than one batch.
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
        // What was read before does not matter.
        if !more.contains(&"--count") {
            let lines: Vec<&str> = input.split_inclusive('\n').collect();
            let pieces = lines.chunks(40_000).map(|lines| lines.concat());
            let in_pieces = pieces.map(|piece| scene.run(&words, piece.as_bytes()).stdout);
            assert!(in_pieces.collect::<Vec<_>>().concat() == from_pipe.stdout, "{words:?}");
        }
    }
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
