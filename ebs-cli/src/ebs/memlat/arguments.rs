//! Options of `ebs memlat`.

use crate::terminal::size;
use clap::Args;
use latency::LatencyPart;
use latency::machine::numbers;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ebs memlat                       all parts, in less than a minute on a few cores
  ebs memlat --quick               the same in seconds, coarser
  ebs memlat --only levels,tlbs    two parts; ebs memlat --only cores --cpus 0,8,64 four CPUs' pairs
  ebs memlat --html memory.html    the curves as a picture, too: one file, no script, no network
  ebs memlat --json > memory.json  all figures: docs/memlat.md says what is in it
  ebs -u -t l3_cache_miss --cache \"$(ebs memlat --as-cache)\" ./a.out
                                   the emulated PMU with this machine's sizes and latencies

No PMU and no rights are needed. Each load waits for the one before; core cycles are those of a chain
of adds beside it. Runs during which the host or another program took the CPU are thrown away and
counted; SIGINT prints what there is by then.

Exit status: 0, also when SIGINT ended it; 1 when nothing could be measured, 2 for a wrong command
line.";

/// `ebs memlat`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct MemlatArguments {
    /// Seconds rather than most of a minute: fewer sizes, fewer and shorter runs, up to 64 MiB.
    #[arg(long)]
    pub quick: bool,
    /// Only these parts: levels, tlbs, strides, chains, forwarding, cores, nodes, load.
    #[arg(long, value_name = "PART,...", value_delimiter = ',', value_parser = part)]
    pub only: Vec<LatencyPart>,
    /// Prints JSON.
    #[arg(long, conflicts_with = "as_cache")]
    pub json: bool,
    /// Prints what --cache takes: sizes and latencies as measured, ways as the machine describes
    /// them.
    #[arg(long)]
    pub as_cache: bool,
    /// Writes curves and tables to a page, too.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Measures on this CPU [default: the one that is idle most].
    #[arg(long, value_name = "N", value_parser = crate::terminal::number::<u32>)]
    pub cpu: Option<u32>,
    /// CPUs of the core to core matrix, such as 0-3,8 [default: all that may be used, or 16 of them].
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<CpuList>,
    /// The largest size, such as 1g, if memory allows [default: eight times the last level, up to
    /// 512m].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub largest: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

fn part(text: &str) -> Result<LatencyPart, String> {
    LatencyPart::ALL.into_iter().find(|part| part.name() == text).ok_or_else(|| {
        format!(
            "no part is called that; they are {}",
            LatencyPart::ALL.map(LatencyPart::name).join(", ")
        )
    })
}

fn cpus(text: &str) -> Result<CpuList, String> {
    let all = numbers(text);
    let is_list = text.split(',').all(|part| !numbers(part).is_empty());
    match is_list && all.len() > 1 {
        true => Ok(CpuList(all)),
        false => Err("no list of two CPUs or more, such as 0-3,8".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lists_and_parts_mean_something() {
        assert_eq!((size("64m"), size("1048576")), (Ok(64 << 20), Ok(1 << 20)));
        assert_eq!((size("1G"), size("1024k")), (Ok(1 << 30), Ok(1 << 20)));
        for text in ["", "m", "1k", "2000g", "-1", "99999999999999999999g", "1.5g"] {
            assert!(size(text).is_err(), "{text}");
        }
        assert_eq!(cpus("0-2,5"), Ok(CpuList(vec![0, 1, 2, 5])));
        for text in ["", "1", "x", "0-1,x", "3-1"] {
            assert!(cpus(text).is_err(), "{text}");
        }
        assert_eq!(part("cores"), Ok(LatencyPart::Cores));
        assert!(part("core").unwrap_err().contains("forwarding"));
    }
}
