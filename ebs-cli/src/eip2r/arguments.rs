//! What was typed.

use crate::terminal::{STYLES, number};
use clap::{ArgGroup, CommandFactory, Parser, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;

const USAGE: &str =
    "eip2r [-p POSITION] [-m PROCESS_MAP] [-s SYSTEM_MAP] [-o OUTPUT_FILE] [OPTIONS] [EIP_FILE]";

const EXAMPLES: &str = "\
Examples:
  grep -v '#' fault.1 | awk '{print $2}' | eip2r | sort | uniq -c | sort -nr | head
  eip2r -p 2 fault.1                        the same column, comment lines kept
  eip2r -p 2 --count fault.1 | head         the histogram without sort and uniq
  eip2r -p 2 --count --by routine fault.1   one line a routine, at its first address
  eip2r -s /boot/System.map-6.1.0 eips      names of that kernel
  eip2r -s kallsyms.saved eips              a copy of /proc/kallsyms serves as well
  eip2r -m 1234 eips                        user addresses of the running process 1234
  eip2r -m maps.saved eips                  ... of a copy of its /proc/PID/maps
  eip2r -l --vmlinux vmlinux eips           source lines of the running kernel, wherever it lies
  eip2r -e vmlinux eips                     addresses that vmlinux was linked for
  eip2r -l -e a.out eips                    their source lines and inlined callers, too

A line of input is a hexadecimal number, with or without 0x; what follows it is ignored. Lines that
start with # and blank lines are passed on. A line of output is the address in 16 digits and the
routine, or in brackets why there is none; how often each reason occurred is said on stderr.
With -l it ends with the source line, and a line for each caller that it was inlined into follows.

Without -s the names of the running kernel's /proc/kallsyms are used, and if kptr_restrict hides
them those of /boot/System.map-RELEASE. When KASLR moved the kernel away from where a System.map
or a vmlinux says, the distance is worked out and said; one of another kernel is refused.

Environment:
  DEBUGINFOD_URLS  servers that are asked, by build id, for debug files that are not here; unset,
                   nobody is. The others of debuginfod-client-config(7) are followed, too.

Exit status: 0; 1 when something could not be read or written, or a line held no number; 2 for a
wrong command line.";

/// Turns instruction pointers into routines.
#[derive(Debug, Parser)]
#[command(name = "eip2r", version, override_usage = USAGE, after_long_help = EXAMPLES)]
#[command(styles = STYLES, max_term_width = 100)]
#[command(group = ArgGroup::new("kernel").multiple(true))]
pub struct Arguments {
    /// Column of the instruction pointer, counted from 1.
    #[arg(short, long, value_name = "POSITION", default_value = "1")]
    #[arg(value_parser = parse_position)]
    pub position: NonZeroUsize,

    /// Where a process's code lies: a PID, or a copy of its /proc/PID/maps.
    #[arg(short = 'm', long = "maps", value_name = "PROCESS_MAP")]
    pub maps: Option<PathBuf>,

    /// The kernel's symbols: a System.map, a copy of /proc/kallsyms, or a vmlinux.
    #[arg(short, long, visible_alias = "kallsyms", value_name = "SYSTEM_MAP", group = "kernel")]
    pub system_map: Option<PathBuf>,

    /// vmlinux of that kernel, for source lines and inlined callers, and for symbols where -s names
    /// none [default: looked for at the usual places, by build id].
    #[arg(long, value_name = "FILE", group = "kernel")]
    pub vmlinux: Option<PathBuf>,

    /// How far the kernel ran from where SYSTEM_MAP or the vmlinux says, in hexadecimal; believed
    /// without a check.
    #[arg(long, value_name = "OFFSET", requires = "kernel", allow_hyphen_values = true)]
    #[arg(value_parser = parse_offset)]
    pub kaslr_offset: Option<u64>,

    /// Addresses are those that this ELF file was linked for: a program, library, vmlinux, debug file.
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["maps", "kernel"])]
    pub executable: Option<PathBuf>,

    /// Add source lines, and the callers that a routine was inlined into: from debug info.
    #[arg(short, long, conflicts_with = "count")]
    pub lines: bool,

    /// With --lines: a JSON object for each line of input.
    #[arg(long, requires = "lines")]
    pub json: bool,

    /// Directory below which the process's files, their debug files and its map of generated code
    /// are, and nowhere else.
    #[arg(long, value_name = "DIR", requires = "maps")]
    pub symfs: Option<PathBuf>,

    /// Where the output goes instead of stdout.
    #[arg(short, long, value_name = "OUTPUT_FILE")]
    pub output: Option<PathBuf>,

    /// Add to each routine how far in it the address lies: ROUTINE+0x1f.
    #[arg(long)]
    pub offset: bool,

    /// Print how often each address occurs, most often first.
    #[arg(long)]
    pub count: bool,

    /// What --count counts.
    #[arg(long, value_enum, value_name = "KEY", default_value = "address", requires = "count")]
    pub by: By,

    /// Threads that read debug info for --lines [default: one a CPU]. The output is the same.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// File of instruction pointers; stdin when absent or -.
    #[arg(value_name = "EIP_FILE")]
    pub eip_file: Option<PathBuf>,
}

