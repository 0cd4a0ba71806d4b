//! The events that are counted: what each is told, and what came of it.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

use perfdata::{AllocatorCall, Attr, HeapChange, MissClass};

use super::{RuntimeSetup, SetupError, get, put};
use crate::block::{self, EVENTS, ExitReason, NAME};
use crate::event::EmulatedEvent;
use crate::model::{CacheLevel, Events, MissReason};
use crate::runtime::guest::event_counters::{BurstEvents, EventCounters};
use crate::runtime::guest::header::{HEAP, Header, SampleFormat};
use crate::runtime::guest::heap;
use crate::runtime::guest::period::{PeriodRule, PeriodState};
use crate::runtime::guest::record::{FIELDS, RAW, REGISTERS, size};
use crate::runtime::guest::region;
use crate::runtime::guest::thread::{PendingRecords, RuntimeState};

/// Bytes of a record at most: a multiple of 8 that its header can tell.
const LARGEST: u64 = 65_528;

const COUNTERS: usize = block::RUNTIME + offset_of!(RuntimeState, counters);
const DUE: usize =
    block::RUNTIME + offset_of!(RuntimeState, pending) + offset_of!(PendingRecords, due);
/// The mark of a region that is not written yet.
const MARK: usize = block::RUNTIME + offset_of!(RuntimeState, region);

// What the runtime writes into records is what their readers know by it.
const _: () = {
    assert!(MissReason::Cold as u8 == MissClass::Cold as u8);
    assert!(MissReason::Sharing as u8 == MissClass::Sharing as u8);
    assert!(MissReason::Conflict as u8 == MissClass::Conflict as u8);
    assert!(MissReason::Edge as u8 == MissClass::Edge as u8);
    assert!(MissReason::Capacity as u8 == MissClass::Capacity as u8);
    assert!(heap::ALLOCATE == AllocatorCall::Allocate as u64);
    assert!(heap::ALLOCATE_SECOND == AllocatorCall::AllocateSecond as u64);
    assert!(heap::ALLOCATE_ITEMS == AllocatorCall::AllocateItems as u64);
    assert!(heap::REALLOCATE == AllocatorCall::Reallocate as u64);
    assert!(heap::REALLOCATE_ITEMS == AllocatorCall::ReallocateItems as u64);
    assert!(heap::ALLOCATE_INTO == AllocatorCall::AllocateInto as u64);
    assert!(heap::RELEASE == AllocatorCall::Release as u64);
    assert!(heap::REALLOCATE_FOURTH == AllocatorCall::ReallocateFourth as u64);
    assert!(heap::HEAD & 0xffff_ffff == HeapChange::SIZE as u64);
};

#[derive(Clone, Debug)]
pub struct EventSetup {
    pub event: EmulatedEvent,
    format: SampleFormat,
    periods: PeriodRule,
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventTotals {
    pub events: u64,
    pub records: u64,
    /// Those that were left out, as all that were asked for had been written.
    pub beyond: u64,
    pub bursts: BurstEvents,
}

impl EventSetup {
    /// Works out the form of its samples, which have `id`.
    ///
    /// # Errors
    /// [`SetupError`].
    pub fn new(
        event: EmulatedEvent,
        interval: u64,
        attr: &Attr,
        id: u64,
    ) -> Result<EventSetup, SetupError> {
        let fields = attr.sample_type.bits();
        let reported_level = if fields & RAW == 0 { 0 } else { reported_level(event) };
        let unknown = fields & !FIELDS | if reported_level == 0 { fields & RAW } else { 0 };
        if unknown != 0 {
            return Err(SetupError::Fields(unknown));
        }
        let registers = attr.sample_regs_intr | attr.sample_regs_user;
        if registers & !REGISTERS != 0 {
            return Err(SetupError::Registers(registers & !REGISTERS));
        }
        if interval == 0 {
            return Err(SetupError::Interval);
        }
        let mut format = SampleFormat {
            fields,
            interrupted: attr.sample_regs_intr,
            user: attr.sample_regs_user,
            stack: 0,
            id,
            size: 0,
            reported_level,
        };
        let room = LARGEST.saturating_sub(size(&format) + 8);
        format.stack = u64::from(attr.sample_stack_user).min(room) & !7;
        format.size = size(&format);
        let periods = PeriodRule { mean: interval, drawn: 0, adapted: 0 };
        Ok(EventSetup { event, format, periods, seed: None })
    }

    /// Whether its records tell why a level missed.
    pub(super) fn tells(&self, level: CacheLevel) -> bool {
        self.format.reported_level == level as u64
    }

