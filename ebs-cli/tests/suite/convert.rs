//! `ebs convert` over recordings of every form: perf and `ebs` see the same
//! before and after.
//!
//! `HARDMETER_RECORDINGS=DIR` names a folder of more of them.

use ebs_cli::ebs::input::Input;
use perfdata::attr::{Attr, SampleType};
use perfdata::sideband::FileIdentity;
use perfdata::stream::{FeatureId, StreamRecord, write};
use perfdata::{ByteOrder, Misc, RecordHeader, RecordType, SidebandRecord};
use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const FOLDER: &str = "HARDMETER_RECORDINGS";

fn fixtures() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("../crates/perfdata/tests/fixtures")
}

pub(crate) fn ebs(words: &[&str], files: &[&Path]) -> Output {
    Command::new(std::env::var("CARGO_BIN_EXE_ebs").unwrap())
        .args(words)
        .args(files)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What perf says of a file; None where it refuses it.
fn perf(words: &[&str], file: &Path) -> Option<String> {
    let mut command = Command::new("perf");
    let output = command.arg(words[0]).args(["-f", "-i"]).arg(file).args(&words[1..]).output();
    let output = output.unwrap();
    output.status.success().then(|| text(&output.stdout).replace(&file.display().to_string(), "IN"))
}

/// What perf says of the pipe form with AUX data. perf 6.1 finds its way
/// through them when it decodes them, and from a pipe: in a file that it opens
/// by name, or gets as stdin, it seeks to where a file would have them, and in
/// its own pipe recordings, too.
fn perf_through_pipe(file: &Path) -> Option<String> {
    let line = "cat \"$0\" | perf script -f -i -";
    let output = Command::new("sh").args(["-c", line]).arg(file).output().unwrap();
    output.status.success().then(|| text(&output.stdout))
}

/// Whether there is perf; says so if not.
fn has_perf() -> bool {
    let there = Command::new("perf").arg("--version").stdout(Stdio::null()).status();
    there.inspect_err(|error| eprintln!("skipped: perf cannot be started: {error}")).is_ok()
}

fn recordings() -> Vec<PathBuf> {
    let mut folders = vec![fixtures()];
    match std::env::var_os(FOLDER) {
        Some(folder) => folders.push(folder.into()),
        None => eprintln!("skipped more recordings: {FOLDER} names no folder of them"),
    }
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let is_one = |bytes: Vec<u8>| bytes.starts_with(b"PERFILE2") || bytes.starts_with(b"2ELIF");
        path.is_file() && std::fs::read(path).is_ok_and(is_one)
    });
    paths.sort();
    paths
}

const SAMPLES: [&str; 4] =
    ["script", "--all-samples", "-F", "comm,pid,tid,cpu,time,ip,addr,period"];

/// A recording whose end is good: what `ebs` reads of it is what is in it.
fn is_sound(path: &Path) -> bool {
    ebs(&SAMPLES, &[path]).status.success()
}

#[test]
fn records_stay_in_both_forms() {
    let folder = TempDir::new().unwrap();
    let (mut files, mut samples) = (0, 0);
    for path in recordings() {
        let sound = is_sound(&path);
        let before = ebs(&SAMPLES, &[&path]).stdout;
        for form in [&["convert"][..], &["convert", "--pipe"]] {
            let out = folder.path().join("out.data");
            let said = ebs(form, &[&path, &out]);
            assert_eq!(said.status.success(), sound, "{}: {}", path.display(), text(&said.stderr));
            let after = ebs(&SAMPLES, &[&out]);
            assert!(after.status.success(), "{}: {}", path.display(), text(&after.stderr));
            assert!(before == after.stdout, "{} {form:?}", path.display());
            let again = folder.path().join("again.data");
            assert!(ebs(form, &[&out, &again]).status.success());
            let bytes = [&out, &again].map(|path| std::fs::read(path).unwrap());
            assert!(bytes[0] == bytes[1], "{}: twice is not once", path.display());
        }
        files += 1;
        samples += text(&before).lines().count();
    }
    assert!(files >= 10, "{files} files");
    eprintln!("{samples} samples of {files} files kept in both forms");
}

