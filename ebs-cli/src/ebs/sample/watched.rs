//! `mem:NAME`: where the name lies, before anything is planned.
//!
//! Of a program that is loaded anywhere this is known behind its exec, and of
//! its libraries once the loader has mapped them: the command is stopped there.

use crate::ebs::arguments::Serving;
use crate::ebs::sample::SampleJob;
use crate::terminal::say;
use anyhow::{Context, Result, bail};
use hardmeter::{FoundBreakpoint, WatchError, WatchedObjects};
use recorder::request::event_spec::{Breakpoint, NamedBreakpoint, RequestedEvent};
use recorder::session::SessionError;
use recorder::session::command::Command;
use recorder::{Ledger, Request, SourceChoice, Target};
use std::path::Path;

/// Puts addresses in place of the names that a job watches. Gives the command, if it
/// had to be started for that: it stands still before its first instruction, or
/// where the loader has just mapped its libraries.
///
/// # Errors
///
/// A name that is not there, or several times; a command that cannot be started.
pub(super) fn place(job: &mut SampleJob) -> Result<Option<Command>> {
    let is_emulated = job.emulation.source == SourceChoice::Emulated;
    if is_emulated || named(&job.asked.request).next().is_none() {
        return Ok(None);
    }
    let (root, request) = (Path::new("/"), &job.asked.request);
    let kernel = request.modes.kernel;
    let mut entered = None;
    let found = match request.target {
        Target::Process(pid) => {
            find(request, &WatchedObjects::of_process(pid, root)?.with_kernel(kernel))?
        }
        Target::System | Target::Cgroup => {
            let places = named(request).map(|point| {
                let objects = WatchedObjects::of_all(&point, root)?.with_kernel(kernel);
                objects.find(&point)
            });
            places.collect::<Result<_, WatchError>>()?
        }
        Target::Command => match fixed(job) {
            Some(found) => found,
            None => {
                let (command, found) = enter(job)?;
                entered = Some(command);
                found
            }
        },
    };
    if entered.is_some() {
        // What was found holds for this command alone.
        job.serving = Serving::Own;
    }
    for one in &found {
        say("ebs", &one.note);
    }
    let mut found = found.into_iter();
    let events = &mut job.asked.request;
    let also = events.also.iter_mut().map(|other| &mut other.event);
    for event in std::iter::once(&mut events.event).chain(also) {
        if let Ok(RequestedEvent::NamedBreakpoint(_)) = event.event()
            && let Some(found) = found.next()
        {
            *event = found.point.spelled_out().into();
        }
    }
    Ok(entered)
}

/// Said at the end of what was watched and not accessed: perhaps nothing is
/// there.
pub(super) fn untouched(request: &Request, ledger: &Ledger) -> Vec<String> {
    let points = request.each().filter_map(|one| match one.event.event() {
        Ok(RequestedEvent::Breakpoint(point)) => Some(point.clone()),
        _ => None,
    });
    let of = |point: &Breakpoint| {
        // By its name in the plan, where x86 watches stores with loads.
        let is_it = |name: &str| name.starts_with(point.to_string().trim_end_matches(":r"));
        let counts = ledger.by_event.iter().filter(|account| is_it(&account.name));
        counts.map(|account| account.events.max(account.delivered)).max() == Some(0)
    };
    let said = points.filter(of).map(|point| {
        let why = match (point.name.is_some(), request.modes.kernel) {
            (false, _) => {
                "is it an address of the running program? mem:NAME, or mem:ADDR@FILE with an \
                 address as nm tells it, has ebs look where that is"
            }
            (true, false) => "nothing of what was sampled did so in user mode",
            (true, true) => "nothing of what was sampled did so",
        };
        format!("{point}: not accessed at {:#x} while it was watched: {why}", point.address)
    });
    said.collect()
}

/// The names that are watched, in the order of the events.
fn named(request: &Request) -> impl Iterator<Item = NamedBreakpoint> + '_ {
    request.each().filter_map(|one| match one.event.event() {
        Ok(RequestedEvent::NamedBreakpoint(point)) => Some(point.clone()),
        _ => None,
    })
}

fn find(request: &Request, objects: &WatchedObjects) -> Result<Vec<FoundBreakpoint>, WatchError> {
    named(request).map(|point| objects.find(&point)).collect()
}

/// All names, if they are the program's, and that is loaded where it was linked.
fn fixed(job: &SampleJob) -> Option<Vec<FoundBreakpoint>> {
    let file = Command::look_up(job.command.first()?)?;
    find(&job.asked.request, &WatchedObjects::of_fixed(&file)?).ok()
}

fn enter(job: &SampleJob) -> Result<(Command, Vec<FoundBreakpoint>)> {
    let request = &job.asked.request;
    let name = named(request).next().map(|point| point.to_string()).unwrap_or_default();
    let why = "where that lies is known once the program is loaded, so that ebs has to stop the \
               command there";
    if let Serving::Daemon(_) = job.serving {
        bail!(
            "{name}: {why}, which it cannot for the daemon: say --no-daemon, or sample the PID of a \
             running one, or link with -no-pie"
        );
    }
    let is_tracepoint =
        |one: Request| matches!(one.event.event(), Ok(RequestedEvent::Tracepoint(_)));
    if request.regions || (request.in_kernel.is_some() && request.each().any(is_tracepoint)) {
        bail!(
            "{name}: {why}, which goes neither with regions nor with tracepoints in the kernel: \
             leave these out, or sample the PID of a running one, or link with -no-pie"
        );
    }
    let mut command = Command::hold(&job.command).map_err(SessionError::from)?;
    if command.changes_user() {
        bail!(
            "{name}: {why}, and it is a set-user-ID program of another user, which nobody else may \
             stop; attach to its PID as root"
        );
    }
    command.enter().map_err(SessionError::from)?;
    let mut points = None;
    loop {
        let objects = WatchedObjects::of_process(command.pid(), Path::new("/"))?;
        let objects = objects.with_kernel(request.modes.kernel);
        let error = match find(request, &objects) {
            Ok(found) => return Ok((command, found)),
            Err(error) => error,
        };
        // What is not there yet may come with the libraries.
        let at_end = points.as_ref().is_some_and(Vec::is_empty);
        if at_end || !error.is_absence() {
            return Err(error.into());
        }
        let ahead = points.take().or_else(|| objects.loading()).unwrap_or_default();
        if ahead.is_empty() {
            return Err(error.into());
        }
        let reached = command.run_to(&ahead).with_context(|| error.to_string())?;
        // The last one is the program's own beginning.
        points = Some(if ahead.last() == Some(&reached) { Vec::new() } else { ahead });
    }
}
