//! Records that describe: events, their names and notes, the machine.

use super::budget::too_much;
use super::early_names::{EarlyNames, is_of};
use super::{StreamDecoder, StreamRecord};
use crate::aggregate;
use crate::attr::{Attr, EventType};
use crate::bytes::{Cursor, RecordWords, Short, text_before_nul};
use crate::header::{RecordType, UpdateKind};
use crate::kernel_list::{self, KernelListPart};
use crate::region::{self, RegionMark};
use crate::sample::SampleLayout;
use crate::stream::description::EventDescription;
use crate::stream::error::StreamError;
use crate::stream::feature::{EventName, Feature, FeatureId};
use crate::stream::route::Routed;
use crate::stream::tracepoint_names::TracepointName;
use crate::stream::update::Update;
use crate::stream::write;

impl StreamDecoder {
    pub(super) fn event<'a>(&mut self, payload: &[u8]) -> StreamRecord<'a> {
        let order = self.order;
        let ids = Attr::decode_newer(payload, order).ok().and_then(|(attr, _)| {
            let size = usize::try_from(attr.size).ok()?;
            let ids = RecordWords::new(payload.get(size..)?, order).iter().collect::<Vec<u64>>();
            Some((attr, ids))
        });
        let ids = match ids {
            Some((attr, ids)) => {
                if let Some(index) = self.events.len().checked_sub(1)
                    && let Some(event) = self.events.get_mut(index)
                    && goes_on(event, &attr)
                {
                    if !self.budget.take_ids(ids.len()) {
                        let error = too_much("ids", self.offset);
                        return self.unreadable(RecordType::HEADER_ATTR, error);
                    }
                    self.route.claim(index, &ids);
                    event.ids.extend(ids);
                    return StreamRecord::EventUpdate(index);
                }
                ids
            }
            None => Vec::new(),
        };
        self.add_event(payload, ids)
    }

    /// One more event; `bytes` start with its attr. Of one that is newer than
    /// this program the samples cannot be read, but other records can be.
    pub(super) fn add_event<'a>(&mut self, bytes: &[u8], ids: Vec<u64>) -> StreamRecord<'a> {
        let (kind, offset) = (RecordType::HEADER_ATTR, self.offset);
        if !self.budget.has_room_for_event(self.events.len()) {
            self.route.add_unknown();
            return self.unreadable(kind, too_much("an event", offset));
        }
        let fits = self.budget.take_ids(ids.len());
        let ids = if fits { ids } else { Vec::new() };
        let (attr, newer) = match Attr::decode_newer(bytes, self.order) {
            Ok(attr) => attr,
            Err(reason) => {
                self.route.add_unknown();
                return self.unreadable(kind, StreamError::Attr { offset, reason });
            }
        };
        let layout = SampleLayout::new(&attr, self.order);
        let unreadable = match (&layout, newer) {
            (Err(reason), _) => Some(StreamError::Layout { offset, reason: reason.clone() }),
            (Ok(_), Some(reason)) => Some(StreamError::Attr { offset, reason }),
            (Ok(_), None) => None,
        };
        let layout = match (layout, &unreadable) {
            (Ok(layout), None) => layout,
            _ => SampleLayout::of_trailers(&attr, self.order),
        };
        let first = self.events.first().map_or(&attr, |event| &event.attr);
        self.route.add(&attr, &ids, first);
        let index = self.events.len();
        let called = Unnamed::of(&attr);
        self.unnamed.entry(called).or_default().push_back(index);
        let name = self.early_names.take(index, &attr, &ids, self.order);
        let (unit, scale, cpus, notes) = (None, None, None, Vec::new());
        let error = unreadable.clone();
        self.events.push(EventDescription {
            attr,
            ids,
            layout,
            unreadable,
            name,
            unit,
            scale,
            cpus,
            notes,
            clock: None,
        });
        match error {
            Some(error) => self.unreadable(kind, error),
            None if !fits => self.unreadable(kind, too_much("ids", offset)),
            None => StreamRecord::Event(index),
        }
    }

