//! `cargo xtask TASK`: everything that a developer of hardmeter runs, in one place.
//!
//! A task is a list of programs that run one after the other. The scripts do the work; they can
//! be called by themselves.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to a developer")]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// One task: what to type, what it does, and what runs.
struct Task {
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

const TASKS: &[Task] = &[
    Task {
        name: "quick",
        arguments: "[CRATE]",
        about: "format, lints and unit tests of one crate (default: perfdata); needs no root",
        run: quick,
    },
    Task {
        name: "test",
        arguments: "[NEXTEST ARGS]",
        about: "all tests that this machine and this user can run (tests/run)",
        run: |rest| run("tests/run", rest),
    },
    Task {
        name: "lint",
        arguments: "",
        about: "format, clippy and rustdoc of the whole workspace, warnings denied",
        run: lint,
    },
    Task {
        name: "box",
        arguments: "[--all | BOX...]",
        about: "boot machines with a modelled PMU (tests/pmu-box/README.md); default: skylake/6.1",
        run: boxes,
    },
    Task {
        name: "bench",
        arguments: "[--quick] [NAME [ARGS]]",
        about: "run one benchmark of benches/, or list them; --quick runs each in its short form",
        run: bench,
    },
    Task {
        name: "fuzz",
        arguments: "SECONDS [TARGET...]",
        about: "run the fuzz targets (fuzz/run); needs a nightly toolchain and cargo-fuzz",
        run: |rest| run("fuzz/run", rest),
    },
    Task {
        name: "interleavings",
        arguments: "",
        about: "check ring and queue under every interleaving of threads (loom)",
        run: interleavings,
    },
    Task {
        name: "tables",
        arguments: "LISTS...",
        about: "generate the event tables again (crates/recorder/tables/README.md)",
        run: |rest| run("crates/recorder/tables/generate.py", rest),
    },
    Task {
        name: "package",
        arguments: "[--profile NAME] [--fast]",
        about: "make the Debian packages (xtask/debian/package); needs cargo-deb",
        run: |rest| run("xtask/debian/package", rest),
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprint!("{}", usage());
        return ExitCode::from(2);
    };
    match (task.run)(&rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask TASK [ARGS]\n\n");
    for task in TASKS {
        let typed = format!("{} {}", task.name, task.arguments);
        text.push_str(&format!("  {typed:32} {}\n", task.about));
    }
    text
}

fn quick(rest: &[String]) -> Result<(), String> {
    let package = rest.first().map_or("perfdata", String::as_str);
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--quiet", "--package", package, "--all-targets", "--", "-D", "warnings"])?;
    cargo(&["nextest", "run", "--package", package])
}

fn lint(_: &[String]) -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"])?;
    cargo(&["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    let mut doc = Command::new(env!("CARGO"));
    doc.args(["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    finish(doc)
}

fn boxes(rest: &[String]) -> Result<(), String> {
    match rest {
        [] => run("tests/pmu-box/run", &["skylake/6.1".to_owned()]),
        // The script's own list.
        [all] if all == "--all" => run("tests/pmu-box/run", &[]),
        boxes => run("tests/pmu-box/run", boxes),
    }
}

fn bench(rest: &[String]) -> Result<(), String> {
    match rest {
        [] => {
            println!("{}", benches()?.join("\n"));
            Ok(())
        }
        [quick] if quick == "--quick" => run("benches/quick", &[]),
        [name, rest @ ..] => run(&format!("benches/{name}.sh"), rest),
    }
}

/// Names of the benchmarks.
fn benches() -> Result<Vec<String>, String> {
    let folder = root().join("benches");
    let entries = std::fs::read_dir(&folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let files = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> =
        files.filter_map(|file| file.strip_suffix(".sh").map(str::to_owned)).collect();
    names.sort();
    Ok(names)
}

fn interleavings(_: &[String]) -> Result<(), String> {
    cargo(&[
        "test",
        "--quiet",
        "--package",
        "recorder",
        "--package",
        "daemon",
        "--features",
        "recorder/interleavings,daemon/interleavings",
        "--lib",
        "interleavings",
    ])
}

fn cargo(arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments);
    finish(command)
}

/// Runs a script of the tree.
fn run(script: &str, arguments: &[String]) -> Result<(), String> {
    let mut command = Command::new(root().join(script));
    command.args(arguments);
    finish(command)
}

fn finish(mut command: Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .current_dir(root())
        .status()
        .map_err(|error| format!("cannot run {name}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed ({status})")) }
}

/// The tree: cargo says where this package is.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    here.parent().map(Path::to_owned).unwrap_or_default()
}
