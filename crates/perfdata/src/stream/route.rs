//! Which event a record belongs to (trap 24).
//!
//! A stream of one event needs no ids. With several, all must have their id
//! at the same place: IDENTIFIER makes it the first word of a sample and the
//! last of another record; ID alone stands after IP, TID, TIME and ADDR, and
//! before STREAM_ID and CPU in the trailer. Same rule as
//! evlist__valid_sample_type() (tools/perf/util/evlist.c).

use super::ids::Ids;
use crate::attr::{Attr, AttrFlags, SampleType};
use crate::bytes::{ByteOrder, RecordWords};

/// Ids that are found without a search.
const RECENT: usize = 64;

/// Where the id stands in a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// No attr seen.
    Nothing,
    /// One event, or several whose records look the same and have no id:
    /// all go to the first.
    First,
    /// At this many bytes from the start (samples) or from the end (others).
    At(usize),
    /// Attrs disagree: no record can be placed.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routed {
    Event(usize),
    UnknownId,
    NoPlace,
}

/// Ids of all events, and where records hold theirs.
#[derive(Debug)]
pub(super) struct Route {
    events: usize,
    /// There are events besides of which nothing is known.
    has_unknown: bool,
    /// Where the first event's samples and other records have their id.
    alone: (Place, Place),
    sample: Place,
    side: Place,
    /// All events' other records end alike.
    one_trailer: bool,
    /// The first event that claims an id has it.
    ids: Ids,
    /// Ids looked up last, each where its low bits say: the kernel numbers
    /// events one by one.
    recent: [Option<(u64, usize)>; RECENT],
}

impl Route {
    pub(super) fn new() -> Route {
        Route {
            events: 0,
            has_unknown: false,
            alone: (Place::Nothing, Place::Nothing),
            sample: Place::Nothing,
            side: Place::Nothing,
            one_trailer: true,
            ids: Ids::default(),
            recent: [None; RECENT],
        }
    }

    /// Takes note of one more event; `first` is the attr of event 0.
    pub(super) fn add(&mut self, attr: &Attr, ids: &[u64], first: &Attr) {
        let event = self.events;
        self.events += 1;
        self.claim(event, ids);
        self.alone = (sample_place(first), side_place(first));
        let (sample, side) = self.alone;
        let same = same_samples(attr, first);
        self.sample = agreed(self.sample, event, sample, sample_place(attr), same);
        let same = same_trailers(attr, first);
        self.side = agreed(self.side, event, side, side_place(attr), same);
        self.one_trailer &= same;
        if self.has_unknown {
            self.need_ids();
        }
    }

    /// Takes note of an event of which nothing is known: records without an
    /// id might be its own.
    pub(super) fn add_unknown(&mut self) {
        self.has_unknown = true;
        self.need_ids();
    }

    /// Whether sideband records of all events, known and not, look the same.
    pub(super) fn has_one_trailer(&self) -> bool {
        self.one_trailer && !self.has_unknown
    }

    fn need_ids(&mut self) {
        for (place, alone) in [(&mut self.sample, self.alone.0), (&mut self.side, self.alone.1)] {
            *place = match (*place, alone) {
                (Place::First, Place::At(at)) if self.events == 1 => Place::At(at),
                (Place::First, _) => Place::Unknown,
                (place, _) => place,
            };
        }
    }

    pub(super) fn claim(&mut self, event: usize, ids: &[u64]) {
        for &id in ids {
            self.ids.claim(id, event);
        }
    }

    /// The event of a sample's payload. Id 0 is the first event's, as of
    /// sideband records.
    #[inline]
    pub(super) fn sample(&mut self, payload: &[u8], order: ByteOrder) -> Routed {
        match self.sample {
            Place::First => Routed::Event(0),
            Place::At(offset) => match word(payload, Some(offset), order) {
                Some(0) => Routed::Event(self.by_id(0).unwrap_or(0)),
                Some(id) => self.by_id(id).map_or(Routed::UnknownId, Routed::Event),
                None => Routed::NoPlace,
            },
            Place::Nothing | Place::Unknown => Routed::NoPlace,
        }
    }

    /// The event of a sideband record's payload. Id 0 is the first event's: that
    /// is what perf writes on records it makes itself.
    pub(super) fn side(&mut self, payload: &[u8], order: ByteOrder) -> Routed {
        match self.side {
            Place::First => Routed::Event(0),
            Place::At(back) => match word(payload, payload.len().checked_sub(back), order) {
                Some(0) => Routed::Event(self.by_id(0).unwrap_or(0)),
                Some(id) => self.by_id(id).map_or(Routed::UnknownId, Routed::Event),
                None => Routed::NoPlace,
            },
            Place::Nothing | Place::Unknown => Routed::NoPlace,
        }
    }

