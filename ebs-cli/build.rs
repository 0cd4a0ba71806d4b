//! Compiles the library that `ebs --heap` preloads, for `ebs` to carry: `cargo install` puts
//! programs alone where they are run.
//!
//! From the sources of `crates/heap-preload`, which needs no package but a part of `perfdata`. As
//! cargo gives no package the library of another, rustc is called directly; RUSTFLAGS, wrappers
//! and profiles do not apply.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const LIBRARY: &str = "libhardmeter_heap.so";
/// Below the source tree.
const SOURCES: [&str; 4] = [
    "crates/heap-preload/src",
    "crates/heap-preload/embedded",
    "crates/perfdata/src",
    "ebs-cli/build.rs",
];

fn main() {
    let tree = Path::new(&variable("CARGO_MANIFEST_DIR")).join("..");
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", tree.join(source).display());
    }
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let out = PathBuf::from(variable("OUT_DIR"));
    let target = ["ARCH", "OS", "ENV"].map(|part| variable(&format!("CARGO_CFG_TARGET_{part}")));
    let made = if target == ["x86_64", "linux", "gnu"] {
        compile(&tree, &out)
    } else {
        fs::write(out.join(LIBRARY), []).map_err(|error| error.to_string())
    };
    if let Err(error) = made {
        println!("cargo::error={LIBRARY}: {}", error.replace('\n', "\ncargo::error="));
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

fn compile(tree: &Path, out: &Path) -> Result<(), String> {
    let crates = tree.join("crates/heap-preload");
    let mut perfdata = rustc("perfdata", "rlib", tree);
    perfdata.arg("--out-dir").arg(out).arg(crates.join("embedded/perfdata.rs"));
    run(perfdata)?;
    let mut library = rustc("hardmeter_heap", "cdylib", tree);
    library.args(["-C", "target-feature=-crt-static", "-C", "strip=debuginfo"]);
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        library.args(["-C", &format!("linker={linker}")]);
    }
    library.args(["--extern", "perfdata", "-L"]).arg(out);
    library.arg("-o").arg(out.join(LIBRARY)).arg(crates.join("src/lib.rs"));
    run(library)
}

fn rustc(name: &str, kind: &str, tree: &Path) -> Command {
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-name", name, "--crate-type", kind]);
    rustc.args(["--target", &variable("TARGET")]);
    // What the library does not use is no fault here; it is linted where cargo builds it.
    rustc.arg("--cap-lints=allow");
    for option in ["opt-level=3", "panic=abort", "codegen-units=1", "debuginfo=0"] {
        rustc.args(["-C", option]);
    }
    // The same bytes, and so the same name, wherever the tree is.
    let mut remapped = tree.as_os_str().to_owned();
    remapped.push("=");
    rustc.arg("--remap-path-prefix").arg(remapped);
    rustc
}

fn run(mut rustc: Command) -> Result<(), String> {
    let done = rustc.output().map_err(|error| format!("cannot run {rustc:?}: {error}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("{rustc:?} failed:\n{}", String::from_utf8_lossy(&done.stderr))),
    }
}
