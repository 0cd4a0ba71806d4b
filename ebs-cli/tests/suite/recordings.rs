//! Recordings of every form, printed as `perf script` prints them.
//!
//! `HARDMETER_RECORDINGS=DIR` names a folder of more of them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const FOLDER: &str = "HARDMETER_RECORDINGS";
/// All that perf prints of a record but names of addresses, which are not the same work: the
/// call chain comes with `ip`.
const FIELDS: [&str; 19] = [
    "comm",
    "pid",
    "tid",
    "cpu",
    "misc",
    "time",
    "event",
    "period",
    "ip",
    "addr",
    "data_src",
    "weight",
    "ins_lat",
    "iregs",
    "uregs",
    "brstack",
    "phys_addr",
    "data_page_size",
    "code_page_size",
];

fn fixtures() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("../crates/perfdata/tests/fixtures")
}

fn ebs(words: &[&str], file: &Path) -> Output {
    Command::new(std::env::var("CARGO_BIN_EXE_ebs").unwrap())
        .args(words)
        .arg(file)
        .output()
        .unwrap()
}

/// None without perf.
fn perf(options: &[&str], fields: &str, file: &Path) -> Option<Output> {
    let words = ["script", "-f", "--no-itrace", "--no-inline"];
    let fields = ["-F", fields, "-i"];
    Command::new("perf").args(words).args(options).args(fields).arg(file).output().ok()
}

/// Lines, blanks and all.
fn lines(out: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(out).lines().map(str::to_owned).collect()
}

/// What perf prints with the fields that every event of a recording has, and
/// those; None without perf.
fn theirs(file: &Path, options: &[&str]) -> Option<(String, Output)> {
    let said = ebs(&["script", "-F", &FIELDS.join(",")], file).stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    let lacking: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once(" was recorded without "))
        .flat_map(|(_, fields)| fields.split(", "))
        .collect();
    let mut fields: Vec<&str> =
        FIELDS.into_iter().filter(|field| !lacking.contains(field)).collect();
    loop {
        let output = perf(options, &fields.join(","), file)?;
        // Events of which there is no record are not named by ebs.
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let refused = said.split_once("Cannot print '").and_then(|(_, rest)| rest.split_once('\''));
        let Some((field, _)) = refused.filter(|(field, _)| fields.contains(field)) else {
            return Some((fields.join(","), output));
        };
        fields.retain(|kept| *kept != field);
    }
}

/// The files of the fixtures and of the folder, if one is given.
fn recordings() -> Vec<PathBuf> {
    let mut folders = vec![fixtures()];
    match std::env::var_os(FOLDER) {
        Some(folder) => folders.push(folder.into()),
        None => eprintln!("skipped more recordings: {FOLDER} names no folder of them"),
    }
    let mut files = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.is_file()));
    }
    files.sort();
    files.retain(|path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.starts_with(b"PERFILE2") || bytes.starts_with(b"2ELIFREP")
    });
    files
}

/// A recording of a newer perf (6.5 and later: attrs of 136 bytes and more)
/// for an older one to read: attrs without the fields that the older one does
/// not know, which are not in use. None where they are, or nothing is newer.
fn for_older_perf(file: &Path) -> Option<tempfile::NamedTempFile> {
    const KNOWN: usize = 128;
    const IDS: usize = 16;
    let mut bytes = std::fs::read(file).unwrap();
    let word = |at: usize| {
        let word = bytes.get(at..at + 8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(word)).ok()
    };
    let (entry, start, size) = (word(16)?, word(24)?, word(32)?);
    if !bytes.starts_with(b"PERFILE2") || word(8)? != 104 || entry <= KNOWN + IDS {
        return None;
    }
    let mut shorter = Vec::new();
    for attr in bytes.get(start..start + size)?.chunks_exact(entry) {
        let (attr, ids) = attr.split_at(entry - IDS);
        let (known, newer) = attr.split_at(KNOWN);
        if newer.iter().any(|byte| *byte != 0) {
            return None;
        }
        let size = u32::try_from(KNOWN).ok()?.to_le_bytes();
        shorter.extend([&known[..4], &size, &known[8..], ids].concat());
    }
    let sizes = [KNOWN + IDS, start, shorter.len()].map(|size| (size as u64).to_le_bytes());
    bytes[16..40].copy_from_slice(&sizes.concat());
    bytes[start..start + shorter.len()].copy_from_slice(&shorter);
    let copy = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(copy.path(), bytes).unwrap();
    Some(copy)
}

