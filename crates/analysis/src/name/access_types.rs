//! Type and member of what a sample accesses, and how many samples have one.

use super::key_value::{KeyValue, Missing};
use super::place_names::PlaceNames;
use crate::bounded::{Bounded, MOST_PLACES};
use crate::typed::access_type::TypedBy;
use crate::typed::member_name::{member_name, type_name};
use crate::typed::object_types::{ObjectTypes, SampledAccess, TypedAccess, Untyped};
use crate::typed::typed_operand::TypedPlace;
use std::collections::BTreeMap;
use symbolizer::{MissingSections, ObjectId, Place, SampledAddress};

/// A type without members, where members are asked for.
pub(crate) const WHOLE: &str = "-";

#[derive(Debug, Default)]
pub(crate) struct AccessTypes {
    pub(crate) objects: ObjectTypes,
    pub(crate) shows_types: bool,
    /// Whether of how many samples types are known is told.
    pub(crate) is_told: bool,
    named: Bounded<NamedAccess, TypeAndMember, MOST_PLACES>,
    /// By place of the instruction, and mark of the reason.
    reasons: Bounded<(Place, &'static str), KeyValue, MOST_PLACES>,
    /// Samples by road, and without a type by why.
    by: BTreeMap<TypedBy, u64>,
    without: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct NamedAccess {
    object: ObjectId,
    place: TypedPlace,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeAndMember {
    pub(crate) of: KeyValue,
    pub(crate) member: KeyValue,
}

impl TypeAndMember {
    /// Whether it is a type, or may become one when all samples are counted.
    pub(crate) fn is_known_or_waits(self) -> bool {
        self.of.as_name().is_ok() || self.of.as_undecided().is_some()
    }
}

impl From<KeyValue> for TypeAndMember {
    fn from(value: KeyValue) -> TypeAndMember {
        TypeAndMember { of: value, member: value }
    }
}

impl AccessTypes {
    /// On whose data a sampled instruction works, or what says why that is not
    /// known. Each sample is asked of once.
    pub(crate) fn typed_access(
        &mut self,
        access: SampledAccess<'_>,
        places: &mut PlaceNames,
    ) -> Result<TypedAccess, TypeAndMember> {
        match self.objects.of(access, &mut places.symbolizer) {
            Ok(typed) => {
                *self.by.entry(typed.found.by).or_default() += 1;
                Ok(typed)
            }
            Err(why) => {
                let tag = why.tag();
                *self.without.entry(tag).or_default() += 1;
                let lack = match self.reasons.get(&(access.place, tag)) {
                    Some(known) => *known,
                    None => self.lack_of_type(access.place, &why, places),
                };
                Err(lack.into())
            }
        }
    }

    /// What the code alone tells of an instruction; None: nothing.
    pub(crate) fn operand_type(
        &mut self,
        at: SampledAddress,
        place: Place,
        places: &mut PlaceNames,
    ) -> Option<TypeAndMember> {
        let register = |_| None;
        let (address, data, is_before) = (None, None, false);
        let access = SampledAccess { at, place, address, data, register: &register, is_before };
        let typed = self.objects.of(access, &mut places.symbolizer).ok()?;
        Some(self.type_and_member(&typed, places))
    }

    /// Why instructions at a place have no type; one place has one reason of a
    /// mark.
    fn lack_of_type(&mut self, place: Place, why: &Untyped, places: &mut PlaceNames) -> KeyValue {
        let (tag, subject) = (why.tag(), why.subject());
        let reason = places.reason(&why.to_string(), tag, subject.as_deref());
        let lack = KeyValue::missing(Missing::Name(reason));
        self.reasons.insert((place, tag), lack);
        lack
    }

    pub(crate) fn type_and_member(
        &mut self,
        typed: &TypedAccess,
        places: &mut PlaceNames,
    ) -> TypeAndMember {
        let TypedAccess { object, found, bytes, .. } = *typed;
        let key = NamedAccess { object, place: found.place, bytes };
        if let Some(known) = self.named.get(&key) {
            return *known;
        }
        let of = type_name(&typed.program, found.place.of);
        let member = member_name(&typed.program.types, found.place, bytes);
        let member = match (member.is_empty(), self.shows_types) {
            (true, true) => WHOLE.to_owned(),
            (true, false) => of.clone(),
            (false, true) => member,
            (false, false) => format!("{of}.{member}"),
        };
        let of = places.texts.key_value(&of);
        let member = places.texts.key_value(&member);
        let values = TypeAndMember { of, member };
        self.named.insert(key, values);
        values
    }

    /// Of how many samples the type is known, by which road, and of the others
    /// why not; `told`: what `UndecidedTypes::told_by_blocks` tells. None: it was not asked for.
    pub(crate) fn note(&self, told: &BTreeMap<&'static str, u64>) -> Option<String> {
        let AccessTypes { is_told, by, without, .. } = self;
        let by_block: u64 = told.values().sum();
        let typed = by.values().sum::<u64>() + by_block;
        let mut without: Vec<(&'static str, u64)> = without
            .iter()
            .map(|(tag, count)| (*tag, count.saturating_sub(told.get(tag).copied().unwrap_or(0))))
            .filter(|(_, count)| *count > 0)
            .collect();
        without.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all = typed + without.iter().map(|(_, count)| count).sum::<u64>();
        if !is_told || all == 0 {
            return None;
        }
        let by = |road| by.get(&road).copied().unwrap_or(0);
        let mut text = format!(
            "types of {typed} of {all} samples are known: {} by code, {} by the variable, {} by both",
            by(TypedBy::Code),
            by(TypedBy::Object),
            by(TypedBy::Both),
        );
        if by_block > 0 {
            text.push_str(&format!(", {by_block} by what their block of the heap holds"));
        }
        match by(TypedBy::Disagreement) {
            0 => {}
            apart => text.push_str(&format!(
                ", {apart} where code and variable differ (the variable's is shown)"
            )),
        }
        if !without.is_empty() {
            let reasons: Vec<String> =
                without.into_iter().map(|(tag, count)| format!("{count} {tag}")).collect();
            text.push_str(&format!("; of the others none: {}", reasons.join(", ")));
        }
        Some(text)
    }
}

impl Untyped {
    fn tag(&self) -> &'static str {
        match self {
            Untyped::Debug(_) => "[no-debug]",
            Untyped::Code(_) => "[no-code]",
            Untyped::NoRoutine => "[no-routine]",
            Untyped::Operand(why) => why.tag(),
        }
    }

    /// Whose the lack is: a file.
    fn subject(&self) -> Option<String> {
        match self {
            Untyped::Debug(why) => match &**why {
                MissingSections::Debug(why) => why.subject().map(str::to_owned),
                MissingSections::File(why) => why.subject().map(str::to_owned),
            },
            _ => None,
        }
    }
}

impl std::fmt::Display for Untyped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Untyped::Debug(why) => why.fmt(f),
            Untyped::Code(why) => why.fmt(f),
            Untyped::NoRoutine => f.write_str("the instruction is of no routine that is known"),
            Untyped::Operand(why) => f.write_str(why.text()),
        }
    }
}