    /// The event that an EVENT_UPDATE names.
    pub(super) fn update(&mut self, id: u64) -> Option<usize> {
        match self.by_id(id) {
            None if self.events == 1 || (id == 0 && self.events > 0) => Some(0),
            found => found,
        }
    }

    #[inline]
    pub(super) fn by_id(&mut self, id: u64) -> Option<usize> {
        let slot = usize::try_from(id % RECENT as u64).unwrap_or(0);
        match self.recent[slot] {
            Some((recent, event)) if recent == id => Some(event),
            _ => {
                let event = self.ids.event(id)?;
                self.recent[slot] = Some((id, event));
                Some(event)
            }
        }
    }
}

fn agreed(so_far: Place, event: usize, first: Place, new: Place, same: bool) -> Place {
    match so_far {
        _ if event == 0 => Place::First,
        Place::Unknown => Place::Unknown,
        // The second event decides whether ids are needed.
        Place::First | Place::Nothing if event == 1 || same => match (first, new) {
            (Place::At(a), Place::At(b)) if a == b => Place::At(a),
            (Place::First, Place::First) if same => Place::First,
            _ => Place::Unknown,
        },
        Place::At(place) if new == Place::At(place) => so_far,
        _ => Place::Unknown,
    }
}

/// Where this attr's samples hold their id; First: nowhere.
fn sample_place(attr: &Attr) -> Place {
    let has = |bits| attr.sample_type.contains(bits);
    if has(SampleType::IDENTIFIER) {
        return Place::At(0);
    }
    if !has(SampleType::ID) {
        return Place::First;
    }
    let before = [SampleType::IP, SampleType::TID, SampleType::TIME, SampleType::ADDR];
    Place::At(8 * before.into_iter().filter(|&bits| has(bits)).count())
}

/// Where this attr's other records hold their id, from the end.
fn side_place(attr: &Attr) -> Place {
    let has = |bits| attr.sample_type.contains(bits);
    if !attr.flags.contains(AttrFlags::SAMPLE_ID_ALL) {
        return Place::First;
    }
    if has(SampleType::IDENTIFIER) {
        return Place::At(8);
    }
    if !has(SampleType::ID) {
        return Place::First;
    }
    let after = [SampleType::STREAM_ID, SampleType::CPU];
    Place::At(8 * (1 + after.into_iter().filter(|&bits| has(bits)).count()))
}

/// Whether samples of both look the same, so that it does no harm to decode
/// one as the other's.
fn same_samples(a: &Attr, b: &Attr) -> bool {
    a.sample_type == b.sample_type
        && a.read_format == b.read_format
        && a.branch_sample_type == b.branch_sample_type
        && a.sample_regs_user == b.sample_regs_user
        && a.sample_regs_intr == b.sample_regs_intr
}

fn same_trailers(a: &Attr, b: &Attr) -> bool {
    let fields = SampleType::TID
        | SampleType::TIME
        | SampleType::ID
        | SampleType::STREAM_ID
        | SampleType::CPU
        | SampleType::IDENTIFIER;
    let trailer = |attr: &Attr| {
        attr.flags.contains(AttrFlags::SAMPLE_ID_ALL).then_some(attr.sample_type & fields)
    };
    trailer(a) == trailer(b)
}

