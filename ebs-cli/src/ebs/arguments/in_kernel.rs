//! Options of programs in the kernel.

use clap::Args;
use perfdata::{Pid, Tid};
use recorder::HumanDuration;
use recorder::in_kernel::{InKernel, ProgramTask, SampleConditions, SiteTables};
use std::path::PathBuf;
use std::time::Duration;

/// The options of programs in the kernel.
#[derive(Clone, Debug, Default, Args)]
pub struct InKernelArguments {
    /// Lets a program in the kernel count samples by instruction, and with -g by callers (frame
    /// pointers), so that none is ever moved; or only decide which samples reach the ring. Where
    /// the kernel takes no program, rings serve.
    #[arg(long, value_name = "aggregate|filter", value_enum, help_heading = IN_KERNEL)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "aggregate")]
    pub in_kernel: Option<InKernelMode>,
    /// Keeps samples with this only: pid=N, tid=N, cgroup=PATH, comm=NAME, ip=A-B, addr=A-B (B not
    /// included), one_in=N, weight=N (N or more), data_src=MASK/VALUE. Several lists of numbers
    /// are joined, different keys must all hold.
    #[arg(long, value_name = "KEY=VALUE", help_heading = IN_KERNEL, requires = "in_kernel")]
    pub keep: Vec<String>,
    /// Sites that there is room for on each CPU, in one interval; a power of two [default: 4096,
    /// fewer where there are more than 28 CPUs].
    #[arg(long, value_name = "N", help_heading = IN_KERNEL, requires = "in_kernel")]
    pub sites: Option<String>,
    /// Counts each process by itself.
    #[arg(long, help_heading = IN_KERNEL, requires = "in_kernel")]
    pub by_process: bool,
    /// Counts the distances between a site's data addresses, too, in powers of two.
    #[arg(long, help_heading = IN_KERNEL, requires = "in_kernel")]
    pub strides: bool,
    /// Takes what was counted out of the kernel so often, such as 10s [default: 60s].
    #[arg(long, value_name = "SPAN", help_heading = IN_KERNEL, requires = "in_kernel")]
    pub every: Option<HumanDuration>,
    /// Fails where the kernel takes no program, instead of sampling through rings.
    #[arg(long, help_heading = IN_KERNEL, requires = "in_kernel")]
    pub no_rings: bool,
}

/// What the program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum InKernelMode {
    /// It counts.
    Aggregate,
    /// It decides which samples reach the ring.
    Filter,
}

const IN_KERNEL: &str = "In the kernel";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelDemand {
    pub(crate) in_kernel: InKernel,
    /// How often what was counted is taken out; None: as is usual.
    pub(crate) every: Option<Duration>,
    /// Rings serve where no program is taken.
    pub(crate) rings: bool,
    /// See [`SampleJob::cgroup`](crate::ebs::sample::SampleJob::cgroup).
    pub(crate) cgroup: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InKernelUsageError {
    #[error("--keep {word}: say KEY=VALUE; keys are {}", KEYS.join(", "))]
    NoKey {
        /// As given.
        word: String,
    },
    #[error("--keep {word}: no key is called {key:?}; keys are {}", KEYS.join(", "))]
    Key {
        word: String,
        /// Before the `=`.
        key: String,
    },
    #[error("--keep {0}: {1}")]
    Value(String, &'static str),
    #[error("--keep {0}: {1} is given already, and takes one value")]
    Again(String, &'static str),
    #[error(
        "--sites {text}: say a power of two from {} to {}",
        SiteTables::MIN_SITES,
        SiteTables::MAX_SITES
    )]
    Sites {
        /// As given.
        text: String,
    },
    #[error("--every 0s: say a second or more")]
    Every,
    #[error("{0} is of --in-kernel=aggregate: a filter leaves samples as they are")]
    NotOfFilter(&'static str),
    #[error("--in-kernel=filter keeps every sample: say which with --keep KEY=VALUE")]
    NothingToFilter,
    #[error(
        "what the kernel counts has no text records: leave -o out for the table, or say -o \
         FILE.data for `ebs report`"
    )]
    Text,
}

