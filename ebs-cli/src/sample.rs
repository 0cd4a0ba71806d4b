//! Sampling: a session from its plan to its last line.

use crate::exit_status::{self, FAILURE, SUCCESS};
use crate::invocation::Job;
use crate::last_line::{Sampled, last_line};
use crate::output::Output;
use crate::serving;
use crate::signals::{Asked, Catcher};
use anyhow::{Context, Result};
use daemon::command::Command;
use daemon::session::{Session, SessionError, Settings, TargetState};
use daemon::{Cgroup, Chosen, Facts, Modes, Sampling, Target, emulated, source};
use emulator::{Class, Classifier, Event};
use rustix::process::{Signal, kill_process};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

/// Rings are looked at at least so often.
const LOOK: Duration = Duration::from_millis(100);
/// Status of a program that SIGINT ended.
const INTERRUPTED: u8 = 130;

/// Why sampling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The count was reached, or the target has ended.
    Done,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// The output takes no more.
    OutputFailed,
}

/// Does the job; gives the status to exit with.
///
/// # Errors
///
/// What cannot be sampled, and why; a command that cannot be started.
pub fn sample(job: &Job) -> Result<u8> {
    let job = &with_group(job.clone())?;
    let facts = Facts::read_for(Path::new("/"), &job.request)?;
    let mut session = open(job, &facts)?;
    let session = session.as_mut();
    // What cannot be sampled costs no earlier recording of that name.
    let mut output = Output::open(&job.output)?;
    // After the fork: the command keeps the signals as we got them.
    let mut catcher = Catcher::new()
        .context("signals cannot be caught; with too many open files raise `ulimit -n`")?;
    for note in session.notes() {
        say(&format!("ebs: {note}"));
    }
    let ending = match begin(session, &facts, &mut output)? {
        Begun::Sampling => follow(session, &mut output, &mut catcher)?,
        Begun::OutputFailed => Ending::OutputFailed,
    };
    let mut ledger = session.finish(&mut output)?;
    output.close(&mut ledger);
    if ending == Ending::Terminated {
        end_command(session.command());
    }
    let mut status = SUCCESS;
    let mut shown = Ok(());
    if let Some(command) = session.command() {
        // A command's own output must not be cut in two by the table, so
        // that waits for the command; who interrupts wants it now.
        if ending == Ending::Interrupted {
            shown = output.show();
        }
        let interrupts = u32::from(ending == Ending::Interrupted);
        status = outlive(command, &mut catcher, interrupts, &mut || {
            shown = output.show();
        })?;
    }
    let shown = shown.and_then(|()| output.show());
    for note in output.notes().iter().chain(session.last_notes()) {
        say(&format!("ebs: {note}"));
    }
    let event = format!("{}:{}", session.name(), modes(job.request.modes));
    let model = session.model();
    let sampled = Sampled {
        event: &event,
        planned: session.planned(),
        opened: session.opened(),
        given_up: session.given_up(),
        model: model.as_deref(),
        served: session.served(),
        in_kernel: session.in_kernel(),
    };
    say(&last_line(&ledger, &sampled));
    match shown {
        Err(error) if !exit_status::is_closed_pipe(&error) => return Err(error),
        Err(_) | Ok(()) => {}
    }
    Ok(if ledger.sink_error.is_some() { FAILURE } else { status })
}

/// Opens the session of whoever is to count.
fn open(job: &Job, facts: &Facts) -> Result<Box<dyn Sampling>> {
    let mut settings = Settings {
        command: job.command.clone(),
        count: job.count,
        kernel_symbols: job.kernel_symbols,
        ..Settings::default()
    };
    if let Some(in_kernel) = &job.in_kernel {
        (settings.every, settings.rings) = (in_kernel.every, in_kernel.rings);
    }
    let own = || open_here(job, facts, settings.clone());
    serving::open(&job.serving, &job.request, &settings, own)
}

/// The control group that is kept, looked up.
fn with_group(mut job: Job) -> Result<Job> {
    let path = job.in_kernel.as_ref().and_then(|in_kernel| in_kernel.cgroup.as_deref());
    if let (Some(path), Some(asked)) = (path, &mut job.request.in_kernel) {
        let group = Cgroup::open(Path::new("/"), path).and_then(|group| group.id());
        let id = group.with_context(|| format!("--keep cgroup={}", path.display()))?;
        asked.keep.cgroup = Some(id);
    }
    Ok(job)
}

