//! Compiles the runtime that is mapped into emulated programs and makes a
//! flat, position-independent image of it.
//!
//! The compiler and the linker are those that build this package. rustc is
//! called directly, so that RUSTFLAGS, wrappers and profiles do not apply.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const SOURCES: [&str; 4] = ["build.rs", "runtime", "src/block.rs", "src/model.rs"];
const DIRECTORIES: [&str; 2] = ["src/model", "src/runtime"];
/// What the image must export, in the order of the constants written.
const ENTRIES: [&str; 5] = ["quick", "access", "record", "lookup", "turn"];

fn main() {
    for path in SOURCES.iter().chain(&DIRECTORIES) {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let out = PathBuf::from(variable("OUT_DIR"));
    let made = if variable("CARGO_CFG_TARGET_ARCH") == "x86_64" {
        compile(&out).and_then(|object| flatten(&object))
    } else {
        Ok(Image::default())
    };
    let written = made.and_then(|image| image.write(&out));
    if let Err(error) = written {
        println!("cargo::error=the runtime of the emulated PMU: {error}");
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// Compiles to a shared object that needs no other.
fn compile(out: &Path) -> Result<Vec<u8>, String> {
    let object = out.join("runtime.so");
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("runtime/main.rs");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition=2024", "--crate-type=cdylib", "--crate-name=hardmeter_runtime"]);
    // What only the library uses is no fault here; it is linted there.
    rustc.arg("--cap-lints=allow");
    rustc.args(["--target", &variable("TARGET")]);
    for option in [
        "opt-level=3",
        "panic=abort",
        "codegen-units=1",
        "overflow-checks=off",
        "debug-assertions=off",
        "debuginfo=0",
        "relocation-model=pic",
        // Each vector register in use is saved at every call.
        "no-vectorize-loops",
        "no-vectorize-slp",
        "target-cpu=x86-64",
        "target-feature=-crt-static",
        "force-unwind-tables=no",
        "link-arg=-nostdlib",
        "link-arg=-nostartfiles",
        "link-arg=-Wl,-z,noseparate-code",
        "link-arg=-Wl,--build-id=none",
        "link-arg=-Wl,--gc-sections",
    ] {
        rustc.args(["-C", option]);
    }
    if let Ok(linker) = env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    rustc.arg("-o").arg(&object).arg(root);
    let done = rustc.output().map_err(|error| format!("cannot run {rustc:?}: {error}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).replace('\n', "\ncargo::error=");
        return Err(format!("{rustc:?} failed:\ncargo::error={said}"));
    }
    fs::read(&object).map_err(|error| format!("{}: {error}", object.display()))
}

/// Bytes to map anywhere, and where the entries are in them.
#[derive(Default)]
struct Image {
    bytes: Vec<u8>,
    text: u64,
    entries: [u64; ENTRIES.len()],
}

impl Image {
    fn write(&self, out: &Path) -> Result<(), String> {
        let mut text = format!("const TEXT: usize = {:#x};\n", self.text);
        for (name, at) in ENTRIES.iter().zip(self.entries) {
            text.push_str(&format!("const {}: usize = {at:#x};\n", name.to_uppercase()));
        }
        let write = |name: &str, bytes: &[u8]| {
            fs::write(out.join(name), bytes).map_err(|error| format!("{name}: {error}"))
        };
        write("runtime.bin", &self.bytes)?;
        write("runtime_entries.rs", text.as_bytes())
    }
}

/// Takes code and constants out of an ELF file. Writable data and addresses
/// that a loader would have to fill in are refused: the image is mapped as it
/// is, at several places.
fn flatten(file: &[u8]) -> Result<Image, String> {
    const LOAD: u64 = 1;
    const WRITABLE: u64 = 2;
    const SYMBOLS: u64 = 11;
    const RELOCATIONS: [u64; 3] = [4, 9, 19];
    let mut image = Image::default();
    let headers = field(file, 32, 8)?;
    for index in 0..field(file, 56, 2)? {
        let header = headers + index * field(file, 54, 2)?;
        if field(file, header, 4)? != LOAD || field(file, header + 4, 4)? & WRITABLE != 0 {
            continue;
        }
        let bytes = slice(file, field(file, header + 8, 8)?, field(file, header + 32, 8)?)?;
        let start = size(field(file, header + 16, 8)?)?;
        if image.bytes.len() < start + bytes.len() {
            image.bytes.resize(start + bytes.len(), 0);
        }
        image.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }
    let sections = field(file, 40, 8)?;
    let names = field(file, sections + field(file, 62, 2)? * 64 + 24, 8)?;
    for index in 0..field(file, 60, 2)? {
        let section = sections + index * field(file, 58, 2)?;
        let kind = field(file, section + 4, 4)?;
        let (at, length) = (field(file, section + 24, 8)?, field(file, section + 32, 8)?);
        let name = names + field(file, section, 4)?;
        if length != 0
            && [".data", ".bss", ".tdata", ".tbss"].iter().any(|of| starts(file, name, of))
        {
            return Err("it has variables".into());
        }
        if starts(file, name, ".text\0") {
            image.text = field(file, section + 16, 8)?;
        }
        if RELOCATIONS.contains(&kind) && length != 0 {
            return Err("it holds addresses that a loader would fill in".into());
        }
        if kind == SYMBOLS {
            let names = field(file, sections + field(file, section + 40, 4)? * 64 + 24, 8)?;
            for symbol in (at..at + length).step_by(24) {
                let name = names + field(file, symbol, 4)?;
                for (entry, found) in ENTRIES.iter().zip(&mut image.entries) {
                    if starts(file, name, &format!("{entry}\0")) {
                        *found = field(file, symbol + 8, 8)?;
                    }
                }
            }
        }
    }
    match ENTRIES.iter().zip(image.entries).find(|(_, at)| *at == 0) {
        Some((name, _)) => Err(format!("no symbol {name}")),
        None => Ok(image),
    }
}

fn starts(file: &[u8], at: u64, text: &str) -> bool {
    let found = size(at).ok().and_then(|at| file.get(at..));
    found.is_some_and(|found| found.starts_with(text.as_bytes()))
}

fn size(value: u64) -> Result<usize, String> {
    usize::try_from(value).map_err(|error| error.to_string())
}

fn slice(file: &[u8], at: u64, length: u64) -> Result<&[u8], String> {
    let (at, length) = (size(at)?, size(length)?);
    file.get(at..).and_then(|rest| rest.get(..length)).ok_or_else(|| "the ELF file is cut".into())
}

fn field(file: &[u8], at: u64, length: u64) -> Result<u64, String> {
    let mut bytes = [0; 8];
    let found = slice(file, at, length)?;
    bytes[..found.len()].copy_from_slice(found);
    Ok(u64::from_le_bytes(bytes))
}
