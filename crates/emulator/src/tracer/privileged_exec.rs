//! Programs that get rights by exec: set-user-ID, set-group-ID, with file
//! capabilities. The kernel gives them none while one without CAP_SYS_PTRACE
//! traces them (ptrace(2)): they are left before, to run as ever.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::engine::Engine;
use super::maps::PAGE;
use super::task::TaskError;
use crate::sys::ptrace::TraceeRegisters;
use crate::sys::remote;

const AT_FDCWD: u64 = 0xffff_ff9c;
/// PATH_MAX.
const PATH_MAX: usize = 4096;

impl Engine {
    /// A thread is about to exec; its state is in `guest`, at the
    /// instruction. True: it was left, and does it natively.
    pub(crate) fn left_for_privileges(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
    ) -> Result<bool, TaskError> {
        let Some(path) = program(tid, guest) else { return Ok(false) };
        if !raises_privileges(tid, &path) {
            return Ok(false);
        }
        let task = self.task(tid)?;
        let (pid, memory) = (task.pid, task.memory);
        let why = format!(
            "it went on to run {}, which gets rights of its own (set-user-ID or the like) only \
             when no one but root traces it",
            shown(&path)
        );
        self.account.not_followed.push((perfdata::Pid(pid), why));
        let sharing = self.tasks_of(memory);
        if sharing.iter().all(|tid| self.tasks.get(tid).is_some_and(|task| task.pid == pid)) {
            self.leave_memory(memory)?;
        } else {
            // A child of vfork(2): its memory is its maker's.
            self.leave_one(tid)?;
        }
        Ok(true)
    }
}

fn shown(path: &Path) -> String {
    let path = path.display().to_string();
    // Behind /proc, the number, and root or cwd.
    match path.splitn(5, '/').nth(4) {
        Some(name) if path.contains("/root/") => format!("/{name}"),
        Some(name) => name.to_owned(),
        None => path,
    }
}

/// Whether this process's traces leave programs the rights they get by exec.
pub(crate) fn keeps_privileges() -> bool {
    const SYS_PTRACE: u32 = 19;
    let text = fs::read("/proc/thread-self/status").unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok());
    bits.is_none_or(|bits| bits >> SYS_PTRACE & 1 == 1)
}

/// The file that a call of execve(2) or execveat(2) names, as we see it.
fn program(tid: i32, guest: &TraceeRegisters) -> Option<PathBuf> {
    let (directory, name) = match guest.rax.cast_signed() {
        libc::SYS_execve => (None, guest.rdi),
        // An int: the upper half means nothing.
        libc::SYS_execveat => (Some(guest.rdi & 0xffff_ffff), guest.rsi),
        _ => return None,
    };
    let directory = directory.filter(|number| *number != AT_FDCWD);
    let name = text(tid, name)?;
    if let Some(absolute) = name.strip_prefix(b"/") {
        return Some(Path::new(&format!("/proc/{tid}/root")).join(OsStr::from_bytes(absolute)));
    }
    let from = match directory {
        None => PathBuf::from(format!("/proc/{tid}/cwd")),
        Some(number) => PathBuf::from(format!("/proc/{tid}/fd/{number}")),
    };
    Some(if name.is_empty() { from } else { from.join(OsStr::from_bytes(&name)) })
}

fn text(tid: i32, at: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; PATH_MAX];
    // A read ends where memory does, which may be within the next page.
    let to_page = usize::try_from(PAGE - at % PAGE).ok()?;
    let mut read = remote::read(tid, at, bytes.get_mut(..to_page)?).ok()?;
    if read == to_page && to_page < PATH_MAX {
        read += remote::read(tid, at + PAGE - at % PAGE, bytes.get_mut(to_page..)?).unwrap_or(0);
    }
    let end = bytes.get(..read)?.iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    Some(bytes)
}

/// Whether a file gives its program rights that the task has not.
fn raises_privileges(tid: i32, path: &Path) -> bool {
    let (Ok(file), Ok(task)) = (fs::metadata(path), fs::metadata(format!("/proc/{tid}"))) else {
        return false;
    };
    let mut none = [0; 0];
    let capable = rustix::fs::getxattr(path, "security.capability", &mut none).is_ok();
    file.is_file() && (changes_user(file.mode(), file.uid(), file.gid(), &task) || capable)
}

/// Whether the bits of a file's mode make another user or group of the owner
/// of `/proc/TID`, which is the task's effective one.
fn changes_user(mode: u32, user: u32, group: u32, task: &Metadata) -> bool {
    const ISUID: u32 = 0o4000;
    /// Without the group's right to execute it means something else.
    const ISGID: u32 = 0o2010;
    mode & ISUID != 0 && user != task.uid() || mode & ISGID == ISGID && group != task.gid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_says_whose_rights_a_program_gets() {
        let own = fs::metadata("/proc/self").unwrap();
        let (user, group) = (own.uid(), own.gid());
        assert!(!changes_user(0o755, user + 1, group + 1, &own));
        assert!(changes_user(0o4755, user + 1, group, &own));
        assert!(!changes_user(0o4755, user, group, &own), "its own already");
        assert!(changes_user(0o2755, user, group + 1, &own));
        assert!(!changes_user(0o2745, user, group + 1, &own), "mandatory locking");
    }

    #[test]
    fn texts_end_where_they_do() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let path = std::ffi::CString::new("/bin/true").unwrap();
        assert_eq!(text(pid, path.as_ptr().addr() as u64), Some(b"/bin/true".to_vec()));
        assert_eq!(text(pid, 8), None);
    }
}
