//! The answer on one screen: where a program misses, on what, why, and what to change.

use crate::ebs::arguments::SymbolArguments;
use crate::ebs::input::Input;
use crate::ebs::shared_reading::SharedReading;
use crate::ebs::{causes, report};
use crate::outputs::PatientWriter;
use crate::terminal::grouped;
use analysis::causes::{CauseGrade, CauseReport, CauseRow, MissVerdict};
use analysis::report::{Cell, EventReport, Row, SiteCell};
use analysis::{Key, Pipeline, Query, Report, View};
use anyhow::{Context, Result};
use perfdata::MissClass;
use perfdata::printable::printable;
use render::columns;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use symbolizer::{file_name, folded, short_name};

/// Sites that are shown.
const SITES: usize = 5;
/// Instructions that are looked at: those of one line are one site.
const INSTRUCTIONS: usize = 1000;
/// 95 of 100 normal intervals of so many standard errors hold the truth.
const ERRORS: f64 = 1.96;
/// Below so many samples shares say little.
const FEW: u64 = 200;
const WIDTH: usize = 80;
/// Where what is said of a site begins.
const INDENT: &str = "                 ";

/// Reads a recording that was just made and prints its summary on stdout. `kept` is the file that
/// a user can name to read more; None: it is gone now.
///
/// # Errors
///
/// A recording that cannot be read, or damaged; those of stdout.
pub(super) fn print(recording: &Path, kept: Option<&Path>, program: &str) -> Result<()> {
    let mut input = Input::open(recording)?;
    let options = report::symbols_of(&input, &SymbolArguments::of_this_machine())?;
    let rows = |keys: &str| -> Result<Query> {
        let keys = Key::parse_list(keys)?;
        Ok(Query { keys, top: Some(INSTRUCTIONS), ..Query::default() })
    };
    let views = vec![View::Causes(causes::caches(&[])?)];
    let questions =
        vec![rows("site,srcline")?, rows("site,member")?, Query { views, ..Query::default() }];
    let mut reading = SharedReading::of(&mut input, questions, &options)?;
    let lines = reading.next(Pipeline::finish)?;
    let members = reading.next(Pipeline::finish)?;
    let causes = reading.next(Pipeline::causes).ok();
    let text = Summary::new(program, &lines, &members, causes.as_ref()).text(kept);
    let stdout = PatientWriter::stdout();
    stdout.and_then(|mut stdout| stdout.write_all(text.as_bytes())).context("stdout")?;
    reading.end.into_result()
}

struct Summary {
    head: String,
    sites: Vec<SummarySite>,
    samples: u64,
    has_each: bool,
    /// What is said instead of sites.
    nothing: Option<String>,
}

/// A source line, or an instruction where lines are not known.
struct SummarySite {
    share: f64,
    /// Half of the interval that holds the share 95 times of 100.
    error: f64,
    routine: String,
    place: String,
    data: String,
    cause: String,
    is_determined: bool,
}

impl Summary {
    fn new(
        program: &str,
        lines: &Report,
        members: &Report,
        causes: Option<&CauseReport>,
    ) -> Summary {
        // The heap's own events say on what, not where.
        let Some(event) = lines.events.iter().find(|event| !is_of_heap(&event.name)) else {
            return Summary::of_nothing(program, "No event was recorded.");
        };
        let members = members.events.iter().find(|it| it.name == event.name);
        let rows = causes
            .and_then(|all| all.events.iter().find(|it| it.event == event.name))
            .map_or(&[][..], |it| &it.rows);
        if event.totals.counted == 0 {
            let text = format!("No sample of {} was taken.", what(&event.name));
            return Summary::of_nothing(program, &text);
        }
        let mut sites: Vec<(SummarySite, &SiteCell)> = Vec::new();
        for row in &event.rows {
            let Some(Cell::Site(site)) = row.cells.first() else { continue };
            let place = match row.cells.get(1) {
                Some(Cell::Text(line)) if !line.is_empty() => file_name(line).to_owned(),
                _ => String::new(),
            };
            let routine = routine(site, place.is_empty());
            let same = sites.iter_mut().find(|(other, _)| {
                !place.is_empty() && other.place == place && other.routine == routine
            });
            if let Some((same, _)) = same {
                same.share += row.share;
                same.error = same.error.hypot(ERRORS * row.share_error);
                continue;
            }
            let cause = most(rows.iter().filter(|it| it.site == *site));
            let member = members.and_then(|of| member(of, site));
            let (cause, is_determined, data) = of_cause(cause, member.as_deref());
            let (share, error) = (row.share, ERRORS * row.share_error);
            sites.push((
                SummarySite { share, error, routine, place, data, cause, is_determined },
                site,
            ));
        }
        sites.sort_by(|(one, _), (other, _)| other.share.total_cmp(&one.share));
        sites.truncate(SITES);
        Summary {
            head: head(program, event),
            sites: sites.into_iter().map(|(site, _)| site).collect(),
            samples: event.totals.counted,
            has_each: has_each(event),
            nothing: None,
        }
    }

