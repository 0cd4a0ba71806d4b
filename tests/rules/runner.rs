use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::tree::{TextFile, assert_clean, files_ending, root};

/// What `tests/run` itself is made of.
const BASE: &[&str] = &["bash", "dirname", "id", "grep", "uname", "cat", "rm", "awk"];

/// A copy of `tests/run` and a machine of few programs, with a cargo that
/// tells what it is asked for and leaves a report.
struct Machine {
    place: TempDir,
}

impl Machine {
    fn new(report: &str) -> Machine {
        let machine = Machine { place: tempfile::tempdir().unwrap() };
        for folder in ["bin", "tests", "target/nextest/default"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        fs::set_permissions(machine.place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for file in ["tests/run", "tests/skipped.awk"] {
            fs::copy(root().join(file), machine.path(file)).unwrap();
        }
        for name in BASE {
            symlink(found(name), machine.path("bin").join(name)).unwrap();
        }
        let cargo = format!(
            "#!/bin/bash\necho cargo \"$@\"\n[ \"$2\" = run ] || exit 0\n\
             echo '{report}' > target/nextest/default/junit.xml\nexit 7\n"
        );
        machine.program("cargo", &cargo);
        machine.program("gcc", "#!/bin/bash\n");
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// As nobody, whoever runs this test.
    fn run(&self) -> Output {
        let mut command = match rustix::process::geteuid().is_root() {
            true => {
                let mut chown = Command::new("chown");
                let owned = chown.args(["-R", "65534"]).arg(self.place.path()).status();
                assert!(owned.unwrap().success());
                let mut nobody = Command::new(found("setpriv"));
                nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
                nobody.arg(self.path("tests/run"));
                nobody
            }
            false => Command::new(self.path("tests/run")),
        };
        command.env_clear().env("PATH", self.path("bin")).env("HOME", "/nonexistent");
        command.output().unwrap()
    }
}

fn found(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(|place| place.exists()).unwrap_or_else(|| Path::new("/bin").join(name))
}

/// Without tools, without the right to install any: the tests are run, and
/// what they leave out is said, before and after.
#[test]
fn a_user_without_rights_runs_the_tests_and_is_told_what_is_left_out() {
    let report = "<testcase name=\"a::b\" classname=\"x\" time=\"1\">\n\
        \x20   <system-err>skipped b: needs root\nnot this: skipped nothing</system-err></testcase>\n\
        <testcase name=\"c\"><system-err>skipped: no &lt;perf&gt; here\n\
        skipped: no &lt;perf&gt; here</system-err></testcase>\n\
        <testcase name=\"d\"><system-err>d: skipped: needs root</system-err></testcase>\n\
        <testcase name=\"e\">\n    <system-out>skipped: thread 12 of 2</system-out></testcase>\n\
        <testcase name=\"f\">\n    <system-out>skipped: thread 7 of 2</system-out></testcase>";
    let output = Machine::new(report).run();
    let told = String::from_utf8_lossy(&output.stdout);
    let both = format!("{told}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "nextest's own status: {both}");
    assert!(both.contains("cargo nextest run --workspace\n"), "{both}");
    for left_out in ["no strace (package strace)", "no setcap (package libcap2-bin)", "no perf"] {
        assert!(told.contains(left_out), "{left_out}: {both}");
    }
    assert!(told.contains("may install nothing") && !both.contains("command not found"), "{both}");
    let after = "5 tests skipped, whole or in part:\n  needs root (2)\n    a::b\n    d\n  \
                 no <perf> here (1)\n    c\n  thread 12 of 2 (2)\n    e\n    f\n";
    assert!(told.ends_with(after), "{both}");
}

/// No program can be linked then.
#[test]
fn without_a_compiler_it_says_what_to_ask_for() {
    let machine = Machine::new("");
    fs::remove_file(machine.path("bin/gcc")).unwrap();
    let output = machine.run();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("apt-get install gcc"), "{told}");
}

/// Where a test looks for what lay somewhere when it was built. CI runs the
/// tests from elsewhere, as somebody who may not look there.
fn bound_to_the_build(path: &str, text: &str) -> Vec<String> {
    let kinds = ["MANIFEST_DIR", "BIN_EXE_", "TARGET_TMPDIR"];
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for kind in kinds.iter().filter(|kind| line.contains(&format!("env!(\"CARGO_{kind}"))) {
            found.push(format!(
                "{path}:{}: CARGO_{kind} of the build: ask std::env::var, or tempfile",
                index + 1
            ));
        }
    }
    found
}

#[test]
fn tests_find_their_files_where_they_are_run() {
    let of_tests =
        |file: &TextFile| !file.path.contains("benches/") && !file.path.contains("fuzz/");
    let all: Vec<_> = files_ending(".rs")
        .iter()
        .filter(|file| of_tests(file))
        .flat_map(|TextFile { path, text }| bound_to_the_build(path, text))
        .collect();
    assert_clean(&all);
}

#[test]
fn a_planted_place_of_the_build_is_caught() {
    let planted = format!("let a = {}!(\"CARGO_MANIFEST_DIR\");\n", "env");
    assert_eq!(bound_to_the_build("a.rs", &planted).len(), 1);
    let asked = "let a = std::env::var(\"CARGO_MANIFEST_DIR\");\nenv!(\"CARGO_PKG_VERSION\");\n";
    assert!(bound_to_the_build("a.rs", asked).is_empty());
}
