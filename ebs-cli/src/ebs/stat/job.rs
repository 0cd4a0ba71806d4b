//! What the options of `ebs stat` mean.

use crate::ebs::arguments::{EmulationChoice, UsageError, scaled, split, target};
use crate::ebs::stat::StatArguments;
use perfdata::Cpu;
use recorder::counting::{CountingRefusal, MetricChoice};
use recorder::machine::facts::cpu_list;
use recorder::metrics::MetricGroup;
use recorder::{EventSpec, Modes, Target};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatJob {
    pub metrics: Vec<MetricChoice>,
    /// Nobody chose them.
    pub is_default: bool,
    pub events: Vec<EventSpec>,
    /// Modes; None: as rights allow.
    pub modes: Option<Modes>,
    pub target: Target,
    /// For the system, these CPUs alone.
    pub cpus: Option<Vec<Cpu>>,
    pub command: Vec<OsString>,
    pub repeat: u32,
    pub interval: Option<Duration>,
    pub per: Vec<PerUnit>,
    /// A run for each group.
    pub passes: bool,
    pub form: StatForm,
    /// Where; None: on stdout.
    pub output: Option<PathBuf>,
    /// The metrics are listed, and nothing is counted.
    pub list: bool,
    pub emulation: EmulationChoice,
}

