//! Curves of misses by cache size, and why an event has none.

use crate::cache_shape::{CacheShape, MissedLevel, size};
use crate::curve::collect::{CurveStreams, LINE, MOST_ACCESSES};
use crate::curve::curve_subject::CurveSubject;
use crate::curve::miss_curve::{CurveSizes, MissCurve};
use crate::report::{Counted, EventReport, Report};
use serde::Serialize;

/// A size fits that leaves one of so many misses, as of a row's in causes, or of all
/// accesses, most of which the smallest cache has.
const OF_MISSES: u64 = 10;
const OF_ALL: u64 = 100;

/// What caches of other sizes would miss.
#[derive(Clone, Debug, Serialize)]
pub struct CurveReport {
    /// Version of this shape: [`CurveReport::VERSION`].
    pub hardmeter_curves: u32,
    /// Of the event that says most: all accesses, else the first level's misses.
    /// None: no event has one.
    pub curve: Option<EventCurve>,
    /// Events whose curve is not there.
    pub without: Vec<CurveLack>,
    /// What was counted in all, as `ebs report` says above a table.
    pub report: Report,
}

impl CurveReport {
    /// Counts up when a field changes its meaning or goes; new fields do
    /// not count.
    pub const VERSION: u32 = 1;

    /// Why there is no curve at all, in a sentence an event.
    pub fn lack(&self) -> String {
        let told = |it: &CurveLack| format!("{}: {}", it.event, it.why);
        let all: Vec<String> = self.without.iter().map(told).collect();
        match all.is_empty() {
            true => "there is no event".to_owned(),
            false => all.join("; "),
        }
    }
}

/// The curve of an event's accesses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventCurve {
    /// As the recording names it.
    pub event: String,
    /// The cache whose misses they are; None: they are all loads and stores.
    pub level: Option<MissedLevel>,
    /// Bytes of it, below which nothing is known: 64, a line, of all accesses.
    pub from: u64,
    /// Whether the caches of the curve are one a process; else one a thread.
    pub is_shared: bool,
    /// Misses by size.
    #[serde(flatten)]
    pub curve: MissCurve,
    /// The caches of the recording's model, the smallest first.
    pub marks: Vec<CurveMark>,
    /// What the reader must know to read it right, in sentences.
    pub notes: Vec<String>,
}

/// A cache beside a curve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CurveMark {
    /// `L1D`.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// An event that has no curve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CurveLack {
    /// As the recording names it.
    pub event: String,
    /// Why, and what would have one.
    pub why: String,
}

impl EventCurve {
    /// What it is of, and what its caches are, in sentences.
    pub fn told(&self) -> Vec<String> {
        let each = match self.is_shared {
            true => "one for all threads of a process",
            false => "one for each thread",
        };
        let what = match self.level {
            Some(level) => format!(
                "Misses of a cache behind the {}, {each}, that all of its misses come to and nothing \
                 else: no code, no lines written back, no prefetcher",
                level.name()
            ),
            None => format!(
                "Misses of a first cache, {each}, by all loads and stores: code, prefetchers and \
                 what the kernel accesses left out"
            ),
        };
        let mut told = vec![format!(
            "{what}. It is fully associative and replaces the line that was used longest ago: one \
             with ways has conflicts besides."
        )];
        if let Some(level) = self.level {
            told.push(format!(
                "Below the {} of the model's {} nothing is known.",
                size(self.from),
                level.name()
            ));
        }
        told
    }
}

