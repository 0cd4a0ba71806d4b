//! Counts by source line, file by file.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Error;
use crate::query::key::Key;
use crate::report::{Cell, JoinedCount, JoinedEvent, JoinedReport, Machine, Question, Report};
use crate::share_interval::ratio;

/// What was counted in each line of source files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceListing {
    /// Version of this shape: [`SourceListing::VERSION`].
    pub hardmeter_source_listing: u32,
    /// The recorded machine.
    pub machine: Machine,
    /// The question, as understood.
    pub query: Question,
    /// The columns, in the stream's order, with their totals.
    pub events: Vec<JoinedEvent>,
    /// What has no line.
    pub without_line: ListedCounts,
    /// The files, by the largest of their shares.
    pub files: Vec<ListedFile>,
}

/// A source file with counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListedFile {
    /// Path, as debug info has it.
    pub file: String,
    /// All of its lines.
    pub sums: ListedCounts,
    /// Lines that something was counted in, by number from 1; line 0 is code
    /// of no line, the compiler's own.
    pub lines: BTreeMap<u32, ListedCounts>,
}

/// What each event counts, in the order of [`SourceListing::events`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct ListedCounts(pub Vec<ListedCount>);

/// What one event counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ListedCount {
    /// Samples.
    pub count: u64,
    /// Events that they stand for.
    pub period: u64,
    /// `period` as a part of the event's, 0 to 1.
    pub share: f64,
}

impl SourceListing {
    /// Counts up when a field changes its meaning or goes.
    pub const VERSION: u32 = 1;

    /// The lines of a report by [`Key::Srcline`] alone that has all rows.
    ///
    /// # Errors
    /// A report without events.
    pub fn of(report: &Report) -> Result<SourceListing, Error> {
        let joined = JoinedReport::of(report, None, None)?;
        let none = || ListedCounts(vec![ListedCount::default(); joined.events.len()]);
        let mut without_line = none();
        let mut files: BTreeMap<String, ListedFile> = BTreeMap::new();
        for row in &joined.rows {
            let line_of = |(key, cell): (&Key, &Cell)| match (key, cell) {
                (Key::Srcline, Cell::Text(text)) => place(text),
                _ => None,
            };
            let Some((file, line)) = row.keys.iter().zip(&row.cells).find_map(line_of) else {
                without_line.add(&row.events);
                continue;
            };
            let listed = files.entry(file.clone()).or_insert_with(|| ListedFile {
                file,
                sums: none(),
                lines: BTreeMap::new(),
            });
            listed.sums.add(&row.events);
            listed.lines.entry(line).or_insert_with(none).add(&row.events);
        }
        let mut files: Vec<ListedFile> = files.into_values().collect();
        without_line.take_shares(&joined.events);
        for file in &mut files {
            file.sums.take_shares(&joined.events);
            file.lines.values_mut().for_each(|counts| counts.take_shares(&joined.events));
        }
        files.sort_by(|one, other| other.sums.largest().total_cmp(&one.sums.largest()));
        Ok(SourceListing {
            hardmeter_source_listing: SourceListing::VERSION,
            machine: joined.machine,
            query: joined.query,
            events: joined.events,
            without_line,
            files,
        })
    }

    /// Only files whose path ends with one of these, by whole parts.
    ///
    /// # Errors
    /// The first that no sample lies in, and the paths of files with most.
    pub fn only(mut self, wanted: &[String]) -> Result<SourceListing, UnlistedFile> {
        let is_it = |file: &str, wanted: &str| {
            let rest = file.strip_suffix(wanted.trim_start_matches("./"));
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        for one in wanted {
            if !self.files.iter().any(|listed| is_it(&listed.file, one)) {
                let have = self.files.iter().take(UnlistedFile::SHOWN);
                let have = have.map(|listed| listed.file.clone()).collect();
                return Err(UnlistedFile { wanted: one.clone(), have });
            }
        }
        self.files.retain(|listed| wanted.iter().any(|one| is_it(&listed.file, one)));
        Ok(self)
    }
}

impl ListedCounts {
    fn add(&mut self, counts: &[JoinedCount]) {
        for (sum, more) in self.0.iter_mut().zip(counts) {
            sum.count += more.count;
            sum.period += more.period;
        }
    }

    /// Shares of the numbers that stand beside them. A report's are of samples, which drawn
    /// periods are not in proportion to.
    fn take_shares(&mut self, events: &[JoinedEvent]) {
        for (count, event) in self.0.iter_mut().zip(events) {
            count.share = ratio(count.period, event.period);
        }
    }

    /// The largest share of an event, 0 to 1.
    pub fn largest(&self) -> f64 {
        self.0.iter().map(|count| count.share).fold(0.0, f64::max)
    }
}

/// A file that was asked for, and no sample lies in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no sample lies in a line of {wanted}{}", shown(have))]
pub struct UnlistedFile {
    /// As typed.
    pub wanted: String,
    /// Files with most samples.
    pub have: Vec<String>,
}

impl UnlistedFile {
    const SHOWN: usize = 5;
}

fn shown(have: &[String]) -> String {
    match have {
        [] => ": no sample has a source line; build with -g".to_owned(),
        have => format!("; files with most: {}", have.join(", ")),
    }
}

/// `FILE:LINE`, where FILE may have colons.
fn place(text: &str) -> Option<(String, u32)> {
    let (file, line) = text.rsplit_once(':')?;
    Some((file.to_owned(), line.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(files: &[&str]) -> SourceListing {
        let listed = |file: &&str| ListedFile {
            file: (*file).to_owned(),
            sums: ListedCounts::default(),
            lines: BTreeMap::new(),
        };
        SourceListing {
            hardmeter_source_listing: SourceListing::VERSION,
            machine: Machine::default(),
            query: Question::default(),
            events: Vec::new(),
            without_line: ListedCounts::default(),
            files: files.iter().map(listed).collect(),
        }
    }

    #[test]
    fn files_are_chosen_by_whole_parts_of_their_paths() {
        let all = ["/src/a/list.c", "/src/b/list.c", "/src/blacklist.c"];
        let chosen = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|one| (*one).to_owned()).collect();
            let files = listing(&all).only(&wanted).map(|listing| listing.files);
            files.map(|files| files.iter().map(|it| it.file.clone()).collect::<Vec<_>>())
        };
        assert_eq!(chosen(&["list.c"]).unwrap(), all[..2]);
        assert_eq!(chosen(&["./a/list.c"]).unwrap(), all[..1]);
        assert_eq!(chosen(&["/src/blacklist.c", "b/list.c"]).unwrap(), all[1..]);
        let said = chosen(&["lacklist.c"]).unwrap_err().to_string();
        assert_eq!(
            said,
            "no sample lies in a line of lacklist.c; files with most: /src/a/list.c, \
             /src/b/list.c, /src/blacklist.c"
        );
        let none = listing(&[]).only(&["x.c".to_owned()]).unwrap_err().to_string();
        assert!(none.ends_with("no sample has a source line; build with -g"), "{none}");
    }

    #[test]
    fn paths_may_have_colons() {
        assert_eq!(place("c:/a:b.c:12"), Some(("c:/a:b.c".into(), 12)));
        assert_eq!(place("a.c:"), None);
        assert_eq!(place("a.c"), None);
    }
}