/// `--per NAME=N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerUnit {
    pub name: String,
    /// As many of them, above 0.
    pub number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatForm {
    Text,
    Json,
    Csv,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatUsageError {
    #[error(transparent)]
    Metric(#[from] CountingRefusal),
    #[error("--per {0:?} is no NAME=N, such as request=10000, with N above 0")]
    Per(String),
    #[error("-I 0: say how many milliseconds a table is to be of, such as 1000")]
    IntervalZero,
    #[error("-r 0: say how often the command is to run, such as 5")]
    RepeatZero,
    #[error("-C {0:?} is no list of CPUs, such as 0-3,8")]
    Cpus(String),
    #[error("{0} runs the command again, and there is none: name a program")]
    CommandMissing(&'static str),
    #[error("-I shows one run as it goes: leave {0} out, or -I")]
    IntervalOfSeveral(&'static str),
    #[error("-a and -C count whole CPUs, whoever runs there: leave the process out, or them")]
    SystemAndProcess,
    #[error(
        "--heap: counts have no addresses that a block could hold: record samples (ebs -u -t \
         page_fault -i 1 --heap -o FILE.data -- COMMAND), and have ebs report --by alloc-line count \
         them"
    )]
    Heap,
}

impl StatJob {
    /// The meaning of what was typed.
    ///
    /// # Errors
    /// The word that has none.
    pub(in crate::ebs) fn new(arguments: &StatArguments) -> Result<StatJob, UsageError> {
        let modes = Modes { user: arguments.user, kernel: arguments.kernel };
        let named = target(arguments.pid.as_deref(), &arguments.target)?;
        let of_cpus = arguments.all_cpus || arguments.cpu.is_some();
        if of_cpus && matches!(named, Target::Process(_)) {
            return Err(StatUsageError::SystemAndProcess.into());
        }
        let command = match named {
            Target::Command => arguments.target.clone(),
            _ => Vec::new(),
        };
        let again = [(arguments.repeat > 1, "-r"), (arguments.passes, "--passes")];
        let again = again.into_iter().find(|(asked, _)| *asked).map(|(_, option)| option);
        match again {
            Some(option) if command.is_empty() => Err(StatUsageError::CommandMissing(option))?,
            Some(option) if arguments.interval.is_some() => {
                Err(StatUsageError::IntervalOfSeveral(option))?
            }
            _ => {}
        }
        if arguments.emulation.heap.is_some() {
            return Err(StatUsageError::Heap.into());
        }
        if arguments.repeat == 0 {
            return Err(StatUsageError::RepeatZero.into());
        }
        let metrics = arguments.metric.iter().map(|word| MetricChoice::parse(word));
        let mut metrics: Vec<_> =
            metrics.collect::<Result<_, _>>().map_err(StatUsageError::from)?;
        let events = arguments.event.iter().flat_map(|text| split(text)).map(EventSpec::from);
        let events: Vec<EventSpec> = events.collect();
        let is_default = metrics.is_empty() && events.is_empty();
        if is_default {
            let usual = [MetricGroup::Software, MetricGroup::Core, MetricGroup::Branches];
            metrics.extend(usual.map(MetricChoice::Group));
        }
        Ok(StatJob {
            metrics,
            is_default,
            events,
            modes: (modes != Modes::default()).then_some(modes),
            target: if of_cpus { Target::System } else { named },
            cpus: arguments.cpu.as_deref().map(cpus).transpose()?,
            command,
            repeat: arguments.repeat,
            interval: arguments.interval.map(interval).transpose()?,
            per: arguments.per.iter().map(|text| per(text)).collect::<Result<_, _>>()?,
            passes: arguments.passes,
            form: match (arguments.json, arguments.csv) {
                (true, _) => StatForm::Json,
                (_, true) => StatForm::Csv,
                _ => StatForm::Text,
            },
            output: arguments.output.clone().filter(|path| path.as_os_str() != "-"),
            list: arguments.list,
            emulation: EmulationChoice::new(&arguments.emulation)?,
        })
    }
}

fn interval(milliseconds: u64) -> Result<Duration, StatUsageError> {
    match milliseconds {
        0 => Err(StatUsageError::IntervalZero),
        _ => Ok(Duration::from_millis(milliseconds)),
    }
}

fn per(text: &str) -> Result<PerUnit, StatUsageError> {
    let wrong = || StatUsageError::Per(text.to_owned());
    let (name, number) = text.split_once('=').ok_or_else(wrong)?;
    let number = scaled(number).filter(|number| *number > 0).ok_or_else(wrong)?;
    let is_word = |c: char| c.is_alphanumeric() || "_-".contains(c);
    match !name.is_empty() && name.chars().all(is_word) {
        true => Ok(PerUnit { name: name.to_owned(), number }),
        false => Err(wrong()),
    }
}

/// A list as the kernel writes them, in one word.
fn cpus(text: &str) -> Result<Vec<Cpu>, StatUsageError> {
    let is_word = !text.contains(char::is_whitespace);
    let cpus = cpu_list(text).ok().filter(|_| is_word);
    cpus.ok_or_else(|| StatUsageError::Cpus(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebs::command::{self, Command};

    fn meant(words: &[&str]) -> Result<StatJob, String> {
        let words = ["ebs", "stat"].iter().chain(words).map(OsString::from).collect();
        match command::parse(words).map_err(|error| error.to_string())? {
            Command::Stat(arguments) => StatJob::new(&arguments).map_err(|error| error.to_string()),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        let job = meant(&["-m", "cache,tlb", "--", "ls", "-r", "5"]).expect("is one");
        assert_eq!((job.repeat, job.command.len(), job.metrics.len()), (1, 3, 2));
        assert!(!job.is_default && job.target == Target::Command);
        assert!(meant(&["ls"]).expect("is one").is_default);
        assert_eq!(meant(&[]).expect("is one").target, Target::System);
        let system = meant(&["-C", "0-2,5", "--per", "byte=1k", "sleep", "1"]).expect("is one");
        let cpus = [0, 1, 2, 5].map(Cpu);
        assert_eq!((system.target, system.cpus.as_deref()), (Target::System, Some(&cpus[..])));
        assert_eq!(system.per, [PerUnit { name: "byte".into(), number: 1000 }]);
        let terms = meant(&["-t", "cpu/event=0xd0,umask=0x81/,page_fault", "1"]).expect("is one");
        assert_eq!((terms.events.len(), terms.target), (2, Target::Process(perfdata::Pid(1))));
    }

    #[test]
    fn what_means_nothing_is_quoted() {
        for (words, quoted) in [
            (&["-m", "cahce", "ls"][..], "\"cahce\""),
            (&["--per", "x=0", "ls"], "\"x=0\""),
            (&["--per", "=5", "ls"], "\"=5\""),
            (&["-I", "0", "ls"], "-I 0"),
            (&["-r", "0", "ls"], "-r 0"),
            (&["-C", "3-1", "ls"], "\"3-1\""),
            (&["-C", "a", "ls"], "\"a\""),
            (&["-C", "0, 1", "ls"], "\"0, 1\""),
            (&["-C", "0-65536", "ls"], "\"0-65536\""),
            (&["-r", "2"], "-r runs"),
            (&["--passes", "1"], "--passes runs"),
            (&["-r", "2", "-I", "5", "ls"], "leave -r out"),
            (&["-a", "1"], "whole CPUs"),
            (&["--json", "--csv", "ls"], "cannot be used"),
        ] {
            let error = meant(words).expect_err("means nothing");
            assert!(error.contains(quoted), "{words:?}: {error}");
        }
    }
}