/// perf cannot read them, nor what they become.
#[test]
fn records_of_another_maker_are_kept_and_read_as_such() {
    let folder = TempDir::new().unwrap();
    let (path, out) = (fixtures().join("foreign/types-3.3.pipe.data"), folder.path().join("out"));
    for form in [&["convert"][..], &["convert", "--pipe"]] {
        assert!(ebs(form, &[&path, &out]).status.success());
        for file in [&path, &out] {
            let report = ebs(&["report"], &[file]);
            assert!(
                report.status.success() && report.stderr.is_empty(),
                "{}",
                text(&report.stderr)
            );
            assert!(text(&report.stdout).contains("cycles"), "{}", text(&report.stdout));
            assert!(!text(&report.stdout).contains("left out"), "{}", text(&report.stdout));
        }
    }
}

#[test]
fn perf_sees_the_same_in_what_was_converted() {
    if !has_perf() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.data");
    let (mut same, mut opened, mut piped) = (0, 0, Vec::new());
    let script = ["script", "--no-itrace"];
    for path in recordings().into_iter().filter(|path| is_sound(path)) {
        let name = path.display();
        assert!(ebs(&["convert"], &[&path, &out]).status.success(), "{name}");
        let Some(before) = perf(&script, &path) else {
            // Its perf is newer than ours, or cannot read its own pipes.
            let ours = ebs(&["script", "--all-samples", "-G", "-F", "ip"], &[&path]).stdout;
            let theirs = perf(&["script", "--no-itrace", "-G", "-F", "ip"], &out).unwrap();
            assert_eq!(theirs.lines().count(), text(&ours).lines().count(), "{name}");
            opened += 1;
            continue;
        };
        assert!(perf(&script, &out).unwrap() == before, "{name}");
        let from_file = std::fs::read(&path).unwrap()[8] == 104;
        if from_file {
            // perf knows a pipe's events only after its records.
            let events = ["evlist", "-v"];
            assert_eq!(perf(&events, &out), perf(&events, &path), "{name}");
            let aux = perf(&["script", "--header-only"], &path).unwrap().contains("AUX area");
            assert!(ebs(&["convert", "--pipe"], &[&path, &out]).status.success(), "{name}");
            if aux {
                assert!(perf_through_pipe(&out) == perf(&["script"], &path), "{name} as a pipe");
                piped.push(name.to_string());
            } else {
                assert!(perf(&script, &out).unwrap() == before, "{name} as a pipe");
            }
        }
        same += before.lines().count();
    }
    eprintln!(
        "{same} lines of perf script the same; {opened} files that perf could not read before; with \
         AUX data, through a pipe: {piped:#?}"
    );
}

/// A file with one more feature, of which the recorder had nothing to tell.
fn with_empty_feature(file: &Path, id: u8) -> Vec<u8> {
    const BITMAP: usize = 72;
    let mut bytes = std::fs::read(file).unwrap();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let table = usize::try_from(word(&bytes, 40) + word(&bytes, 48)).unwrap();
    let bits = word(&bytes, BITMAP);
    let before = (bits & ((1 << id) - 1)).count_ones() as usize;
    assert_eq!(bits >> id & 1, 0);
    bytes[BITMAP..BITMAP + 8].copy_from_slice(&(bits | 1 << id).to_le_bytes());
    for entry in 0..bits.count_ones() as usize {
        let at = table + 16 * entry;
        let moved = word(&bytes, at) + 16;
        bytes[at..at + 8].copy_from_slice(&moved.to_le_bytes());
    }
    let (at, end) = (table + 16 * before, bytes.len() as u64 + 16);
    bytes.splice(at..at, [end.to_le_bytes(), 0u64.to_le_bytes()].concat());
    bytes
}

