//! The commands under test, built from the same tree as the tests.
//!
//! They lie beside the test's own executable. Cargo does not promise that it
//! builds another package's programs before these tests, so the tests build
//! them, once a run. `HARDMETER_BIN` names a directory with other ones.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The directory that holds `ebs`, `eip2r` and `ebsd`.
pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| match env::var_os("HARDMETER_BIN") {
        Some(directory) => directory.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    let test = env::current_exe().unwrap();
    let directory = test.parent().and_then(Path::parent).unwrap().to_path_buf();
    let target = directory.parent().unwrap();
    let profile = match directory.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        other => other,
    };
    // nextest runs every test in a process of its own: the first one of a run
    // builds, the others see its mark.
    let mark = directory.join("e2e-built");
    let lock = File::create(directory.join("e2e-built.lock")).unwrap();
    lock.lock().unwrap();
    let run = env::var("NEXTEST_RUN_ID").ok();
    if run.is_some() && fs::read_to_string(&mark).ok() == run {
        return directory;
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // What is said of the package whose test this is: build scripts that ask
    // for their own (ring's) would take it for a change, and all that is above
    // them would be built anew, now and the next time.
    let told = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(told) {
            cargo.env_remove(name);
        }
    }
    let built = cargo
        // All that there is, as the tests were built: of some packages alone,
        // others would be built anew with fewer features.
        .args(["build", "--quiet", "--workspace", "--lib", "--bins", "--examples"])
        .args(["--profile", profile, "--target-dir"])
        .arg(target)
        // Of a package of the workspace.
        .current_dir(env::var("CARGO_MANIFEST_DIR").unwrap())
        .status()
        .unwrap();
    assert!(built.success(), "the commands could not be built: {built}");
    if let Some(run) = run {
        fs::write(&mark, run).unwrap();
    }
    directory
}
