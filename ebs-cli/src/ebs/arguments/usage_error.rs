//! Words of a command line that have no meaning.

use crate::ebs::arguments::events::nearest;
use crate::ebs::arguments::{InKernelUsageError, SteeringUsageError};
use crate::ebs::sample::{PageUsageError, RegionUsageError};
use crate::ebs::stat::StatUsageError;
use recorder::request::CallGraphError;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    #[error("this folder has no recording: name one, or record with `ebs -o FILE.data PROGRAM`")]
    RecordingMissing,
    #[error("{word:?} is neither a command of ebs nor a program")]
    CommandUnknown {
        word: OsString,
        /// The command that it is like.
        command: String,
    },
    #[error(
        "ebs finds causes of cache misses, TLB misses and stalled accesses; {0} is none of these"
    )]
    NoCauses(String),
    #[error("--try compares the misses of two runs, each of them: leave -i out")]
    SampledTrial,
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
    Stat(#[from] StatUsageError),
    #[error(transparent)]
    InKernel(#[from] InKernelUsageError),
    #[error(transparent)]
    Steering(#[from] SteeringUsageError),
    #[error(transparent)]
    Page(#[from] PageUsageError),
    #[error(transparent)]
    Regions(#[from] RegionUsageError),
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

fn like(word: &str) -> String {
    match recorder::catalogue::nearest(word) {
        names if names.is_empty() => String::new(),
        names => format!(". Nearest: {}", names.join(", ")),
    }
}