/// perf of Linux 6.17 leaves the sections of BPF programs and their types
/// empty. Of a pipe that has such records perf reads nothing.
#[test]
fn features_without_a_word_do_not_reach_a_pipe() {
    let folder = TempDir::new().unwrap();
    let (from, out) = (folder.path().join("from.data"), folder.path().join("out.data"));
    let original = fixtures().join("group_desc-4.14.file.data");
    for id in [25, 26, 22, 31] {
        std::fs::write(&from, with_empty_feature(&original, id)).unwrap();
        let said = ebs(&["convert", "--pipe"], &[&from, &out]);
        assert!(said.status.success(), "{id}: {}", text(&said.stderr));
        let mut input = Input::open(&out).unwrap();
        let mut decoder = input.decoder();
        let end = input.read(&mut decoder, |_, _| Ok(()));
        end.unwrap().into_result().unwrap();
        let features = decoder.stream().features();
        assert!(!features.others.contains_key(&FeatureId(id.into())), "{id}");
        if has_perf() {
            let theirs = perf(&["script"], &out);
            assert!(theirs.is_some(), "perf refuses a pipe with feature {id}");
            assert_eq!(theirs, perf(&["script"], &original), "{id}");
        }
    }
    // That there are branches is all that this one says.
    let path = fixtures().join("branch-4.14.file.data");
    assert!(ebs(&["convert", "--pipe"], &[&path, &from]).status.success());
    assert!(ebs(&["convert"], &[&from, &out]).status.success());
    let branches = |path: &Path| std::fs::read(path).unwrap()[72 + 1] >> 7;
    assert_eq!((branches(&path), branches(&out)), (1, 1));
}