    pub(super) fn update<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
    ) -> Result<StreamRecord<'a>, StreamError> {
        let (kind, offset) = (RecordType::EVENT_UPDATE, self.offset);
        let told = cursor.left();
        let short = |short| StreamError::Short { kind, offset, short };
        let what = UpdateKind(cursor.u64().map_err(short)?);
        let id = cursor.u64().map_err(short)?;
        if what == UpdateKind::UNIT && cursor.rest_starts_with(aggregate::TEXT) {
            return self.aggregate(id, cursor.rest());
        }
        if what == UpdateKind::UNIT && cursor.rest_starts_with(kernel_list::TEXT) {
            return self.kernel_list(cursor.rest());
        }
        if what == UpdateKind::UNIT && cursor.rest_starts_with(region::TEXT) {
            let mark = RegionMark::decode(cursor.rest(), self.order);
            let mark = mark.map_err(|reason| StreamError::Region { offset, reason })?;
            return Ok(StreamRecord::Region(mark));
        }
        if self.budget.is_spent() {
            return Err(too_much("EVENT_UPDATE", offset));
        }
        let update = Update::decode(what, cursor).map_err(short)?;
        let Some(index) = self.route.update(id).filter(|index| *index < self.events.len()) else {
            return Ok(self.unrouted(kind, Routed::UnknownId));
        };
        if !self.budget.take(update.memory(), told) {
            return Err(too_much("EVENT_UPDATE", offset));
        }
        if let Some(event) = self.events.get_mut(index) {
            update.apply(event);
        }
        Ok(StreamRecord::EventUpdate(index))
    }

    fn aggregate<'a>(&mut self, id: u64, bytes: &[u8]) -> Result<StreamRecord<'a>, StreamError> {
        let (kind, offset) = (RecordType::EVENT_UPDATE, self.offset);
        let part = aggregate::AggregatePart::decode(bytes, self.order);
        let part = part.map_err(|reason| StreamError::Aggregate { offset, reason })?;
        match self.route.update(id).filter(|index| *index < self.events.len()) {
            Some(event) => Ok(StreamRecord::Aggregate { event, part }),
            None => Ok(self.unrouted(kind, Routed::UnknownId)),
        }
    }

    /// The kernel is everybody's: whose event the record is does not matter.
    fn kernel_list<'a>(&mut self, bytes: &[u8]) -> Result<StreamRecord<'a>, StreamError> {
        let offset = self.offset;
        let failed = |reason| StreamError::KernelList { offset, reason };
        let part = KernelListPart::decode(bytes, self.order).map_err(failed)?;
        let whole = self.kernel_list.add(part).map_err(|torn| failed(torn.into()))?;
        let is_whole = whole.is_some();
        self.features.kernel_list = whole.or_else(|| self.features.kernel_list.take());
        Ok(StreamRecord::KernelList { is_whole })
    }

    pub(super) fn feature<'a>(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<StreamRecord<'a>, StreamError> {
        let (kind, offset) = (RecordType::HEADER_FEATURE, self.offset);
        let id = cursor.u64().map_err(|short| StreamError::Short { kind, offset, short })?;
        let id = FeatureId(id);
        self.insert_feature(id, cursor.rest())?;
        match id > FeatureId::LAST {
            true => Ok(StreamRecord::Skipped(kind)),
            false => Ok(StreamRecord::Feature),
        }
    }

    pub(super) fn insert_feature(&mut self, id: FeatureId, data: &[u8]) -> Result<(), StreamError> {
        let offset = self.offset;
        let feature = Feature::decode(id, data, self.order);
        let feature = feature.map_err(|short| StreamError::Feature { offset, id, short })?;
        match feature {
            Feature::EventDescriptions(names) => return self.name_events(names),
            Feature::Other { id, .. } if id > FeatureId::LAST => {}
            feature if self.budget.take(feature.memory(), data.len()) => {
                self.features.insert(feature);
            }
            _ => return Err(too_much("a feature", offset)),
        }
        Ok(())
    }

    fn name_events(&mut self, names: Vec<EventName>) -> Result<(), StreamError> {
        for (index, described) in names.into_iter().enumerate() {
            let by_id = described.ids.first().and_then(|&id| self.route.by_id(id));
            let place = by_id.unwrap_or(index);
            match self.events.get_mut(place) {
                // Without ids, the same place in the list and the same event.
                Some(event) if by_id.is_some() || is_of(&described, &event.attr, self.order) => {
                    event.name.get_or_insert(described.name);
                }
                Some(_) => {}
                None if self.budget.take(EarlyNames::memory(&described), 0) => {
                    self.early_names.keep(place, described);
                }
                None => return Err(too_much("names of events", self.offset)),
            }
        }
        Ok(())
    }

    pub(super) fn name_tracepoints(&mut self, bytes: &[u8]) {
        let StreamDecoder { tracepoints, events, unnamed, .. } = self;
        tracepoints.take(bytes, |TracepointName { id, name }| {
            // Who has a name is done with: formats may be as many as events.
            let called = Unnamed { is_tracepoint: true, config: id };
            for index in unnamed.remove(&called).into_iter().flatten() {
                if let Some(event) = events.get_mut(index)
                    && event.name.is_none()
                {
                    event.name = Some(name.clone());
                }
            }
        });
    }

    /// Before Linux 3.10 names came in records of their own: a config and
    /// 64 bytes of name.
    pub(crate) fn event_type<'a>(
        &mut self,
        cursor: &mut Cursor<'_>,
    ) -> Result<StreamRecord<'a>, Short> {
        let config = cursor.u64()?;
        let name = text_before_nul(cursor.rest());
        if name.is_empty() {
            return Ok(StreamRecord::Skipped(RecordType::HEADER_EVENT_TYPE));
        }
        while let Some(index) = self.next_unnamed(config) {
            if let Some(event) = self.events.get_mut(index)
                && event.name.is_none()
            {
                event.name = Some(name);
                return Ok(StreamRecord::EventUpdate(index));
            }
        }
        Ok(StreamRecord::Skipped(RecordType::HEADER_EVENT_TYPE))
    }

    fn next_unnamed(&mut self, config: u64) -> Option<usize> {
        let kinds = [false, true].map(|is_tracepoint| Unnamed { is_tracepoint, config });
        let first = |called: &Unnamed| self.unnamed.get(called)?.front().copied();
        let (_, called) = kinds.iter().filter_map(|called| Some((first(called)?, called))).min()?;
        self.unnamed.get_mut(called)?.pop_front()
    }
}

/// What events without a name of their own are found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Unnamed {
    is_tracepoint: bool,
    config: u64,
}

impl Unnamed {
    fn of(attr: &Attr) -> Unnamed {
        Unnamed { is_tracepoint: attr.kind == EventType::TRACEPOINT, config: attr.config }
    }
}

/// Whether a HEADER_ATTR with this attr brings more ids of the event before:
/// records up to there were full. Equal attrs alone do not say so: an event
/// may be recorded twice.
fn goes_on(event: &EventDescription, attr: &Attr) -> bool {
    let ids = event.ids.len();
    ids > 0 && ids.is_multiple_of(write::IDS_A_RECORD) && event.attr == *attr
}
