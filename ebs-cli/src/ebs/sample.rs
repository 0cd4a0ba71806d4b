//! Sampling: a session from its plan to its last line.
//!
//! `serving` is who opens it, [`output`] takes its stream, `foreground`
//! stays in front of a process that emulates; [`mod@last_line`] tells what became
//! of the records, [`cut_short`] what a count left unseen. `steering` is when
//! sampling is on, by the clock or by commands (`control_command`) that come
//! through a `control_channel`. `watched` looks up what is watched by its name.

mod arguments;
mod callers;
mod command_end;
mod control_channel;
mod control_command;
pub mod cut_short;
mod foreground;
mod job;
pub mod last_line;
pub mod output;
mod preloaded;
mod sample_progress;
mod serving;
mod steering;
mod watched;

pub use arguments::{Format, SampleArguments};
pub use job::{
    DEFAULT_COUNT, OutputChoice, OutputPlace, PageUsageError, RegionUsageError, SampleJob,
};

use crate::ebs::arguments::{Beginning, Serving};
use crate::ebs::exit_status::{self, FAILURE, SUCCESS};
use crate::ebs::html;
use crate::ebs::started_ebs::command_line;
use crate::terminal::signals::{self, AskedEnd, Catcher};
use crate::terminal::{causes, say};
use anyhow::{Context, Result, bail};
pub(crate) use command_end::{end_command, outlive};
use cut_short::{Afterwards, CutShort};
use hardmeter::SamplerError;
use last_line::{SampleSummary, last_line, short_last_line};
use output::{RecordedExtras, SampleOutput};
use perfdata::Pid;
use recorder::emulated::NO_PAUSE;
use recorder::request::CallGraph;
use recorder::session::command::Command;
use recorder::session::detached_tracer::{FrontProcess, OomScoreGuard};
use recorder::session::ledger::Ledger;
use recorder::session::{SessionError, SessionSettings, Sink, TargetState};
use recorder::{
    Cgroup, Facts, Modes, Refusal, Request, Sampling, Session, SourceChoice, SourcePlan, Target,
    source,
};
pub(crate) use sample_progress::SampleProgress;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};
pub(crate) use steering::Steerer;
use steering::{Steered, SteeredWait};
use symbolizer::KeptFiles;

/// Rings are looked at at least so often.
const LOOK: Duration = Duration::from_millis(100);
/// Status of a program that SIGINT ended.
const INTERRUPTED: u8 = 130;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SampleEnding {
    /// The session has ended: the count was reached, or who samples for us
    /// says so.
    Session(TargetState),
    Target,
    Interrupted,
    /// The time is over that was set, or a command said so.
    Told,
    /// Another signal that ends a process.
    Signalled(i32),
    OutputFailed,
}

impl SampleEnding {
    pub(crate) fn is_by_signal(self) -> bool {
        matches!(self, SampleEnding::Interrupted | SampleEnding::Signalled(_))
    }
}

/// Samples what was asked for; gives the status to exit with.
///
/// # Errors
///
/// Words without meaning; what cannot be sampled, and why.
pub fn run(arguments: SampleArguments) -> Result<u8> {
    sample(&SampleJob::new(arguments)?)
}

/// Does the job; gives the status to exit with.
///
/// # Errors
///
/// What cannot be sampled, and why; a command that cannot be started.
fn sample(job: &SampleJob) -> Result<u8> {
    if let Some(page) = &job.page {
        html::check(page)?;
    }
    let mut steerer = Steerer::new(&job.steering)?;
    let mut job = with_group(job.clone())?;
    let entered = watched::place(&mut job)?;
    let facts = Facts::read_for(Path::new("/"), &job.asked.request)?;
    let mut planned = match job.serving {
        Serving::Daemon(_) => None,
        Serving::Own | Serving::Auto(_) => Some(plan(&job, &facts)?),
    };
    let emulated = matches!(planned, Some(Ok(SourcePlan::Emulated(_))));
    if emulated && job.steering.may_pause() {
        // Before it takes hold of the target.
        return Err(NO_PAUSE.into());
    }
    if callers::choose(&mut job, emulated) {
        planned = None;
    }
    let is_own = !matches!(job.serving, Serving::Daemon(_));
    if job.chooses_modes && is_own && !emulated && choose_modes(&mut job, &facts) {
        planned = None;
    }
    let job = &job;
    match job.asked.request.target {
        Target::Process(pid) if emulated => {
            foreground::refuse_own_terminal(&job.output)?;
            foreground::stay(pid, |front| {
                let seen = Some(front);
                let front = Front { planned, entered: None, seen, steerer: &mut steerer };
                sample_here(job, &facts, front)
            })
        }
        _ => {
            let front = Front { planned, entered, seen: None, steerer: &mut steerer };
            sample_here(job, &facts, front)
        }
    }
}

