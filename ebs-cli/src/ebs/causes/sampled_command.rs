//! A command, sampled for its causes.

use crate::ebs::arguments::CausesArguments;
use crate::ebs::exit_status::FAILURE;
use analysis::causes::MissedLevel;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use sampling::Facts;
use signal_hook::consts::{SIGCHLD, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{IsTerminal, stdin};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use tempfile::TempDir;

/// Misses that are sampled of a PMU, and of the emulated one: some hundred times
/// what a first cache holds, and two hundred megabytes. Of a wider interval all
/// of the command is sampled.
const MOST: u64 = 200_000;
const MOST_EMULATED: u64 = 1_000_000;

/// Whether samples of a type have classes where the PMU is emulated: misses of
/// data caches.
fn is_classified(name: &str) -> bool {
    MissedLevel::of_event(name).is_some_and(|level| level != MissedLevel::Dtlb)
}

/// The recording of a command that has ended.
#[derive(Debug)]
pub(super) struct SampledCommand {
    place: TempDir,
    /// The command's.
    pub(super) status: u8,
}

impl SampledCommand {
    /// Runs it under a sampler of our own, which says on stderr what there is to
    /// say. Signals that people send end the sampling.
    ///
    /// # Errors
    ///
    /// No room for the recording; nothing was sampled, for which the sampler has
    /// said why.
    pub(super) fn run(arguments: &CausesArguments) -> Result<SampledCommand> {
        let place = tempfile::tempdir().context("no folder for the recording")?;
        let facts = Facts::read(Path::new("/"))?;
        let has_pmu = facts.pmus.iter().flatten().any(|pmu| pmu.counts_events());
        let count = match (arguments.interval, has_pmu) {
            (Some(2..), _) => "all".to_owned(),
            (_, true) => MOST.to_string(),
            (_, false) => MOST_EMULATED.to_string(),
        };
        let interval = arguments.interval.unwrap_or(1).to_string();
        let itself = std::env::current_exe().context("this program's own path")?;
        let mut sampler = Command::new(itself);
        sampler.args(["-u", "-d", "-t", &arguments.types.join(","), "-i", &interval, "-c", &count]);
        if !has_pmu && arguments.types.iter().all(|name| is_classified(name)) {
            sampler.args(["--classify", "exact"]);
        }
        for cache in arguments.cache.iter().filter(|_| !has_pmu) {
            sampler.args(["--cache", cache]);
        }
        sampler.arg("-o").arg(path_in(&place)).arg("--").args(&arguments.command);
        let signals = Signals::new([SIGINT, SIGTERM, SIGCHLD]);

        let mut signals = signals.context("signals cannot be caught")?;
        let sampler = sampler.spawn().context("the sampler of the command")?;
        let ended = ended(sampler, &mut signals).context("waiting for the sampler")?;
        let status = match (ended.code(), ended.signal()) {
            (Some(code), _) => u8::try_from(code).unwrap_or(FAILURE),
            (None, Some(signal)) => u8::try_from(128 + signal).unwrap_or(FAILURE),
            (None, None) => FAILURE,
        };
        if !path_in(&place).exists() {
            bail!("{}: it was not sampled", arguments.command.join(" ".as_ref()).display());
        }
        Ok(SampledCommand { place, status })
    }

    /// Where the recording is.
    pub(super) fn file(&self) -> PathBuf {
        path_in(&self.place)
    }
}

/// How the sampler ends, which is told of signals that it has not heard itself:
/// a terminal sends SIGINT to both.
fn ended(mut sampler: Child, signals: &mut Signals) -> std::io::Result<ExitStatus> {
    loop {
        if let Some(status) = sampler.try_wait()? {
            return Ok(status);
        }
        for signal in signals.wait() {
            let passed = match signal {
                SIGTERM => Some(Signal::TERM),
                SIGINT if !stdin().is_terminal() => Some(Signal::INT),
                _ => None,
            };
            if let (Some(signal), Some(pid)) = (passed, Pid::from_raw(sampler.id().cast_signed())) {
                // It may have ended by now.
                let _ = kill_process(pid, signal);
            }
        }
    }
}

fn path_in(place: &TempDir) -> PathBuf {
    place.path().join("misses.data")
}
