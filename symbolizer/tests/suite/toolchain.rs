//! The compiler and its kin on this machine, which build the programs of tests.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn has(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Whether a command succeeds; stderr tells why not: also that there is none.
pub(crate) fn command(directory: &Path, line: &[&str]) -> bool {
    let run = Command::new(line[0]).args(&line[1..]).current_dir(directory).output();
    let output = match run {
        Ok(output) => output,
        Err(error) => {
            eprintln!("{line:?}: {error}");
            return false;
        }
    };
    if !output.status.success() {
        eprintln!("{line:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

/// Where rustc keeps an `ld.lld`, for machines that have no other.
pub(crate) fn rust_lld() -> Option<String> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let sysroot = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let targets = std::fs::read_dir(sysroot.join("lib/rustlib")).ok()?;
    let folders = targets.filter_map(|target| Some(target.ok()?.path().join("bin/gcc-ld")));
    let folder = folders.into_iter().find(|folder| folder.join("ld.lld").exists())?;
    Some(format!("-B{}", folder.display()))
}
