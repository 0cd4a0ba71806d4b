//! What the command line means: words become a request, numbers, and
//! places to write to. Pure.

mod emulation;
mod events;
mod in_kernel;
mod planning;
mod regions;
mod selftest;
mod stat;
mod steering;
mod target;

pub use emulation::EmulationChoice;
pub use in_kernel::InKernelMisuse;
pub use planning::PlanJob;
pub use regions::RegionMisuse;
pub use selftest::SelftestJob;
pub use stat::{PerUnit, StatForm, StatJob, StatMisuse};
pub use steering::{Beginning, ControlPlace, Steering, SteeringMisuse};
pub use target::Serving;

use crate::ebs::arguments::{
    AnnotateArguments, ArchiveArguments, C2cArguments, CausesArguments, CommandName,
    CompareArguments, ConvertArguments, DiffArguments, EventArguments, ExportArguments, Format,
    HtmlArguments, LayoutArguments, ListArguments, MemlatArguments, Other, ReportArguments,
    SampleArguments, ScriptArguments, SessionsArguments, TableArguments, TopArguments, Typed,
    WatchArguments,
};
use events::{nearest, ring, scaled};
use recorder::in_kernel::InKernel;
use recorder::request::{CallGraph, CallGraphError, EventRequest, StackBytes};
use recorder::{EventSpec, Modes, Request, Target};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Text records after which sampling stops, when `-c` is not given: the
/// original's. Tables and streams go on to the end.
pub const DEFAULT_COUNT: u64 = 2000;