enum Compared {
    /// So many lines are the same.
    Alike(usize),
    /// So many; but perf has frames of user space besides.
    Unwound(usize),
    /// perf does not read it to its end.
    Refused(String),
    NoPerf,
}

/// Compares line by line. Of a file that perf reads only the front of, its
/// lines must be our first ones.
fn compare(file: &Path, options: &[&str]) -> Compared {
    let Some((fields, theirs)) = theirs(file, options) else {
        return Compared::NoPerf;
    };
    let words = [&["script", "-F", &fields], options].concat();
    let ours = ebs(&words, file);
    let unwound =
        String::from_utf8_lossy(&ours.stderr).contains("stacks of user space were unwound");
    let mut ours = lines(&ours.stdout);
    let status = theirs.status.success();
    let (mut theirs, said) =
        (lines(&theirs.stdout), String::from_utf8_lossy(&theirs.stderr).into_owned());
    let frames = theirs.len();
    if unwound {
        (ours, theirs) = (without_unwound(&ours, &theirs), without_unwound(&theirs, &ours));
    }
    if !status {
        ours.truncate(theirs.len());
    }
    let differ = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
    let name = file.display();
    if let Some(at) = differ {
        panic!("{name} -F {fields}, line {at}:\n ours {}\nperf's {}", ours[at], theirs[at]);
    }
    assert_eq!(ours.len(), theirs.len(), "lines of {name} -F {fields}");
    match status {
        true if frames > ours.len() => Compared::Unwound(ours.len()),
        true => Compared::Alike(ours.len()),
        false => Compared::Refused(said.lines().last().unwrap_or_default().to_owned()),
    }
}

/// Lines without the frames of user space that only one of both has: how far
/// perf unwinds a stack depends on the files that it finds here, and of the
/// first frame it says nothing where it finds none.
fn without_unwound(lines: &[String], others: &[String]) -> Vec<String> {
    let frames = |lines: &[String]| {
        let mut samples = vec![Vec::new()];
        for line in lines {
            match line.starts_with('\t') {
                false => samples.push(Vec::new()),
                true => samples.last_mut().unwrap().push(line.clone()),
            }
        }
        samples
    };
    let (own, others) = (frames(lines), frames(others));
    let heads = lines.iter().filter(|line| !line.starts_with('\t'));
    let mut kept = own[0].clone();
    for ((head, own), others) in heads.zip(&own[1..]).zip(others.iter().skip(1)) {
        kept.push(head.clone());
        let same = own.iter().zip(others).take_while(|(own, other)| own == other);
        kept.extend(same.map(|(own, _)| own.clone()));
    }
    kept
}

/// Of a stack that `--call-graph dwarf` copied, and whose files are not here, it
/// is known where each sample was taken.
#[test]
fn samples_with_stacks_have_an_address() {
    let file = fixtures().join("dwarf_stacks-6.1.file.data");
    let chains = ebs(&["script", "-F", "event,ip"], &file);
    let pointers = lines(&ebs(&["script", "-G", "-F", "ip"], &file).stdout);
    let said = String::from_utf8_lossy(&chains.stderr).into_owned();
    assert!(said.contains("stacks of user space were unwound"), "{said}");
    let chains = lines(&chains.stdout).join("\n");
    let samples: Vec<&str> = chains.split("page-faults:").skip(1).collect();
    assert_eq!(samples.len(), pointers.len());
    assert!(samples.len() >= 5, "{chains}");
    let (mut user, mut kernel, mut entered) = (0, 0, 0);
    for (sample, pointer) in samples.iter().zip(&pointers) {
        let mut frames = sample.lines().skip(1).filter(|line| line.starts_with('\t'));
        let first = frames.next().unwrap_or_else(|| panic!("no address of {pointer}"));
        match pointer.trim().starts_with("ffffffff") {
            true => {
                kernel += 1;
                assert_eq!(first.trim(), pointer.trim());
                let from_user = |frame: &str| !frame.trim().starts_with("ffffffff");
                entered += usize::from(frames.last().is_some_and(from_user));
            }
            false => {
                user += 1;
                // How far into its file, of which pages start as in memory.
                let low = |text: &str| text.trim()[text.trim().len() - 3..].to_owned();
                assert_eq!(low(first), low(pointer), "{sample}");
            }
        }
    }
    assert!(user > 0 && kernel > 0, "{user} of user space, {kernel} of the kernel");
    assert!(entered > 0, "no chain of the kernel says from where it was entered");
}

