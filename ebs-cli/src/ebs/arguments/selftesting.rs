//! `ebs selftest`.

use super::ServingArguments;
use crate::terminal::grammar::number;
use clap::Args;

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
    #[arg(short = 't', long = "type", value_name = "TYPE,...", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Who counts the types of a CPU: its PMU, or the emulated one; `auto` takes the PMU where there
    /// is one.
    #[arg(long, value_name = "auto|pmu|emulated")]
    pub source: Option<String>,
    /// No row is begun after so many seconds.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = number::<u32>)]
    pub seconds: u32,
    /// Prints JSON: docs/selftest.md says what is in it.
    #[arg(long)]
    pub json: bool,
    /// Who opens the events.
    #[command(flatten)]
    pub serving: ServingArguments,
}