    fn of_nothing(program: &str, text: &str) -> Summary {
        Summary {
            head: program.to_owned(),
            sites: Vec::new(),
            samples: 0,
            has_each: false,
            nothing: Some(text.to_owned()),
        }
    }

    /// At most 25 lines of 80 columns.
    fn text(&self, kept: Option<&Path>) -> String {
        let mut text = fitted(&self.head, WIDTH) + "\n";
        if let Some(nothing) = &self.nothing {
            let _ = writeln!(
                text,
                "{nothing}\nRun it longer, or sample another event: `ebs -h` lists them."
            );
            return text;
        }
        text.push('\n');
        for site in &self.sites {
            let share = format!(
                "{:5.1} % \u{b1}{:<6}",
                100.0 * site.share,
                format!("{:.1}", 100.0 * site.error)
            );
            let room = WIDTH - INDENT.len() - 1 - columns(&site.place);
            let _ = writeln!(text, "{share:<16} {} {}", fitted(&site.routine, room), site.place);
            for line in [&site.data, &site.cause] {
                if !line.is_empty() {
                    let _ = writeln!(text, "{INDENT}{}", fitted(line, WIDTH - INDENT.len()));
                }
            }
        }
        let _ = write!(text, "\n{}", self.sureness());
        match kept {
            Some(file) => {
                let file = file.display();
                let _ = write!(
                    text,
                    "\nNext: ebs causes {file}      why, with the numbers behind it\n      \
                     ebs annotate {file}    the first routine, by instruction\n      \
                     ebs html {file}        all of it as a page\n"
                );
            }
            None => {
                text.push_str("\nNo recording was kept; `ebs -o FILE.data PROGRAM` keeps one.\n")
            }
        }
        text
    }

    fn sureness(&self) -> String {
        let samples = grouped(&self.samples.to_string());
        let mut text = match self.has_each {
            true => format!("Every miss is in these numbers ({samples}).\n"),
            false => format!("Shares are of {samples} samples; \u{b1} holds 95 times of 100.\n"),
        };
        let open = self.sites.iter().filter(|site| !site.is_determined).count();
        if self.samples < FEW && !self.has_each {
            text.push_str("These are few samples: run it longer, or with -i 1 for every event.\n");
        } else if open > 0 {
            let _ = writeln!(
                text,
                "Undetermined causes: {open} of {}; `ebs causes` says what would decide.",
                self.sites.len()
            );
        }
        text
    }
}

/// Whether there is a sample of every event: none was left out, and none lost.
fn has_each(event: &EventReport) -> bool {
    let counted = event.ledger.as_ref().and_then(|ledger| ledger.events);
    event.totals.period == event.totals.counted && counted == Some(event.totals.counted)
}

fn is_of_heap(event: &str) -> bool {
    ["allocation", "release", "mapping"].iter().any(|name| event.contains(name))
}

/// What was run and how it was measured.
fn head(program: &str, event: &EventReport) -> String {
    let of = match event.ledger.as_ref().and_then(|ledger| ledger.events) {
        Some(events) => grouped(&events.to_string()),
        None if event.totals.period == event.totals.counted => {
            grouped(&event.totals.counted.to_string())
        }
        None => format!("about {}", grouped(&event.totals.period.to_string())),
    };
    let by = if event.name.starts_with("emulated/") { "the emulated PMU" } else { "the CPU" };
    let seconds = event.ledger.as_ref().and_then(|ledger| ledger.seconds);
    let seconds = seconds.map_or_else(String::new, |seconds| format!(" in {seconds:.1} s"));
    format!("{program}: {of} {}{seconds}, counted by {by}", what(&event.name))
}

fn what(event: &str) -> String {
    let name = event.split('/').rfind(|part| !part.is_empty()).unwrap_or(event);
    match name {
        "l1_cache_miss" => "L1 data cache misses".to_owned(),
        "l2_cache_miss" => "L2 cache misses".to_owned(),
        "l3_cache_miss" => "L3 cache misses".to_owned(),
        other => format!("{other} events"),
    }
}

fn routine(site: &SiteCell, with_offset: bool) -> String {
    match &site.routine {
        Ok(routine) if with_offset => {
            format!("{}+{:#x}", short_name(&routine.name), routine.offset)
        }
        Ok(routine) => short_name(&routine.name).into_owned(),
        Err(_) => site.to_string(),
    }
}

fn most<'r>(rows: impl Iterator<Item = &'r CauseRow>) -> Option<&'r CauseRow> {
    rows.max_by_key(|row| row.events)
}

/// The member that most samples of a site are on.
fn member(event: &EventReport, site: &SiteCell) -> Option<String> {
    let is_of_site = |row: &&Row| matches!(row.cells.first(), Some(Cell::Site(of)) if of == site);
    let row = event.rows.iter().filter(is_of_site).max_by_key(|row| row.count)?;
    match row.cells.get(1) {
        Some(Cell::Text(member)) if member.contains(char::is_alphabetic) => {
            Some(short_member(member))
        }
        _ => None,
    }
}