/// Which features perf finds, without those that say where they stand.
#[test]
fn features_stay_as_they_are() {
    if !has_perf() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.data");
    let header = |path: &Path| {
        let text = perf(&["script", "--header-only", "-I"], path).unwrap();
        let places = ["# captured", "# data", "# feat", "# header", "# contains AUX"];
        let lines = text.lines().filter(|line| !places.iter().any(|place| line.starts_with(place)));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for name in ["group_desc-4.14.file.data", "hybrid_topology-5.15.file.data"] {
        let path = fixtures().join(name);
        assert!(ebs(&["convert"], &[&path, &out]).status.success(), "{name}");
        assert!(header(&path).len() > 20);
        assert_eq!(header(&out), header(&path), "{name}");
        let ids = ["buildid-list"];
        assert_eq!(perf(&ids, &out), perf(&ids, &path), "{name}");
    }
    // What a pipe tells in records is in the header of the file.
    let path = fixtures().join("header_features_aligned-6.12.pipe.data");
    assert!(ebs(&["convert"], &[&path, &out]).status.success());
    let said = header(&out).join("\n");
    for line in ["# nrcpus online : 12", "# cpudesc : Intel(R) Xeon(R) W-2135 CPU @ 3.70GHz"] {
        assert!(said.contains(line), "{line} is not in\n{said}");
    }
}

#[test]
fn a_damaged_recording_gives_what_can_be_read() {
    let folder = TempDir::new().unwrap();
    let whole = std::fs::read(fixtures().join("group_desc-4.14.file.data")).unwrap();
    let (cut, out) = (folder.path().join("cut.data"), folder.path().join("out.data"));
    std::fs::write(&cut, &whole[..4000]).unwrap();
    let said = ebs(&["convert"], &[&cut, &out]);
    assert_eq!(said.status.code(), Some(1), "{}", text(&said.stderr));
    assert!(text(&said.stderr).contains("truncated: "), "{}", text(&said.stderr));
    let kept = ebs(&["script", "-F", "ip"], &[&out]);
    assert!(kept.status.success(), "the rest is sound: {}", text(&kept.stderr));
    assert_eq!(kept.stdout, ebs(&["script", "-F", "ip"], &[&cut]).stdout);
}

#[test]
fn nothing_is_written_where_nothing_can_be_read() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.data");
    let foreign = folder.path().join("foreign");
    std::fs::write(&foreign, "# a list of eips\nffffffff81000010\n").unwrap();
    for (path, why) in [
        (foreign.as_path(), "line 2: no header line before it"),
        (Path::new("/nowhere/in.data"), "No such file"),
        (folder.path(), "directory"),
    ] {
        let said = ebs(&["convert"], &[path, &out]);
        assert_eq!(said.status.code(), Some(1), "{}", text(&said.stderr));
        assert!(text(&said.stderr).contains(why), "{}", text(&said.stderr));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only what was put there");
}

#[test]
fn a_full_disk_is_told_with_its_place() {
    for name in ["page_faults-6.1.pipe.data", "everything-6.1.file.data"] {
        let said = ebs(&["convert"], &[&fixtures().join(name), Path::new("/dev/full")]);
        assert_eq!(said.status.code(), Some(1));
        let said = text(&said.stderr);
        assert!(said.starts_with("ebs: cannot convert to /dev/full: No space left"), "{said}");
    }
}

#[test]
fn a_recording_is_not_converted_onto_itself() {
    let folder = TempDir::new().unwrap();
    let bytes = std::fs::read(fixtures().join("group_desc-4.14.file.data")).unwrap();
    let (path, link) = (folder.path().join("in.data"), folder.path().join("link.data"));
    std::fs::write(&path, &bytes).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for out in [&path, &link] {
        let said = ebs(&["convert"], &[&path, out]);
        assert_eq!(said.status.code(), Some(2), "{}", text(&said.stderr));
        assert!(text(&said.stderr).contains("is the recording that is read"));
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let other = folder.path().join("nowhere/out.data");
    let said = ebs(&["convert"], &[&path, &other]);
    assert_eq!(said.status.code(), Some(1));
    assert!(text(&said.stderr).contains("nowhere"), "{}", text(&said.stderr));
}

#[test]
fn a_signal_leaves_nothing_behind() {
    let bytes = std::fs::read(fixtures().join("page_faults-6.1.pipe.data")).unwrap();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let folder = TempDir::new().unwrap();
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let mut child = Command::new(std::env::var("CARGO_BIN_EXE_ebs").unwrap())
            .args(["convert", "-"])
            .arg(folder.path().join("out.data"))
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&bytes[..bytes.len() / 2]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(120);
        while files() == 0 || !catches(child.id(), signal) {
            assert!(Instant::now() < deadline, "no file was begun");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(ended_by(&mut child, signal).signal(), Some(signal));
        assert_eq!(files(), 0, "signal {signal}");
    }
}

/// Sends a signal until the process ends. One may be lost: signal-hook puts
/// its handler in place a moment before it knows what to do with the signal.
fn ended_by(child: &mut Child, signal: i32) -> ExitStatus {
    let deadline = Instant::now() + Duration::from_secs(120);
    let kill = format!("kill -{signal} {}", child.id());
    loop {
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let patience = Instant::now() + Duration::from_millis(500);
        while Instant::now() < patience {
            if let Some(status) = child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(Instant::now() < deadline, "signal {signal} does not end it");
    }
}

fn catches(pid: u32, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
}

#[test]
fn whoever_could_not_read_a_recording_cannot_read_what_it_becomes() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("in.data"), folder.path().join("out.data"));
    std::fs::copy(fixtures().join("group_desc-4.14.file.data"), &from).unwrap();
    std::fs::set_permissions(&from, PermissionsExt::from_mode(0o600)).unwrap();
    assert!(ebs(&["convert"], &[&from, &to]).status.success());
    assert_eq!(mode(&to), 0o600);
    std::fs::set_permissions(&from, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(ebs(&["convert"], &[&from, &to]).status.success());
    assert_eq!(mode(&to), 0o600, "as the file that was replaced");
}

/// A stream may describe events after its first record, in either byte order.
#[test]
fn events_that_come_late_are_in_the_file() {
    let folder = TempDir::new().unwrap();
    let (path, out) = (folder.path().join("in.data"), folder.path().join("out.data"));
    for (order, magic) in [(ByteOrder::Little, b"PERFILE2"), (ByteOrder::Big, b"2ELIFREP")] {
        let mut bytes = Vec::new();
        write::file_header(order, &mut bytes);
        for id in [7u64, 8] {
            let attr = Attr {
                config: id,
                sample_type: SampleType::IDENTIFIER | SampleType::IP,
                ..Attr::default()
            };
            write::attr(&attr, &[id], order, &mut bytes).unwrap();
            let w = &mut perfdata::bytes::ByteWriter::new(&mut bytes, order);
            let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc(2), size: 24 };
            header.encode(w);
            w.u64(id);
            w.u64(0x40_1000 + id);
        }
        std::fs::write(&path, &bytes).unwrap();
        for form in [&["convert"][..], &["convert", "--pipe"]] {
            assert!(ebs(form, &[&path, &out]).status.success());
            assert!(std::fs::read(&out).unwrap().starts_with(magic), "the order stays");
            let fields = ["script", "--all-samples", "-F", "event,ip"];
            let lines = ebs(&fields, &[&out]).stdout;
            assert_eq!(text(&lines).lines().count(), 2, "{}", text(&lines));
            assert_eq!(lines, ebs(&fields, &[&path]).stdout);
        }
        assert_eq!(std::fs::read(&out).unwrap(), bytes, "a pipe is as it was");
    }
}

#[test]
fn a_recording_of_nothing_stays_one() {
    let folder = TempDir::new().unwrap();
    let (path, out) = (folder.path().join("in.data"), folder.path().join("out.data"));
    let mut bytes = Vec::new();
    write::file_header(ByteOrder::Little, &mut bytes);
    write::attr(&Attr::default(), &[7], ByteOrder::Little, &mut bytes).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert!(ebs(&["convert"], &[&path, &out]).status.success());
    let read = ebs(&["script"], &[&out]);
    assert!(read.status.success(), "{}", text(&read.stderr));
}

#[test]
fn hostile_recordings_are_converted_or_refused() {
    let Some(folder) = std::env::var_os(FOLDER).map(|folder| Path::new(&folder).join("fuzz"))
    else {
        eprintln!("skipped: {FOLDER} names no folder of more recordings");
        return;
    };
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there is no {}", folder.display());
        return;
    };
    let work = TempDir::new().unwrap();
    let out = work.path().join("out.data");
    for path in entries.map(|entry| entry.unwrap().path()) {
        for words in [&["convert"][..], &["convert", "--pipe"], &["convert", "--anonymise"]] {
            let said = ebs(words, &[&path, &out]);
            let name = path.display();
            assert_eq!(said.status.code(), Some(1), "{name}: {}", text(&said.stderr));
            let (before, after) = (std::fs::metadata(&path), std::fs::metadata(&out));
            let (before, after) = (before.unwrap().len(), after.map_or(0, |out| out.len()));
            assert!(after <= 2 * before + 4096, "{name}: {before} bytes became {after}");
            let _ = std::fs::remove_file(&out);
        }
    }
}

