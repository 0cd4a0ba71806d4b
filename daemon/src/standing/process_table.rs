//! What runs now: names and mappings of processes, kept up to date from the
//! stream's own records. So a segment can say what was there when it was
//! begun, without a look at anybody's process.

use std::collections::BTreeMap;
use std::sync::Arc;

use perfdata::RecordType;
use perfdata::stream::write;
use recorder::sys::event::NATIVE_ORDER;
use rustc_hash::FxHashMap;

use crate::worker::chunk::{Chunk, record_type, word};

/// PERF_RECORD_MISC_COMM_EXEC: the process has become another program.
const EXEC: u16 = 1 << 13;
/// The kernel's mappings have this process id.
const KERNEL: i32 = -1;
/// Bytes of a piece of a description.
const PIECE: usize = 256 * 1024;

/// By their first address.
type Mappings = BTreeMap<u64, Mapped>;

#[derive(Clone, Debug)]
struct Mapped {
    /// Behind its last address.
    end: u64,
    /// Its place among all that were noticed.
    sequence: u64,
    record: Arc<[u8]>,
}

#[derive(Debug, Default)]
pub(crate) struct ProcessTable {
    processes: FxHashMap<i32, Process>,
    sequence: u64,
}

#[derive(Clone, Debug, Default)]
struct Process {
    /// COMM records, where one came.
    threads: FxHashMap<i32, Option<Arc<[u8]>>>,
    /// Shared between a process and its children, until one changes its own.
    mappings: Arc<Mappings>,
}

fn number(record: &[u8], at: usize) -> Option<i32> {
    record.get(at..at + 4)?.try_into().ok().map(i32::from_ne_bytes)
}

impl ProcessTable {
    pub(crate) fn notice(&mut self, chunk: &Chunk<'_>) {
        if chunk.side > 0 {
            for record in chunk.records() {
                // What is too short to say anything says nothing.
                let _short = self.record(record);
            }
        }
    }

