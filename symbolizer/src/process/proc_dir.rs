//! What /proc says of processes that still live.

use perfdata::Pid;
use std::path::{Path, PathBuf};

/// `root`/proc/PID.
pub(crate) fn directory(root: &Path, pid: Pid) -> PathBuf {
    root.join("proc").join(pid.to_string())
}

/// `root`/proc/PID/root.
pub(crate) fn root_of(directory: &Path) -> PathBuf {
    directory.join("root")
}

/// What /proc says of a living process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcStatus {
    /// The user that files it makes belong to (its fsuid), as we see it.
    pub(crate) uid: u32,
    /// Its number as it sees itself: in the innermost pid namespace.
    pub(crate) inner: u32,
    /// When it began, nanoseconds since boot.
    pub(crate) began: u64,
}

impl ProcStatus {
    /// `directory`: /proc/PID.
    pub(crate) fn read(directory: &Path) -> Option<ProcStatus> {
        let status = std::fs::read_to_string(directory.join("status")).ok()?;
        let last = |key: &str| -> Option<u32> {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_ascii_whitespace().last()?.parse().ok()
        };
        let stat = std::fs::read(directory.join("stat")).ok()?;
        let began = began(&stat)?;
        // Kernels before 4.1 do not tell NSpid.
        let inner = last("NSpid:").or_else(|| last("Tgid:"))?;
        Some(ProcStatus { uid: last("Uid:")?, inner, began })
    }
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