/// `std::Node<int>.<std::Base<int> >.count` as `Node<...>.count`: the last part of the type's name,
/// and no base classes.
fn short_member(member: &str) -> String {
    let (mut depth, mut parts, mut begin) = (0_usize, Vec::new(), 0);
    for (at, letter) in member.char_indices() {
        match letter {
            '<' | '(' | '{' => depth += 1,
            '>' | ')' | '}' => depth = depth.saturating_sub(1),
            '.' if depth == 0 => {
                parts.extend(member.get(begin..at));
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(member.get(begin..));
    let parts = parts.iter().enumerate().filter(|(at, part)| *at == 0 || !part.starts_with('<'));
    let short = parts.map(|(at, part)| match at {
        0 => {
            let name = folded(part);
            name.rsplit("::").next().unwrap_or(&name).to_owned()
        }
        _ => (*part).to_owned(),
    });
    short.collect::<Vec<_>>().join(".")
}

/// Data by its name, of which a source file has no folders.
fn short_data(data: &str) -> String {
    let words = data.split(' ').map(|word| match word.starts_with('/') && word.contains(':') {
        true => file_name(word),
        false => word,
    });
    folded(&words.collect::<Vec<_>>().join(" ")).into_owned()
}

/// The cause with its remedy, whether it is one, and on what.
fn of_cause(row: Option<&CauseRow>, member: Option<&str>) -> (String, bool, String) {
    let Some(row) = row else {
        let data = member.map_or_else(String::new, |member| format!("on {member}"));
        return ("cause undetermined: no sample has a data address".to_owned(), false, data);
    };
    let data = match member {
        Some(member) => format!("on {member}, {}", short_data(&row.data)),
        None => format!("on {}", short_data(&row.data)),
    };
    let (words, is_determined) = cause(&row.verdict);
    let remedy = row.remedies.first().map(|remedy| in_few_words(remedy.kind));
    match remedy.filter(|_| is_determined) {
        Some(remedy) => (format!("{words} -> {remedy}"), true, data),
        None => (words, is_determined, data),
    }
}

fn cause(verdict: &MissVerdict) -> (String, bool) {
    match (verdict.cause, verdict.grade) {
        (_, CauseGrade::Undetermined) => ("cause undetermined".to_owned(), false),
        (Some(cause), grade) => {
            let words = match cause {
                MissClass::Cold => "first touch",
                MissClass::Sharing => "written by another thread",
                MissClass::Conflict => "crowded sets",
                MissClass::Edge => "just larger than the cache",
                MissClass::Capacity => "larger than the cache",
            };
            // Where the model tells each miss's class there is no doubt to be named.
            let sureness = match grade {
                CauseGrade::Exact => "",
                CauseGrade::Measured | CauseGrade::Likely | CauseGrade::Undetermined => ", likely",
            };
            (format!("{}: {words}{sureness}", cause.name()), true)
        }
        (None, _) => ("several causes".to_owned(), false),
    }
}

fn in_few_words(remedy: &str) -> &str {
    match remedy {
        "align" => "align it to cache lines",
        "apart" => "give each thread its own line",
        "block" => "work in blocks that fit",
        "colour" => "place it in other sets",
        "huge-pages" => "use huge pages",
        "pack" => "store it denser",
        "pad" => "pad rows by one line",
        "place" => "allocate on the thread's node",
        "prefetch" => "read in order, or prefetch",
        "swap" => "swap the loops",
        "widths" => "load as wide as stored",
        other => other,
    }
}

/// A text in so many columns, escaped as names are.
fn fitted(text: &str, most: usize) -> String {
    render::cut(&printable(text), most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_data_are_named_in_few_words() {
        let member = "std::Node<std::pair<int, A> >.<std::Base<int> >.value.price";
        assert_eq!(short_member(member), "Node<...>.value.price");
        let data = "block from A<int>::add(int, int)+0x1c, /work/t/hash.cc:7";
        assert_eq!(short_data(data), "block from A<...>::add+0x1c, hash.cc:7");
        assert_eq!(short_member("Order *"), "Order *");
        assert_eq!(short_member("std::vector<int> *"), "vector<...> *");
        assert_eq!(
            short_member("struct malloc_chunk.mchunk_size"),
            "struct malloc_chunk.mchunk_size"
        );
        assert_eq!(
            short_data("block from main+0x2c, /work/t/hash.cc:7"),
            "block from main+0x2c, hash.cc:7"
        );
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(fitted("abcdefghij", 10), "abcdefghij");
        assert_eq!(fitted("abcdefghijk", 10), "abcd\u{2026}ghijk");
        assert_eq!(columns(&fitted(&"x".repeat(500), WIDTH)), WIDTH);
    }
}