#[inline]
fn word(payload: &[u8], offset: Option<usize>, order: ByteOrder) -> Option<u64> {
    RecordWords::new(payload.get(offset?..)?, order).get(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: ByteOrder = ByteOrder::Little;

    fn attr(fields: SampleType, id_all: bool) -> Attr {
        let flags = if id_all { AttrFlags::SAMPLE_ID_ALL } else { AttrFlags::empty() };
        Attr { sample_type: fields, flags, ..Attr::default() }
    }

    /// A route over events with these attrs; event n has ids 10 n and 10 n + 1.
    fn events(attrs: &[Attr]) -> Route {
        let mut route = Route::new();
        for (number, attr) in (0u64..).zip(attrs) {
            route.add(attr, &[number * 10, number * 10 + 1], &attrs[0]);
        }
        route
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn no_event_no_place() {
        let mut route = events(&[]);
        assert_eq!(route.sample(&words(&[1]), LITTLE), Routed::NoPlace);
        assert_eq!(route.side(&words(&[1]), LITTLE), Routed::NoPlace);
        assert_eq!(route.update(0), None);
    }

    #[test]
    fn one_event_needs_no_id() {
        let mut route = events(&[attr(SampleType::IP, false)]);
        assert_eq!(route.sample(&[], LITTLE), Routed::Event(0));
        assert_eq!(route.side(&[], LITTLE), Routed::Event(0));
        assert_eq!(route.update(999), Some(0));
    }

    #[test]
    fn the_identifier_leads_samples_and_ends_others() {
        let fields = SampleType::IDENTIFIER | SampleType::IP;
        let other = SampleType::IDENTIFIER | SampleType::TID | SampleType::TIME;
        let mut route = events(&[attr(fields, true), attr(other, true)]);
        assert_eq!(route.sample(&words(&[11, 0]), LITTLE), Routed::Event(1));
        assert_eq!(route.sample(&words(&[1, 11]), LITTLE), Routed::Event(0));
        assert_eq!(route.side(&words(&[1, 11]), LITTLE), Routed::Event(1));
        assert_eq!(route.side(&words(&[11, 0]), LITTLE), Routed::Event(0));
        assert_eq!(route.sample(&words(&[5]), LITTLE), Routed::UnknownId);
        assert_eq!(route.side(&words(&[5]), LITTLE), Routed::UnknownId);
        assert_eq!(route.sample(&[1], LITTLE), Routed::NoPlace);
        assert_eq!((route.update(11), route.update(5)), (Some(1), None));
    }

    #[test]
    fn the_id_stands_after_ip_tid_time_addr_and_before_stream_id_cpu() {
        let fields = SampleType::IP | SampleType::TIME | SampleType::ID | SampleType::CPU;
        let mut route = events(&[attr(fields, true), attr(fields, true)]);
        assert_eq!(route.sample(&words(&[1, 2, 10, 4]), LITTLE), Routed::Event(1));
        assert_eq!(route.side(&words(&[2, 11, 4]), LITTLE), Routed::Event(1));
    }

    #[test]
    fn events_that_look_the_same_go_to_the_first() {
        let fields = SampleType::IP | SampleType::TID;
        let mut route = events(&[attr(fields, true), attr(fields, true), attr(fields, true)]);
        assert_eq!(route.sample(&words(&[1, 2]), LITTLE), Routed::Event(0));
        assert_eq!(route.side(&words(&[2]), LITTLE), Routed::Event(0));
    }

    #[test]
    fn events_that_differ_without_an_id_have_no_place() {
        let ip = attr(SampleType::IP, true);
        let task = attr(SampleType::TID, true);
        let id = attr(SampleType::ID, true);
        let identifier = attr(SampleType::IDENTIFIER, true);
        let pairs =
            [[ip.clone(), task.clone()], [id, identifier.clone()], [ip.clone(), identifier]];
        for [first, second] in &pairs[..1] {
            let mut route = events(&[first.clone(), second.clone()]);
            assert_eq!(route.sample(&words(&[1, 2]), LITTLE), Routed::NoPlace);
            assert_eq!(route.side(&words(&[1, 2]), LITTLE), Routed::NoPlace);
        }
        // ID alone and IDENTIFIER happen to stand at the same place.
        let mut route = events(&pairs[1]);
        assert_eq!(route.sample(&words(&[10]), LITTLE), Routed::Event(1));
        let mut route = events(&pairs[2]);
        assert_eq!(route.sample(&words(&[10]), LITTLE), Routed::NoPlace);
    }

    #[test]
    fn without_trailers_other_records_need_no_id() {
        let mut route = events(&[attr(SampleType::IP, false), attr(SampleType::TID, false)]);
        assert_eq!(route.sample(&words(&[1]), LITTLE), Routed::NoPlace);
        assert_eq!(route.side(&words(&[1]), LITTLE), Routed::Event(0));
    }

    #[test]
    fn the_first_to_claim_an_id_has_it() {
        let attr = attr(SampleType::IDENTIFIER, true);
        let mut route = Route::new();
        route.add(&attr, &[7, 8], &attr);
        route.add(&attr, &[9, 7], &attr);
        assert_eq!(route.by_id(7), Some(0));
        assert_eq!(route.by_id(9), Some(1));
        route.add(&attr, &[6], &attr);
        assert_eq!((route.by_id(6), route.by_id(8)), (Some(2), Some(0)));
    }
}
