//! The test programs, assembled and compiled where a test runs.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct Workload {
    directory: TempDir,
    name: &'static str,
}

impl Workload {
    /// A program without a library, at fixed addresses: `name` is its file
    /// in `tests/programs/emulated`.
    pub(crate) fn bare(name: &'static str) -> Workload {
        let features = [("avx2", "-DAVX2"), ("avx512f", "-DAVX512")];
        let has = std::fs::read_to_string("/proc/cpuinfo").unwrap();
        let defines = features
            .iter()
            .filter(|(feature, _)| has.split_whitespace().any(|word| word == *feature))
            .map(|(_, define)| *define);
        let flags = ["-static", "-nostdlib", "-no-pie", "-Wl,--section-start=.buf=0x10000000"];
        Workload::build(name, flags.into_iter().chain(defines))
    }

    /// A program of C or C++, static and at fixed addresses.
    pub(crate) fn fixed(name: &'static str) -> Workload {
        Workload::shaped(name, &["-static", "-no-pie", "-fno-pie"])
    }

    /// A program of C or C++, as compilers make it unasked.
    pub(crate) fn usual(name: &'static str) -> Workload {
        Workload::shaped(name, &[])
    }

    pub(crate) fn shaped(name: &'static str, flags: &[&'static str]) -> Workload {
        Workload::build(name, ["-O2", "-w", "-pthread"].iter().chain(flags).copied())
    }

    pub(crate) fn source(name: &str) -> PathBuf {
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap())
            .join("../../tests/programs/emulated")
            .join(name)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("program")
    }

    fn build(name: &'static str, flags: impl IntoIterator<Item = &'static str>) -> Workload {
        let directory = tempfile::Builder::new().prefix("hardmeter-").tempdir().unwrap();
        let workload = Workload { directory, name };
        let source = Workload::source(workload.name);
        let compiler = if name.ends_with(".cc") { "g++" } else { "gcc" };
        let built = Command::new(compiler)
            .args(flags)
            .arg("-o")
            .arg(workload.path())
            .arg(&source)
            .output()
            .unwrap_or_else(|error| panic!("these tests need {compiler}: {error}"));
        assert!(
            built.status.success(),
            "{}: {}",
            source.display(),
            String::from_utf8_lossy(&built.stderr)
        );
        workload
    }
}
