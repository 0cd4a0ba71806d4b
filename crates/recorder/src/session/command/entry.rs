//! A command that is stopped behind its exec: where it has its program, and,
//! some instructions later, its libraries, can be told before it is sampled.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

#[cfg(target_arch = "x86_64")]
use emulator::ptrace::TraceeRegisters;
use emulator::ptrace::{self, TraceeStop};
use rustix::process::{Signal, kill_process};

use super::{Command, CommandError, CommandStatus};

/// The instruction that stops a traced task: int3.
const TRAP: u8 = 0xcc;
/// It stops at its exec, and ends with us until it is let go.
const STOPS_AT_EXEC: i32 = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
/// What exec failed with, for who waits for the child.
const UNRUN: CommandStatus = CommandStatus::Exited(127);

/// EPERM has a reason that can be told.
pub(super) fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS) => {
            " (ptrace is restricted here); say the address that it has under `setarch -R`"
        }
        _ => "",
    }
}

impl Command {
    /// Lets the child exec, and stops it before the first instruction behind
    /// that. Only this thread can [`release`](Command::release) it then; dropped
    /// before, or if this process ends, it is killed.
    ///
    /// # Errors
    /// It may not be traced; its exec failed.
    pub fn enter(&mut self) -> Result<(), CommandError> {
        let Some(release_pipe) = self.release_pipe.take() else { return Ok(()) };
        if let Err(error) = ptrace::seize(self.pid.0, STOPS_AT_EXEC) {
            self.release_pipe = Some(release_pipe);
            return Err(self.unstopped(error));
        }
        release_pipe.release();
        let mut go = 0;
        loop {
            match stop_of(self.pid.0).map_err(|error| self.unstopped(error))? {
                TraceeStop::Exec { .. } => {
                    self.entered = true;
                    return Ok(());
                }
                TraceeStop::Exited(_) | TraceeStop::Killed(_) => {
                    self.status = Some(UNRUN);
                    return Err(match self.failed_exec()? {
                        Some(errno) => self.exec_error(errno),
                        None => self.unstopped(io::Error::other("it was killed before")),
                    });
                }
                TraceeStop::Signal(signal) => go = signal,
                _ => {}
            }
            ptrace::resume(self.pid.0, go).map_err(|error| self.unstopped(error))?;
            go = 0;
        }
    }

    /// Whether it stands stopped behind its exec.
    pub fn is_entered(&self) -> bool {
        self.entered
    }

    /// Lets an entered command run until it is about to execute an instruction at one of the
    /// addresses, which is given; it stands still there.
    ///
    /// # Errors
    /// A call that failed; it ended before.
    #[cfg(target_arch = "x86_64")]
    pub fn run_to(&mut self, addresses: &[u64]) -> Result<u64, CommandError> {
        let reached = self.try_run_to(addresses);
        reached.map_err(|error| self.unstopped(error))
    }

    /// The same, which is known of x86-64 alone.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn run_to(&mut self, _addresses: &[u64]) -> Result<u64, CommandError> {
        let why = "its libraries can be waited for on x86-64 only; sample the PID of a running one";
        Err(self.unstopped(io::Error::other(why)))
    }

    #[cfg(target_arch = "x86_64")]
    fn try_run_to(&mut self, addresses: &[u64]) -> io::Result<u64> {
        let pid = self.pid.0;
        let memory = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        if addresses.contains(&ptrace::registers(pid)?.rip) {
            self.step()?;
        }
        let mut before = Vec::new();
        for &address in addresses {
            let mut byte = [0];
            memory.read_exact_at(&mut byte, address)?;
            memory.write_all_at(&[TRAP], address)?;
            before.push(byte);
        }
        let mut go = 0;
        loop {
            ptrace::resume(pid, go)?;
            go = 0;
            match self.report()? {
                TraceeStop::Signal(libc::SIGTRAP) => {
                    let registers = ptrace::registers(pid)?;
                    let at = registers.rip.wrapping_sub(1);
                    if addresses.contains(&at) {
                        for (&address, byte) in addresses.iter().zip(&before).rev() {
                            memory.write_all_at(byte, address)?;
                        }
                        let registers = TraceeRegisters { rip: at, ..registers };
                        ptrace::set_registers(pid, &registers)?;
                        return Ok(at);
                    }
                    go = libc::SIGTRAP;
                }
                TraceeStop::Signal(signal) => go = signal,
                _ => {}
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn step(&mut self) -> io::Result<()> {
        let mut go = 0;
        loop {
            ptrace::step(self.pid.0, go)?;
            go = match self.report()? {
                TraceeStop::Signal(libc::SIGTRAP) => return Ok(()),
                TraceeStop::Signal(signal) => signal,
                _ => 0,
            };
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn report(&mut self) -> io::Result<TraceeStop> {
        let stop = stop_of(self.pid.0)?;
        if stop.end().is_some() {
            self.entered = false;
            self.status = Some(UNRUN);
            return Err(io::Error::other("it ended while its libraries were loaded"));
        }
        Ok(stop)
    }

    /// Lets an entered command run on, untraced.
    pub(super) fn resume_untraced(&mut self) -> Result<(), CommandError> {
        self.entered = false;
        match ptrace::detach(self.pid.0, 0) {
            // Killed meanwhile: its status tells.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            result => result.map_err(|error| self.unstopped(error)),
        }
    }

    pub(super) fn end_unrun(&mut self) {
        self.entered = false;
        if let Some(pid) = rustix::process::Pid::from_raw(self.pid.0) {
            let _gone = kill_process(pid, Signal::KILL);
        }
        while matches!(stop_of(self.pid.0), Ok(stop) if stop.end().is_none()) {}
    }

    fn unstopped(&self, error: io::Error) -> CommandError {
        CommandError::Stop { program: self.program.clone(), error }
    }
}

/// The next stop of a tracee, for which it waits.
fn stop_of(pid: i32) -> io::Result<TraceeStop> {
    ptrace::wait_for(pid)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ECHILD))
}
