//! What names an event, for sampling and for plans alike.

use super::EmulationArguments;
use clap::Args;
#[cfg(feature = "top")]
use std::ffi::OsString;
use std::path::PathBuf;

/// The event, and how it is sampled.
#[derive(Clone, Debug, Default, Args)]
pub struct EventArguments {
    /// Event type (`ebs -h` lists them), or an event by its name (`ebs list`), code (r81d0) or terms
    /// (cpu/event=0xd0,umask=0x81/pp). Several, with commas or several -t: all in one run.
    #[arg(short = 't', long = "type", value_name = "TYPE,...")]
    pub event: Vec<String>,
    /// Events from one record to the next, such as 10k or 1M, on average, at random; =10k: each time
    /// as many [default: the type's own]. One for all events, or one for each: -t A,B -i 10k,100.
    #[arg(short, long, value_name = "INTERVAL,...", allow_negative_numbers = true)]
    pub interval: Vec<String>,
    /// Draws the events between records from this number, as an earlier run did [default: another one each time].
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// The seed where none is given.
    #[arg(skip)]
    pub fresh_seed: u64,
    /// Records the callers of what is sampled, too: by frame pointers where the program and its C
    /// library have them, else by copies of the stack.
    #[arg(short = 'g')]
    pub callers: bool,
    /// Records callers by frame pointers (fp), by copies of the stack that are unwound afterwards
    /// (dwarf: 8192 bytes each, or BYTES), or as the CPU keeps them (lbr, Intel's).
    #[arg(long, value_name = "fp|dwarf[,BYTES]|lbr")]
    pub call_graph: Option<String>,
    /// Masks of a type; `ebs -h TYPE` lists them.
    #[arg(short, long = "mask", value_name = "NAME,...", value_delimiter = ',')]
    pub masks: Vec<String>,
    /// Takes samples whose instruction is not the one that caused the event, where this machine
    /// gives no better.
    #[arg(long)]
    pub allow_skid: bool,
}

impl EventArguments {
    /// The words that say the same to another `ebs`.
    #[cfg(feature = "top")]
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for (is_set, word) in [(self.callers, "-g"), (self.allow_skid, "--allow-skid")] {
            words.extend(is_set.then(|| word.into()));
        }
        let mut add = |option: &str, value: &str| words.push(format!("{option}={value}").into());
        self.event.iter().for_each(|it| add("--type", it));
        self.interval.iter().for_each(|it| add("--interval", it));
        self.masks.iter().for_each(|it| add("--mask", it));
        self.seed.iter().for_each(|it| add("--seed", &it.to_string()));
        self.call_graph.iter().for_each(|it| add("--call-graph", it));
        words
    }
}

const EXAMPLES: &str = "\
Examples:
  ebs plan -u -t l1_cache_miss                   what `ebs` would open here
  ebs plan -t load_latency -m ldlat=30 --json    the same for a script
  ebs plan -u -t hitm --root skylake/ --kernel 5.10
                                                 for another machine: skylake/cpuinfo is a copy of
                                                 /proc/cpuinfo, skylake/devices one of
                                                 /sys/bus/event_source/devices

Without -u and -k, both are planned. Exit status 1: refused; stderr (with --json stdout) says why.";

/// `ebs plan`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub struct PlanArguments {
    /// User code.
    #[arg(short, long)]
    pub user: bool,
    /// Kernel code.
    #[arg(short)]
    pub kernel: bool,
    /// The event.
    #[command(flatten)]
    pub event: EventArguments,
    /// Who counts.
    #[command(flatten)]
    pub emulation: EmulationArguments,
    /// Plans for the machine described in DIR: its `devices` is a copy of
    /// /sys/bus/event_source/devices, its `cpuinfo` of /proc/cpuinfo.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Plans for that Linux version; what it is too old for is left out.
    #[arg(long = "kernel", value_name = "X.Y")]
    pub version: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}
