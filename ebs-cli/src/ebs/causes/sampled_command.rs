//! A command, sampled for its causes.

use crate::ebs::causes::CausesArguments;
use crate::ebs::recorder::{Recorder, RunPlace};
use crate::outputs;
use analysis::MissedLevel;
use anyhow::{Context, Result, bail};
use recorder::Facts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Misses that are sampled of a PMU, and of the emulated one: some hundred times
/// what a first cache holds, and two hundred megabytes. Of a wider interval all
/// of the command is sampled.
const MOST: u64 = 200_000;
const MOST_EMULATED: u64 = 1_000_000;

/// Whether samples of a type have classes where the PMU is emulated: misses of
/// data caches.
fn is_classified(name: &str) -> bool {
    MissedLevel::of_event(name).is_some_and(|level| !level.is_of_pages())
}

#[derive(Debug)]
pub(super) struct SampledCommand {
    place: TempDir,
    pub(super) status: u8,
}

impl SampledCommand {
    /// Records it, in front. Signals that people send end the sampling.
    ///
    /// # Errors
    ///
    /// No room for the recording; nothing was sampled, for which `ebs` has said why.
    pub(super) fn run(arguments: &CausesArguments) -> Result<SampledCommand> {
        let place =
            outputs::private_folder("ebs-causes-").context("no folder for the recording")?;
        let words = words(arguments, &Facts::read(Path::new("/"))?);
        let mut recorder = Recorder::new(&words, RunPlace::InFront)?;
        let ended = recorder.record(&arguments.command, &path_in(&place))?;
        if !path_in(&place).exists() {
            bail!("{}: it was not sampled", arguments.command.join(" ".as_ref()).display());
        }
        Ok(SampledCommand { place, status: ended.status })
    }

    pub(super) fn file(&self) -> PathBuf {
        path_in(&self.place)
    }
}

fn words(arguments: &CausesArguments, facts: &Facts) -> Vec<OsString> {
    let has_pmu = facts.pmus.iter().flatten().any(|pmu| pmu.counts_events());
    let count = match (arguments.interval, has_pmu) {
        (Some(2..), _) => "all".to_owned(),
        (_, true) => MOST.to_string(),
        (_, false) => MOST_EMULATED.to_string(),
    };
    let mut words = sampling_words(arguments, &count);
    if !has_pmu {
        words.extend(model_words(arguments));
    }
    words
}

pub(super) fn sampling_words(arguments: &CausesArguments, count: &str) -> Vec<OsString> {
    let (types, interval) =
        (arguments.types.join(","), arguments.interval.unwrap_or(1).to_string());
    let heap = arguments.heap.then_some("--heap");
    let words = ["-u", "-d", "-t", &types, "-i", &interval, "-c", count];
    words.into_iter().chain(heap).map(OsString::from).collect()
}

pub(super) fn model_words(arguments: &CausesArguments) -> Vec<OsString> {
    let mut words = Vec::new();
    if arguments.types.iter().all(|name| is_classified(name)) {
        words.extend(["--classify", "exact"]);
    }
    words.extend(arguments.cache.iter().flat_map(|cache| ["--cache", cache]));
    words.into_iter().map(OsString::from).collect()
}

fn path_in(place: &TempDir) -> PathBuf {
    place.path().join("misses.data")
}
