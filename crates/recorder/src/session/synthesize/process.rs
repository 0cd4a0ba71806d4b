//! Names and mappings of running processes.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use emulator::MappedRegion;
use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::{Misc, Pid, SidebandRecord, Task, Tid};

use super::Synthesizer;
use crate::sys::procmap;
use crate::{Cgroup, machine::build_id};

/// Files whose build id is remembered.
type BuildIds = HashMap<((u32, u32), u64), Option<Vec<u8>>>;

#[derive(Debug)]
pub(crate) struct Processes {
    left: Vec<i32>,
    build_ids: BuildIds,
}

impl Processes {
    pub(crate) fn all(proc: &Path) -> Processes {
        Processes { left: numbers(proc), build_ids: BuildIds::new() }
    }

    pub(crate) fn of(cgroup: &Cgroup) -> Processes {
        Processes { left: cgroup.processes(), build_ids: BuildIds::new() }
    }

    /// `pid` and what descends from it: a child that it made between being
    /// attached to and being enabled has events, but was not announced.
    pub(crate) fn tree(proc: &Path, pid: Pid) -> Processes {
        let all: Vec<(i32, i32)> = numbers(proc)
            .into_iter()
            .filter_map(|child| Some((child, parent(proc, child)?)))
            .collect();
        let mut tree = BTreeSet::from([pid.0]);
        // Parents can have higher numbers than their children: repeat.
        loop {
            let before = tree.len();
            tree.extend(
                all.iter().filter(|(_, p)| tree.contains(p)).map(|(c, _)| *c).collect::<Vec<_>>(),
            );
            if tree.len() == before {
                break;
            }
        }
        Processes { left: tree.into_iter().collect(), build_ids: BuildIds::new() }
    }

    /// Appends the records of one more process; false: there is none left. A
    /// process that ends meanwhile is described as far as it got.
    pub(crate) fn next(&mut self, synthesizer: &mut Synthesizer<'_>, out: &mut Vec<u8>) -> bool {
        let Some(pid) = self.left.pop() else { return false };
        let directory = synthesizer.proc.join(pid.to_string());
        for tid in numbers(&directory.join("task")) {
            let comm = directory.join("task").join(tid.to_string()).join("comm");
            let Ok(name) = fs::read(comm) else { continue };
            let task = Task { pid: Pid(pid), tid: Tid(tid) };
            let name = name.strip_suffix(b"\n").unwrap_or(&name);
            synthesizer.append(&SidebandRecord::Comm { task, name }, Misc(0), out);
        }
        self.mappings(pid, &directory, synthesizer, out);
        true
    }

    fn mappings(
        &mut self,
        pid: i32,
        directory: &Path,
        synthesizer: &mut Synthesizer<'_>,
        out: &mut Vec<u8>,
    ) {
        let Ok(maps) = synthesizer.proc_visibility.maps(directory, pid) else { return };
        if !synthesizer.proc_visibility.opens_files() {
            match describe_by_query(pid, &maps, synthesizer, out) {
                Ok(()) => return,
                // Before Linux 6.11 only the text tells, without build ids.
                Err(error) if error.raw_os_error() == Some(libc::ENOTTY) => {}
                Err(_) => return,
            }
        }
        for line in BufReader::new(maps).split(b'\n').map_while(Result::ok) {
            let Some(line) = MappedRegion::parse(&line) else { continue };
            if !(line.is_executable() || synthesizer.data_mappings) {
                continue;
            }
            let opens = synthesizer.proc_visibility.opens_files();
            let build_id = if opens { self.build_id(directory, &line) } else { None };
            let file = match &build_id {
                Some(id) => FileIdentity::BuildId(id),
                None => inode(&line),
            };
            mapping(pid, &line, file, synthesizer, out);
        }
    }

    fn build_id(&mut self, directory: &Path, line: &MappedRegion) -> Option<Vec<u8>> {
        if line.inode == 0 || !line.is_executable() || !line.path.starts_with(b"/") {
            return None;
        }
        let key = (line.device, line.inode);
        self.build_ids.entry(key).or_insert_with(|| build_id::read(&open(directory, line)?)).clone()
    }
}

/// Asks the kernel for one mapping after the other.
fn describe_by_query(
    pid: i32,
    maps: &File,
    synthesizer: &mut Synthesizer<'_>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut address = 0;
    while let Some((line, build_id)) = procmap::next(maps, address, !synthesizer.data_mappings)? {
        address = line.end;
        let file = match &build_id {
            Some(id) if line.is_executable() => FileIdentity::BuildId(id),
            _ => inode(&line),
        };
        mapping(pid, &line, file, synthesizer, out);
    }
    Ok(())
}

fn inode(line: &MappedRegion) -> FileIdentity<'static> {
    let (major, minor) = line.device;
    FileIdentity::Inode { major, minor, inode: line.inode, generation: 0 }
}

fn mapping(
    pid: i32,
    line: &MappedRegion,
    file: FileIdentity<'_>,
    synthesizer: &mut Synthesizer<'_>,
    out: &mut Vec<u8>,
) {
    if synthesizer.foreign.is_some_and(|foreign| line.path == foreign.as_bytes()) {
        return;
    }
    let flags = if line.shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    let record = SidebandRecord::Mmap2(Mapping {
        task: Task { pid: Pid(pid), tid: Tid(pid) },
        start: line.start,
        length: line.end.saturating_sub(line.start),
        page_offset: line.offset,
        file,
        protection: Some(line.protection),
        flags: Some(flags.cast_unsigned()),
        path: if line.path.is_empty() { b"//anon" } else { &line.path },
    });
    let data = if line.is_executable() { 0 } else { Misc::MMAP_DATA.0 };
    synthesizer.append(&record, Misc(USER | data), out);
}

/// PERF_RECORD_MISC_USER.
const USER: u16 = 2;

/// The mapped file itself, deleted or not, where map_files may be read;
/// else what has its path now in the process's root, if it is that file.
fn open(directory: &Path, line: &MappedRegion) -> Option<File> {
    let range = format!("{:x}-{:x}", line.start, line.end);
    if let Some(file) = open_plain(&directory.join("map_files").join(range)) {
        return Some(file);
    }
    let path = line.path.strip_prefix(b"/")?;
    let file = open_plain(&directory.join("root").join(OsStr::from_bytes(path)))?;
    (file.metadata().ok()?.ino() == line.inode).then_some(file)
}

/// Opening a pipe or a device could block, or do something.
fn open_plain(path: &Path) -> Option<File> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    File::open(path).ok()
}

/// The entries of a directory whose names are numbers.
fn numbers(directory: &Path) -> Vec<i32> {
    let entries = fs::read_dir(directory).into_iter().flatten().map_while(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Field 4 of /proc/PID/stat.
fn parent(proc: &Path, pid: i32) -> Option<i32> {
    let stat = fs::read(proc.join(pid.to_string()).join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}