#[derive(Clone, Debug)]
pub enum Invocation {
    Types,
    TypeHelp(String),
    Sample(Box<SampleJob>),
    Report(ReportArguments),
    Annotate(AnnotateArguments),
    C2c(C2cArguments),
    Causes(CausesArguments),
    Diff(DiffArguments),
    Compare(Box<CompareArguments>),
    Html(HtmlArguments),
    Script(ScriptArguments),
    Convert(ConvertArguments),
    Export(ExportArguments),
    Archive(ArchiveArguments),
    Layout(LayoutArguments),
    Plan(PlanJob),
    Stat(StatJob),
    List(ListArguments),
    Selftest(SelftestJob),
    Memlat(MemlatArguments),
    Sessions(SessionsArguments),
    Top(Box<TopArguments>),
    Watch(WatchArguments),
    Completions(clap_complete::Shell, CommandName),
    /// Manual pages: one to stdout, or all to a directory.
    Man(Option<PathBuf>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleJob {
    pub asked: recorder::Job,
    /// `-g` alone: the kernel is to follow frame pointers, where the program
    /// has them.
    pub prefers_frame_pointers: bool,
    pub emulation: EmulationChoice,
    pub serving: Serving,
    pub steering: Steering,
    /// Only samples of tasks in this control group are kept, by programs in
    /// the kernel: its path below the hierarchy's root.
    pub cgroup: Option<PathBuf>,
    /// The program and its arguments; empty unless the target is a command.
    pub command: Vec<OsString>,
    pub output: OutputChoice,
    /// A recording gets the files that names come from and that may be gone
    /// later.
    pub carries_files: bool,
    /// Whether copied stacks stay as they are in a recording.
    pub keeps_stacks: bool,
    /// A page that is written when sampling has ended; `-` is stdout.
    pub page: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputChoice {
    Table {
        top: usize,
        shown: TableArguments,
    },
    /// A recording without a name, for a page.
    Unnamed,
    Text(OutputPlace),
    Stream(OutputPlace),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPlace {
    /// `-o -`, or `--format` alone.
    Stdout,
    /// `-o FILE`.
    File(PathBuf),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    #[error("no event type: say -t TYPE (`ebs -h` lists the types)")]
    TypeMissing,
    #[error("no mode: say -u (user code), -k (kernel code), or both")]
    ModeMissing,
    #[error(
        "interval {0:?} is no whole number from 1 to 9223372036854775807; k, M and G may follow it, \
         as in 10k, and an = before it makes each the same, as in =10k"
    )]
    Interval(String),
    #[error(
        "-i {0} makes each interval the same, and --seed is for those that are drawn: leave one out"
    )]
    SeedOfFixed(String),
    #[error("-i {intervals} for -t {events}: say one interval for all, or one for each")]
    Intervals {
        /// As given.
        intervals: String,
        events: String,
    },
    #[error("-m {0}: masks are of one event, and -t names several: leave -m out, or sample one")]
    MasksOfSeveral(String),
    #[error("no event type is called {0:?}; ebs -h lists them{like}", like = like(.0))]
    Type(String),
    #[error("{0}")]
    Source(String),
    #[error("{0} is of the emulated PMU, not of the machine's: leave it or --source pmu out")]
    NotOfPmu(&'static str),
    #[error(
        "burst {0:?} is no N/M, instructions counted of every M, such as 1M/100M, nor N/M+W with W \
         more to warm the caches up; N is 1 at least, N and W together M at most"
    )]
    Burst(String),
    #[error("{0}")]
    Cache(String),
    #[error("{} is the recording that is read: name another file to write", .0.display())]
    SameFile(PathBuf),
    #[error("a recording is not for a terminal: name a file, or send stdout to one or to a pipe")]
    Terminal,
    #[error(
        "what --to names is not for a terminal: name a file with -o, or send stdout to one or to a \
         pipe"
    )]
    BinaryExport,
    #[error(
        "segments are exported to a fleet's folder: say --to parquet, and -o FOLDER, which is there"
    )]
    SegmentsTo,
    #[error("kernel version {0:?} is no X.Y, such as 6.12")]
    Version(String),
    #[error(
        "count {0:?} is no whole number above 0 (and not the word `all`); k, M and G may follow it, \
         as in 50k"
    )]
    Count(String),
    #[error("a ring of {pages} pages is not possible: say {}", nearest(*pages))]
    Ring {
        /// As given.
        pages: u32,
    },
    #[error(transparent)]
    CallGraph(#[from] CallGraphError),
    #[error(transparent)]
    Stat(#[from] StatMisuse),
    #[error(transparent)]
    InKernel(#[from] InKernelMisuse),
    #[error(transparent)]
    Steering(#[from] SteeringMisuse),
    #[error(transparent)]
    Page(#[from] PageMisuse),
    #[error(transparent)]
    Regions(#[from] RegionMisuse),
    #[error(
        "{0} is no process id (1 to 2147483647); for a program of that name, say ./{0} or its path"
    )]
    Pid(String),
    #[error(
        "-p {pid} samples that process, and {word:?} would be a program to start: leave one of the \
         two out"
    )]
    PidAndProgram {
        pid: String,
        /// The program.
        word: OsString,
    },
    #[error(
        "-p {0}: one process at a time; the threads and children that it starts are sampled, too"
    )]
    ManyPids(String),
    #[error("-p {0:?} is no process id (1 to 2147483647), as ps shows it")]
    NoPid(String),
    #[error(
        "process {pid} takes no arguments ({argument:?}); for a program of that name, say ./{pid}"
    )]
    PidArguments {
        pid: String,
        /// The first word after it.
        argument: OsString,
    },
    #[error("the name of the program to run is empty")]
    EmptyProgram,
    #[error("the output file's name is empty; `-o -` is stdout")]
    EmptyOutput,
}

