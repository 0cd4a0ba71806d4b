//! Rules that were read, by place.

use super::frame_rule::FrameRule;
use crate::{ChainEnd, ObjectId, Place};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Places remembered; a power of two. Those of one slot push each other out.
const SLOTS: usize = 1 << 15;
/// Distinct rules kept, some 300 bytes each: large programs have thousands.
const MOST_RULES: usize = 1 << 15;

#[derive(Debug)]
pub(crate) struct RuleMemo {
    slots: Box<[Option<Slot>]>,
    distinct: FxHashMap<Arc<FrameRule>, ()>,
}

#[derive(Clone, Debug)]
struct Slot {
    place: Place,
    rule: Result<Arc<FrameRule>, ChainEnd>,
}

impl Default for RuleMemo {
    fn default() -> RuleMemo {
        RuleMemo { slots: vec![None; SLOTS].into(), distinct: FxHashMap::default() }
    }
}

impl RuleMemo {
    #[inline]
    pub(crate) fn get(&self, place: Place) -> Option<Result<&FrameRule, ChainEnd>> {
        let slot = self.slots[slot_of(place)].as_ref()?;
        (slot.place == place).then(|| slot.rule.as_deref().map_err(|end| *end))
    }

    pub(crate) fn put(&mut self, place: Place, rule: Result<FrameRule, ChainEnd>) {
        if self.distinct.len() >= MOST_RULES {
            self.distinct.clear();
        }
        let rule = rule.map(|rule| match self.distinct.get_key_value(&rule) {
            Some((known, ())) => Arc::clone(known),
            None => {
                let rule = Arc::new(rule);
                self.distinct.insert(Arc::clone(&rule), ());
                rule
            }
        });
        self.slots[slot_of(place)] = Some(Slot { place, rule });
    }
}

fn slot_of(Place { object: ObjectId(object), address }: Place) -> usize {
    let mixed = (address ^ u64::from(object) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 40).unwrap_or(0) & (SLOTS - 1)
}
