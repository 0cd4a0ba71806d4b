//! What this machine lets a test do. A test that cannot run says why.

use std::{fs, path::PathBuf, process::Command};

/// Whether the tests run as root; says so when not.
pub fn root(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped {test}: needs root");
    }
    is_root
}

/// Whether this user may sample the kernel and processes of its own.
pub fn sampling(test: &str) -> bool {
    let paranoid = paranoid();
    let allowed = rustix::process::geteuid().is_root() || paranoid <= 1;
    if !allowed {
        eprintln!("skipped {test}: perf_event_paranoid is {paranoid}, and this is not root");
    }
    allowed
}

/// Whether the kernel takes programs from this user.
pub fn programs_in_kernel(test: &str) -> bool {
    let told = Command::new(crate::built::directory().join("ebs"))
        .args(["-u", "-t", "page_fault", "--in-kernel", "--no-rings", "--no-daemon", "true"])
        .output()
        .unwrap();
    let allowed = told.status.success();
    if !allowed {
        let why = String::from_utf8_lossy(&told.stderr);
        eprintln!("skipped {test}: {}", why.trim());
    }
    allowed
}

/// Whether the emulated PMU runs here.
pub fn emulated_pmu(test: &str) -> bool {
    let runs = cfg!(target_arch = "x86_64");
    if !runs {
        eprintln!("skipped {test}: the emulated PMU runs x86-64 programs only");
    }
    runs
}

/// Whether a program is installed.
pub fn program(test: &str, name: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped {test}: no {name} here");
    }
    found
}

/// A Python that has these modules: HARDMETER_PYTHON, else `python3`.
pub fn python(test: &str, modules: &[&str]) -> Option<String> {
    let python = std::env::var("HARDMETER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = format!("import {}", modules.join(", "));
    let found = Command::new(&python).args(["-c", &import]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    eprintln!("skipped {test}: {python} has no {}", modules.join(", "));
    None
}

/// Where speedscope's page is: the package of npm in HARDMETER_SPEEDSCOPE, else where
/// `npm install -g` puts it.
pub fn speedscope(test: &str) -> Option<PathBuf> {
    let named = std::env::var("HARDMETER_SPEEDSCOPE").ok();
    let installed = || {
        let root = Command::new("npm").args(["root", "-g"]).output().ok()?;
        let root = String::from_utf8(root.stdout).ok()?;
        Some(format!("{}/speedscope", root.trim()))
    };
    let package = named.or_else(installed).map(PathBuf::from);
    let page = package.map(|package| package.join("dist/release"));
    let page = page.filter(|page| page.join("index.html").is_file());
    if page.is_none() {
        eprintln!("skipped {test}: no speedscope here (npm install -g speedscope)");
    }
    page
}

/// Whether `perf` is installed and runs on this kernel.
pub fn perf(test: &str) -> bool {
    let runs = Command::new("perf").args(["stat", "-e", "page-faults", "true"]).output();
    let runs = runs.is_ok_and(|output| output.status.success());
    if !runs {
        eprintln!("skipped {test}: `perf stat -e page-faults true` does not run here");
    }
    runs
}

/// /proc/sys/kernel/perf_event_paranoid.
pub fn paranoid() -> i32 {
    let text = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    text.trim().parse().unwrap()
}

/// Whether the kernel offers the PMU of a CPU core.
pub fn core_pmu() -> bool {
    let devices = std::path::Path::new("/sys/bus/event_source/devices");
    ["cpu", "cpu_core", "armv8_pmuv3_0"].iter().any(|name| devices.join(name).exists())
}
