//! What `ebs` alone prints: the commands in groups, a line each.

use crate::ebs::command::summaries;
use anyhow::Result;
use std::fmt::Write as _;
use std::io::Write;

/// Commands by what you want to do, each in exactly one group.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Read a recording",
        &["report", "causes", "annotate", "c2c", "layout", "html", "top", "script"],
    ),
    ("Compare", &["diff", "compare"]),
    ("Count without samples", &["stat"]),
    ("Pass a recording on", &["export", "convert", "archive"]),
    ("This machine", &["list", "plan", "selftest", "memlat"]),
    ("Daemon and shell", &["sessions", "watch", "completions", "man"]),
];

const EXAMPLES: &str = "\
Examples:
  ebs ./server --port 80               where it misses, on what, and why
  ebs -u -t dtlb_load_miss ./server    one event; `ebs -h` lists the types
  ebs -p 1234 --until 10s              a process that runs, for ten seconds
  ebs causes                           causes and remedies, last recording
  ebs html                             the last recording as a page";

/// Writes the overview.
///
/// # Errors
///
/// Those of `out`.
pub fn run(out: &mut dyn Write) -> Result<()> {
    out.write_all(text().as_bytes())?;
    Ok(())
}

/// The overview, at most 80 columns wide.
pub fn text() -> String {
    let mut text = String::from(
        "ebs shows where a program misses caches, on what data, why, and what to change.\n\n\
         Usage: ebs PROGRAM [ARGS...]\n       \
         ebs [OPTIONS] -t TYPE,... PROGRAM|PID [ARGS...]\n       \
         ebs COMMAND [OPTIONS]\n",
    );
    let summaries = summaries();
    let summary = |name: &str| summaries.iter().find(|(of, _)| of == name).map(|(_, text)| &**text);
    for (heading, names) in GROUPS {
        let _ = write!(text, "\n{heading}:\n");
        for name in names {
            let _ = writeln!(text, "  {name:<12} {}", summary(name).unwrap_or_default());
        }
    }
    let _ = write!(
        text,
        "\n{EXAMPLES}\n\n`ebs help COMMAND` explains a command, `ebs --help` the options of sampling,\n\
         `ebs -h` and `ebs -h TYPE` the events.\n"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_command_has_a_line_of_80_columns() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let distinct: BTreeSet<&str> = grouped.iter().copied().collect();
        assert_eq!(distinct.len(), grouped.len(), "a command is in two groups");
        let all: BTreeSet<String> = summaries().into_iter().map(|(name, _)| name).collect();
        assert_eq!(distinct, all.iter().map(String::as_str).collect());
        for line in text().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn the_overview_reads_well() {
        insta::assert_snapshot!(text());
    }
}