impl Invocation {
    /// The meaning of what was typed.
    ///
    /// # Errors
    ///
    /// [`Misuse`] quotes the word that has no meaning.
    pub fn new(typed: Typed) -> Result<Invocation, Misuse> {
        Ok(match typed {
            Typed::Sample(SampleArguments { types: Some(None), .. }) => Invocation::Types,
            Typed::Sample(SampleArguments { types: Some(Some(name)), .. }) => {
                Invocation::TypeHelp(name)
            }
            Typed::Sample(arguments) => Invocation::Sample(Box::new(job(arguments)?)),
            Typed::Other(Other::Report(arguments)) => Invocation::Report(arguments),
            Typed::Other(Other::Annotate(arguments)) => Invocation::Annotate(arguments),
            Typed::Other(Other::C2c(arguments)) => Invocation::C2c(arguments),
            Typed::Other(Other::Causes(arguments)) => Invocation::Causes(arguments),
            Typed::Other(Other::Diff(arguments)) => Invocation::Diff(arguments),
            Typed::Other(Other::Compare(arguments)) => Invocation::Compare(Box::new(arguments)),
            Typed::Other(Other::Html(arguments)) => Invocation::Html(arguments),
            Typed::Other(Other::Script(arguments)) => Invocation::Script(arguments),
            Typed::Other(Other::Convert(arguments)) => Invocation::Convert(arguments),
            Typed::Other(Other::Export(arguments)) => Invocation::Export(arguments),
            Typed::Other(Other::Archive(arguments)) => Invocation::Archive(arguments),
            Typed::Other(Other::Layout(arguments)) => Invocation::Layout(arguments),
            Typed::Other(Other::Plan(arguments)) => Invocation::Plan(PlanJob::new(&arguments)?),
            Typed::Other(Other::Selftest(arguments)) => {
                Invocation::Selftest(SelftestJob::new(&arguments)?)
            }
            Typed::Other(Other::Memlat(arguments)) => Invocation::Memlat(arguments),
            Typed::Other(Other::Stat(arguments)) => Invocation::Stat(StatJob::new(&arguments)?),
            Typed::Other(Other::List(arguments)) => Invocation::List(arguments),
            Typed::Other(Other::Sessions(arguments)) => Invocation::Sessions(arguments),
            Typed::Other(Other::Top(arguments)) => Invocation::Top(arguments),
            Typed::Other(Other::Watch(arguments)) => Invocation::Watch(arguments),
            Typed::Other(Other::Completions { shell, program }) => {
                Invocation::Completions(shell, program)
            }
            Typed::Other(Other::Man { directory }) => Invocation::Man(directory),
        })
    }
}

fn job(arguments: SampleArguments) -> Result<SampleJob, Misuse> {
    let modes = Modes { user: arguments.user, kernel: arguments.kernel };
    let target = match &arguments.pid {
        Some(pid) => target::process(pid, &arguments.target)?,
        None => target::target(&arguments.target)?,
    };
    let command = if target == Target::Command { arguments.target.clone() } else { Vec::new() };
    if modes == Modes::default() && arguments.event.event.is_empty() {
        return Err(Misuse::ModeMissing);
    }
    let mut request = request(&arguments.event, modes, target)?;
    request.ring_pages = arguments.ring.map(ring).transpose()?;
    request.data_mappings = arguments.data;
    if request.modes == Modes::default() && !names_modes(&request) {
        return Err(Misuse::ModeMissing);
    }
    let mut asked = recorder::Job::new(request);
    let mut cgroup = None;
    if let Some(wanted) = in_kernel::in_kernel(&arguments.in_kernel)? {
        asked.request.in_kernel = Some(wanted.in_kernel);
        asked.every = wanted.every.unwrap_or(asked.every);
        (asked.rings, cgroup) = (wanted.rings, wanted.cgroup);
    }
    let counts = asked.request.in_kernel.as_ref().is_some_and(InKernel::counts);
    let output = output(&arguments)?;
    check_page(arguments.html.as_deref(), &output)?;
    asked.count = count(arguments.count.as_deref(), &output)?;
    if counts && matches!(output, OutputChoice::Text(_)) {
        return Err(InKernelMisuse::Text.into());
    }
    let emulation = EmulationChoice::new(&arguments.emulation)?;
    let serving = Serving::new(&arguments.serving);
    let steering = Steering::new(&arguments.steering)?;
    if arguments.regions {
        regions::check(&asked.request, &output, &serving)?;
        asked.request.regions = true;
    }
    asked.kernel_symbols = matches!(output, OutputChoice::Stream(_)) && !arguments.no_kallsyms;
    let prefers_frame_pointers = arguments.event.call_graph.is_none();
    let carries_files = !arguments.no_files;
    Ok(SampleJob {
        asked,
        prefers_frame_pointers,
        emulation,
        serving,
        steering,
        cgroup,
        command,
        output,
        carries_files,
        keeps_stacks: arguments.keep_stacks,
        page: arguments.html,
    })
}

