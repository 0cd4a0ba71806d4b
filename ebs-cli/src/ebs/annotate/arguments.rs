//! Options of `ebs annotate`.

use crate::ebs::arguments::{StandingArguments, SymbolArguments, TableArguments};
use crate::ebs::input::is_recording;
use crate::terminal::{number, percent};
use clap::Args;
use perfdata::InstructionClass;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// `ebs annotate`.
#[derive(Clone, Debug, Args)]
pub struct AnnotateArguments {
    /// Routine to show: its name or a part that only one has, 0xADDRESS of an instruction in it;
    /// with @OBJECT that of this file, `[kernel]` or `[MODULE]`. Not with source files
    /// [default: the routine with most records].
    #[arg(value_name = "ROUTINE")]
    pub routine: Option<String>,
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// Shows all source files with counts by line, rather than a routine.
    #[arg(long, help_heading = "Source")]
    pub all: bool,
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Counts only records of instructions of this class; see `ebs report --help`.
    #[arg(long, value_name = "CLASS")]
    pub class: Option<InstructionClass>,
    /// Way of writing instructions: AT&T's as objdump, or Intel's.
    #[arg(long, value_enum, default_value_t)]
    pub syntax: SyntaxName,
    /// Instructions to tell more of, those with most records: operand, registers, data addresses.
    #[arg(long, value_name = "N", value_parser = number::<usize>, default_value = "5")]
    pub top: usize,
    /// Leaves instructions with a smaller part of the routine out, unless they stand beside others.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "0")]
    pub min_percent: f64,
    /// Instructions, or source lines, without records to show on each side of those with some, or
    /// all [default: 10; JSON: all].
    #[arg(long, value_name = "N|all")]
    pub context: Option<Context>,
    /// Of a file: shows this source file with counts by line, rather than a routine; its path, or
    /// how it ends. Of a directory: where source files are looked for if they are not at their
    /// path: DIR/PATH, then with less and less of the front of PATH.
    #[arg(long, value_name = "FILE|DIR", help_heading = "Source")]
    pub source: Vec<PathBuf>,
    /// Of source files: counts at the call chain's innermost frame of this routine (or any of an
    /// object), and only records that have one.
    #[arg(long, value_name = "GLOB", help_heading = "Source")]
    pub callers: Option<String>,
    /// Of source files: counts at the first instruction on the call chain that is in none of these
    /// routines or objects, such as libc.so*,ld-linux*,std::*: the line that you can change.
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',', help_heading = "Source")]
    pub outside: Vec<String>,
    /// What a source file's path begins with, and what is there instead.
    #[arg(long, value_name = "FROM=TO", help_heading = "Source")]
    pub prefix_map: Vec<PrefixMap>,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: AnnotationFormat,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

impl AnnotateArguments {
    /// One word that is a recording is the file, and no routine was named.
    pub(in crate::ebs) fn tell_file_from_routine(&mut self) {
        if self.file.is_none() && self.standing.standing.is_none() {
            self.file =
                self.routine.take_if(|word| is_recording(Path::new(word))).map(PathBuf::from);
        }
    }
}

/// Way of writing instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SyntaxName {
    /// Source first.
    #[default]
    Att,
    /// Destination first.
    Intel,
}

/// Form of an annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum AnnotationFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// How much is shown around instructions with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    All,
    /// So many instructions on each side.
    Instructions(usize),
}

impl FromStr for Context {
    type Err = String;

    fn from_str(text: &str) -> Result<Context, String> {
        match text {
            "all" => Ok(Context::All),
            text => match number(text) {
                Ok(count) => Ok(Context::Instructions(count)),
                Err(why) => Err(format!("{why}, nor the word all")),
            },
        }
    }
}

/// What paths of source files begin with, and where those files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixMap {
    /// Whole parts of a path.
    pub from: PathBuf,
    /// In their place.
    pub to: PathBuf,
}

impl FromStr for PrefixMap {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<PrefixMap, &'static str> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => {
                Ok(PrefixMap { from: from.into(), to: to.into() })
            }
            _ => Err("FROM=TO is expected, such as /build=/home/me/src"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_what_they_mean() {
        assert_eq!("all".parse(), Ok(Context::All));
        assert_eq!("7".parse(), Ok(Context::Instructions(7)));
        assert!("-1".parse::<Context>().unwrap_err().ends_with("nor the word all"));
        let map: PrefixMap = "/build=/src".parse().unwrap();
        assert_eq!((map.from, map.to), ("/build".into(), "/src".into()));
        assert!("/build".parse::<PrefixMap>().is_err() && "=/src".parse::<PrefixMap>().is_err());
        assert_eq!(percent("2.5%"), Ok(2.5));
        assert!(percent("101").is_err() && percent("x").is_err() && percent("NaN").is_err());
    }
}