    /// Whether the events from one record to the next are drawn, from this
    /// seed, with the interval for their mean; they are not by default.
    #[must_use]
    pub fn with_drawn_periods(mut self, seed: Option<u64>) -> EventSetup {
        self.periods.drawn = u64::from(seed.is_some());
        self.seed = seed;
        self
    }
}

impl EventSetup {
    /// Lets the session choose the mean, from every event on, where periods are drawn.
    #[must_use]
    pub fn with_adapted_mean(mut self, adapted: bool) -> EventSetup {
        if adapted && self.periods.drawn != 0 {
            self.periods = PeriodRule { mean: 1, adapted: 1, ..self.periods };
        }
        self
    }
}

impl RuntimeSetup {
    /// What lengths of turns follow from.
    pub(super) fn seed(&self) -> u64 {
        self.events.iter().find_map(|one| one.seed).unwrap_or(0)
    }

    pub(super) fn put_events(&self, words: &[AtomicU64]) {
        let mut all = 0;
        for (place, one) in self.events.iter().enumerate().take(EVENTS) {
            let counts = events(one.event).0;
            all |= counts;
            put(words, offset_of!(Header, each) + 8 * place, counts);
            let periods = offset_of!(Header, periods) + size_of::<PeriodRule>() * place;
            put(words, periods + offset_of!(PeriodRule, mean), one.periods.mean);
            put(words, periods + offset_of!(PeriodRule, drawn), one.periods.drawn);
            put(words, periods + offset_of!(PeriodRule, adapted), one.periods.adapted);
            let format = offset_of!(Header, formats) + size_of::<SampleFormat>() * place;
            put(words, format + offset_of!(SampleFormat, fields), one.format.fields);
            put(words, format + offset_of!(SampleFormat, interrupted), one.format.interrupted);
            put(words, format + offset_of!(SampleFormat, user), one.format.user);
            put(words, format + offset_of!(SampleFormat, stack), one.format.stack);
            put(words, format + offset_of!(SampleFormat, id), one.format.id);
            put(words, format + offset_of!(SampleFormat, size), one.format.size);
            put(
                words,
                format + offset_of!(SampleFormat, reported_level),
                one.format.reported_level,
            );
        }
        put(words, offset_of!(Header, events), all);
        put(words, offset_of!(Header, count), u64::try_from(self.events.len()).unwrap_or(0));
    }

    pub(super) fn begin_periods(&self, words: &[AtomicU64], number: u64) {
        for (place, one) in self.events.iter().enumerate() {
            let period = PeriodState::new(one.periods, one.seed.unwrap_or(0), number);
            let at = period_at(place);
            put(words, at + offset_of!(PeriodState, events), period.events);
            put(words, at + offset_of!(PeriodState, before), period.before);
            put(words, at + offset_of!(PeriodState, random), period.random);
            put(words, at + offset_of!(PeriodState, mean), period.mean);
            put(words, block::countdown(place), period.events);
        }
    }

    /// Sets the countdowns to `from`, or to what is due of each event, which is
    /// kept for the end of a warm-up.
    pub(super) fn begin_countdowns(&self, words: &[AtomicU64], from: Option<u64>) {
        for place in 0..self.events.len() {
            let events = period(words, place).events;
            put(words, kept_at(place), events);
            put(words, block::countdown(place), from.unwrap_or(events));
        }
    }

    pub fn sums(&self, words: &[AtomicU64]) -> Vec<EventTotals> {
        let warming = self.is_warming(words);
        let sum = |place| {
            let at = if warming { kept_at(place) } else { block::countdown(place) };
            let counters = counters_at(place);
            let burst = |offset| get(words, counters + offset_of!(EventCounters, bursts) + offset);
            let squares = offset_of!(BurstEvents, squares);
            EventTotals {
                // The target may have written anything there.
                events: period(words, place).passed(get(words, at)),
                records: get(words, counters + offset_of!(EventCounters, records)),
                beyond: get(words, counters + offset_of!(EventCounters, beyond)),
                bursts: BurstEvents {
                    squares: [burst(squares), burst(squares + 8)],
                    events: burst(offset_of!(BurstEvents, events)),
                    before: burst(offset_of!(BurstEvents, before)),
                },
            }
        };
        (0..self.events.len()).map(sum).collect()
    }

    /// Gives up the records of a thread that are due: for each event, whether
    /// it had one.
    pub fn give_up(&self, words: &[AtomicU64]) -> impl Iterator<Item = bool> {
        let due = get(words, DUE);
        put(words, DUE, 0);
        (0..self.events.len()).map(move |place| due >> place & 1 == 1)
    }

    /// Whether a thread has come to a mark of a region that is not written.
    pub fn has_mark(&self, words: &[AtomicU64]) -> bool {
        get(words, MARK) & region::DUE != 0
    }

