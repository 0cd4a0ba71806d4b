//! How many lines of one kind there may be: anybody who may connect can cause
//! lines, and a log that is full of one kind tells nothing of the others.
//!
//! A kind is a place in the source, and whose user or standing session the
//! line is about: one user's lines hide no other's. Of each kind, a few lines
//! are written as they come, then one a second; the last of those that were
//! left out is written as soon as there may be one again, with their number.
//! So each line is either written or counted.

use std::fmt;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tracing::Level;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};

/// Lines of a kind that are written as they come.
const AT_ONCE: u32 = 5;
/// Afterwards there is one in so long.
const EVERY: Duration = Duration::from_secs(1);

/// Kinds that are distinguished by their subject: one user may have many
/// ids. What tells of others is of one kind a place.
const MAX_OWNED: usize = 64;

/// Whom a line tells of, by its fields `uid` and `name`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LogSubject {
    uid: Option<u64>,
    session: Option<String>,
}

impl Visit for LogSubject {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "uid" {
            self.uid = Some(value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "name" {
            self.session = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LineKind {
    pub(super) place: Identifier,
    pub(super) subject: LogSubject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Written,
    Suppressed,
}

/// The last line of a kind that was left out, and how many were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suppressed {
    pub(super) level: Level,
    pub(super) text: String,
    pub(super) lines: u64,
}

#[derive(Debug, Default)]
pub(super) struct Throttle {
    kinds: FxHashMap<LineKind, TokenBucket>,
}

#[derive(Debug)]
struct TokenBucket {
    /// Lines that may be written at once.
    left: u32,
    /// When that number was right.
    since: Instant,
    suppressed: Option<Suppressed>,
}

impl TokenBucket {
    /// It is as if there had been none.
    fn is_calm(&self) -> bool {
        self.left == AT_ONCE && self.suppressed.is_none()
    }

    /// One more for each while that has passed.
    fn refill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.since);
        let more = u32::try_from(passed.as_millis() / EVERY.as_millis()).unwrap_or(u32::MAX);
        self.left = self.left.saturating_add(more).min(AT_ONCE);
        self.since += if self.left == AT_ONCE { passed } else { EVERY * more };
    }
}

impl Throttle {
    pub(super) fn admit(
        &mut self,
        kind: LineKind,
        level: Level,
        text: &str,
        now: Instant,
    ) -> Decision {
        let fresh = TokenBucket { left: AT_ONCE, since: now, suppressed: None };
        let kind = self.kind_to_count(kind, now);
        let kind = self.kinds.entry(kind).or_insert(fresh);
        kind.refill(now);
        // The lines before it are reported first.
        if kind.left > 0 && kind.suppressed.is_none() {
            kind.left -= 1;
            return Decision::Written;
        }
        let lines = kind.suppressed.as_ref().map_or(0, |out| out.lines) + 1;
        kind.suppressed = Some(Suppressed { level, text: text.to_owned(), lines });
        Decision::Suppressed
    }

    /// The kind that a line counts in: its own while there is room for it.
    fn kind_to_count(&mut self, kind: LineKind, now: Instant) -> LineKind {
        let is_owned = |kind: &LineKind| kind.subject != LogSubject::default();
        if !is_owned(&kind) || self.kinds.contains_key(&kind) {
            return kind;
        }
        let is_full = |throttle: &Throttle| {
            throttle.kinds.keys().filter(|kind| is_owned(kind)).count() >= MAX_OWNED
        };
        if is_full(self) {
            self.kinds.retain(|_, pace| {
                pace.refill(now);
                !pace.is_calm()
            });
        }
        if is_full(self) { LineKind { subject: LogSubject::default(), ..kind } } else { kind }
    }