/// Names that a recording has: of its host, of files, of threads.
#[derive(Default)]
struct Names {
    host: Vec<u8>,
    paths: BTreeSet<Vec<u8>>,
    threads: BTreeSet<Vec<u8>>,
    build_ids: usize,
}

fn names(path: &Path) -> Names {
    let mut input = Input::open(path).unwrap();
    let mut decoder = input.decoder();
    let mut names = Names::default();
    let end = input.read(&mut decoder, |_, record| {
        match record {
            StreamRecord::Sideband { record: SidebandRecord::Comm { name, .. }, .. } => {
                names.threads.insert(name.to_vec());
            }
            StreamRecord::Sideband {
                record: SidebandRecord::Mmap(mapping) | SidebandRecord::Mmap2(mapping),
                ..
            } => {
                names.build_ids += usize::from(matches!(mapping.file, FileIdentity::BuildId(_)));
                let kept = [&b"["[..], b"//anon", b"/anon_huge", b"/dev/zero", b"anon_inode:"];
                let module = mapping.path.starts_with(b"/lib/modules/")
                    && memchr::memmem::find(mapping.path, b".ko").is_some();
                if !module && !kept.iter().any(|start| mapping.path.starts_with(start)) {
                    names.paths.insert(mapping.path.to_vec());
                }
            }
            _ => {}
        }
        Ok(())
    });
    let _ = end.unwrap();
    let features = decoder.stream().features();
    names.host = features.hostname.clone().unwrap_or_default().into_bytes();
    names.build_ids += features.build_ids.len();
    names
}

#[test]
fn an_anonymous_recording_names_nobody_and_counts_the_same() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.data");
    let fields =
        ["script", "--all-samples", "-G", "-F", "pid,tid,cpu,time,ip,addr,period,weight,phys_addr"];
    let (mut files, mut paths, mut threads) = (0, 0, 0);
    for path in recordings().into_iter().filter(|path| is_sound(path)) {
        let name = path.display();
        let before = names(&path);
        for form in [&["convert", "--anonymise"][..], &["convert", "--anonymise", "--pipe"]] {
            let said = ebs(form, &[&path, &out]);
            assert!(said.status.success(), "{name}: {}", text(&said.stderr));
            let after = names(&out);
            assert_eq!(after.threads.len(), before.threads.len(), "{name}: equal stays equal");
            assert_eq!(after.paths.len(), before.paths.len(), "{name}: equal stays equal");
            assert_eq!(after.build_ids, 0, "{name}");
            assert!(after.threads.iter().all(|thread| thread.starts_with(b"comm-")), "{name}");
            assert!(after.paths.iter().all(|path| path.starts_with(b"/object-")), "{name}");
            assert!(before.host.is_empty() || after.host == b"anonymous", "{name}");
            let bytes = std::fs::read(&out).unwrap();
            // Shorter ones may be there by chance; of many some will do.
            let secrets = [&before.host].into_iter().chain(&before.paths);
            for secret in secrets.filter(|name| name.len() > 5).take(40) {
                let found = memchr::memmem::find(&bytes, secret);
                assert_eq!(found, None, "{name}: {}", text(secret));
            }
            let (a, b) = (ebs(&fields, &[&path]).stdout, ebs(&fields, &[&out]).stdout);
            assert!(a == b, "{name}: {}", text(&said.stderr));
        }
        files += 1;
        paths += before.paths.len();
        threads += before.threads.len();
    }
    assert!(files >= 9, "{files} files");
    eprintln!("{paths} paths and {threads} names of threads replaced in {files} files");
}

