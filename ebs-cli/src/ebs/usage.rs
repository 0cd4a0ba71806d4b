//! A wrong command line: what is wrong with it, then a command that works. Three lines at most.

use crate::ebs::arguments::UsageError;
use crate::ebs::command::{names_subcommand, summaries};
use crate::ebs::last_recording::last_recording;
use analysis::annotate::ChoiceError;
use analysis::{KeyError, SortError};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use perfdata::printable::printable;
use recorder::Refusal;
use recorder::request::event_spec::EventSpecError;
use std::borrow::Cow;
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

/// Options of perf that have another form here: whether a value follows, and why to leave it out.
const HABITS: [PerfHabit; 8] = [
    PerfHabit::sampling("-F", 1, "each event has its own period"),
    PerfHabit::sampling("--freq", 1, "each event has its own period"),
    PerfHabit::sampling("-a", 0, "without a program, ebs samples the whole system"),
    PerfHabit::sampling("--all-cpus", 0, "without a program, ebs samples the whole system"),
    PerfHabit::reading("--stdio", "ebs always prints text"),
    PerfHabit::reading("--input", "the recording needs no option"),
    PerfHabit::reading("-i", "the recording needs no option"),
    PerfHabit::reading("--no-children", "rows count a routine's own samples"),
];

/// Commands that start or attach to a program, or look at the machine.
const SAMPLING: [&str; 7] = ["stat", "compare", "top", "plan", "list", "selftest", "memlat"];

struct PerfHabit {
    option: &'static str,
    /// Words behind it that go with it.
    values: usize,
    why: &'static str,
    /// It is of what reads a recording, rather than of what samples.
    reads: bool,
}

impl PerfHabit {
    const fn sampling(option: &'static str, values: usize, why: &'static str) -> PerfHabit {
        PerfHabit { option, values, why, reads: false }
    }

    const fn reading(option: &'static str, why: &'static str) -> PerfHabit {
        PerfHabit { option, values: 0, why, reads: true }
    }
}

/// What is wrong with a command line that the grammar refuses, in lines.
pub(super) fn refused(error: &clap::Error, words: &[OsString]) -> String {
    let line = TypedLine(words);
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(", ")),
        Some(ContextValue::StyledStr(text)) => Some(text.to_string()),
        _ => None,
    };
    let invalid = text(ContextKind::InvalidArg).unwrap_or_default();
    let option = invalid.split([' ', '=']).next().unwrap_or_default();
    let (what, remedy) = match error.kind() {
        ErrorKind::UnknownArgument => unknown(&line, option, text(ContextKind::SuggestedArg)),
        ErrorKind::MissingRequiredArgument => (format!("{} needs {invalid}", line.command()), None),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = text(ContextKind::InvalidValue).unwrap_or_default();
            let why = match (error.source(), text(ContextKind::ValidValue)) {
                (Some(why), _) => why.to_string(),
                (None, Some(valid)) => format!("possible are {valid}"),
                (None, None) => "it needs a value".to_owned(),
            };
            let right = text(ContextKind::SuggestedValue);
            let remedy = right.and_then(|right| line.with(&value, &right));
            (format!("{option} {value:?}: {why}"), remedy)
        }
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).unwrap_or_default();
            (format!("{invalid} and {other} exclude each other: leave one out"), None)
        }
        _ => {
            let all = error.to_string();
            let first = all.lines().next().unwrap_or_default();
            (first.trim_start_matches("error: ").to_owned(), None)
        }
    };
    let remedy = remedy.map(|line| format!("Try: {line}"));
    let usage = || {
        let usage = text(ContextKind::Usage)?;
        let first = usage.lines().next()?.trim().to_owned();
        (error.kind() == ErrorKind::MissingRequiredArgument).then_some(first)
    };
    let last = remedy.or_else(usage).unwrap_or_else(|| format!("See: {}", line.help()));
    format!("ebs: {}\n{last}\n", printable(&what))
}

fn unknown(
    line: &TypedLine<'_>,
    option: &str,
    suggested: Option<String>,
) -> (String, Option<String>) {
    let what = format!("{} has no option {option}", line.command());
    // Of the commands, those that read.
    let reads = line
        .0
        .get(1)
        .is_some_and(|word| names_subcommand(word) && !SAMPLING.iter().any(|name| word == name));
    let is_meant = |habit: &&PerfHabit| habit.option == option && habit.reads == reads;
    if let Some(habit) = HABITS.iter().find(is_meant) {
        let left = with_span(&line.without(option, habit.values));
        return (format!("{what}: {}", habit.why), Some(shown(&left)));
    }
    match suggested {
        Some(right) => (what, line.with(option, &right)),
        None => (what, None),
    }
}

