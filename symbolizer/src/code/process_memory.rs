//! Code in the memory of processes that still live.

use super::{CodeError, MachineCode};
use crate::elf::head::bits_of;
use crate::files::opening::open_link;
use crate::process::maps;
use crate::process::objects::is_anonymous;
use crate::process::proc_dir::{self, began};
use perfdata::{Pid, Time};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Processes kept open; beyond, all are closed and those needed opened again.
const MOST_OPEN: usize = 64;
/// Bytes of /proc/PID/maps that are read.
const MOST_MAPS: u64 = 64 << 20;
/// `e_machine` is the half word at this offset in every ELF file.
const MACHINE_AT: u64 = 18;

#[derive(Debug, Default)]
pub(crate) struct ProcessMemories {
    open: FxHashMap<Pid, Result<Process, CodeError>>,
}

/// One address space. The open file keeps it: another process of the same
/// pid, or another program of the same process, has another one.
#[derive(Debug)]
struct Process {
    memory: File,
    /// `e_machine`: one of x86.
    machine: u16,
    /// When it began, in nanoseconds since boot.
    began: u64,
    executable: Vec<MappedCodeRange>,
}

#[derive(Debug)]
struct MappedCodeRange {
    start: u64,
    end: u64,
    path: Box<[u8]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessCode<'a> {
    pub(crate) pid: Pid,
    pub(crate) time: Time,
    /// What it was mapped from; None: no file at all.
    pub(crate) path: Option<&'a [u8]>,
}

impl ProcessMemories {
    /// The code in a stretch of run-time addresses; fewer bytes where its
    /// memory ends.
    pub(crate) fn read(
        &mut self,
        root: &Path,
        of: &ProcessCode<'_>,
        stretch: &Range<u64>,
    ) -> Result<MachineCode, CodeError> {
        let directory = proc_dir::directory(root, of.pid);
        let first = self.opened(of.pid, &directory)?.read(&directory, of, stretch);
        if first != Err(CodeError::Gone) {
            return first;
        }
        // It may have become another program, with other memory.
        self.open.remove(&of.pid);
        self.opened(of.pid, &directory)?.read(&directory, of, stretch)
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
        bits_of(machine).ok_or(CodeError::Machine { file, machine })?;
        let stat = std::fs::read(directory.join("stat")).map_err(unreadable)?;
        let began = began(&stat).ok_or(CodeError::Gone)?;
        Ok(Process { memory, machine, began, executable: stretches(directory)? })
    }

    fn read(
        &mut self,
        directory: &Path,
        of: &ProcessCode<'_>,
        stretch: &Range<u64>,
    ) -> Result<MachineCode, CodeError> {
        // Samples are stamped by a clock that stands still while the machine
        // sleeps, and that drifts from the one of `began`.
        if self.began > of.time.0.saturating_add(of.time.0 >> 10).saturating_add(1_000_000_000) {
            return Err(CodeError::Gone);
        }
        let start = stretch.start;
        if self.holds(start, of.path).is_none() {
            // Mapped since. An ended process has no mappings any more.
            self.executable = stretches(directory)?;
        }
        let end = self.holds(start, of.path).ok_or(CodeError::Gone)?.min(stretch.end);
        let length = usize::try_from(end.saturating_sub(start)).map_err(|_| CodeError::Gone)?;
        let mut bytes = vec![0; length];
        let read = self.memory.read_at(&mut bytes, start).map_err(|_| CodeError::Gone)?;
        bytes.truncate(read);
        match bytes.is_empty() {
            true => Err(CodeError::Gone),
            false => Ok(MachineCode { bytes, machine: self.machine }),
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

fn stretches(directory: &Path) -> Result<Vec<MappedCodeRange>, CodeError> {
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
        .map(|entry| MappedCodeRange {
            start: entry.start,
            end: entry.end,
            path: entry.path.into(),
        })
        .collect())
}
