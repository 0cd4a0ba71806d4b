//! A command that waits between fork and exec, so that events can be opened
//! on it first.

mod entry;
mod release_pipe;

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io::{self, PipeReader, Read, pipe};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use perfdata::Pid;
use rustix::fs::Stat;
use rustix::process::{
    PidfdFlags, WaitId, WaitIdOptions, WaitIdStatus, getegid, geteuid, pidfd_open, waitid,
};

use crate::sys::spawn::{ChildPipes, ExecImage, fork};
use release_pipe::{ReleasePipe, release_pipes};

/// Where execvp(3) looks when PATH is unset.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("no command given: put one after `--`")]
    Empty,
    #[error("{word:?} holds a zero byte, which no program can be given")]
    ZeroByte { word: OsString },
    /// ENOENT: nowhere on PATH, or no such file. Shells exit with 127.
    #[error("{program}: command not found{place}; check the name, or give the path", place = searched(.program))]
    NotFound { program: String },
    /// ENOENT of a file that is there.
    #[error(
        "{program}: its interpreter is missing: see its first line (#!), or `file` for the loader of \
         a binary"
    )]
    NoInterpreter { program: String },
    #[error("{program} is a directory: give the program in it")]
    Directory { program: String },
    /// EACCES. Shells exit with 126.
    #[error(
        "{program}: found, but not executable by this user; check its mode (ls -l) and mount options"
    )]
    NotExecutable { program: String },
    /// Any other errno of execve(2).
    #[error("{program} cannot be run: {error}")]
    Exec { program: String, error: io::Error },
    #[error("{program} cannot be stopped where it begins: {error}{advice}", advice = entry::advice(.error))]
    Stop { program: String, error: io::Error },
    /// fork, pipe or pidfd failed. A child that is killed before its exec is
    /// no such error: its [`CommandStatus`] tells.
    #[error("no process could be started for {program}: {error}{advice}", advice = raise_limit(.error))]
    Fork { program: String, error: io::Error },
}

fn searched(program: &str) -> &'static str {
    if program.contains('/') { "" } else { " in PATH" }
}