    fn record(&mut self, record: &[u8]) -> Option<()> {
        match record_type(record) {
            RecordType::MMAP | RecordType::MMAP2 => {
                let (start, length) = (word(record, 16)?, word(record, 24)?);
                self.sequence += 1;
                let process = self.processes.entry(number(record, 8)?).or_default();
                let mappings = Arc::make_mut(&mut process.mappings);
                let end = start.saturating_add(length);
                unmap(mappings, start, end);
                mappings
                    .insert(start, Mapped { end, sequence: self.sequence, record: record.into() });
            }
            RecordType::COMM => {
                let misc = u16::from_ne_bytes(record.get(4..6)?.try_into().ok()?);
                let (pid, tid) = (number(record, 8)?, number(record, 12)?);
                let process = self.processes.entry(pid).or_default();
                if misc & EXEC != 0 {
                    *process = Process::default();
                }
                process.threads.insert(tid, Some(record.into()));
            }
            RecordType::FORK => {
                let (pid, parent) = (number(record, 8)?, number(record, 12)?);
                let (tid, of) = (number(record, 16)?, number(record, 20)?);
                let from = self.processes.get(&parent);
                let comm = from.and_then(|from| from.threads.get(&of).cloned().flatten());
                let mappings = from.map(|from| Arc::clone(&from.mappings)).unwrap_or_default();
                let process = self.processes.entry(pid).or_default();
                if pid != parent {
                    *process = Process { mappings, ..Process::default() };
                }
                process.threads.insert(tid, comm);
            }
            RecordType::EXIT => {
                let (pid, tid) = (number(record, 8)?, number(record, 16)?);
                let process = self.processes.get_mut(&pid)?;
                process.threads.remove(&tid);
                if process.threads.is_empty() && pid != KERNEL {
                    self.processes.remove(&pid);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Hands on records that describe them, in pieces; the last says that
    /// this is all.
    pub(crate) fn describe(&self, each: &mut dyn FnMut(&[u8])) {
        let mut out = Vec::new();
        for (pid, process) in &self.processes {
            let comms =
                process.threads.iter().filter_map(|(tid, comm)| Some((tid, comm.as_ref()?)));
            for (tid, comm) in comms {
                out.extend(owned(comm, *pid, *tid));
            }
            let mut mappings: Vec<&Mapped> = process.mappings.values().collect();
            mappings.sort_by_key(|mapped| mapped.sequence);
            for mapped in mappings {
                out.extend(owned(&mapped.record, *pid, *pid));
            }
            if out.len() >= PIECE {
                each(&out);
                out.clear();
            }
        }
        write::finished_init(NATIVE_ORDER, &mut out);
        each(&out);
    }
}

/// Another process's record as that of this task.
fn owned(record: &[u8], pid: i32, tid: i32) -> impl Iterator<Item = u8> {
    let ids = [pid.to_ne_bytes(), tid.to_ne_bytes()].concat();
    let (before, after) = (record.get(..8), record.get(16..));
    let parts = [before.unwrap_or_default().to_vec(), ids, after.unwrap_or_default().to_vec()];
    parts.into_iter().flatten()
}

/// What is mapped anew hides what it covers. What it covers in part stays
/// whole: records are given in their order, and so hide it for readers, too.
fn unmap(mappings: &mut Mappings, start: u64, end: u64) {
    let covered = mappings.range(start..end.max(start)).filter(|(_, mapping)| mapping.end <= end);
    let covered: Vec<u64> = covered.map(|(first, _)| *first).collect();
    for first in covered {
        mappings.remove(&first);
    }
}

#[cfg(test)]
mod tests {
    use perfdata::sideband::{FileIdentity, Mapping};
    use perfdata::{Misc, Pid, SidebandRecord, Task, Tid, Time};

    use super::*;

    fn task(pid: i32, tid: i32) -> Task {
        Task { pid: Pid(pid), tid: Tid(tid) }
    }

    fn stream(records: &[(SidebandRecord<'_>, u16)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (record, misc) in records {
            record.encode(Misc(*misc), &[0; 16], NATIVE_ORDER, &mut bytes).unwrap();
        }
        bytes
    }

    fn mapping(
        pid: i32,
        start: u64,
        length: u64,
        path: &'static [u8],
    ) -> (SidebandRecord<'static>, u16) {
        let record = SidebandRecord::Mmap2(Mapping {
            task: task(pid, pid),
            start,
            length,
            page_offset: 0,
            file: FileIdentity::Inode { major: 0, minor: 0, inode: 1, generation: 0 },
            protection: Some(5),
            flags: Some(2),
            path,
        });
        (record, 2)
    }

    fn comm(pid: i32, tid: i32, name: &'static [u8], misc: u16) -> (SidebandRecord<'static>, u16) {
        (SidebandRecord::Comm { task: task(pid, tid), name }, misc)
    }

    fn fork(child: Task, parent: Task) -> (SidebandRecord<'static>, u16) {
        (SidebandRecord::Fork { task: child, parent, time: Time(0) }, 0)
    }

    fn exit(pid: i32, tid: i32) -> (SidebandRecord<'static>, u16) {
        (SidebandRecord::Exit { task: task(pid, tid), parent: task(1, 1), time: Time(0) }, 0)
    }

    /// `pid/tid name` and `pid start path`, sorted.
    fn described(process_table: &ProcessTable) -> Vec<String> {
        let mut lines = Vec::new();
        process_table.describe(&mut |bytes| {
            for record in Chunk::new(bytes).records() {
                let name = |at: usize| {
                    let text = record[at..].split(|byte| *byte == 0).next().unwrap();
                    String::from_utf8_lossy(text).into_owned()
                };
                let (pid, tid) = (number(record, 8), number(record, 12));
                match record_type(record) {
                    RecordType::COMM => {
                        lines.push(format!("{}/{} {}", pid.unwrap(), tid.unwrap(), name(16)));
                    }
                    RecordType::MMAP2 => {
                        let start = word(record, 16).unwrap();
                        lines.push(format!("{} {start:x} {}", pid.unwrap(), name(72)));
                    }
                    _ => lines.push("end".into()),
                }
            }
        });
        assert_eq!(lines.pop().unwrap(), "end");
        lines.sort();
        lines
    }

    #[test]
    fn births_deaths_and_new_programs_are_followed() {
        let mut process_table = ProcessTable::default();
        let mut notice = |records: &[(SidebandRecord<'_>, u16)]| {
            process_table.notice(&Chunk::new(&stream(records)));
            described(&process_table)
        };
        let first = [
            comm(7, 7, b"shell", 0),
            comm(7, 8, b"helper", 0),
            mapping(7, 0x1000, 0x1000, b"/bin/sh"),
            mapping(-1, 0xffff_0000, 0x1000, b"kernel"),
        ];
        let all = ["-1 ffff0000 kernel", "7 1000 /bin/sh", "7/7 shell", "7/8 helper"];
        assert_eq!(notice(&first), all);
        let forked = notice(&[fork(task(9, 9), task(7, 8)), fork(task(7, 10), task(7, 7))]);
        let new = ["7/10 shell", "9 1000 /bin/sh", "9/9 helper"];
        assert!(new.iter().all(|line| forked.contains(&(*line).into())), "{forked:?}");
        let executed = notice(&[comm(9, 9, b"ls", EXEC), mapping(9, 0x1000, 0x500, b"/bin/ls")]);
        assert!(executed.contains(&"9 1000 /bin/ls".into()), "{executed:?}");
        assert!(executed.contains(&"7 1000 /bin/sh".into()), "the parent's stay: {executed:?}");
        let gone = notice(&[exit(9, 9), exit(7, 8), exit(7, 10)]);
        assert_eq!(gone, ["-1 ffff0000 kernel", "7 1000 /bin/sh", "7/7 shell"]);
        assert_eq!(notice(&[exit(7, 7), exit(1234, 1234)]), ["-1 ffff0000 kernel"]);
    }

    #[test]
    fn what_is_mapped_over_goes() {
        let mut process_table = ProcessTable::default();
        let records = [
            mapping(7, 0x1000, 0x1000, b"low"),
            mapping(7, 0x2000, 0x1000, b"covered"),
            mapping(7, 0x3000, 0x2000, b"in_part"),
            mapping(7, 0x1800, 0x2000, b"new"),
        ];
        process_table.notice(&Chunk::new(&stream(&records)));
        assert_eq!(described(&process_table), ["7 1000 low", "7 1800 new", "7 3000 in_part"]);
    }

    #[test]
    fn short_records_say_nothing() {
        let mut process_table = ProcessTable::default();
        for kind in [1u32, 3, 4, 7, 10] {
            let mut record = kind.to_ne_bytes().to_vec();
            record.extend([0, 0, 8, 0]);
            process_table.notice(&Chunk::new(&record));
        }
        assert_eq!(described(&process_table), [""; 0]);
    }
}
