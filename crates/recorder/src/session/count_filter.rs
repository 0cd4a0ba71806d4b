//! Which samples a count is of: those that the type means, where the fields
//! of a sample tell it at once.
//!
//! Where a CPU has no event for a type, as AMD's IBS has none, most of what
//! is sampled is not meant; a count of all would end with a handful. What
//! only the instruction tells, or nothing, counts.

use perfdata::ibs::IbsErrata;
use perfdata::sample_filter::{FieldAnswers, Verdict};
use perfdata::{RecordHeader, SampleFilter, SampleLayout};

use crate::PlannedEvent;
use crate::ring::RingRecord;
use crate::sys::event::NATIVE_ORDER;

/// One event's filter, and how its samples are laid out.
#[derive(Debug)]
pub(super) struct CountFilter {
    fields: SampleFilter,
    layout: SampleLayout,
    payload: Vec<u8>,
}

impl CountFilter {
    /// None: each of the event's samples counts.
    pub(super) fn of(event: &PlannedEvent) -> Option<CountFilter> {
        let (fields, _) = event.filter.split();
        // What cannot be read here the stream's readers will complain of.
        let layout = SampleLayout::new(&event.attr, NATIVE_ORDER).ok();
        let layout = layout.filter(|_| !fields.is_all())?;
        Some(CountFilter { fields, layout, payload: Vec::new() })
    }

    pub(super) fn counts(&mut self, record: RingRecord<'_>) -> bool {
        self.payload.clear();
        self.payload.extend_from_slice(record.first);
        self.payload.extend_from_slice(record.second);
        let payload = self.payload.get(RecordHeader::SIZE..).unwrap_or_default();
        let Ok(sample) = self.layout.decode(record.header.misc, payload) else { return true };
        let answers = FieldAnswers::new(record.header.misc, Some(&sample), Some(NATIVE_ORDER));
        // Which CPU it is only readers need to know: what its quirks hide
        // counts.
        let quirks = |caps| IbsErrata::of(None, caps);
        self.fields.judge(|condition| answers.holds(condition, quirks)) != Verdict::Drop
    }
}

#[cfg(test)]
mod tests {
    use perfdata::{Attr, EventType, Misc, RecordType, SampleType};

    use super::*;
    use crate::Promises;
    use crate::catalogue::promises::{
        AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
    };

    fn event(filter: &str) -> PlannedEvent {
        PlannedEvent {
            name: "l1_cache_miss".into(),
            pmu: "ibs_op".into(),
            attr: Attr {
                kind: EventType(11),
                sample_type: SampleType::IP | SampleType::RAW,
                ..Attr::default()
            },
            cpus: None,
            leader: None,
            carrier: false,
            least_precise: 0,
            promises: Promises {
                source: SampleSource::Ibs,
                ip: IpPromise::Exact,
                address: AddressPromise::Data,
                registers: RegistersPromise::AtInterrupt,
                weight: WeightPromise::None,
            },
            filter: filter.parse().unwrap(),
        }
    }

    /// A sample of an op with this IBS_OP_DATA3, as perf_ibs_handle_irq() writes
    /// it on a Zen 4: IBS_OP_CTL to IBS_DC_PHYSADDR, the branch's target, and
    /// IBS_OP_DATA4.
    fn sample(data3: u64) -> Vec<u8> {
        let registers = [0x4_0000_u64, 0x40_1000, 0, 0, data3, 0, 0, 0, 0];
        let mut raw = 0xbff_u32.to_ne_bytes().to_vec();
        raw.extend(registers.iter().flat_map(|register| register.to_ne_bytes()));
        let mut payload = 0x40_1000_u64.to_ne_bytes().to_vec();
        payload.extend(u32::try_from(raw.len()).unwrap().to_ne_bytes());
        payload.extend(raw);
        payload.resize(payload.len().next_multiple_of(8), 0);
        payload
    }

    /// Lends it as a ring does whose end cuts it after so many bytes.
    fn lend<T>(payload: &[u8], cut: usize, look: impl FnOnce(RingRecord<'_>) -> T) -> T {
        let size = u16::try_from(RecordHeader::SIZE + payload.len()).unwrap();
        let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc(2), size };
        let record = [&[0; RecordHeader::SIZE][..], payload].concat();
        let (first, second) = record.split_at(cut);
        look(RingRecord { header, first, second })
    }

    const LOAD: u64 = 1;
    const DC_MISS: u64 = 1 << 7;

    #[test]
    fn a_sample_counts_if_its_fields_say_what_is_meant() {
        let mut count_filter = CountFilter::of(&event("ibs:ld_op+ibs:dc_miss")).unwrap();
        for (data3, counts) in [(LOAD | DC_MISS, true), (LOAD, false), (DC_MISS, false), (0, false)]
        {
            for cut in [0, 8, 17, 40] {
                let found = lend(&sample(data3), cut, |record| count_filter.counts(record));
                assert_eq!(found, counts, "{data3:#x}, cut at {cut}");
            }
        }
    }

    #[test]
    fn what_cannot_be_told_at_once_counts() {
        assert!(CountFilter::of(&event("class:x87")).is_none(), "the instruction says it");
        assert!(CountFilter::of(&event("")).is_none(), "all are meant");
        let mut both = CountFilter::of(&event("ibs:ld_op+class:x87")).unwrap();
        assert!(lend(&sample(LOAD), 8, |record| both.counts(record)));
        assert!(!lend(&sample(0), 8, |record| both.counts(record)));
        // Raw data that are no registers of IBS; a sample that is none.
        let no_caps = [&[0; 8][..], &4_u32.to_ne_bytes(), &[0; 4]].concat();
        assert!(lend(&no_caps, 8, |record| both.counts(record)));
        assert!(lend(&[0; 4], 8, |record| both.counts(record)));
    }
}