/// The curves that there are; `leaders` are the numbers that events' accesses are
/// kept under.
pub(crate) fn curve_report(mut streams: CurveStreams, counted: Counted<'_>) -> CurveReport {
    let Counted { report, leaders, .. } = counted;
    let mut without = Vec::new();
    let mut fit: Vec<(CurveSubject, usize)> = Vec::new();
    let lack = |event: &EventReport, why: String| CurveLack { event: event.name.clone(), why };
    for (number, event) in report.events.iter().enumerate() {
        match subject(event) {
            Ok(subject) => fit.push((subject, number)),
            Err(why) => without.push(lack(event, why)),
        }
    }
    // Of one kind the first.
    fit.sort_unstable();
    let mut curve: Option<EventCurve> = None;
    for (subject, number) in fit {
        let (event, leader) = (&report.events[number], leaders[number]);
        match &curve {
            None => curve = Some(of_event(event, subject, leader, &mut streams)),
            Some(drawn) => without
                .push(lack(event, format!("that of {} says more; -e takes one", drawn.event))),
        }
    }
    CurveReport { hardmeter_curves: CurveReport::VERSION, curve, without, report }
}

fn subject(event: &EventReport) -> Result<CurveSubject, String> {
    let subject = CurveSubject::of_event(&event.name)?;
    let says = |key: &str| event.promises.get(key).map(String::as_str);
    let left_out = event.left_out();
    let why = if says("source") != Some("emulated") {
        "lines that prefetchers brought are in no sample of hardware: --source emulated -i 1 has each \
         miss"
            .to_owned()
    } else if !event.samples_each() {
        "those in between were not sampled: -i 1 samples each".to_owned()
    } else if says("layout").is_some() {
        "its model has objects elsewhere than their addresses say: record it without --layout"
            .to_owned()
    } else if left_out > 0 {
        format!("{left_out} were left out, which take room in a cache, too: ask without filters")
    } else if event.has_gaps() {
        "some are missing in between, by bursts, losses, or since the recording has no end"
            .to_owned()
    } else if event.totals.counted == 0 {
        "there is none".to_owned()
    } else {
        return match subject {
            CurveSubject::Misses(level) if shape(event, level).is_none() => {
                Err(format!("the recording does not tell how large the {} is", level.name()))
            }
            _ => Ok(subject),
        };
    };
    Err(why)
}

fn shape(event: &EventReport, level: MissedLevel) -> Option<CacheShape> {
    CacheShape::in_model(event.promises.get("model")?, level)
}

fn of_event(
    event: &EventReport,
    subject: CurveSubject,
    leader: usize,
    streams: &mut CurveStreams,
) -> EventCurve {
    let level = match subject {
        CurveSubject::All => None,
        CurveSubject::Misses(level) => Some(level),
    };
    let levels = [MissedLevel::L1d, MissedLevel::L2, MissedLevel::L3];
    let mark = |level: MissedLevel| {
        let bytes = shape(event, level)?.bytes();
        Some(CurveMark { name: level.name().to_owned(), bytes })
    };
    let mut marks: Vec<CurveMark> = levels.into_iter().filter_map(mark).collect();
    marks.sort_by_key(|mark| mark.bytes);
    let from = level.and_then(|level| shape(event, level)).map_or(LINE, |shape| shape.bytes());
    let besides: Vec<u64> = marks.iter().map(|mark| mark.bytes).collect();
    let left_out = streams.left_out(leader);
    let sums = streams.distances(leader, subject.is_shared());
    let fits = if level.is_some() { OF_MISSES } else { OF_ALL };
    let sizes = CurveSizes { line: LINE, from: from / LINE, besides: &besides, fits };
    let curve = sums.curve(&sizes);
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(format!(
            "it is of the first {} of them: there is room for {MOST_ACCESSES} of all \
             events",
            curve.accesses
        ));
    }
    let without = event.totals.counted.saturating_sub(left_out).saturating_sub(curve.accesses);
    if without > 0 {
        notes.push(format!("{without} have no data address, and are not in it"));
    }
    if event.promises.get("prefetch").is_some_and(|it| it == "on") {
        notes.push("the model's prefetchers were on: what they fetched is not in it".to_owned());
    }
    let is_shared = subject.is_shared();
    EventCurve { event: event.name.clone(), level, from, is_shared, curve, marks, notes }
}
