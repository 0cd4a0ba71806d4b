//! Recordings that are broken or lie: `ebs` ends, soon, in little memory, and
//! says what it left out.
//!
//! `HARDMETER_RECORDINGS=DIR`: the hostile files of `DIR/fuzz` besides those
//! of the fuzz targets' corpora, and every recording of DIR with bytes changed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Bytes that a run may take besides as many as the recording has.
const BEYOND: u64 = 64 << 20;
/// Seconds of CPU after which a run is taken to have no end; none takes more
/// than a few.
const ENDLESS: u32 = 300;

fn here(path: &str) -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("..").join(path)
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// Runs `ebs` with so many bytes of address space: what it asks for beyond is
/// refused, and that ends it. A signal ends one that has no end.
fn ebs(words: &[&str], file: &Path, room: u64) -> Output {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit -t {ENDLESS}; ulimit -v {}; exec \"$@\"", room >> 10))
        .arg("sh");
    command.arg(std::env::var("CARGO_BIN_EXE_ebs").unwrap()).args(words).arg(file);
    command.output().unwrap()
}

/// Address space of a run that reads a small recording, found by trying.
fn base() -> u64 {
    let small = here("crates/perfdata/tests/fixtures/page_faults-6.1.pipe.data");
    let enough = |room: u64| COMMANDS.iter().all(|it| ebs(it, &small, room).status.success());
    (1..64).map(|step| step * (8 << 20)).find(|&room| enough(room)).unwrap()
}

/// Exit status 0 or 1; what was said on stderr.
fn survives(words: &[&str], file: &Path, base: u64) -> (i32, String) {
    let room = base + BEYOND + std::fs::metadata(file).unwrap().len();
    let output = ebs(words, file, room);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = output.status.code();
    let about = || format!("ebs {} {}: {said}", words.join(" "), file.display());
    assert!(matches!(status, Some(0 | 1)), "{status:?}: {}", about());
    (status.unwrap(), said)
}

const COMMANDS: [&[&str]; 3] =
    [&["report", "--by", "routine,object"], &["script"], &["script", "--format", "hardmeter"]];

#[test]
fn hostile_files_end_soon_in_little_memory() {
    let base = base();
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    // A byte for the fuzz target stands before these.
    for corpus in ["fuzz/corpus/file", "fuzz/corpus/stream"] {
        for path in files_in(&here(corpus)) {
            let bytes = std::fs::read(&path).unwrap();
            let name = folder.path().join(path.file_name().unwrap());
            std::fs::write(&name, &bytes[1..]).unwrap();
            files.push(name);
        }
    }
    match std::env::var_os("HARDMETER_RECORDINGS") {
        Some(more) => files.extend(files_in(&Path::new(&more).join("fuzz"))),
        None => eprintln!("skipped those of perf_data_converter: no HARDMETER_RECORDINGS"),
    }
    assert!(files.len() > 20, "{files:?}");
    let mut damaged = 0;
    for file in &files {
        for words in COMMANDS {
            let (status, said) = survives(words, file, base);
            damaged += status;
            assert!(status == 0 || said.starts_with("ebs: "), "{}: {said}", file.display());
        }
    }
    eprintln!("{} files, {damaged} of {} runs with status 1", files.len(), 3 * files.len());
}

/// The next of a sequence without a pattern (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

#[test]
fn changed_bytes_do_no_harm() {
    let base = base();
    let mut files = files_in(&here("crates/perfdata/tests/fixtures"));
    files.retain(|path| path.extension().is_some_and(|it| it == "data"));
    let more = std::env::var_os("HARDMETER_RECORDINGS");
    files.extend(more.map_or_else(Vec::new, |more| files_in(Path::new(&more))));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.data");
    let mut state = 4;
    for file in &files {
        let whole = std::fs::read(file).unwrap();
        for _ in 0..4 {
            let mut bytes = whole.clone();
            for _ in 0..=next(&mut state) % 6 {
                let at = usize::try_from(next(&mut state)).unwrap() % bytes.len();
                bytes[at] = u8::try_from(next(&mut state) & 0xff).unwrap();
            }
            std::fs::write(&path, &bytes).unwrap();
            survives(COMMANDS[0], &path, base);
            survives(COMMANDS[1], &path, base);
        }
    }
    eprintln!("{} files", files.len());
}