/// What is asked of the kernel, and how; None: nothing.
pub(crate) fn in_kernel(
    arguments: &InKernelArguments,
) -> Result<Option<KernelDemand>, InKernelUsageError> {
    let Some(mode) = arguments.in_kernel else { return Ok(None) };
    let Kept { keep, cgroup, .. } = Kept::parse(&arguments.keep)?;
    let duty = match mode {
        InKernelMode::Aggregate => ProgramTask::Aggregate(tables(arguments)?),
        InKernelMode::Filter => {
            let counting = [
                ("--sites", arguments.sites.is_some()),
                ("--by-process", arguments.by_process),
                ("--strides", arguments.strides),
                ("--every", arguments.every.is_some()),
            ];
            if let Some((option, _)) = counting.into_iter().find(|(_, given)| *given) {
                return Err(InKernelUsageError::NotOfFilter(option));
            }
            if arguments.keep.is_empty() {
                return Err(InKernelUsageError::NothingToFilter);
            }
            ProgramTask::Filter
        }
    };
    let every = arguments.every.map(|span| span.0);
    if every.is_some_and(|every| every.is_zero()) {
        return Err(InKernelUsageError::Every);
    }
    let in_kernel = InKernel { duty, keep };
    Ok(Some(KernelDemand { in_kernel, every, rings: !arguments.no_rings, cgroup }))
}

fn tables(arguments: &InKernelArguments) -> Result<SiteTables, InKernelUsageError> {
    let mut tables = SiteTables {
        sites: SiteTables::AUTO_SITES,
        by_process: arguments.by_process,
        strides: arguments.strides,
        callers: false,
    };
    if let Some(text) = &arguments.sites {
        let size = |sites: &u32| {
            sites.is_power_of_two()
                && (SiteTables::MIN_SITES..=SiteTables::MAX_SITES).contains(sites)
        };
        let sites = text.parse().ok().filter(size);
        tables.sites = sites.ok_or_else(|| InKernelUsageError::Sites { text: text.clone() })?;
    }
    Ok(tables)
}

const KEYS: [&str; 9] =
    ["pid", "tid", "cgroup", "comm", "ip", "addr", "one_in", "weight", "data_src"];

const TASKS: &str = "say numbers from 1 to 2147483647, with commas between them";

const RANGE: &str = "say START-END, hexadecimal, without END, such as 7f0000000000-7fffffffffff; \
                     or START- for all from there";

const COMM: &str = "a task's name has 1 to 15 bytes";

const PATH: &str = "say the group's path, such as /system.slice/cron.service";

const ONE_IN: &str = "say a whole number above 1";

const WEIGHT: &str = "say a whole number";

const DATA_SRC: &str = "say MASK/VALUE, hexadecimal, VALUE with no bit that MASK lacks";

/// What is kept. A control group is known by its path until it is looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kept {
    keep: SampleConditions,
    cgroup: Option<PathBuf>,
    one_in: Option<u64>,
    weight: Option<u64>,
}

impl Kept {
    fn parse(words: &[String]) -> Result<Kept, InKernelUsageError> {
        let mut kept = Kept::default();
        words.iter().try_for_each(|word| kept.take(word))?;
        let SampleConditions { one_in, least_weight, .. } = kept.keep;
        kept.keep.one_in = kept.one_in.unwrap_or(one_in);
        kept.keep.least_weight = kept.weight.unwrap_or(least_weight);
        Ok(kept)
    }

    fn take(&mut self, word: &str) -> Result<(), InKernelUsageError> {
        let missing = || InKernelUsageError::NoKey { word: word.to_owned() };
        let (key, value) = word.split_once('=').ok_or_else(missing)?;
        // A task's name may end in blanks.
        let key = key.trim();
        let value = if key == "comm" { value } else { value.trim() };
        let wrong = |why| InKernelUsageError::Value(word.to_owned(), why);
        let again = |key| InKernelUsageError::Again(word.to_owned(), key);
        let keep = &mut self.keep;
        match key {
            "pid" => keep.pids.extend(tasks(value).ok_or_else(|| wrong(TASKS))?.map(Pid)),
            "tid" => keep.tids.extend(tasks(value).ok_or_else(|| wrong(TASKS))?.map(Tid)),
            "cgroup" if value.is_empty() => return Err(wrong(PATH)),
            "cgroup" => once(&mut self.cgroup, value.into()).ok_or_else(|| again("cgroup"))?,
            "comm" if !(1..=15).contains(&value.len()) => return Err(wrong(COMM)),
            "comm" => once(&mut keep.comm, value.to_owned()).ok_or_else(|| again("comm"))?,
            "ip" => {
                let range = range(value).ok_or_else(|| wrong(RANGE))?;
                once(&mut keep.ip, range).ok_or_else(|| again("ip"))?;
            }
            "addr" => {
                let range = range(value).ok_or_else(|| wrong(RANGE))?;
                once(&mut keep.address, range).ok_or_else(|| again("addr"))?;
            }
            "one_in" => {
                let number = value.parse().ok().filter(|&number: &u64| number > 1);
                let number = number.ok_or_else(|| wrong(ONE_IN))?;
                once(&mut self.one_in, number).ok_or_else(|| again("one_in"))?;
            }
            "weight" => {
                let number = value.parse().map_err(|_| wrong(WEIGHT))?;
                once(&mut self.weight, number).ok_or_else(|| again("weight"))?;
            }
            "data_src" => {
                let bits = data_src(value).ok_or_else(|| wrong(DATA_SRC))?;
                once(&mut keep.data_src, bits).ok_or_else(|| again("data_src"))?;
            }
            _ => {
                return Err(InKernelUsageError::Key { word: word.to_owned(), key: key.to_owned() });
            }
        }
        Ok(())
    }
}

fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.is_none().then(|| *place = Some(value))
}

fn tasks(text: &str) -> Option<impl Iterator<Item = i32>> {
    let numbers: Option<Vec<i32>> = text
        .split(',')
        .map(|number| number.trim().parse().ok().filter(|&number| number > 0))
        .collect();
    numbers.map(Vec::into_iter)
}

/// `START-END` as the first and the last address.
fn range(text: &str) -> Option<(u64, u64)> {
    let (start, end) = text.split_once('-')?;
    let start = hexadecimal(start)?;
    match end.trim() {
        "" => Some((start, u64::MAX)),
        end => {
            Some((start, hexadecimal(end)?.checked_sub(1)?)).filter(|(start, last)| start <= last)
        }
    }
}

fn data_src(text: &str) -> Option<(u64, u64)> {
    let (mask, value) = text.split_once('/')?;
    let bits = (hexadecimal(mask)?, hexadecimal(value)?);
    (bits.0 != 0 && bits.1 & !bits.0 == 0).then_some(bits)
}

fn hexadecimal(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // from_str_radix takes a sign, an address has none.
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(words: &[&str]) -> Result<Kept, String> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Kept::parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn each_key_has_its_place() {
        let all = ["pid=3, 4", "pid=5", "tid=7", "comm=make", "ip=0x1000-2000", "addr=ff00-"];
        let Kept { keep, cgroup, .. } = kept(&all).unwrap();
        assert_eq!((keep.pids, keep.tids), (vec![Pid(3), Pid(4), Pid(5)], vec![Tid(7)]));
        assert_eq!((keep.comm.as_deref(), cgroup), (Some("make"), None));
        assert_eq!((keep.ip, keep.address), (Some((0x1000, 0x1fff)), Some((0xff00, u64::MAX))));
        let more = ["cgroup=/a.slice", "one_in=10", "weight=30", "data_src=0xf0/20"];
        let Kept { keep, cgroup, .. } = kept(&more).unwrap();
        assert_eq!((keep.one_in, keep.least_weight), (10, 30));
        assert_eq!((keep.data_src, cgroup), (Some((0xf0, 0x20)), Some("/a.slice".into())));
    }

    #[test]
    fn what_means_nothing_is_quoted() {
        let wrong = [
            ("pid", "KEY=VALUE"),
            ("pid=", "numbers"),
            ("pid=0", "numbers"),
            ("tid=1,x", "numbers"),
            ("comm=", "1 to 15 bytes"),
            ("comm=sixteen-bytes-and", "1 to 15 bytes"),
            ("ip=1000", "START-END"),
            ("ip=2000-2000", "START-END"),
            ("addr=-5", "START-END"),
            ("addr=+1-2", "START-END"),
            ("one_in=1", "above 1"),
            ("weight=-1", "whole number"),
            ("data_src=f0", "MASK/VALUE"),
            ("data_src=f0/1", "MASK/VALUE"),
            ("cgroup=", "path"),
            ("colour=red", "keys are pid, tid"),
        ];
        for (word, why) in wrong {
            let said = kept(&[word]).unwrap_err();
            assert!(said.contains(why) && said.contains(word), "{word}: {said}");
        }
        let single = ["comm=a", "ip=1-2", "addr=1-2", "data_src=1/1", "cgroup=/a"];
        for word in single.into_iter().chain(["one_in=2", "weight=0"]) {
            assert!(kept(&[word, word]).unwrap_err().contains("already"), "{word}");
        }
    }
}
