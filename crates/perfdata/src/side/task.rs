//! COMM, FORK, EXIT, SWITCH, NAMESPACES: names, births and deaths of tasks.

use super::fields::{Fields, put_string, put_task, put_words};
use super::{SideError, SideRecord};
use crate::bytes::ByteWriter;
use crate::header::RecordType;
use crate::units::{Pid, Task, Tid, Time};

/// One namespace of PERF_RECORD_NAMESPACES: net, uts, ipc, pid, user, mnt,
/// cgroup in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceLink {
    /// Device number of nsfs.
    pub device: u64,
    /// Inode number: the namespace's identity.
    pub inode: u64,
}

/// Bytes of one link.
const LINK: usize = 16;

pub(super) fn comm<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::Comm { task: fields.task()?, name: fields.string() })
}

pub(super) fn birth_or_death<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    let (pid, ppid) = (Pid(fields.i32("pid")?), Pid(fields.i32("ppid")?));
    let (tid, ptid) = (Tid(fields.i32("tid")?), Tid(fields.i32("ptid")?));
    let (task, parent) = (Task { pid, tid }, Task { pid: ppid, tid: ptid });
    let time = Time(fields.u64("time")?);
    Ok(match fields.kind() {
        RecordType::FORK => SideRecord::Fork { task, parent, time },
        _ => SideRecord::Exit { task, parent, time },
    })
}

pub(super) fn switch_cpu_wide<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::SwitchCpuWide {
        next_prev_pid: Pid(fields.i32("next_prev_pid")?),
        next_prev_tid: Tid(fields.i32("next_prev_tid")?),
    })
}

pub(super) fn namespaces<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    let task = fields.task()?;
    let count = fields.u64("nr_namespaces")?;
    // A count beyond the body fails at the first missing link; what is
    // reserved is bounded by the bytes that are there.
    let mut links =
        Vec::with_capacity(usize::try_from(count).unwrap_or(usize::MAX).min(fields.left() / LINK));
    for _ in 0..count {
        let device = fields.u64("dev")?;
        links.push(NamespaceLink { device, inode: fields.u64("inode")? });
    }
    Ok(SideRecord::Namespaces { task, links })
}

pub(super) fn encode_comm(
    w: &mut ByteWriter<'_>,
    task: Task,
    name: &[u8],
) -> Result<(), SideError> {
    put_task(w, task);
    put_string(w, RecordType::COMM, name)
}

pub(super) fn encode_birth_or_death(w: &mut ByteWriter<'_>, task: Task, parent: Task, time: Time) {
    w.i32(task.pid.0);
    w.i32(parent.pid.0);
    w.i32(task.tid.0);
    w.i32(parent.tid.0);
    w.u64(time.0);
}

pub(super) fn encode_namespaces(w: &mut ByteWriter<'_>, task: Task, links: &[NamespaceLink]) {
    put_task(w, task);
    w.u64(links.len() as u64);
    for link in links {
        put_words(w, &[link.device, link.inode]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteOrder;
    use crate::header::{Misc, RecordHeader};

    fn decode(kind: RecordType, body: &[u8]) -> Result<SideRecord<'_>, SideError> {
        let header = RecordHeader { kind, misc: Misc(0), size: 0 };
        SideRecord::decode(header, body, ByteOrder::Little)
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn task(pid: i32, tid: i32) -> Task {
        Task { pid: Pid(pid), tid: Tid(tid) }
    }

    #[test]
    fn comm_ends_at_its_nul() {
        let mut body = words(&[42, 43]);
        body.extend(b"a name\0\xff");
        let expected = SideRecord::Comm { task: task(42, 43), name: b"a name" };
        assert_eq!(decode(RecordType::COMM, &body), Ok(expected));
    }

    #[test]
    fn fork_and_exit_interleave_task_and_parent() {
        let body = words(&[10, 1, 11, 2, 99, 0]);
        let (task, parent, time) = (task(10, 11), task(1, 2), Time(99));
        let fork = SideRecord::Fork { task, parent, time };
        assert_eq!(decode(RecordType::FORK, &body), Ok(fork));
        let exit = SideRecord::Exit { task, parent, time };
        assert_eq!(decode(RecordType::EXIT, &body), Ok(exit));
    }

    #[test]
    fn switches() {
        assert_eq!(decode(RecordType::SWITCH, &[]), Ok(SideRecord::Switch));
        let body = words(&[7, 8]);
        let expected = SideRecord::SwitchCpuWide { next_prev_pid: Pid(7), next_prev_tid: Tid(8) };
        assert_eq!(decode(RecordType::SWITCH_CPU_WIDE, &body), Ok(expected));
    }

    #[test]
    fn namespaces_are_as_many_as_they_say() {
        let body = words(&[1, 2, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
        let links =
            vec![NamespaceLink { device: 3, inode: 4 }, NamespaceLink { device: 5, inode: 6 }];
        let expected = SideRecord::Namespaces { task: task(1, 2), links };
        assert_eq!(decode(RecordType::NAMESPACES, &body), Ok(expected));
    }

    #[test]
    fn a_count_beyond_the_record_neither_passes_nor_reserves() {
        let body = words(&[1, 2, u32::MAX, u32::MAX, 3, 0, 4, 0]);
        let Err(SideError::Short { field: "dev", .. }) = decode(RecordType::NAMESPACES, &body)
        else {
            panic!("decoded")
        };
    }
}