/// A plan for a session in this process, or the refusal: reported when it is opened.
///
/// # Errors
///
/// `--cache` that describes no caches.
fn plan(job: &SampleJob, facts: &Facts) -> Result<Result<SourcePlan, Refusal>> {
    let (choice, model) = (job.emulation.source, job.emulation.model(Path::new("/"))?);
    Ok(source::plan(&job.asked.request, choice, model, facts))
}

/// Kernel code is sampled, too, where that is possible: whether it is.
fn choose_modes(job: &mut SampleJob, facts: &Facts) -> bool {
    let modes = Modes { user: true, kernel: true };
    let both = Request { modes, ..job.asked.request.clone() };
    let is_possible = recorder::plan(&both, facts).is_ok();
    if is_possible {
        job.asked.request.modes = modes;
    }
    is_possible
}

#[derive(Debug)]
struct Front<'s> {
    /// None: it is planned when it is opened.
    planned: Option<Result<SourcePlan, Refusal>>,
    /// The command, if it was started already.
    entered: Option<Command>,
    /// The process that the user sees, if that is another one.
    seen: Option<FrontProcess>,
    steerer: &'s mut Steerer,
}

fn sample_here(job: &SampleJob, facts: &Facts, front: Front<'_>) -> Result<u8> {
    let Front { planned, entered, seen, steerer } = front;
    let catch = || {
        Catcher::new()
            .context("signals cannot be caught; with too many open files raise `ulimit -n`")
    };
    // Nothing may end us while a process is taken hold of; but a command
    // keeps the signals as we got them: after its fork.
    let early = match job.asked.request.target {
        Target::Command => None,
        _ => Some(catch()?),
    };
    if seen.is_some_and(|front| !front.is_there()) {
        bail!("the ebs that the user sees has ended before sampling began");
    }
    let mut session = open_for(job, facts, planned, entered)?;
    let session = session.as_mut();
    let mut catcher = early.map_or_else(catch, Ok)?;
    let stopper = session.stopper().context("copying a pipe")?;
    if let Some(stopper) = &stopper {
        catcher.tell(stopper).context("copying a pipe; raise `ulimit -n`")?;
        if let Target::Process(pid) = job.asked.request.target {
            say("ebs", &emulating(pid));
        }
    }
    // Who emulates a process takes it along.
    let oom_score_guard = stopper.map(|_| OomScoreGuard::begin());
    // What cannot be sampled costs no earlier recording of that name.
    let mut asked = AskedEnd::default();
    let mut ended = || {
        asked = catcher.asked();
        asked != AskedEnd::default()
    };
    let opened = SampleOutput::open(job, extras(job), facts, &mut ended);
    if let (Err(error), Some(signal)) = (&opened, asked.signal()) {
        say("ebs", &causes::told(error));
        return Ok(u8::try_from(128 + signal).unwrap_or(FAILURE));
    }
    let mut output = opened?;
    let file = session.command().and_then(|command| command.file().map(Path::to_owned));
    let misplaced = recorder::misplaced(&job.asked.request, file.as_deref(), Path::new("/"));
    for note in notices(job, session).into_iter().chain(misplaced).filter(|_| !job.is_quiet) {
        say("ebs", &note);
    }
    let ending = match begin(session, facts, &mut output)? {
        Begun::Sampling => {
            steerer.start();
            let mut progress = SampleProgress::new(session.model().is_some(), job.is_quiet);
            let heard = Heard { catcher: &mut catcher, steerer, progress: &mut progress };
            follow(session, &mut output, heard)?
        }
        Begun::OutputFailed => SampleEnding::OutputFailed,
    };
    let ended_at = Instant::now();
    let mut ledger = session.finish(&mut output)?;
    drop(oom_score_guard);
    let reached = job.asked.count.filter(|count| {
        matches!(ending, SampleEnding::Session(_)) && ledger.delivered + ledger.lost.sink >= *count
    });
    output.close(&mut ledger);
    if let SampleEnding::Signalled(signal) = ending {
        end_command(session.command(), signal);
    }
    let mut status = status_of(ending);
    let signalled = status != SUCCESS;
    let wanted_now = matches!(ending, SampleEnding::Interrupted | SampleEnding::Told);
    if session.command().is_none() {
        // The target runs on by itself: who has no time may end the rest.
        signals::end_the_program(true);
    }
    let mut shown = Ok(());
    let target = session.target();
    let natively = session.goes_on_natively();
    let mut afterwards = match ending {
        SampleEnding::Session(TargetState::Running | TargetState::Left) => Afterwards::RunsOn,
        _ if natively => Afterwards::RunsOn,
        _ => Afterwards::Ended,
    };
    let cut =
        |afterwards| reached.and_then(|count| CutShort::new(count, &ledger, target, afterwards));
    if let Some(command) = session.command() {
        let ran_on = command.try_wait().context("waiting for the command")?.is_none();
        // A command's own output must not be cut in two by the table, so
        // that waits for the command; who ends sampling wants it now.
        if wanted_now {
            shown = output.show(None);
        }
        // Who has given up the reader has no time for the command either.
        let interrupts = match output.is_stalled() {
            true => signals::ends_asked().interrupts,
            false => u32::from(wanted_now),
        };
        let outlived = outlive(command, &mut catcher, interrupts, &mut || {
            let so_far = ended_at.elapsed();
            shown = output.show(cut(match natively {
                true => Afterwards::StillRanNatively(so_far),
                false => Afterwards::StillRan(so_far),
            }));
        })?;
        let more = ended_at.elapsed();
        afterwards = match outlived {
            Some(_) if natively => Afterwards::RanNatively(more),
            None if natively => Afterwards::StillRanNatively(more),
            _ if !ran_on => Afterwards::Ended,
            Some(_) => Afterwards::Ran(more),
            None => Afterwards::StillRan(more),
        };
        status = outlived.unwrap_or(INTERRUPTED);
    }
    let cut_short = cut(afterwards);
    let shown = shown.and_then(|()| output.show(cut_short.clone()));
    let untouched = watched::untouched(&job.asked.request, &ledger);
    for note in output.notes().iter().chain(session.last_notes()).chain(&untouched) {
        say("ebs", note);
    }
    if job.is_quiet {
        return finished(shown, status, &ledger, session, signalled);
    }
    let event = format!("{}:{}", session.name(), modes(job.asked.request.modes));
    let model = session.model();
    let sampled = SampleSummary {
        event: &event,
        planned: session.planned(),
        opened: session.opened(),
        given_up: session.given_up(),
        model: model.as_deref(),
        seed: session.seed(),
        served: session.served(),
        in_kernel: session.in_kernel(),
        cut_short,
    };
    say(
        "ebs",
        &match job.output {
            OutputChoice::Summary => short_last_line(&ledger),
            _ => last_line(&ledger, &sampled),
        },
    );
    finished(shown, status, &ledger, session, signalled)
}

