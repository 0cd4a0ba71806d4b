//! Options of `ebs plan`, and what they mean.

use crate::ebs::arguments::{
    EmulationArguments, EmulationChoice, EventArguments, UsageError, names_modes, request,
};
use clap::Args;
use recorder::{Modes, Request, Target};
use std::path::PathBuf;

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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanJob {
    pub request: Request,
    pub emulation: EmulationChoice,
    /// A description of another machine.
    pub root: Option<PathBuf>,
    /// Another Linux version: major, minor.
    pub version: Option<(u32, u32)>,
    pub json: bool,
}

impl PlanJob {
    pub(in crate::ebs) fn new(arguments: &PlanArguments) -> Result<PlanJob, UsageError> {
        let modes = Modes { user: arguments.user, kernel: arguments.kernel };
        let mut request = request(&arguments.event, modes, Target::Command)?;
        if request.modes == Modes::default() && !names_modes(&request) {
            request.modes = Modes::BOTH;
        }
        let version = arguments.version.as_deref().map(version).transpose()?;
        let emulation = EmulationChoice::new(&arguments.emulation)?;
        let root = arguments.root.clone();
        Ok(PlanJob { request, emulation, root, version, json: arguments.json })
    }
}

fn version(text: &str) -> Result<(u32, u32), UsageError> {
    let numbers = text.split_once('.').and_then(|(major, rest)| {
        let minor = rest.split('.').next()?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    numbers.ok_or_else(|| UsageError::Version(text.to_owned()))
}