/// Whose an end of a branch is tells its address, not the sample's privilege;
/// one that was not recorded is nobody's.
#[test]
fn branches_have_the_objects_of_their_own_addresses() {
    let file = fixtures().join("branch-4.14.file.data");
    let fields = "ip,brstack,dso";
    let ours = lines(&ebs(&["script", "--all-samples", "-G", "-F", fields], &file).stdout);
    let text = ours.join("\n");
    assert!(text.contains("0x0([unknown])/0x0([unknown])"), "{text}");
    assert!(!text.contains("0x0([kernel.kallsyms])"), "{text}");
    for end in text.split([' ', '/']).filter(|end| end.starts_with("0xffffffff")) {
        assert!(end.ends_with("([kernel.kallsyms])"), "{end}");
    }
    match perf(&["-G"], fields, &file) {
        Some(theirs) => assert_eq!(ours, lines(&theirs.stdout)),
        None => eprintln!("skipped comparing: perf is not there"),
    }
}

/// Every event of a group that is read at each sample has the samples in a
/// report that it has line by line.
#[test]
fn groups_have_the_same_samples_in_lines_and_tables() {
    let file = fixtures().join("group_read-6.1.file.data");
    let out = ebs(&["report", "--json"], &file).stdout;
    let report: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let printed = lines(&ebs(&["script", "-F", "event,period"], &file).stdout);
    for event in report["events"].as_array().unwrap() {
        let name = event["name"].as_str().unwrap();
        let own = printed.iter().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let own = own.filter(|words| words[1].trim_end_matches(':') == name);
        let periods: Vec<u64> = own.map(|words| words[0].parse().unwrap()).collect();
        assert!(periods.len() >= 10, "{name}: {printed:#?}");
        let totals = &event["totals"];
        assert_eq!(totals["counted"], periods.len(), "{name}: {totals}");
        assert_eq!(totals["period"], periods.iter().sum::<u64>(), "{name}: {totals}");
    }
    let table = ebs(&["report", "--event", "minor-faults"], &file).stdout;
    let table = String::from_utf8_lossy(&table).into_owned();
    assert!(table.contains("minor-faults, read with its group: 16 samples"), "{table}");
}

/// A pipe as perf wrote it before it told names in records of their own.
fn without_names(pipe: &[u8]) -> Vec<u8> {
    const TRACING_DATA: u32 = 66;
    const EVENT_UPDATE: u32 = 78;
    const HEADER_FEATURE: u32 = 80;
    let (front, mut rest) = pipe.split_at(16);
    let mut kept = front.to_vec();
    while let Some((header, _)) = rest.split_at_checked(12) {
        let kind = u32::from_le_bytes(header[..4].try_into().unwrap());
        let mut size = usize::from(u16::from_le_bytes(header[6..8].try_into().unwrap()));
        if kind == TRACING_DATA {
            let behind = u32::from_le_bytes(header[8..12].try_into().unwrap());
            size += usize::try_from(behind).unwrap();
        }
        let (record, after) = rest.split_at(size);
        if ![EVENT_UPDATE, HEADER_FEATURE].contains(&kind) {
            kept.extend_from_slice(record);
        }
        rest = after;
    }
    kept.extend_from_slice(rest);
    assert!(kept.len() < pipe.len());
    kept
}