/// The status to exit with, once all was shown.
fn finished(
    shown: Result<()>,
    status: u8,
    ledger: &Ledger,
    session: &dyn Sampling,
    signalled: bool,
) -> Result<u8> {
    match shown {
        Err(error) if exit_status::is_closed_pipe(&error) => {}
        // With the terminal its output is gone, too.
        Err(error) if signalled => say("ebs", &causes::told(&error)),
        Err(error) => return Err(error),
        Ok(()) => {}
    }
    let failed = ledger.sink_error.is_some() || session.broke_off();
    Ok(if failed && !signalled { FAILURE } else { status })
}

/// What is said before the program runs.
fn notices(job: &SampleJob, session: &dyn Sampling) -> Vec<String> {
    match (&job.output, session.model(), job.emulation.source) {
        (OutputChoice::Summary, Some(_), SourceChoice::Auto) => vec![
            "no hardware PMU here: emulating one; the program takes 2 to 30 times as long"
                .to_owned(),
        ],
        _ => session.notes(),
    }
}

/// What a recording gets besides the stream. Of a whole system the files that are
/// ours to find later are too many to carry.
fn extras(job: &SampleJob) -> RecordedExtras {
    let carried = job.carries_files.then(|| match job.asked.request.target {
        Target::System => KeptFiles::default(),
        Target::Command | Target::Process(_) | Target::Cgroup => KeptFiles::for_recording(),
    });
    let copies = matches!(job.asked.request.call_graph, Some(CallGraph::Stack(_)));
    RecordedExtras { carried, unwinds: copies && !job.keeps_stacks }
}

/// Who reads it knows which of the two processes must not be killed.
fn emulating(target: Pid) -> String {
    format!(
        "process {target} goes on natively whatever ends ebs, even kill -9; but kill -9 of \
         process {}, which emulates it, would end both",
        std::process::id(),
    )
}

/// What a shell says of a program that the signal ended. SIGINT and SIGTERM
/// are how an end of sampling is asked for.
fn status_of(ending: SampleEnding) -> u8 {
    match ending {
        SampleEnding::Signalled(signal) if signal != libc::SIGTERM => {
            u8::try_from(128 + signal).unwrap_or(FAILURE)
        }
        _ => SUCCESS,
    }
}

/// Opens the session of whoever is to count.
///
/// # Errors
///
/// What is refused, and why.
pub(crate) fn open(job: &SampleJob, facts: &Facts) -> Result<Box<dyn Sampling>> {
    open_for(job, facts, None, None)
}

