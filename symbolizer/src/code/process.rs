//! Code in the memory of processes that still live.

use super::{Code, CodeError, LONGEST};
use crate::elf::head::bits_of;
use crate::file::{open_link, process};
use crate::maps;
use crate::object::is_anonymous;
use record::{Pid, Time};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Processes kept open; beyond, all are closed and those needed opened again.
const MOST_OPEN: usize = 64;
/// Bytes of /proc/PID/maps that are read.
const MOST_MAPS: u64 = 64 << 20;
/// `e_machine` is the half word at this offset in every ELF file.
const MACHINE_AT: u64 = 18;

/// Processes by pid.
#[derive(Debug, Default)]
pub(super) struct Processes {
    open: FxHashMap<Pid, Result<Process, CodeError>>,
}

/// One address space. The open file keeps it: another process of the same
/// pid, or another program of the same process, has another one.
#[derive(Debug)]
struct Process {
    memory: File,
    bits: u32,
    /// When it began, in nanoseconds since boot.
    began: u64,
    executable: Vec<Stretch>,
}

#[derive(Debug)]
struct Stretch {
    start: u64,
    end: u64,
    path: Box<[u8]>,
}

impl Processes {
    /// The code at `ip`, which a process mapped from `path`, or from no file
    /// at all, at that time.
    pub(super) fn code(
        &mut self,
        root: &Path,
        pid: Pid,
        (ip, time): (u64, Time),
        path: Option<&[u8]>,
    ) -> Result<Code, CodeError> {
        let directory = process(root, pid);
        let first = self.opened(pid, &directory)?.code(&directory, (ip, time), path);
        if first != Err(CodeError::Gone) {
            return first;
        }
        // It may have become another program, with other memory.
        self.open.remove(&pid);
        self.opened(pid, &directory)?.code(&directory, (ip, time), path)
    }

    /// Up to `length` bytes from `ip` on, and the width of the code.
    pub(super) fn text(
        &mut self,
        root: &Path,
        pid: Pid,
        (ip, time, length): (u64, Time, usize),
        path: Option<&[u8]>,
    ) -> Result<(Vec<u8>, u32), CodeError> {
        // What is sampled there must still be there.
        self.code(root, pid, (ip, time), path)?;
        let process = self.opened(pid, &process(root, pid))?;
        let end = process.holds(ip, path).ok_or(CodeError::Gone)?;
        let room = usize::try_from(end - ip).unwrap_or(length);
        let mut bytes = vec![0; length.min(room)];
        let read = process.memory.read_at(&mut bytes, ip).map_err(|_| CodeError::Gone)?;
        bytes.truncate(read);
        Ok((bytes, process.bits))
    }

    fn opened(&mut self, pid: Pid, directory: &Path) -> Result<&mut Process, CodeError> {
        if self.open.len() >= MOST_OPEN && !self.open.contains_key(&pid) {
            self.open.clear();
        }
        let open = self.open.entry(pid).or_insert_with(|| Process::open(directory));
        open.as_mut().map_err(|error| error.clone())
    }
}

impl Process {
    fn open(directory: &Path) -> Result<Process, CodeError> {
        let unreadable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => CodeError::Gone,
            _ => CodeError::Unreadable {
                what: "the memory of other processes".to_owned(),
                why: error.to_string(),
            },
        };
        let memory = File::open(directory.join("mem")).map_err(unreadable)?;
        let program = open_link(&directory.join("exe")).map_err(unreadable)?;
        let mut machine = [0; 2];
        program.read_exact_at(&mut machine, MACHINE_AT).map_err(unreadable)?;
        let machine = u16::from_le_bytes(machine);
        let file = directory.join("exe").display().to_string();
        let bits = bits_of(machine).ok_or(CodeError::Machine { file, machine })?;
        let stat = std::fs::read(directory.join("stat")).map_err(unreadable)?;
        let began = began(&stat).ok_or(CodeError::Gone)?;
        Ok(Process { memory, bits, began, executable: stretches(directory)? })
    }

    fn code(
        &mut self,
        directory: &Path,
        (ip, time): (u64, Time),
        path: Option<&[u8]>,
    ) -> Result<Code, CodeError> {
        // Samples are stamped by a clock that stands still while the machine
        // sleeps, and that drifts from the one of `began`.
        if self.began > time.0.saturating_add(time.0 >> 10).saturating_add(1_000_000_000) {
            return Err(CodeError::Gone);
        }
        if self.holds(ip, path).is_none() {
            // Mapped since. An ended process has no mappings any more.
            self.executable = stretches(directory)?;
        }
        let end = self.holds(ip, path).ok_or(CodeError::Gone)?;
        let length = usize::try_from(end - ip).unwrap_or(LONGEST).min(LONGEST);
        let mut bytes = [0; LONGEST];
        match self.memory.read_at(&mut bytes[..length], ip) {
            Ok(read) => Code::new(&bytes[..read], self.bits).ok_or(CodeError::Gone),
            Err(_) => Err(CodeError::Gone),
        }
    }

    /// The end of the stretch of executable memory that holds `ip`.
    fn holds(&self, ip: u64, path: Option<&[u8]>) -> Option<u64> {
        let found = self.executable.iter().find(|it| (it.start..it.end).contains(&ip))?;
        let shown = found.path.strip_suffix(b" (deleted)").unwrap_or(&found.path);
        // Memory without a file goes by many names; a file by its own only.
        let is_same = path.map_or_else(|| is_anonymous(shown), |path| path == shown);
        is_same.then_some(found.end)
    }
}

fn stretches(directory: &Path) -> Result<Vec<Stretch>, CodeError> {
    use std::io::Read;
    let file = File::open(directory.join("maps")).map_err(|_| CodeError::Gone)?;
    let mut text = Vec::new();
    file.take(MOST_MAPS).read_to_end(&mut text).map_err(|_| CodeError::Gone)?;
    let entries = maps::parse(&text).map_err(|error| CodeError::Unreadable {
        what: directory.join("maps").display().to_string(),
        why: error.to_string(),
    })?;
    let executable = entries.into_iter().filter(|entry| entry.permissions[2] == b'x');
    Ok(executable
        .map(|entry| Stretch { start: entry.start, end: entry.end, path: entry.path.into() })
        .collect())
}

/// Field 22 of /proc/PID/stat (proc_pid_stat(5)), in nanoseconds since boot.
pub(crate) fn began(stat: &[u8]) -> Option<u64> {
    // The command, field 2, may hold blanks and brackets.
    let after = &stat[memchr::memrchr(b')', stat)? + 1..];
    let ticks = std::str::from_utf8(after).ok()?.split_ascii_whitespace().nth(19)?;
    let ticks: u64 = ticks.parse().ok()?;
    let per_second = rustix::param::clock_ticks_per_second();
    Some(ticks.saturating_mul(1_000_000_000 / per_second.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_found_behind_any_command() {
        let tail = "S 1 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 250 1 1";
        for command in ["cat", "a b", ") S 1 (", ""] {
            let stat = format!("7 ({command}) {tail}");
            let second = rustix::param::clock_ticks_per_second();
            assert_eq!(began(stat.as_bytes()), Some(250 * (1_000_000_000 / second)), "{command}");
        }
        for bad in ["", "7 (cat", "7 (cat) S 1"] {
            assert_eq!(began(bad.as_bytes()), None);
        }
    }
}