/// Older pipes tell the names of tracepoints with their formats alone.
#[test]
fn tracepoints_of_a_pipe_have_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tracepoints.data");
    let pipe = std::fs::read(fixtures().join("tracepoints-6.1.pipe.data")).unwrap();
    std::fs::write(&file, without_names(&pipe)).unwrap();
    let names = |words: &[&str]| {
        let mut lines = lines(&ebs(words, &file).stdout);
        lines.iter_mut().for_each(|line| *line = line.trim().to_owned());
        lines
    };
    let ours = names(&["script", "-F", "event"]);
    assert_eq!(ours.iter().filter(|line| *line == "sched:sched_process_exec:").count(), 1);
    let table = names(&["report"]).join("\n");
    assert!(table.contains("# sched:sched_process_exec, every event: 1 sample"), "{table}");
    let stdin = std::fs::File::open(&file).unwrap();
    let mut perf = Command::new("perf");
    match perf.args(["script", "-F", "event", "-i", "-"]).stdin(stdin).output() {
        Ok(theirs) => {
            let theirs = lines(&theirs.stdout);
            assert_eq!(ours, theirs.iter().map(|line| line.trim()).collect::<Vec<_>>());
        }
        Err(error) => eprintln!("skipped comparing: perf is not there: {error}"),
    }
}

/// A recording as perf of Linux 2.6.31 to 3.4 wrote it: another magic, the
/// first attr that there was, maybe no place for features.
fn of_first_version(file: &Path, has_features: bool) -> Vec<u8> {
    const ENTRY: usize = 64 + 16;
    let mut bytes = std::fs::read(file).unwrap();
    let word = |bytes: &[u8], at: usize| {
        usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())).unwrap()
    };
    let (entry, start, size) = (word(&bytes, 16), word(&bytes, 24), word(&bytes, 32));
    let mut shorter = Vec::new();
    for attr in bytes[start..start + size].chunks_exact(entry) {
        let (attr, ids) = attr.split_at(entry - 16);
        assert!(attr[64..].iter().all(|byte| *byte == 0), "a field of its own time");
        shorter.extend([&attr[..4], &64u32.to_le_bytes(), &attr[8..64], ids].concat());
    }
    assert_eq!(shorter.len() % ENTRY, 0);
    bytes[start..start + shorter.len()].copy_from_slice(&shorter);
    bytes[..8].copy_from_slice(b"PERFFILE");
    bytes[16..24].copy_from_slice(&(ENTRY as u64).to_le_bytes());
    bytes[32..40].copy_from_slice(&(shorter.len() as u64).to_le_bytes());
    if !has_features {
        bytes[8..16].copy_from_slice(&72u64.to_le_bytes());
    }
    bytes
}

#[test]
fn recordings_of_the_first_version_are_read() {
    let file = fixtures().join("group_desc-4.14.file.data");
    let folder = tempfile::tempdir().unwrap();
    for has_features in [true, false] {
        let old = folder.path().join("old.data");
        std::fs::write(&old, of_first_version(&file, has_features)).unwrap();
        let (then, now) = (ebs(&["script"], &old), ebs(&["script"], &file));
        let said = String::from_utf8_lossy(&then.stderr).into_owned();
        assert!(then.status.success(), "{said}");
        assert!(lines(&now.stdout).len() > 10);
        if has_features {
            assert_eq!(lines(&then.stdout), lines(&now.stdout));
        }
        match perf(&[], "comm,tid,time,period,event,ip,dso", &old) {
            Some(theirs) => {
                let ours = ebs(&["script", "-F", "comm,tid,time,period,event,ip,dso"], &old);
                assert_eq!(lines(&ours.stdout), lines(&theirs.stdout), "{has_features}");
            }
            None => eprintln!("skipped comparing: perf is not there"),
        }
    }
}

#[test]
fn every_recording_that_perf_reads_is_printed_alike() {
    for options in [&[][..], &["-G"]] {
        let (mut files, mut alike, mut unwound, mut older) = (0, 0, 0, 0);
        let mut refused = std::collections::BTreeMap::<String, usize>::new();
        for file in recordings() {
            let mut compared = compare(&file, options);
            if let Compared::Refused(_) = compared
                && let Some(copy) = for_older_perf(&file)
            {
                compared = compare(copy.path(), options);
                older += 1;
            }
            match compared {
                Compared::Alike(lines) => {
                    files += 1;
                    alike += lines;
                }
                Compared::Unwound(lines) => {
                    unwound += 1;
                    alike += lines;
                }
                Compared::Refused(why) => *refused.entry(why).or_default() += 1,
                Compared::NoPerf => {
                    eprintln!("skipped: perf is not there");
                    return;
                }
            }
        }
        assert!(files >= 3, "perf reads {files} files");
        eprintln!(
            "{options:?}: {alike} lines of {files} files alike, and of {unwound} but for frames \
             that perf unwinds; {older} were written anew for this perf; it refuses {refused:#?}"
        );
    }
}

