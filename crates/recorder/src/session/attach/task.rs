//! What /proc says of one task.

use std::path::Path;
use std::{fs, io};

/// PF_KTHREAD of include/linux/sched.h, in the flags of /proc/TID/stat.
const KERNEL_THREAD: u64 = 0x0020_0000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskState {
    pub(super) leader: i32,
    /// Zombie, or gone further.
    pub(super) dead: bool,
    pub(super) kernel_thread: bool,
    /// Thread id of its tracer, 0: none.
    pub(super) tracer: i32,
}

impl TaskState {
    /// Reads it; None: there is no such task.
    pub(super) fn read(proc: &Path, tid: i32) -> io::Result<Option<TaskState>> {
        let directory = proc.join(tid.to_string());
        let Some(stat) = text(&directory.join("stat"))? else { return Ok(None) };
        let Some(status) = text(&directory.join("status"))? else { return Ok(None) };
        Ok(parse(&stat, &status))
    }
}

fn parse(stat: &str, status: &str) -> Option<TaskState> {
    // The name in parentheses may hold anything, parentheses too.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let letter = fields.next()?.chars().next()?;
    // State is field 3, flags field 9 [proc_pid_stat(5)].
    let flags: u64 = fields.nth(5)?.parse().ok()?;
    let number = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().parse().ok()
    };
    Some(TaskState {
        leader: number("Tgid:")?,
        dead: matches!(letter, 'Z' | 'X' | 'x'),
        kernel_thread: flags & KERNEL_THREAD != 0,
        tracer: number("TracerPid:").unwrap_or(0),
    })
}

/// Whether the task sleeps where signals reach it, is stopped, or has ended:
/// copy_process() (kernel/fork.c) does none of these. A tracing stop does not
/// count: it may be the one at a clone's end.
pub(super) fn is_at_rest(proc: &Path, tid: i32) -> io::Result<bool> {
    let Some(stat) = text(&proc.join(tid.to_string()).join("stat"))? else { return Ok(true) };
    Ok(rests(&stat))
}

fn rests(stat: &str) -> bool {
    let letter = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    letter.is_some_and(|letter| matches!(letter, 'S' | 'T' | 'I' | 'Z' | 'X' | 'x'))
}

/// Nanoseconds that the task has been on a CPU, as far as the scheduler has
/// accounted (each tick and switch); None: no such task, or no schedstat.
pub(super) fn time_on_cpu(proc: &Path, tid: i32) -> Option<u64> {
    let path = proc.join(tid.to_string()).join("schedstat");
    text(&path).ok()??.split_ascii_whitespace().next()?.parse().ok()
}

/// Task ids that `directory` (/proc/PID/task) lists; none when it is gone.
pub(super) fn list(directory: &Path) -> io::Result<Vec<i32>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(e) if is_gone(&e) => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut tids = Vec::new();
    for entry in entries {
        match entry {
            Ok(entry) => {
                tids.extend(entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()))
            }
            Err(e) if is_gone(&e) => break,
            Err(e) => return Err(e),
        }
    }
    Ok(tids)
}

fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(e) if is_gone(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "12 (a) R (b) S 1 12 12 0 -1 4194560 100 0 0 0 0 0 0 0 20 0 1 0 5 0 0";
        let status = "Name:\ta) R (b\nTgid:\t12\nTracerPid:\t7\n";
        let state = parse(stat, status).unwrap();
        assert_eq!((state.leader, state.tracer), (12, 7));
        assert!(rests(stat) && !state.dead && !state.kernel_thread);
    }

    #[test]
    fn a_running_task_and_a_kernel_thread_are_told_apart() {
        let stat = "2 (kthreadd) R 0 0 0 0 -1 2129984 0 0";
        let state = parse(stat, "Tgid: 2\n").unwrap();
        assert!(state.kernel_thread && !rests(stat));
        assert!(!rests("5 (x) t 1"), "a tracing stop may end a clone");
        assert_eq!(parse("2 (x", ""), None);
    }

    #[test]
    fn this_task_is_there_and_an_unused_number_is_not() {
        let proc = Path::new("/proc");
        let me = i32::try_from(std::process::id()).unwrap();
        assert_eq!(TaskState::read(proc, me).unwrap().unwrap().leader, me);
        assert_eq!(TaskState::read(proc, i32::MAX).unwrap(), None);
        assert!(list(&proc.join("self/task")).unwrap().contains(&me));
        assert_eq!(list(Path::new("/proc/2147483647/task")).unwrap(), Vec::<i32>::new());
    }
}
