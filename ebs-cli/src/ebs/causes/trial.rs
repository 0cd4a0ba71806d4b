//! A command in the emulated PMU as it is, and with objects in other layouts.

use super::question;
use super::sampled_command::{model_words, sampling_words};
use crate::ebs::causes::CausesArguments;
use crate::ebs::recorder::{Recorder, RunPlace};
use crate::ebs::sys::fix_addresses;
use crate::outputs;
use analysis::causes::{CauseReport, LayoutTrial, TriedLayout, render_trial};
use anyhow::{Context, Result, bail};
use emulator::ObjectLayout;
use std::ffi::OsString;
use std::io::Write;
use tempfile::TempDir;

/// Runs the command once as it is, and once for each `--try`, and prints misses
/// side by side. Its input is empty, and its output thrown away; the status is
/// that of the first run.
///
/// # Errors
///
/// Addresses that cannot be kept, a run that ended by a signal or was not
/// sampled, changes that cannot be tried, those of `out`.
pub(super) fn run(arguments: &CausesArguments, out: &mut dyn Write) -> Result<u8> {
    fix_addresses().context(
        "addresses cannot be made the same in each run: personality(2) is forbidden here, which \
         filters of containers do; run it outside",
    )?;
    let runs = TrialRuns {
        place: outputs::private_folder("ebs-causes-").context("no folder for recordings")?,
        arguments,
    };
    let TrialRun { causes: before, status } = runs.causes(0, &[])?;
    let all: Result<Vec<Vec<ObjectLayout>>, _> =
        arguments.tries.iter().map(|changes| changes.layouts(&before)).collect();
    let mut trials = Vec::new();
    for ((number, changes), layouts) in (1..).zip(&arguments.tries).zip(all?) {
        let TrialRun { causes, .. } = runs.causes(number, &layouts)?;
        let layouts = layouts.iter().map(ObjectLayout::to_string).collect();
        trials.push((TriedLayout { typed: changes.typed.clone(), layouts }, causes));
    }
    let trial = LayoutTrial::new(&before, trials);
    if arguments.accesses.json {
        analysis::json::write_pretty(&trial, &mut *out)?;
        out.write_all(b"\n")?;
    } else {
        let (top, style) = (arguments.accesses.top, arguments.accesses.table.style());
        out.write_all(render_trial(&trial, top, style).as_bytes())?;
    }
    out.flush()?;
    Ok(status)
}

struct TrialRun {
    causes: CauseReport,
    status: u8,
}

struct TrialRuns<'a> {
    place: TempDir,
    arguments: &'a CausesArguments,
}

impl TrialRuns<'_> {
    fn causes(&self, number: usize, layouts: &[ObjectLayout]) -> Result<TrialRun> {
        let file = self.place.path().join(format!("{number}.data"));
        let words = self.words(layouts);
        let ended =
            Recorder::new(&words, RunPlace::Behind)?.record(&self.arguments.command, &file)?;
        let command = self.arguments.command.join(" ".as_ref());
        if ended.is_stopped {
            bail!(
                "{}: it was stopped, and a part of a run is not to be compared",
                command.display()
            );
        }
        if !file.exists() {
            bail!("{}: it was not sampled", command.display());
        }
        let causes = question(self.arguments)?.answer_of(&file, &self.arguments.accesses)?;
        // Each may have hundreds of megabytes.
        let _gone = std::fs::remove_file(file);
        Ok(TrialRun { causes, status: ended.status })
    }

    fn words(&self, layouts: &[ObjectLayout]) -> Vec<OsString> {
        let mut words = sampling_words(self.arguments, "all");
        words.extend(["--source", "emulated"].map(OsString::from));
        words.extend(model_words(self.arguments));
        let layouts = layouts.iter().map(|layout| layout.to_string().into());
        words.extend(layouts.flat_map(|layout| ["--layout".into(), layout]));
        words
    }
}