fn request(arguments: &EventArguments, modes: Modes, target: Target) -> Result<Request, Misuse> {
    let mut events = events::events(arguments)?.into_iter();
    let EventRequest { event, interval, seed } = events.next().ok_or(Misuse::TypeMissing)?;
    Ok(Request {
        event,
        masks: arguments.masks.clone(),
        modes,
        interval,
        seed,
        also: events.collect(),
        allow_skid: arguments.allow_skid,
        call_graph: call_graph(arguments)?,
        data_mappings: false,
        target,
        ring_pages: None,
        in_kernel: None,
        regions: false,
    })
}

/// How callers are recorded; `-g` alone copies the stack, which fits any
/// program.
fn call_graph(arguments: &EventArguments) -> Result<Option<CallGraph>, CallGraphError> {
    match &arguments.call_graph {
        Some(how) => how.parse().map(Some),
        None => Ok(arguments.callers.then_some(CallGraph::Stack(StackBytes::USUAL))),
    }
}

/// Whether modifiers (`:u`, `:k`) of each event say what is sampled.
fn names_modes(request: &Request) -> bool {
    let names = |event: &EventSpec| {
        event.resolve().is_ok_and(|event| recorder::plan::modes(&event).is_some())
    };
    request.each().all(|one| names(&one.event))
}

fn like(word: &str) -> String {
    match recorder::catalogue::nearest(word) {
        names if names.is_empty() => String::new(),
        names => format!(". Nearest: {}", names.join(", ")),
    }
}

/// Text records are what the original wrote, and so many.
fn count(text: Option<&str>, output: &OutputChoice) -> Result<Option<u64>, Misuse> {
    match text {
        None => Ok(matches!(output, OutputChoice::Text(_)).then_some(DEFAULT_COUNT)),
        Some("all") => Ok(None),
        Some(text) => match scaled(text).filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(Misuse::Count(text.to_owned())),
        },
    }
}

fn output(arguments: &SampleArguments) -> Result<OutputChoice, Misuse> {
    let path = match (&arguments.output, arguments.format) {
        (Some(path), _) => path.as_path(),
        (None, Some(_)) => Path::new("-"),
        (None, None) if arguments.html.is_some() => return Ok(OutputChoice::Unnamed),
        (None, None) => {
            return Ok(OutputChoice::Table { top: arguments.top, shown: arguments.table });
        }
    };
    if path.as_os_str().is_empty() {
        return Err(Misuse::EmptyOutput);
    }
    let place = if path == Path::new("-") {
        OutputPlace::Stdout
    } else {
        OutputPlace::File(path.to_path_buf())
    };
    let by_name = if path.extension().is_some_and(|extension| extension == "data") {
        Format::Perf
    } else {
        Format::Text
    };
    Ok(match arguments.format.unwrap_or(by_name) {
        Format::Text => OutputChoice::Text(place),
        Format::Perf => OutputChoice::Stream(place),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageMisuse {
    #[error(
        "--html makes its page of a recording: with -o say -o FILE.data, or leave -o and --format out"
    )]
    NoRecording,
    #[error("--html and -o name one file: name another for the page")]
    SameFile,
}

/// Whether a job can have a page.
///
/// # Errors
///
/// Why not.
fn check_page(page: Option<&Path>, output: &OutputChoice) -> Result<(), PageMisuse> {
    let Some(page) = page else { return Ok(()) };
    match output {
        OutputChoice::Stream(OutputPlace::File(recording)) if recording == page => {
            Err(PageMisuse::SameFile)
        }
        OutputChoice::Stream(OutputPlace::File(_)) | OutputChoice::Unnamed => Ok(()),
        OutputChoice::Stream(OutputPlace::Stdout)
        | OutputChoice::Table { .. }
        | OutputChoice::Text(_) => Err(PageMisuse::NoRecording),
    }
}

#[cfg(test)]
mod tests;