impl Arguments {
    /// As many as were asked for, else as there are CPUs to run on.
    pub(super) fn threads(&self) -> NonZeroUsize {
        let one_a_cpu = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.unwrap_or_else(one_a_cpu)
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Each address by itself.
    Address,
    /// All addresses of a routine together, shown at its first address.
    Routine,
}

/// The command's definition: help, man page and completions come from it.
pub fn command() -> clap::Command {
    Arguments::command()
}

fn parse_position(text: &str) -> Result<NonZeroUsize, String> {
    NonZeroUsize::new(number(text)?).ok_or_else(|| "-p counts columns from 1".to_owned())
}

/// A distance: hexadecimal, with or without 0x, with or without a sign.
fn parse_offset(text: &str) -> Result<u64, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let sound = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u64::from_str_radix(digits, 16) {
        Ok(distance) if sound && sign < 0 => Ok(distance.wrapping_neg()),
        Ok(distance) if sound => Ok(distance),
        _ => Err("not a hexadecimal number of at most 16 digits".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn distances() {
        for (text, distance) in [
            ("0", 0),
            ("0x1e000000", 0x1e00_0000),
            ("+1f", 0x1f),
            ("-0x10", 0x10_u64.wrapping_neg()),
            ("ffffffffffffffff", u64::MAX),
        ] {
            assert_eq!(parse_offset(text), Ok(distance));
        }
        for text in ["", "-", "0x", "12g", "+-1", "10000000000000000"] {
            assert!(parse_offset(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_original_grammar() {
        let line = "eip2r -p 2 -m maps -s /boot/System.map -o out eips".split(' ');
        let arguments = Arguments::try_parse_from(line).unwrap();
        assert_eq!(arguments.position.get(), 2);
        assert_eq!(arguments.maps, Some("maps".into()));
        assert_eq!(arguments.eip_file, Some("eips".into()));
        for wrong in
            [&["eip2r", "-p", "0"][..], &["eip2r", "--by", "routine"], &["eip2r", "a", "b"]]
        {
            assert_eq!(Arguments::try_parse_from(wrong).unwrap_err().exit_code(), 2);
        }
    }

    #[test]
    fn what_names_the_kernel() {
        let parsed = |line: &str| Arguments::try_parse_from(line.split(' '));
        let both = parsed("eip2r --kallsyms list --vmlinux image --kaslr-offset 0").unwrap();
        assert_eq!((both.system_map, both.vmlinux), (Some("list".into()), Some("image".into())));
        assert!(parsed("eip2r --vmlinux image --kaslr-offset 0").is_ok());
        for wrong in ["--kaslr-offset 0", "-e a.out -s list", "-e a.out --vmlinux image"] {
            assert!(parsed(&format!("eip2r {wrong}")).is_err(), "{wrong}");
        }
    }
}
