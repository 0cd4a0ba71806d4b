//! Recordings as text records, and as tables.

use super::{ebs, fixtures, lines, recordings};
use std::process::Command;

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
