//! What a command that has ended left behind.

use std::{collections::BTreeMap, os::unix::process::ExitStatusExt, process::ExitStatus};

/// Exit status and both outputs of a command.
#[derive(Debug)]
pub struct Outcome {
    /// The command, for messages.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Its stdout; bytes that are no UTF-8 are replaced.
    pub out: String,
    /// Its stderr, likewise.
    pub err: String,
}

/// Records of a run as its last line tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub delivered: u64,
    /// Lost, all causes together.
    pub lost: u64,
}

impl Outcome {
    /// The exit status; fails when a signal ended the command.
    #[track_caller]
    pub fn code(&self) -> i32 {
        match self.status.code() {
            Some(code) => code,
            None => panic!("signal {:?} ended {self}", self.status.signal()),
        }
    }

    /// Fails unless the command succeeded.
    #[track_caller]
    pub fn success(self) -> Outcome {
        assert!(self.status.success(), "{self}");
        self.sane()
    }

    /// The `count` of each value of a column, of CSV on stdout in which none has a comma.
    #[track_caller]
    pub fn counts_by(&self, column: &str) -> BTreeMap<String, u64> {
        let mut lines = self.out.lines().filter(|line| !line.starts_with('#'));
        let titles: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let at = |title| {
            titles
                .iter()
                .position(|it| *it == title)
                .unwrap_or_else(|| panic!("no {title}: {self}"))
        };
        let (column, count) = (at(column), at("count"));
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[column].to_owned(), cells[count].parse().unwrap())
        };
        lines.map(row).collect()
    }

    /// Fails unless the command refused with this status and a message that
    /// holds each of `words`.
    #[track_caller]
    pub fn refused(self, code: i32, words: &[&str]) -> Outcome {
        assert_eq!(self.code(), code, "{self}");
        for word in words {
            let said = self.err.to_lowercase().contains(&word.to_lowercase());
            assert!(said, "stderr does not say {word:?}: {self}");
        }
        self.sane()
    }

    /// Fails if the command panicked, whatever it made of that.
    #[track_caller]
    pub fn sane(self) -> Outcome {
        assert!(!self.err.contains("panicked") && self.status.code() != Some(101), "{self}");
        self
    }

    /// The last line of stderr: what became of the records.
    #[track_caller]
    pub fn last_line(&self) -> &str {
        self.err.lines().last().unwrap_or_else(|| panic!("nothing on stderr: {self}"))
    }

    /// The records of the last line of stderr; fails unless they are told,
    /// and are all that the kernel counted.
    #[track_caller]
    pub fn told(&self) -> Told {
        let line = self.last_line();
        assert!(!line.contains("unaccounted") && !line.contains("unknown"), "{self}");
        let count_before = |word: &str| {
            let words = || line.split([' ', ',']).filter(|word| !word.is_empty());
            let mut pairs = words().zip(words().skip(1));
            let count = pairs.find_map(|(count, next)| (next == word).then_some(count));
            count.and_then(|count| count.parse().ok())
        };
        let delivered = count_before("records").or_else(|| count_before("record"));
        match (delivered, count_before("lost")) {
            (Some(delivered), Some(lost)) => Told { delivered, lost },
            _ => panic!("the last line tells no records: {self}"),
        }
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let brief = |text: &str| match text.char_indices().nth(4000) {
            Some((end, _)) => format!("{}...", &text[..end]),
            None => text.to_owned(),
        };
        writeln!(f, "{}\n{}", self.command, self.status)?;
        writeln!(f, "--- stdout\n{}--- stderr\n{}", brief(&self.out), brief(&self.err))
    }
}