/// In this process.
fn open_here(job: &Job, facts: &Facts, settings: Settings) -> Result<Box<dyn Sampling>> {
    let choice = (job.emulation.source, job.emulation.model(Path::new("/"))?);
    Ok(match source::plan(&job.request, choice, facts)? {
        Chosen::Kernel(plan) => Box::new(Session::open(plan, settings)?),
        Chosen::Emulated(plan) => {
            let classifier = classifier(plan.counts);
            Box::new(emulated::Session::open(plan, settings, classifier)?)
        }
    })
}

/// Which instructions an event counts is the reports' rule.
fn classifier(counts: Event) -> Option<Classifier> {
    match counts {
        Event::Class(Class::Of(class)) => {
            Some(Classifier::new(move |instruction| analysis::classes(instruction).contains(class)))
        }
        _ => None,
    }
}

/// How sampling began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Sampling,
    /// The target runs, but the output took no more already then.
    OutputFailed,
}

/// Says what comes, and lets the target go. An output that is full before
/// the first record keeps a command from running at all; one whose reader
/// has left already does not, as it would not a moment later.
fn begin(session: &mut dyn Sampling, facts: &Facts, output: &mut Output) -> Result<Begun> {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut begun = Begun::Sampling;
    match session.preamble(facts, &words, output) {
        Err(SessionError::Sink(error)) if error.kind() == ErrorKind::BrokenPipe => {
            begun = Begun::OutputFailed;
        }
        result => result?,
    }
    match session.start(output) {
        Err(SessionError::Sink(_)) => begun = Begun::OutputFailed,
        result => result?,
    }
    Ok(begun)
}

/// Moves records until there is a reason to end.
fn follow(
    session: &mut dyn Sampling,
    output: &mut Output,
    catcher: &mut Catcher,
) -> Result<Ending> {
    let is_command = session.target() == Target::Command;
    loop {
        let state = session.wait(LOOK)?;
        match session.drain(output) {
            Ok(pass) if pass.limit_reached => return Ok(Ending::Done),
            Ok(_) => {}
            Err(SessionError::Sink(_)) => return Ok(Ending::OutputFailed),
            Err(error) => return Err(error.into()),
        }
        match catcher.asked() {
            Asked { terminate: true, .. } => return Ok(Ending::Terminated),
            Asked { interrupt: true, .. } => return Ok(Ending::Interrupted),
            Asked { .. } => {}
        }
        match state {
            TargetState::Gone => return Ok(Ending::Done),
            // What a command leaves behind in the background is not waited
            // for: the caller waits for the command.
            TargetState::Left if is_command => return Ok(Ending::Done),
            TargetState::Left | TargetState::Running => {}
        }
    }
}

/// SIGTERM is passed on to a command that still runs.
fn end_command(command: Option<&mut Command>) {
    let Some(command) = command else { return };
    if let (Ok(None), Some(pid)) =
        (command.try_wait(), rustix::process::Pid::from_raw(command.pid().0))
    {
        // It may have ended since; there is nothing to do then.
        let _gone = kill_process(pid, Signal::TERM);
    }
}

/// Waits for the command. The first SIGINT of all shows what there is, the
/// next one gives up the wait; SIGTERM ends the command.
fn outlive(
    command: &mut Command,
    catcher: &mut Catcher,
    mut interrupts: u32,
    show: &mut dyn FnMut(),
) -> Result<u8> {
    loop {
        if let Some(status) = command.try_wait().context("waiting for the command")? {
            return Ok(u8::try_from(status.code()).unwrap_or(FAILURE));
        }
        let asked = catcher.asked();
        if asked.terminate {
            end_command(Some(command));
        } else if asked.interrupt {
            interrupts += 1;
            match interrupts {
                1 => show(),
                _ => return Ok(INTERRUPTED),
            }
        }
        pause(command)?;
    }
}

/// Until the command has ended, a signal came, or a while is over.
fn pause(command: &Command) -> Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(command, PollFlags::IN)];
    let a_while = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    match poll(&mut fds, Some(&a_while)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno).context("waiting for the command"),
    }
}

/// As perf writes them behind an event's name.
fn modes(modes: Modes) -> &'static str {
    match (modes.user, modes.kernel) {
        (true, false) => "u",
        (false, true) => "k",
        _ => "uk",
    }
}

/// A line for the user; a closed stderr is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
