//! What the words of a command line that samples mean. Pure.

use crate::ebs::arguments::{
    self, EmulationChoice, InKernelUsageError, Serving, Steering, TableArguments, UsageError,
    names_modes, request, ring, scaled,
};
use crate::ebs::sample::{Format, SampleArguments};
use recorder::in_kernel::InKernel;
use recorder::{Modes, Request, Target};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Text records after which sampling stops, when `-c` is not given: the
/// original's. Tables and streams go on to the end.
pub const DEFAULT_COUNT: u64 = 2000;

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

impl SampleJob {
    /// The meaning of what was typed.
    ///
    /// # Errors
    /// The word that has none.
    pub fn new(arguments: SampleArguments) -> Result<SampleJob, UsageError> {
        let modes = Modes { user: arguments.user, kernel: arguments.kernel };
        let target = arguments::target(arguments.pid.as_deref(), &arguments.target)?;
        let command = if target == Target::Command { arguments.target.clone() } else { Vec::new() };
        if modes == Modes::default() && arguments.event.event.is_empty() {
            return Err(UsageError::ModeMissing);
        }
        let mut request = request(&arguments.event, modes, target)?;
        request.ring_pages = arguments.ring.map(ring).transpose()?;
        request.data_mappings = arguments.data;
        if request.modes == Modes::default() && !names_modes(&request) {
            return Err(UsageError::ModeMissing);
        }
        let mut asked = recorder::Job::new(request);
        let mut cgroup = None;
        if let Some(wanted) = arguments::in_kernel(&arguments.in_kernel)? {
            asked.request.in_kernel = Some(wanted.in_kernel);
            asked.every = wanted.every.unwrap_or(asked.every);
            (asked.rings, cgroup) = (wanted.rings, wanted.cgroup);
        }
        let counts = asked.request.in_kernel.as_ref().is_some_and(InKernel::counts);
        let output = output(&arguments)?;
        check_page(arguments.html.as_deref(), &output)?;
        asked.count = count(arguments.count.as_deref(), &output)?;
        if counts && matches!(output, OutputChoice::Text(_)) {
            return Err(InKernelUsageError::Text.into());
        }
        let emulation = EmulationChoice::new(&arguments.emulation)?;
        let serving = Serving::new(&arguments.serving);
        let steering = Steering::new(&arguments.steering)?;
        if arguments.regions {
            check_regions(&asked.request, &output, &serving)?;
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
}

/// Text records are what the original wrote, and so many.
fn count(text: Option<&str>, output: &OutputChoice) -> Result<Option<u64>, UsageError> {
    match text {
        None => Ok(matches!(output, OutputChoice::Text(_)).then_some(DEFAULT_COUNT)),
        Some("all") => Ok(None),
        Some(text) => match scaled(text).filter(|number| *number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(UsageError::Count(text.to_owned())),
        },
    }
}

fn output(arguments: &SampleArguments) -> Result<OutputChoice, UsageError> {
    let path = match (&arguments.output, arguments.format) {
        (Some(path), _) => path.as_path(),
        (None, Some(_)) => Path::new("-"),
        (None, None) if arguments.html.is_some() => return Ok(OutputChoice::Unnamed),
        (None, None) => {
            return Ok(OutputChoice::Table { top: arguments.top, shown: arguments.table });
        }
    };
    if path.as_os_str().is_empty() {
        return Err(UsageError::EmptyOutput);
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
pub enum PageUsageError {
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
fn check_page(page: Option<&Path>, output: &OutputChoice) -> Result<(), PageUsageError> {
    let Some(page) = page else { return Ok(()) };
    match output {
        OutputChoice::Stream(OutputPlace::File(recording)) if recording == page => {
            Err(PageUsageError::SameFile)
        }
        OutputChoice::Stream(OutputPlace::File(_)) | OutputChoice::Unnamed => Ok(()),
        OutputChoice::Stream(OutputPlace::Stdout)
        | OutputChoice::Table { .. }
        | OutputChoice::Text(_) => Err(PageUsageError::NoRecording),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionUsageError {
    #[error(
        "--regions needs a program that ebs starts, which finds in its environment where to mark \
         them; of a process that runs already, or of the system, there are none"
    )]
    NotStarted,
    #[error(
        "--regions goes into recordings: say -o FILE.data, then ebs report --by region FILE.data"
    )]
    NoRecording,
    #[error("--regions needs samples with times, which --in-kernel does not keep: leave one out")]
    InKernel,
    #[error("--regions is for sessions of ebs itself, not of the daemon: leave --daemon out")]
    Daemon,
}

/// Whether a job can record regions.
///
/// # Errors
///
/// Why not.
fn check_regions(
    request: &Request,
    output: &OutputChoice,
    serving: &Serving,
) -> Result<(), RegionUsageError> {
    if request.target != Target::Command {
        return Err(RegionUsageError::NotStarted);
    }
    if request.in_kernel.as_ref().is_some_and(InKernel::counts) {
        return Err(RegionUsageError::InKernel);
    }
    if matches!(serving, Serving::Daemon(_)) {
        return Err(RegionUsageError::Daemon);
    }
    match output {
        OutputChoice::Stream(_) | OutputChoice::Unnamed => Ok(()),
        OutputChoice::Table { .. } | OutputChoice::Text(_) => Err(RegionUsageError::NoRecording),
    }
}

#[cfg(test)]
mod tests;
