//! Events and their intervals: `-t A,B -i N,M`.

use crate::ebs::arguments::UsageError;
use clap::Args;
use recorder::request::{CallGraph, CallGraphError, EventRequest, StackBytes};
use recorder::{Modes, Request, Target};
#[cfg(feature = "top")]
use std::ffi::OsString;

/// The event, and how it is sampled.
#[derive(Clone, Debug, Default, Args)]
pub struct EventArguments {
    /// Event type (`ebs -h` lists them), or an event by its name (`ebs list`), code (r81d0) or terms
    /// (cpu/event=0xd0,umask=0x81/pp). Several, with commas or several -t: all in one run.
    #[arg(short = 't', long = "type", short_alias = 'e', alias = "event", value_name = "TYPE,...")]
    pub event: Vec<String>,
    /// Events from one record to the next, such as 10k or 1M, on average, at random; =10k: each time
    /// as many [default: the type's own]. One for all events, or one for each: -t A,B -i 10k,100.
    #[arg(short, long, value_name = "INTERVAL,...", allow_negative_numbers = true)]
    pub interval: Vec<String>,
    /// Draws the events between records from this number, as an earlier run did [default: another one each time].
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// The seed where none is given: short enough to be typed again.
    #[arg(skip = u64::from(fastrand::u32(..)))]
    pub fresh_seed: u64,
    /// Records the callers of what is sampled, too: by frame pointers where the program and its C
    /// library have them, else by copies of the stack.
    #[arg(short = 'g')]
    pub callers: bool,
    /// Records callers by frame pointers (fp), by copies of the stack that are unwound afterwards
    /// (dwarf: 8192 bytes each, or BYTES), or as the CPU keeps them (lbr, Intel's).
    #[arg(long, value_name = "fp|dwarf[,BYTES]|lbr")]
    pub call_graph: Option<String>,
    /// Masks of a type; `ebs -h TYPE` lists them.
    #[arg(short, long = "mask", value_name = "NAME,...", value_delimiter = ',')]
    pub masks: Vec<String>,
    /// Takes samples whose instruction is not the one that caused the event, where this machine
    /// gives no better.
    #[arg(long)]
    pub allow_skid: bool,
}

impl EventArguments {
    /// The words that say the same to another `ebs`.
    #[cfg(feature = "top")]
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        for (is_set, word) in [(self.callers, "-g"), (self.allow_skid, "--allow-skid")] {
            words.extend(is_set.then(|| word.into()));
        }
        let mut add = |option: &str, value: &str| words.push(format!("{option}={value}").into());
        self.event.iter().for_each(|it| add("--type", it));
        self.interval.iter().for_each(|it| add("--interval", it));
        self.masks.iter().for_each(|it| add("--mask", it));
        self.seed.iter().for_each(|it| add("--seed", &it.to_string()));
        self.call_graph.iter().for_each(|it| add("--call-graph", it));
        words
    }
}

/// The events that were named, at least one, in their order.
///
/// # Errors
///
/// None was named; an interval that is none, or more of them than events.
pub(crate) fn events(arguments: &EventArguments) -> Result<Vec<EventRequest>, UsageError> {
    let words = |texts: &[String]| -> Vec<String> {
        texts.iter().flat_map(|text| split(text)).map(str::to_owned).collect()
    };
    let (named, intervals) = (words(&arguments.event), words(&arguments.interval));
    if named.is_empty() {
        return Err(UsageError::TypeMissing);
    }
    if intervals.len() > 1 && intervals.len() != named.len() {
        let (intervals, events) = (intervals.join(","), named.join(","));
        return Err(UsageError::Intervals { intervals, events });
    }
    if named.len() > 1 && !arguments.masks.is_empty() {
        return Err(UsageError::MasksOfSeveral(arguments.masks.join(",")));
    }
    let seed = arguments.seed.unwrap_or(arguments.fresh_seed);
    let mut drawn = false;
    let mut events = Vec::new();
    for (place, name) in named.into_iter().enumerate() {
        let text =
            intervals.get(place).or_else(|| intervals.first().filter(|_| intervals.len() == 1));
        let is_fixed = text.is_some_and(|text| text.starts_with('='));
        drawn |= !is_fixed;
        events.push(EventRequest {
            event: name.into(),
            interval: text.map(|text| interval(text)).transpose()?,
            seed: (!is_fixed).then_some(seed),
        });
    }
    match arguments.seed {
        Some(_) if !drawn => Err(UsageError::SeedOfFixed(intervals.join(","))),
        _ => Ok(events),
    }
}

/// Commas part events, but for those between the slashes of a PMU's terms; an
/// address to watch has one slash alone.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut within) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        let part = text.get(begin..at).unwrap_or_default();
        match letter {
            '/' if !part.trim_start().starts_with("mem:") => within = !within,
            ',' if !within => {
                parts.push(part);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(begin..).unwrap_or_default());
    parts
}

fn interval(text: &str) -> Result<u64, UsageError> {
    let number = scaled(text.strip_prefix('=').unwrap_or(text))
        .filter(|number| (1..=i64::MAX.cast_unsigned()).contains(number));
    number.ok_or_else(|| UsageError::Interval(text.to_owned()))
}

/// 0 is for the plan to refuse.
pub(crate) fn ring(pages: u32) -> Result<u32, UsageError> {
    if pages == 0 || pages.is_power_of_two() { Ok(pages) } else { Err(UsageError::Ring { pages }) }
}

pub(crate) fn nearest(pages: u32) -> String {
    let below = pages.checked_ilog2().map_or(1, |bit| 1_u32 << bit);
    match pages.checked_next_power_of_two() {
        Some(above) => format!("a power of two, such as {below} or {above}"),
        None => format!("a power of two, {below} at most"),
    }
}