/// EMFILE has a way out.
fn raise_limit(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => ": raise the limit with `ulimit -n`",
        _ => "",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandStatus {
    /// With this status, 0 to 255.
    Exited(i32),
    Killed(i32),
}

impl CommandStatus {
    /// The status a shell would give: 128 + signal when killed.
    pub fn code(self) -> i32 {
        match self {
            CommandStatus::Exited(status) => status,
            CommandStatus::Killed(signal) => 128 + signal,
        }
    }
}

/// A command, forked and not yet its program; or running after
/// [`Command::release`]. Dropped before that, it never runs.
#[derive(Debug)]
pub struct Command {
    program: String,
    pid: Pid,
    pidfd: OwnedFd,
    release_pipe: Option<ReleasePipe>,
    failure: PipeReader,
    status: Option<CommandStatus>,
    /// A tracer of this process waits for it in our place.
    traced: bool,
    changes_user: bool,
    /// It stands behind its exec, stopped by this thread.
    entered: bool,
    /// The file that its name most likely means.
    file: Option<PathBuf>,
}

impl Command {
    /// Forks a child that waits to become `words`. Its stdin, stdout,
    /// stderr, signal mask (the calling thread's) and ignored signals are
    /// ours; fork before changing any of them. What is plainly no program is
    /// refused here, before anything is written in its name; execve(2) has
    /// the last word in [`release`](Command::release).
    pub fn hold(words: &[OsString]) -> Result<Command, CommandError> {
        Command::hold_with(words, &[])
    }

    /// The same, with more `NAME=VALUE` in its environment.
    pub fn hold_with(words: &[OsString], variables: &[OsString]) -> Result<Command, CommandError> {
        let (first, _) = words.split_first().ok_or(CommandError::Empty)?;
        let arguments = words.iter().map(|w| c_string(w)).collect::<Result<Vec<_>, _>>()?;
        let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        let candidates = candidates(first, &path)?;
        let program = first.to_string_lossy().into_owned();
        let file = first_executable(&candidates);
        let files: Vec<ExecCandidate> =
            candidates.iter().filter_map(|path| ExecCandidate::at(path)).collect();
        match files.iter().map(|file| file.mode).reduce(|one, other| one | other) {
            None => return Err(CommandError::NotFound { program }),
            Some(mode) if mode & libc::S_IFMT == libc::S_IFDIR => {
                return Err(CommandError::Directory { program });
            }
            Some(mode) if mode & 0o111 == 0 => return Err(CommandError::NotExecutable { program }),
            Some(_) => {}
        }
        let changes_user = files.iter().find_map(|file| file.changes_user).unwrap_or(false);
        let image = ExecImage::new(candidates, arguments, environment(variables)?);
        fork_held(&image)
            .map_err(|error| CommandError::Fork { program: program.clone(), error })
            .map(|(pid, pidfd, release_pipe, failure)| Command {
                program,
                pid: Pid(pid),
                pidfd,
                release_pipe: Some(release_pipe),
                failure,
                status: None,
                traced: false,
                changes_user,
                entered: false,
                file,
            })
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether the program is set-user-ID or set-group-ID of somebody else:
    /// the kernel ends all sampling of a task that executes such a file
    /// (begin_new_exec(), fs/exec.c).
    pub fn changes_user(&self) -> bool {
        self.changes_user
    }

    /// The file that a command's name most likely means, where there is one.
    pub fn look_up(name: &OsStr) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
        first_executable(&candidates(name, &path).ok()?)
    }

    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// A tracer, another thread of this process, waits for the child from now
    /// on: [`try_wait`](Command::try_wait) knows only what it is told.
    pub(crate) fn trace(&mut self) {
        self.traced = true;
    }

    /// The tracer has let go, or seen it end.
    pub(crate) fn untrace(&mut self, ended: Option<CommandStatus>) {
        self.status = self.status.or(ended);
        self.traced = false;
    }

    /// Lets the child exec, and returns once it has.
    pub fn release(&mut self) -> Result<(), CommandError> {
        if self.entered {
            return self.resume_untraced();
        }
        let Some(release_pipe) = self.release_pipe.take() else { return Ok(()) };
        release_pipe.release();
        let Some(errno) = self.failed_exec()? else { return Ok(()) };
        if !self.traced {
            self.wait()
                .map_err(|error| CommandError::Fork { program: self.program.clone(), error })?;
        }
        Err(self.exec_error(errno))
    }

    /// Waits for its exec: the errno, if that failed.
    fn failed_exec(&mut self) -> Result<Option<i32>, CommandError> {
        let mut errno = [0; 4];
        match self.failure.read_exact(&mut errno) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(CommandError::Fork { program: self.program.clone(), error }),
            Ok(()) => Ok(Some(i32::from_ne_bytes(errno))),
        }
    }

    fn exec_error(&self, errno: i32) -> CommandError {
        let program = self.program.clone();
        match errno {
            // That it is there was looked at before.
            libc::ENOENT => CommandError::NoInterpreter { program },
            libc::ENOTDIR => CommandError::NotFound { program },
            libc::EACCES => CommandError::NotExecutable { program },
            other => CommandError::Exec { program, error: io::Error::from_raw_os_error(other) },
        }
    }

    /// How it ended, if it has; never blocks. The child is reaped then.
    pub fn try_wait(&mut self) -> io::Result<Option<CommandStatus>> {
        self.reap(WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
    }

    pub fn wait(&mut self) -> io::Result<CommandStatus> {
        if self.traced && self.status.is_none() {
            return Err(rustix::io::Errno::CHILD.into());
        }
        loop {
            match self.reap(WaitIdOptions::EXITED) {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn reap(&mut self, options: WaitIdOptions) -> io::Result<Option<CommandStatus>> {
        if self.status.is_none() && !self.traced && !self.entered {
            self.status = waitid(WaitId::PidFd(self.pidfd.as_fd()), options)?.map(|s| status(&s));
        }
        Ok(self.status)
    }
}

impl AsFd for Command {
    /// A pidfd: readable once the command has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        // Without leave the child reads end of file and exits at once.
        if self.release_pipe.take().is_some() {
            let _reaped = self.wait();
        }
        if self.entered {
            self.end_unrun();
        }
    }
}

fn status(status: &WaitIdStatus) -> CommandStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => CommandStatus::Exited(code),
        (None, Some(signal)) => CommandStatus::Killed(signal),
        (None, None) => CommandStatus::Exited(0),
    }
}

type HeldChild = (i32, OwnedFd, ReleasePipe, PipeReader);

fn fork_held(image: &ExecImage) -> io::Result<HeldChild> {
    // Held until the child's ends are closed here: another child that keeps
    // a `failure` would hide that this one has exec'd.
    let mut release_pipes = release_pipes();
    let (leave_reader, release_pipe) = pipe()?;
    let (failure, failure_writer) = pipe()?;
    let release_writers = release_pipes.iter().copied().chain([release_pipe.as_raw_fd()]).collect();
    let pipes = ChildPipes {
        release_pipe: leave_reader.into(),
        failure: failure_writer.into(),
        release_writers,
    };
    let pid = fork(image, &pipes)?;
    drop(pipes);
    release_pipes.push(release_pipe.as_raw_fd());
    drop(release_pipes);
    let release_pipe = ReleasePipe::listed(release_pipe);
    // Not reaped yet, so the number still names our child.
    let raw = rustix::process::Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH)?;
    let pidfd = pidfd_open(raw, PidfdFlags::empty())?;
    Ok((pid, pidfd, release_pipe, failure))
}