fn open_for(
    job: &SampleJob,
    facts: &Facts,
    planned: Option<Result<SourcePlan, Refusal>>,
    entered: Option<Command>,
) -> Result<Box<dyn Sampling>> {
    let asked = recorder::Job { command_line: command_line(), ..job.asked.clone() };
    let begins_paused = job.steering.begin != Beginning::AtOnce;
    let own = || {
        let (command, settings) = (job.command.clone(), SessionSettings::of(&asked));
        let heap = preloaded::settings(job, &asked.request);
        let settings = SessionSettings { command, begins_paused, heap, ..settings };
        let plan = planned.map_or_else(|| plan(job, facts), Ok)??;
        match entered {
            None => open_here(plan, settings),
            Some(command) => open_entered(plan, settings, command),
        }
    };
    let serving = preloaded::serving(job)?;
    let mut session = serving::open(serving, &asked, &job.command, own)?;
    if job.steering.may_pause() {
        // As it is: whoever cannot pause says so before the target runs.
        session.set_counting(!begins_paused)?;
    }
    Ok(session)
}

fn with_group(mut job: SampleJob) -> Result<SampleJob> {
    if let (Some(path), Some(asked)) = (&job.cgroup, &mut job.asked.request.in_kernel) {
        let group = Cgroup::open(Path::new("/"), path).and_then(|group| group.id());
        let id = group.with_context(|| format!("--keep cgroup={}", path.display()))?;
        asked.keep.cgroup = Some(id);
    }
    Ok(job)
}

fn open_here(plan: SourcePlan, settings: SessionSettings) -> Result<Box<dyn Sampling>> {
    hardmeter::open(plan, settings).map_err(|error| match error {
        // What is refused decides whether a daemon is asked.
        SamplerError::Refusal(refusal) => refusal.into(),
        SamplerError::Session(error) => error.into(),
        other => other.into(),
    })
}

/// In this process, of a command that stands behind its exec.
fn open_entered(
    plan: SourcePlan,
    settings: SessionSettings,
    command: Command,
) -> Result<Box<dyn Sampling>> {
    match plan {
        SourcePlan::Kernel(_) if settings.heap.is_some() => bail!(preloaded::ENTERED),
        SourcePlan::Kernel(plan) => Ok(Box::new(Session::open_entered(plan, settings, command)?)),
        SourcePlan::Emulated(_) => bail!("the emulated PMU watches no address: say --source pmu"),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    Sampling,
    /// The target runs, but the output took no more already then.
    OutputFailed,
}

/// Says what comes, and lets the target go. An output that is full before
/// the first record keeps a command from running at all; one whose reader
/// has left already does not, as it would not a moment later.
///
/// # Errors
///
/// A command that cannot be started.
pub(crate) fn begin(
    session: &mut dyn Sampling,
    facts: &Facts,
    output: &mut dyn Sink,
) -> Result<Begun> {
    let mut begun = Begun::Sampling;
    match session.preamble(facts, &command_line(), output) {
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

#[derive(Debug)]
pub(crate) struct Heard<'h> {
    pub(crate) catcher: &'h mut Catcher,
    pub(crate) steerer: &'h mut Steerer,
    pub(crate) progress: &'h mut SampleProgress,
}

/// Moves records until there is a reason to end.
///
/// # Errors
///
/// A call that should not fail.
pub(crate) fn follow(
    session: &mut dyn Sampling,
    output: &mut dyn Sink,
    heard: Heard<'_>,
) -> Result<SampleEnding> {
    let Heard { catcher, steerer, progress } = heard;
    let is_command = session.target() == Target::Command;
    loop {
        let SteeredWait { target: state, steered } = steerer.wait(session, LOOK)?;
        match session.drain(output) {
            Ok(pass) if pass.limit_reached => return Ok(SampleEnding::Session(state)),
            Ok(pass) => progress.add(pass.samples),
            // Who hangs up takes the output along: it is the signal that counts.
            Err(SessionError::Sink(_)) => {
                return Ok(match catcher.asked() {
                    AskedEnd { end: Some(signal), .. } => SampleEnding::Signalled(signal),
                    AskedEnd { interrupt: true, .. } => SampleEnding::Interrupted,
                    AskedEnd { .. } => SampleEnding::OutputFailed,
                });
            }
            Err(error) => return Err(error.into()),
        }
        match catcher.asked() {
            AskedEnd { end: Some(signal), .. } => return Ok(SampleEnding::Signalled(signal)),
            AskedEnd { interrupt: true, .. } => return Ok(SampleEnding::Interrupted),
            AskedEnd { .. } => {}
        }
        if steered == Steered::ToEnd {
            return Ok(SampleEnding::Told);
        }
        match state {
            TargetState::Gone => return Ok(SampleEnding::Target),
            // What a command leaves behind in the background is not waited
            // for: the caller waits for the command.
            TargetState::Left if is_command => return Ok(SampleEnding::Target),
            TargetState::Left | TargetState::Running => {}
        }
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