/// The kernel finds callers by frame pointers: where a program keeps
/// something else in that register, they are what lay on its stack.
#[test]
fn callers_that_are_pieces_of_memory_are_taken_out() {
    const USER: [u8; 8] = perfdata::ChainContext::USER.0.to_le_bytes();
    let folder = TempDir::new().unwrap();
    let (from, out) = (folder.path().join("from.data"), folder.path().join("out.data"));
    let mut bytes = std::fs::read(fixtures().join("everything-6.1.file.data")).unwrap();
    let secrets = [*b"m/.cargo", *b"secret\0\0", *b"\x01passwd\xff"];
    let chains: Vec<usize> = memchr::memmem::find_iter(&bytes, &USER).collect();
    assert!(chains.len() > secrets.len());
    for (at, secret) in chains.iter().zip(secrets) {
        bytes[at + 8..at + 16].copy_from_slice(&secret);
    }
    std::fs::write(&from, &bytes).unwrap();
    let frames = |path: &Path| {
        let out = text(&ebs(&["script", "-F", "ip"], &[path]).stdout);
        out.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let before = frames(&from);
    for form in [&["convert", "--anonymise"][..], &["convert", "--anonymise", "--pipe"]] {
        let said = ebs(form, &[&from, &out]);
        assert!(said.status.success(), "{}", text(&said.stderr));
        let bytes = std::fs::read(&out).unwrap();
        for secret in secrets {
            let name = text(&secret);
            assert_eq!(memchr::memmem::find(&bytes, &secret), None, "{name:?} is still there");
        }
        let after = frames(&out);
        assert_eq!(after.len(), before.len());
        let pairs = || after.iter().zip(&before);
        let replaced: Vec<_> = pairs().filter(|(after, before)| after != before).collect();
        // Besides the secrets, callers in what the process was before exec,
        // whose mappings the recorder did not tell.
        assert!(replaced.len() >= secrets.len(), "{replaced:?}");
        assert!(replaced.iter().all(|(after, _)| *after == "0"), "{replaced:?}");
        assert!(pairs().filter(|(after, before)| after == before).count() > 100);
    }
}

#[test]
fn build_ids_and_registers_stay_when_asked_for() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.data");
    let path = fixtures().join("hybrid_topology-5.15.file.data");
    let ids = names(&path).build_ids;
    let converted = |words: &[&str]| {
        let said = ebs(words, &[&path, &out]);
        assert!(said.status.success(), "{}", text(&said.stderr));
        text(&said.stderr)
    };
    converted(&["convert", "--anonymise", "--keep-build-ids"]);
    assert!(ids > 0 && names(&out).build_ids == ids);
    let path = fixtures().join("page_faults-6.1.pipe.data");
    let registers = |file: &Path| text(&ebs(&["script", "-G", "-F", "time,iregs"], &[file]).stdout);
    let said = ebs(&["convert", "--anonymise"], &[&path, &out]);
    assert!(text(&said.stderr).contains("what was in memory"), "{}", text(&said.stderr));
    assert!(registers(&path).contains("AX:0x") && !registers(&out).contains("AX:0x"));
    ebs(&["convert", "--anonymise", "--keep-registers"], &[&path, &out]);
    assert_eq!(registers(&out), registers(&path));
    let misuse = ebs(&["convert", "--keep-build-ids"], &[&path, &out]);
    assert_eq!(misuse.status.code(), Some(2));
}
