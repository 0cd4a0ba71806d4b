//! Options of `ebs selftest`.

use crate::ebs::arguments::ServingArguments;
use clap::Args;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  ebs selftest                    all types of this machine, in about 20 seconds
  sudo ebs selftest               with the rights that -k and locked settings take
  ebs selftest -t l1_cache_miss   one type, and all that is wrong with it
  ebs selftest --source emulated  the emulated PMU, on a machine that has one of its own, too
  ebs selftest --json > st.json   to send with a report: no names of files, users or hosts

Each type that this machine offers is sampled on programs that are part of ebs, of which each
instruction, address and register is known. A row says who counted (hardware, kernel, emulated), what
was opened, which shares of the samples are right, what was lost, and PASS, FAIL or `why not`: a
type that is not to be had here is no failure. SIGINT prints the rows that there are.

Exit status: 0 when nothing FAILs, 1 when something does, 2 for a wrong command line.";

/// `ebs selftest`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub struct SelftestArguments {
    /// Only these types, by their names in `ebs -h`.
    #[arg(
        short = 't',
        long = "type",
        short_alias = 'e',
        alias = "event",
        value_name = "TYPE,...",
        value_delimiter = ','
    )]
    pub types: Vec<String>,
    /// Who counts the types of a CPU: its PMU, or the emulated one; `auto` takes the PMU where there
    /// is one.
    #[arg(long, value_name = "auto|pmu|emulated")]
    pub source: Option<String>,
    /// No row is begun after so many seconds; `0.5` is half a second.
    #[arg(long, value_name = "N", default_value = "20", value_parser = seconds)]
    pub seconds: Duration,
    /// Prints JSON: docs/selftest.md says what is in it.
    #[arg(long)]
    pub json: bool,
    /// Who opens the events.
    #[command(flatten)]
    pub serving: ServingArguments,
}

/// The longest test, a day: in seconds.
const LONGEST: f64 = 86_400.0;

/// Seconds and parts of them, up to a day.
fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|number| (0.0..=LONGEST).contains(number));
    let span = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    span.ok_or_else(|| format!("not a number of seconds from 0 to {LONGEST}, such as 20 or 0.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_be_parts_of_one() {
        for (text, milliseconds) in [("20", 20_000), ("0.5", 500), ("0", 0), ("86400", 86_400_000)]
        {
            assert_eq!(seconds(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "x", "-1", "86400.1", "1e9", "nan", "inf", "1 s"] {
            let error = seconds(text).unwrap_err();
            assert!(error.contains("0.5"), "{text}: {error}");
        }
    }
}
