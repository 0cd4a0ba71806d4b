//! Processes that ran before: whose mappings a stream has, and how the daemon
//! comes by them.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;
use tests::{Ebsd, Running, Scene, User, Workload, rights};

use super::raw::{Frame, Raw};

fn stage(scene: &Scene) {
    Workload::Sleeper.build(scene);
    scene.open_commands();
}

/// A sleeper that runs, whose mappings only its user sees.
fn sleeper(scene: &Scene, user: User) -> Running {
    let mut running = Running::start(&mut user.command(scene, scene.path("sleeper")));
    assert_eq!(running.hear(), "ready");
    running
}

/// Bytes of MMAP2 (10) records that name a file.
fn mappings_of(stream: &[u8], file: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let word = |at: usize| {
        let bytes = stream.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.and_then(|bytes| usize::try_from(u64::from_le_bytes(bytes)).ok()).unwrap_or(0)
    };
    // The header of a file says where its data stand, that of a stream is all
    // there is before them.
    let mut rest = match word(8) {
        16 => &stream[16..],
        _ => &stream[word(40)..word(40) + word(48)],
    };
    while let Some(size) = rest.get(6..8) {
        let size = usize::from(u16::from_le_bytes(size.try_into().unwrap()));
        let Some((record, after)) = rest.split_at_checked(size.max(8)) else { break };
        let names_it = record.windows(file.len()).any(|bytes| bytes == file.as_bytes());
        if record[..4] == [10, 0, 0, 0] && names_it {
            found.push(record.to_vec());
        }
        rest = after;
    }
    found
}

/// Data up to the first that names the file.
fn until_mapped(raw: &mut Raw, file: &str) -> Vec<u8> {
    let mut stream = Vec::new();
    loop {
        if let Frame::Data(more) = raw.hear().unwrap() {
            stream.extend(more);
            if !mappings_of(&stream, file).is_empty() {
                return stream;
            }
        }
    }
}

/// PERF_RECORD_MISC_MMAP_BUILD_ID.
const BUILD_ID: u16 = 1 << 14;

#[test]
fn who_joins_later_is_told_of_the_processes_too() {
    let test = "who_joins_later_is_told_of_the_processes_too";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    stage(&scene);
    let sleeper = sleeper(&scene, User::new(4002));
    let ebsd = Ebsd::start(&scene, "");
    let mut first = Raw::new(&ebsd.socket);
    let started = first.start("page_fault", sleeper.pid());
    let session = started["session"].as_u64().unwrap();
    let path = scene.path("sleeper");
    let path = path.to_str().unwrap();
    let of_first = mappings_of(&until_mapped(&mut first, path), path);
    let mut second = Raw::new(&ebsd.socket);
    let joined = second.ask(&json!({"verb": "attach", "session": session}));
    assert_eq!(joined["reply"], "joined", "{joined}");
    let of_second = mappings_of(&until_mapped(&mut second, path), path);
    assert_eq!(of_first, of_second);
    drop(first);
    sleeper.finish();
    let (_, end) = second.all();
    let (delivered, lost) = super::raw::sums(&end["client"]);
    assert_eq!(end["client"]["kernel"].as_u64(), Some(delivered + lost), "{end}");
    ebsd.end();
}