fn c_string(word: &OsStr) -> Result<CString, CommandError> {
    CString::new(word.as_bytes()).map_err(|_| CommandError::ZeroByte { word: word.to_owned() })
}

/// Ours, with a variable in place of one of its name.
fn environment(variables: &[OsString]) -> Result<Option<Vec<CString>>, CommandError> {
    if variables.is_empty() {
        return Ok(None);
    }
    let name = |of: &OsString| of.as_bytes().split(|byte| *byte == b'=').next().map(<[u8]>::to_vec);
    let names: Vec<_> = variables.iter().filter_map(name).collect();
    let own = std::env::vars_os().filter(|(own, _)| !names.contains(&own.as_bytes().to_vec()));
    let own = own.map(|(mut both, value)| {
        both.push("=");
        both.push(value);
        both
    });
    let all = own.chain(variables.iter().cloned()).map(|both| c_string(&both));
    all.collect::<Result<_, _>>().map(Some)
}

/// The first of the files that are there and may be executed.
fn first_executable(candidates: &[CString]) -> Option<PathBuf> {
    let mut paths = candidates.iter().filter(|path| {
        ExecCandidate::at(path)
            .is_some_and(|file| file.mode & libc::S_IFMT == libc::S_IFREG && file.mode & 0o111 != 0)
    });
    paths.next().map(|path| PathBuf::from(OsStr::from_bytes(path.as_bytes())))
}

/// The paths execvp(3) would try: the word itself when it has a slash, else
/// one in each directory of `path`, an empty one being the current one.
fn candidates(program: &OsStr, path: &OsStr) -> Result<Vec<CString>, CommandError> {
    if program.is_empty() {
        return Ok(Vec::new());
    }
    if program.as_bytes().contains(&b'/') {
        return Ok(vec![c_string(program)?]);
    }
    path.as_bytes()
        .split(|&b| b == b':')
        .map(|directory| {
            let mut full = directory.to_vec();
            if !full.is_empty() {
                full.push(b'/');
            }
            full.extend_from_slice(program.as_bytes());
            c_string(OsStr::from_bytes(&full))
        })
        .collect()
}

/// What one of the paths that execvp(3) would try leads to.
#[derive(Clone, Copy, Debug)]
struct ExecCandidate {
    /// Type and permissions; all bits set where they cannot be looked at,
    /// which is for execve(2) to judge.
    pub(super) mode: u32,
    /// Whether it is set-user-ID or set-group-ID of somebody else.
    changes_user: Option<bool>,
}

impl ExecCandidate {
    /// None: there is no such file.
    fn at(path: &CStr) -> Option<ExecCandidate> {
        match rustix::fs::stat(path) {
            Ok(stat) => {
                Some(ExecCandidate { mode: stat.st_mode, changes_user: Some(changes_user(&stat)) })
            }
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => None,
            Err(_) => Some(ExecCandidate { mode: u32::MAX, changes_user: None }),
        }
    }
}

fn changes_user(stat: &Stat) -> bool {
    let set = |bit: u32| stat.st_mode & bit != 0;
    let user = set(libc::S_ISUID) && stat.st_uid != geteuid().as_raw();
    // Without the right to execute it marks mandatory locks.
    let group = set(libc::S_ISGID) && set(libc::S_IXGRP) && stat.st_gid != getegid().as_raw();
    user || group
}

#[cfg(test)]
mod tests;