/// Text records of whatever was recorded: each line has a value a column,
/// and the instruction pointers are those of the other form.
#[test]
fn every_recording_has_text_records() {
    let (mut files, mut records) = (0, 0);
    for file in recordings() {
        let (text, ips) = (
            ebs(&["script", "--format", "hardmeter"], &file),
            ebs(&["script", "-GF", "ip"], &file),
        );
        let (text, said) = (lines(&text.stdout), String::from_utf8_lossy(&ips.stderr).into_owned());
        let name = file.display();
        let mut columns = 0;
        let mut pointers = Vec::new();
        for line in &text {
            let values: Vec<&str> = line.split(' ').collect();
            if line.starts_with('#') {
                columns = values.len();
                assert_eq!((values[1], values[columns - 1]), ("linear_ip", "misc"), "{name}");
                continue;
            }
            assert_eq!(values.len(), columns, "{name}: {line}");
            let pointer = values[1].trim_start_matches('0');
            pointers.push(if pointer.is_empty() { "0" } else { pointer }.to_owned());
        }
        records += pointers.len();
        let ips = lines(&ips.stdout);
        let mut ips: Vec<&str> = ips.iter().map(|line| line.trim()).collect();
        assert!(pointers.len() <= ips.len(), "{name}");
        // Groups that are read have a line a member.
        ips.dedup();
        pointers.dedup();
        assert_eq!(pointers, ips, "{name}: {said}");
        files += 1;
    }
    eprintln!("{records} text records of {files} files");
}

/// What `script` prints as text records, `report`, `script` and `convert` read.
#[test]
fn text_records_are_read_like_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let [text, data] = ["it.1", "it.data"].map(|name| folder.path().join(name));
    for name in ["weight_struct-5.17.file", "page_faults-6.1.pipe", "group_read-6.1.file"] {
        let file = fixtures().join(format!("{name}.data"));
        let written = ebs(&["script", "--format", "text"], &file).stdout;
        std::fs::write(&text, &written).unwrap();
        let converted = ebs(&["convert", text.to_str().unwrap()], &data);
        assert!(converted.status.success(), "{}", String::from_utf8_lossy(&converted.stderr));
        for of in [&text, &data] {
            let again = ebs(&["script", "--format", "text"], of);
            assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
            assert!(again.stdout == written, "{name}: {}", of.display());
            let report = ebs(&["report", "--csv", "--by", "tid"], of);
            let report = lines(&report.stdout);
            let header: Vec<&str> = report[0].split(',').map(|it| it.trim_matches('"')).collect();
            let at = header.iter().position(|it| *it == "count").unwrap();
            let counts = report[1..].iter().map(|row| row.split(',').nth(at).unwrap());
            let sum: usize = counts.map(|it| it.trim_matches('"').parse::<usize>().unwrap()).sum();
            let records = lines(&written).iter().filter(|line| !line.starts_with('#')).count();
            assert_eq!(sum, records, "{name}: {report:#?}");
        }
    }
    std::fs::write(&text, "#eflags linear_ip eax\n00000246 c01158f4 0000002a\n0 main 0\n").unwrap();
    let report = ebs(&["report", "--by", "ip"], &text);
    let (table, said) = [report.stdout, report.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .into();
    assert_eq!(report.status.code(), Some(1), "{said}");
    assert!(table.contains("c01158f4"), "{table}");
    assert!(said.contains("line 3, column linear_ip: \"main\""), "{said}");
}