#[test]
fn no_file_of_a_target_is_opened() {
    let test = "no_file_of_a_target_is_opened";
    if !rights::root(test) || !rights::program(test, "strace") {
        return;
    }
    let scene = Scene::new();
    let config = "[[allow]]\ngroup = 4100\npermissions = [\"others_tasks\"]\n";
    let socket = scene.path("traced.sock");
    let config = scene.write("traced.toml", config);
    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    stage(&scene);
    let own = sleeper(&scene, User::new(4001));
    let others = sleeper(&scene, User::new(4002));
    let log = scene.path("calls");
    let mut strace = scene.command("strace");
    strace.args([
        "-f",
        "-y",
        "-s",
        "4096",
        "-e",
        "trace=open,openat,openat2,execve,perf_event_open",
        "-o",
    ]);
    strace.arg(&log).arg(tests::built::directory().join("ebsd"));
    let mut ebsd = Running::start(strace.arg("--socket").arg(&socket).arg("--config").arg(&config));
    ebsd.wait_until_listening(socket.as_ref());
    let member = User { group: Some(4100), ..User::new(4001) };
    for pid in [own.pid(), others.pid()] {
        let mut command = member.command(&scene, scene.path("bin/ebs"));
        command.args(["-u", "-t", "page_fault", "-i", "1", "-c", "1", "--daemon", "--socket"]);
        let file = scene.path(&format!("{pid}.data"));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::chown(&file, Some(4001), None).unwrap();
        command.arg(&socket).arg("-o").arg(&file).arg(pid.to_string());
        Running::start(&mut command).finish().success();
        let stream = fs::read(&file).unwrap();
        let mapped = mappings_of(&stream, "/sleeper");
        assert!(!mapped.is_empty(), "its program is mapped: {pid}");
        let has_id = |record: &Vec<u8>| u16::from_le_bytes([record[4], record[5]]) & BUILD_ID != 0;
        if kernel_tells_ids() {
            assert!(mapped.iter().any(has_id), "with its build id: {pid}");
        }
    }
    let traced: u32 = children(ebsd.pid())[0];
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(traced.cast_signed()).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    ebsd.finish();
    let calls = fs::read_to_string(&log).unwrap();
    let events = calls.lines().filter(|line| line.contains("perf_event_open(")).count();
    assert!(events > 4, "it was traced while it attached: {events}");
    let directory = scene.path("sleeper");
    let opened: Vec<&str> = calls
        .lines()
        .filter(|line| line.contains("open") && !line.contains("perf_event_open("))
        .filter(|line| {
            line.contains(directory.to_str().unwrap())
                || line.contains("/map_files/")
                || line.contains("/root/")
                || line.contains("/exe\"")
        })
        .collect();
    assert!(opened.is_empty(), "{opened:#?}");
    own.finish();
    others.finish();
}

/// PROCMAP_QUERY is of Linux 6.11.
fn kernel_tells_ids() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map_while(|word| word.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(11))
}

fn children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

#[test]
fn the_kernels_place_is_told_to_whom_it_is_granted() {
    let test = "the_kernels_place_is_told_to_whom_it_is_granted";
    if !rights::root(test) {
        return;
    }
    let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
    if symbols.starts_with("0000000000000000 ") || symbols.is_empty() {
        eprintln!("skipped {test}: /proc/kallsyms hides its addresses from root (kptr_restrict)");
        return;
    }
    if rights::paranoid() < 2 {
        eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "[[allow]]\ngroup = 4100\npermissions = [\"kernel\"]\n");
    let directory = scene.path("out");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    let text = symbols.lines().find(|line| line.ends_with(" _text")).unwrap();
    let text = u64::from_str_radix(text.split(' ').next().unwrap(), 16).unwrap();
    for (modes, is_told) in [("-k", true), ("-u", false)] {
        let member = User { group: Some(4100), ..User::new(4001) };
        let file = directory.join(format!("kernel{modes}.data"));
        let mut command = member.command(&scene, scene.path("bin/ebs"));
        command.args([modes, "-t", "page_fault", "-i", "1", "--daemon", "--socket"]);
        command.arg(&ebsd.socket).arg("-o").arg(&file).args(["ls", "/"]);
        Running::start(&mut command).finish().success();
        let stream = fs::read(&file).unwrap();
        let name = b"[kernel.kallsyms]_text";
        let at = stream.windows(name.len()).position(|bytes| bytes == name);
        assert_eq!(at.is_some(), is_told, "{modes}");
        // Of a MMAP record: pid, tid, start, length, page offset, name.
        if let Some(at) = at {
            let start = u64::from_le_bytes(stream[at - 24..at - 16].try_into().unwrap());
            assert_eq!(start, text);
        }
    }
    ebsd.end();
}