    /// Gives that up as well: whether there was one.
    pub fn give_up_mark(&self, words: &[AtomicU64]) -> bool {
        let due = self.has_mark(words);
        put(words, MARK, 0);
        due
    }

    /// Gives the runtime the name that it asked for by [`ExitReason::Name`], as far as
    /// it can be read: at most [`NAME`] bytes.
    pub fn put_name(&self, words: &[AtomicU64], name: &[u8]) {
        for (at, bytes) in name.chunks(8).enumerate().take(NAME / 8) {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            put(words, block::VECTORS + 8 * at, u64::from_le_bytes(word));
        }
        put(words, block::EXIT_ARGUMENT, name.len() as u64);
        put(words, MARK, region::DUE | region::READ);
        put(words, block::EXIT, ExitReason::RingFull as u64);
    }
}

fn counters_at(place: usize) -> usize {
    COUNTERS + size_of::<EventCounters>() * place
}

fn period_at(place: usize) -> usize {
    counters_at(place) + offset_of!(EventCounters, period)
}

/// Where the countdown waits for the end of a warm-up.
fn kept_at(place: usize) -> usize {
    counters_at(place) + offset_of!(EventCounters, countdown)
}

fn period(words: &[AtomicU64], place: usize) -> PeriodState {
    let of = |offset| get(words, period_at(place) + offset);
    PeriodState {
        events: of(offset_of!(PeriodState, events)),
        before: of(offset_of!(PeriodState, before)),
        random: of(offset_of!(PeriodState, random)),
        mean: of(offset_of!(PeriodState, mean)),
    }
}

/// What RAW tells of: the level whose misses are counted, or the heap.
fn reported_level(event: EmulatedEvent) -> u64 {
    match event {
        EmulatedEvent::L1DataMiss => CacheLevel::First as u64,
        EmulatedEvent::L2Miss => CacheLevel::Second as u64,
        EmulatedEvent::L3Miss => CacheLevel::Third as u64,
        EmulatedEvent::Allocation | EmulatedEvent::Release | EmulatedEvent::Mapping => HEAP,
        _ => 0,
    }
}

fn events(event: EmulatedEvent) -> Events {
    match event {
        // The tracer tells of mappings.
        EmulatedEvent::Class(_) | EmulatedEvent::Mapping => Events::NONE,
        EmulatedEvent::L1DataMiss => Events::L1_MISS,
        EmulatedEvent::L2Miss => Events::L2_MISS,
        EmulatedEvent::L3Miss => Events::L3_MISS,
        EmulatedEvent::DtlbLoadMiss => Events::DTLB_LOAD_MISS,
        EmulatedEvent::DtlbStoreMiss => Events::DTLB_STORE_MISS,
        EmulatedEvent::DtlbMiss => Events(Events::DTLB_LOAD_MISS.0 | Events::DTLB_STORE_MISS.0),
        EmulatedEvent::PageWalk => Events::PAGE_WALK,
        EmulatedEvent::SplitLoad => Events::SPLIT_LOAD,
        EmulatedEvent::SplitStore => Events::SPLIT_STORE,
        EmulatedEvent::BlockedForward => Events::BLOCKED,
        EmulatedEvent::HitModified => Events::HIT_MODIFIED,
        EmulatedEvent::Allocation => Events::ALLOCATION,
        EmulatedEvent::Release => Events::RELEASE,
    }
}

#[cfg(test)]
mod tests {
    use perfdata::{MissClass, SampleType};

    use super::*;
    use crate::model::MissReason;

    #[test]
    fn causes_are_numbered_as_records_have_them() {
        let causes = [
            (MissReason::Cold, MissClass::Cold),
            (MissReason::Sharing, MissClass::Sharing),
            (MissReason::Conflict, MissClass::Conflict),
            (MissReason::Edge, MissClass::Edge),
            (MissReason::Capacity, MissClass::Capacity),
        ];
        for (cause, class) in causes {
            assert_eq!(MissClass::of_number(cause as u8), Some(class));
        }
        assert_eq!(MissClass::of_number(MissReason::Unknown as u8), None);
    }

    #[test]
    fn misses_of_data_caches_alone_tell_why() {
        let attr = Attr { sample_type: SampleType::RAW | SampleType::IP, ..Attr::default() };
        let of =
            |event| EventSetup::new(event, 1, &attr, 1).map(|setup| setup.format.reported_level);
        assert_eq!(of(EmulatedEvent::L1DataMiss), Ok(1));
        assert_eq!(of(EmulatedEvent::L3Miss), Ok(3));
        assert_eq!(of(EmulatedEvent::DtlbMiss), Err(SetupError::Fields(1 << 10)));
    }
}