#[test]
fn records_of_virtual_machines_are_left_out_of_both_forms_and_counted() {
    let mut bytes = std::fs::read(fixtures().join("page_faults-6.1.pipe.data")).unwrap();
    let (mut at, mut samples) = (16, 0);
    while at < bytes.len() {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let (kind, size) = (half(at), usize::from(half(at + 6)));
        if kind == 9 {
            samples += 1;
            // PERF_RECORD_MISC_GUEST_USER, and GUEST_KERNEL.
            bytes[at + 4] = [5, 4].get(samples).copied().unwrap_or(bytes[at + 4]);
        }
        at += size;
    }
    let folder = tempfile::tempdir().unwrap();
    let guests = folder.path().join("guests.data");
    std::fs::write(&guests, &bytes).unwrap();
    for form in ["perf", "text"] {
        let printed = |more: &[&str]| {
            let words = [&["script", "-F", "ip", "--format", form], more].concat();
            let out = ebs(&words, &guests);
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            (lines(&out.stdout).iter().filter(|line| !line.starts_with('#')).count(), said)
        };
        let (some, said) = printed(&[]);
        assert_eq!(some, samples - 1, "{form}: {said}");
        assert!(said.contains("1 records of virtual machines are left out"), "{said}");
        assert_eq!(printed(&["--guest"]).0, samples, "{form}");
    }
}

/// The pipeline of old, on what perf recorded with registers of user space
/// and call chains.
#[test]
fn text_records_go_through_the_pipeline_of_old() {
    let file = fixtures().join("group_read-6.1.file.data");
    let run = |pipeline: &str| {
        let shell = Command::new("bash")
            .args(["-o", "pipefail", "-euc", pipeline])
            .env("EBS", std::env::var("CARGO_BIN_EXE_ebs").unwrap())
            .env("EIP2R", std::env::var("CARGO_BIN_EXE_eip2r").unwrap())
            .env("FILE", &file)
            .output()
            .unwrap();
        assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
        lines(&shell.stdout)
    };
    let text = run("$EBS script --format hardmeter $FILE");
    assert_eq!(text[0], "#rflags linear_ip rax rbx rsp tid time pid misc");
    let user: Vec<&String> = text.iter().filter(|line| line.ends_with("2")).collect();
    assert!(!user.is_empty() && user.iter().all(|line| !line.contains("--")), "{user:#?}");
    let kernel: Vec<&String> = text.iter().filter(|line| line.ends_with("1")).collect();
    assert!(!kernel.is_empty() && kernel.iter().all(|line| line.starts_with("--")), "{kernel:#?}");

    let list = "printf 'ffffffff81000000 T _text\\nffffffff81b73418 T touched\\n'";
    let maps = format!("$EIP2R -p 2 --kaslr-offset 0 -s <({list})");
    let counted = run(&format!(
        "$EBS script --format hardmeter $FILE | {maps} 2>/dev/null | sort | uniq -c | sort -n"
    ));
    let sum: usize = counted
        .iter()
        .filter(|line| !line.contains('#'))
        .filter_map(|line| line.split_whitespace().next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(sum, text.len() - 1, "{counted:#?}");
    assert!(counted.iter().any(|line| line.contains("touched")), "{counted:#?}");
}

#[test]
fn a_file_on_stdin_is_read_as_a_file() {
    let path = fixtures().join("group_desc-4.14.file.data");
    let report = |stdin: std::process::Stdio| {
        let mut ebs = Command::new(std::env::var("CARGO_BIN_EXE_ebs").unwrap());
        let out = ebs.args(["report", "-"]).stdin(stdin).output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    let expected = String::from_utf8_lossy(&ebs(&["report"], &path).stdout).into_owned();
    assert!(expected.contains("cache-references"), "{expected}");
    let file = || std::fs::File::open(&path).unwrap();
    assert_eq!(report(file().into()), expected);
    let piped = std::process::Stdio::piped();
    let mut cat = Command::new("cat").stdin(file()).stdout(piped).spawn().unwrap();
    assert_eq!(report(cat.stdout.take().unwrap().into()), expected);
    cat.wait().unwrap();
}

#[test]
fn several_events_are_reported_by_name() {
    let out = ebs(&["report", "--by", "comm"], &fixtures().join("group_desc-4.14.file.data"));
    let table = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    for name in ["cache-references", "branch-misses"] {
        assert!(table.contains(name), "{name} is not in\n{table}");
    }
}

#[test]
fn a_file_that_is_cut_is_reported_and_said_to_be() {
    let whole = std::fs::read(fixtures().join("group_desc-4.14.file.data")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.data");
    std::fs::write(&cut, &whole[..4000]).unwrap();
    let out = ebs(&["script"], &cut);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("truncated: "), "{said}");
}