    /// The lines left out that may be written by now. `all`: also those that
    /// may not, because the process ends.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Suppressed> {
        let mut due = Vec::new();
        for kind in self.kinds.values_mut() {
            kind.refill(now);
            if (kind.left > 0 || all)
                && let Some(out) = kind.suppressed.take()
            {
                kind.left = kind.left.saturating_sub(1);
                due.push(out);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use tracing::Callsite;

    use super::*;

    fn kinds() -> [LineKind; 2] {
        use tracing::callsite::DefaultCallsite;
        use tracing::field::FieldSet;
        use tracing::metadata::Kind as MetadataKind;
        use tracing::{Metadata, callsite};
        macro_rules! place {
            ($name:ident) => {{
                static PLACE: DefaultCallsite = DefaultCallsite::new(&META);
                static META: Metadata<'static> = Metadata::new(
                    stringify!($name),
                    "test",
                    Level::WARN,
                    None,
                    None,
                    None,
                    FieldSet::new(&[], callsite::Identifier(&PLACE)),
                    MetadataKind::EVENT,
                );
                LineKind { place: PLACE.metadata().callsite(), subject: LogSubject::default() }
            }};
        }
        [place!(a), place!(b)]
    }

    #[test]
    fn a_flood_is_one_line_a_second_and_a_count() {
        let [flood, other] = kinds();
        let mut throttle = Throttle::default();
        let begun = Instant::now();
        let (mut written, mut counted) = (0, 0);
        for turn in 0..50_000u32 {
            // Ten seconds of it, with a look each second.
            let now = begun + Duration::from_micros(200) * turn;
            if turn % 5000 == 4999 {
                for out in throttle.due(now, false) {
                    written += 1;
                    counted += out.lines - 1;
                    assert_eq!(out.text, format!("line {}", turn - 1));
                }
                assert_eq!(
                    throttle.admit(other.clone(), Level::WARN, "calm", now),
                    Decision::Written,
                    "another kind"
                );
            }
            let decision = throttle.admit(flood.clone(), Level::WARN, &format!("line {turn}"), now);
            written += u64::from(decision == Decision::Written);
        }
        let last = throttle.due(begun, true);
        assert_eq!((last.len(), last[0].level), (1, Level::WARN));
        (written, counted) = (written + 1, counted + last[0].lines - 1);
        assert_eq!(written + counted, 50_000, "each line is told or counted");
        assert!(written <= u64::from(AT_ONCE) + 11, "{written}");
        assert!(throttle.due(begun, true).is_empty(), "once");
    }

    #[test]
    fn who_is_calm_again_is_heard_as_ever() {
        let [kind, _] = kinds();
        let mut throttle = Throttle::default();
        let begun = Instant::now();
        let fates = |throttle: &mut Throttle, now| {
            let fates: Vec<Decision> =
                (0..7).map(|_| throttle.admit(kind.clone(), Level::WARN, "x", now)).collect();
            fates.iter().filter(|decision| **decision == Decision::Written).count()
        };
        assert_eq!(fates(&mut throttle, begun), 5);
        assert!(throttle.due(begun, false).is_empty(), "not yet");
        let later = begun + Duration::from_secs(60);
        assert_eq!(throttle.due(later, false)[0].lines, 2);
        // One of the five was the last of those.
        assert_eq!(fates(&mut throttle, later), 4);
    }

    fn of_user(uid: u64, kind: &LineKind) -> LineKind {
        let subject = LogSubject { uid: Some(uid), session: None };
        LineKind { subject, ..kind.clone() }
    }

    #[test]
    fn nobody_hides_what_is_told_of_others() {
        let [place, _] = kinds();
        let mut throttle = Throttle::default();
        let begun = Instant::now();
        let session = |name: &str| {
            let subject = LogSubject { uid: Some(1), session: Some(name.to_owned()) };
            LineKind { subject, ..place.clone() }
        };
        for _ in 0..1000 {
            throttle.admit(of_user(1, &place), Level::WARN, "his", begun);
        }
        for other in [of_user(2, &place), session("web"), session("db"), place.clone()] {
            assert_eq!(
                throttle.admit(other.clone(), Level::WARN, "other", begun),
                Decision::Written,
                "{other:?}"
            );
        }
        assert_eq!(throttle.due(begun, true)[0].lines, 995);
    }

    #[test]
    fn who_has_many_ids_fills_no_log_and_no_memory() {
        let [place, _] = kinds();
        let mut throttle = Throttle::default();
        let begun = Instant::now();
        let mut admit = |uid, now| throttle.admit(of_user(uid, &place), Level::WARN, "his", now);
        let written = (0..10_000).filter(|uid| admit(*uid, begun) == Decision::Written).count();
        assert_eq!(written, MAX_OWNED + AT_ONCE as usize);
        // The first are calm by then.
        let later = begun + Duration::from_secs(60);
        for _ in 0..AT_ONCE {
            assert_eq!(admit(20_000, later), Decision::Written);
        }
        assert!(throttle.kinds.len() <= MAX_OWNED + 1);
        assert_eq!(throttle.due(later, true)[0].lines, 10_000 - written as u64);
    }
}