/// A command line that does what an error keeps this one from; None: none is known.
pub(super) fn remedy(error: &anyhow::Error, words: &[OsString]) -> Option<String> {
    let line = TypedLine(words);
    let replaced = |typed: &str, nearest: Option<&str>| line.with(typed, nearest?);
    let of_event = |error: &EventSpecError| match error {
        EventSpecError::Unknown { typed, nearest } => {
            replaced(typed, nearest.first().map(String::as_str))
        }
        EventSpecError::Modifier { typed, name } | EventSpecError::Precision { typed, name } => {
            replaced(typed, Some(name))
        }
        _ => None,
    };
    let reported = format!("{error:#}");
    for cause in error.chain() {
        let found = if let Some(error) = cause.downcast_ref::<EventSpecError>() {
            of_event(error)
        } else if let Some(error) = cause.downcast_ref::<Refusal>() {
            match error {
                Refusal::Event(error) => of_event(error),
                Refusal::Unavailable { event, nearest, .. } => {
                    replaced(event, nearest.first().map(String::as_str))
                }
                _ => None,
            }
        } else if let Some(KeyError::Unknown { word, nearest }) = cause.downcast_ref() {
            replaced(word, nearest.first().copied())
        } else if let Some(SortError::Unknown { word, nearest }) = cause.downcast_ref() {
            replaced(word, nearest.first().copied())
        } else if let Some(analysis::Error::Choice(ChoiceError::Nothing { wanted, near, .. })) =
            cause.downcast_ref()
        {
            match near.first() {
                Some(near) => line.with(wanted, near),
                None => line.left_out(wanted),
            }
        } else if let Some(error) = cause.downcast_ref::<UsageError>() {
            of_usage(error, &line)
        } else if let Some(error) = cause.downcast_ref::<io::Error>() {
            match error.kind() {
                io::ErrorKind::NotFound => last_instead(&line, &reported),
                _ => None,
            }
        } else {
            None
        };
        if let Some(found) = found {
            return Some(format!("Try: {found}"));
        }
    }
    None
}

fn of_usage(error: &UsageError, line: &TypedLine<'_>) -> Option<String> {
    match error {
        UsageError::PidAndProgram { .. } | UsageError::PidArguments { .. } => {
            let left = with_span(line.0);
            (left != line.0).then(|| shown(&left))
        }
        UsageError::CommandUnknown { word, command } => line.with(word.to_str()?, command),
        UsageError::NoCauses(name) => line.with(name, "l1_cache_miss"),
        UsageError::SampledTrial | UsageError::Interval(_) | UsageError::Intervals { .. } => {
            Some(shown(&line.without("-i", 1)))
        }
        _ => None,
    }
}

/// Reading what is not there, as the error reports: the last recording in its place.
fn last_instead(line: &TypedLine<'_>, reported: &str) -> Option<String> {
    let last = last_recording()?;
    let missing = line.0.iter().rposition(|word| {
        let text = word.to_string_lossy();
        reported.contains(&*format!("cannot open {text}")) && !Path::new(word).exists()
    })?;
    let command = line.0.get(1)?;
    if missing < 2 || !names_subcommand(command) {
        return None;
    }
    let mut words = line.0.to_vec();
    words[missing] = last.into_os_string();
    Some(shown(&words))
}

/// The command that a word is a misspelling of.
pub(super) fn nearest_command(word: &str) -> Option<String> {
    let names: Vec<String> = summaries().into_iter().map(|(name, _)| name).collect();
    recorder::nearest(word, names.iter().map(String::as_str)).first().map(|&name| name.to_owned())
}

/// `sleep N` at the end, which other profilers take for a span, as `--until Ns`.
fn with_span(words: &[OsString]) -> Vec<OsString> {
    let [front @ .., sleep, seconds] = words else { return words.to_vec() };
    let Some(seconds) = seconds.to_str().filter(|text| sleep == "sleep" && is_number(text)) else {
        return words.to_vec();
    };
    let mut left = front.to_vec();
    // In front of a process: what is behind it are arguments.
    let has_process =
        matches!(front, [.., option, word] if option != "-p" && is_number(&word.to_string_lossy()));
    let at = left.len() - usize::from(has_process);
    left.splice(at..at, ["--until".into(), format!("{seconds}s").into()]);
    left
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A command line as it was typed, the program's name first.
struct TypedLine<'w>(&'w [OsString]);

