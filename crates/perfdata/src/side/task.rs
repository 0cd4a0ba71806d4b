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
mod tests;