/// A whole number, which may end in k, m or g: powers of 1000, in either
/// letter case. None: it is none, or 2^64 and more.
pub(crate) fn scaled(text: &str) -> Option<u64> {
    let units = [('k', 1_000), ('m', 1_000_000), ('g', 1_000_000_000)];
    let lower = text.to_ascii_lowercase();
    let unit =
        units.into_iter().find_map(|(letter, unit)| Some((lower.strip_suffix(letter)?, unit)));
    let (digits, unit) = unit.unwrap_or((&lower, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse::<u64>().ok()?.checked_mul(unit)).flatten()
}

pub(crate) fn request(
    arguments: &EventArguments,
    modes: Modes,
    target: Target,
) -> Result<Request, UsageError> {
    let mut each = events(arguments)?.into_iter();
    let EventRequest { event, interval, seed } = each.next().ok_or(UsageError::TypeMissing)?;
    Ok(Request {
        event,
        masks: arguments.masks.clone(),
        modes,
        interval,
        seed,
        also: each.collect(),
        allow_skid: arguments.allow_skid,
        call_graph: call_graph(arguments)?,
        data_mappings: false,
        target,
        ring_pages: None,
        in_kernel: None,
        regions: false,
        adapts: false,
    })
}

/// How callers are recorded; `-g` alone copies the stack, which fits any
/// program.
fn call_graph(arguments: &EventArguments) -> Result<Option<CallGraph>, CallGraphError> {
    match &arguments.call_graph {
        Some(how) => how.parse().map(Some),
        None => Ok(arguments.callers.then_some(CallGraph::Stack(StackBytes::DEFAULT))),
    }
}

/// Whether modifiers (`:u`, `:k`) of each event say what is sampled.
pub(crate) fn names_modes(request: &Request) -> bool {
    let names =
        |one: Request| one.event.event().is_ok_and(|event| recorder::plan::modes(event).is_some());
    request.each().all(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        events: &[&str],
        intervals: &[&str],
    ) -> Result<Vec<(String, Option<u64>, bool)>, UsageError> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let arguments = EventArguments {
            event: owned(events),
            interval: owned(intervals),
            fresh_seed: 7,
            ..EventArguments::default()
        };
        let told = |one: EventRequest| (one.event.to_string(), one.interval, one.seed.is_some());
        events_of(&arguments).map(|all| all.into_iter().map(told).collect())
    }

    use super::events as events_of;
    use crate::ebs::arguments::events::scaled;

    fn event(name: &str, interval: Option<u64>, drawn: bool) -> (String, Option<u64>, bool) {
        (name.to_owned(), interval, drawn)
    }

    #[test]
    fn commas_part_events_outside_of_slashes() {
        let terms = "cpu/event=0xd0,umask=0x81/pp";
        let expected = [event("a", None, true), event(terms, None, true), event("b", None, true)];
        assert_eq!(read(&["a", &format!("{terms},b")], &[]).unwrap(), expected);
        let watched = [event("mem:0x10/8:w", None, true), event("b", None, true)];
        assert_eq!(read(&["mem:0x10/8:w,b"], &[]).unwrap(), watched);
        assert_eq!(split("a,,b,"), ["a", "", "b", ""], "for the request to refuse");
    }

    #[test]
    fn one_interval_is_for_all_and_several_are_for_each() {
        let of = |intervals: &[&str]| read(&["a,b"], intervals);
        let all = [event("a", Some(100), true), event("b", Some(100), true)];
        assert_eq!(of(&["100"]).unwrap(), all);
        let each = [event("a", Some(1000), true), event("b", Some(7), false)];
        assert_eq!(of(&["1k", "=7"]).unwrap(), each);
        assert_eq!(of(&["1k,=7"]).unwrap(), each);
        let error = of(&["1,2,3"]).unwrap_err().to_string();
        assert!(error.contains("1,2,3") && error.contains("a,b"), "{error}");
        assert!(of(&["1,x"]).unwrap_err().to_string().contains("\"x\""));
    }

    #[test]
    fn masks_are_of_one_event_and_seeds_of_what_is_drawn() {
        let arguments = |event: &str, masks: &[&str], interval: &str| EventArguments {
            event: vec![event.to_owned()],
            masks: masks.iter().map(|mask| (*mask).to_owned()).collect(),
            interval: vec![interval.to_owned()],
            seed: Some(1),
            ..EventArguments::default()
        };
        let error = events_of(&arguments("a,b", &["m"], "1")).unwrap_err();
        assert_eq!(error, UsageError::MasksOfSeveral("m".to_owned()));
        assert!(events_of(&arguments("a", &["m"], "1")).is_ok());
        let error = events_of(&arguments("a,b", &[], "=1,=2")).unwrap_err();
        assert_eq!(error, UsageError::SeedOfFixed("=1,=2".to_owned()));
        assert!(events_of(&arguments("a,b", &[], "=1,2")).is_ok());
        assert_eq!(events_of(&EventArguments::default()), Err(UsageError::TypeMissing));
    }

    #[test]
    fn a_letter_stands_for_a_power_of_a_thousand() {
        for (text, number) in [
            ("0", 0),
            ("10k", 10_000),
            ("10K", 10_000),
            ("1M", 1_000_000),
            ("1m", 1_000_000),
            ("2g", 2_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(scaled(text), Some(number), "{text}");
        }
        for none in ["", "k", "1.5M", "-1k", "+1", "1kk", "10 k", "1T", "99999999999g"] {
            assert_eq!(scaled(none), None, "{none}");
        }
    }
}