impl TypedLine<'_> {
    /// `ebs`, or `ebs COMMAND`.
    fn command(&self) -> String {
        match self.0.get(1).filter(|word| names_subcommand(word)) {
            Some(name) => format!("ebs {}", name.to_string_lossy()),
            None => "ebs".to_owned(),
        }
    }

    /// What explains the command.
    fn help(&self) -> String {
        match self.0.get(1).filter(|word| names_subcommand(word)) {
            Some(name) => format!("ebs help {}", name.to_string_lossy()),
            None => "ebs --help".to_owned(),
        }
    }

    /// Without an option and the words that go with it.
    fn without(&self, option: &str, values: usize) -> Vec<OsString> {
        let is_option = |word: &OsStr| {
            let word = word.to_string_lossy();
            let rest = word.strip_prefix(option);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('=') || option.len() == 2)
        };
        let mut left = self.0.to_vec();
        let Some(at) = left.iter().skip(1).position(|word| is_option(word)).map(|at| at + 1) else {
            return left;
        };
        let is_apart = left[at] == option;
        left.remove(at);
        for _ in 0..values {
            if is_apart && at < left.len() {
                left.remove(at);
            }
        }
        left
    }

    /// Without a word.
    fn left_out(&self, word: &str) -> Option<String> {
        let mut left = self.0.to_vec();
        let at = left.iter().skip(1).position(|it| it == word)? + 1;
        left.remove(at);
        Some(shown(&left))
    }

    /// With another word in the place of `wrong`: a word, or a part between commas, or the value
    /// of an option. None: it is not there.
    fn with(&self, wrong: &str, right: &str) -> Option<String> {
        let mut words = self.0.to_vec();
        for word in words.iter_mut().skip(1) {
            let text = word.to_str()?;
            let (front, value) = match text.split_once('=') {
                Some((option, value)) if option.starts_with('-') => (format!("{option}="), value),
                _ => (String::new(), text),
            };
            if text == wrong {
                *word = right.into();
                return Some(shown(&words));
            }
            if value.split(',').any(|part| part == wrong) {
                let parts = value.split(',').map(|part| if part == wrong { right } else { part });
                *word = (front + &parts.collect::<Vec<_>>().join(",")).into();
                return Some(shown(&words));
            }
        }
        None
    }
}

/// A command line as a shell takes it.
fn shown(words: &[OsString]) -> String {
    let quoted = words.iter().skip(1).map(|word| {
        let text = word.to_string_lossy();
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-+=./:,@%".contains(letter);
        match !text.is_empty() && text.chars().all(is_plain) {
            true => text,
            false => Cow::Owned(format!("'{}'", printable(&text).replace('\'', "'\\''"))),
        }
    });
    let all: Vec<Cow<'_, str>> = std::iter::once("ebs".into()).chain(quoted).collect();
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebs::command::parse;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn refusal(line: &str) -> String {
        let words = words(line);
        refused(&parse(words.clone()).expect_err(line), &words)
    }

    #[test]
    fn habits_of_perf_are_answered_with_a_command() {
        for (line, tried) in [
            ("ebs -u -F 99 -t page_fault ls", "ebs -u -t page_fault ls"),
            ("ebs -u -F99 -t page_fault ls", "ebs -u -t page_fault ls"),
            ("ebs -u --freq=99 -t page_fault ls -F", "ebs -u -t page_fault ls -F"),
            ("ebs -a -t page_fault sleep 5", "ebs -t page_fault --until 5s"),
            ("ebs -a -t page_fault", "ebs -t page_fault"),
            ("ebs report -i perf.data", "ebs report perf.data"),
            ("ebs report --stdio perf.data", "ebs report perf.data"),
            ("ebs top -F 99 -t page_fault ls", "ebs top -t page_fault ls"),
        ] {
            let said = refusal(line);
            assert!(said.ends_with(&format!("\nTry: {tried}\n")), "{line}: {said}");
            assert!(said.lines().count() <= 3, "{said}");
        }
    }

    #[test]
    fn misspelt_options_are_put_right_and_others_lead_to_the_help() {
        let said = refusal("ebs report --filtre a=b x.data");
        assert!(said.ends_with("Try: ebs report --filter a=b x.data\n"), "{said}");
        let said = refusal("ebs report --zzz x.data");
        assert_eq!(said, "ebs: ebs report has no option --zzz\nSee: ebs help report\n");
        let said = refusal("ebs completions");
        assert!(said.contains("\nUsage: ebs completions <SHELL>"), "{said}");
    }

    #[test]
    fn a_word_is_replaced_where_it_stands() {
        let typed = words("ebs report --by=func,page -f a=func x.data");
        let line = TypedLine(&typed);
        let right = line.with("func", "routine").unwrap();
        assert_eq!(right, "ebs report --by=routine,page -f a=func x.data");
        assert_eq!(line.with("nothing", "x"), None);
        assert_eq!(shown(&["ebs".into(), "a b".into(), "it's".into()]), "ebs 'a b' 'it'\\''s'");
    }

    #[test]
    fn a_span_of_sleep_is_until() {
        for (typed, wanted) in [
            ("ebs -t x -p 12 sleep 5", "ebs -t x -p 12 --until 5s"),
            ("ebs -t x 12 sleep 5", "ebs -t x --until 5s 12"),
        ] {
            assert_eq!(shown(&with_span(&words(typed))), wanted);
        }
    }
}
