//! What debug info says of the data of each object, read when first asked.

use super::access_type::{AccessType, NoType, TypedBy, by_code, by_object};
use super::routine_flow::RoutineFlow;
use super::typed_operand::{CountedFrom, TypedPlace};
use crate::bounded::Bounded;
use crate::code::register_number;
use std::ops::Range;
use std::sync::Arc;
use symbolizer::{
    CodeError, MissingSections, ObjectId, Place, Resolution, SampledAddress, Symbolizer,
};
use types::ProgramTypes;

/// Programs whose types are kept.
const MOST_PROGRAMS: usize = 64;
/// Routines that are kept.
const MOST_ROUTINES: usize = 1 << 14;
/// Places of instructions whose routine is remembered.
const MOST_PLACES: usize = 1 << 19;

#[derive(Debug, Default)]
pub(crate) struct ObjectTypes {
    programs: Bounded<ObjectId, Result<Arc<ProgramTypes>, Arc<MissingSections>>, MOST_PROGRAMS>,
    extents: Bounded<Place, Option<Range<u64>>, MOST_PLACES>,
    routines: Bounded<Place, Result<RoutineFlow, CodeError>, MOST_ROUTINES>,
}

#[derive(Clone, Copy)]
pub(crate) struct SampledAccess<'s> {
    pub(crate) at: SampledAddress,
    pub(crate) place: Place,
    pub(crate) address: Option<u64>,
    pub(crate) data: Option<Place>,
    /// Registers, by the kernel's number.
    pub(crate) register: &'s dyn Fn(u32) -> Option<u64>,
    /// Whether these are certain to be what the instruction found, not what it left.
    pub(crate) is_before: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Untyped {
    Debug(Arc<MissingSections>),
    Code(CodeError),
    NoRoutine,
    Operand(NoType),
}

#[derive(Clone, Debug)]
pub(crate) struct TypedAccess {
    pub(crate) program: Arc<ProgramTypes>,
    /// Whose types these are.
    pub(crate) object: ObjectId,
    pub(crate) found: AccessType,
    /// Bytes that are accessed; 0: not known.
    pub(crate) bytes: u64,
}

impl ObjectTypes {
    pub(crate) fn of(
        &mut self,
        access: SampledAccess<'_>,
        symbolizer: &mut Symbolizer,
    ) -> Result<TypedAccess, Untyped> {
        let object = self.object(access, symbolizer);
        let code = self.code(access, symbolizer);
        match (code, object) {
            (Ok((program, place, bytes)), Some((other, known))) => {
                // Types of two files cannot be compared.
                let known = Arc::ptr_eq(&program, &other).then_some(known);
                let found = AccessType::of(&program.types, place, known);
                Ok(TypedAccess { program, object: access.place.object, found, bytes })
            }
            (Ok((program, place, bytes)), None) => {
                let found = AccessType { place, by: TypedBy::Code };
                Ok(TypedAccess { program, object: access.place.object, found, bytes })
            }
            (Err(_), Some((program, place))) => {
                let object = access.data.map_or(access.place.object, |data| data.object);
                let found = AccessType { place, by: TypedBy::Object };
                Ok(TypedAccess { program, object, found, bytes: 0 })
            }
            (Err(why), None) => Err(why),
        }
    }

    pub(super) fn program(
        &mut self,
        object: ObjectId,
        symbolizer: &mut Symbolizer,
    ) -> Result<Arc<ProgramTypes>, Arc<MissingSections>> {
        if let Some(known) = self.programs.get(&object) {
            return known.clone();
        }
        let read = symbolizer.debug_sections(object);
        let read = read.map(|sections| Arc::new(ProgramTypes::read(&sections))).map_err(Arc::new);
        self.programs.insert(object, read.clone());
        read
    }

    fn extent(&mut self, place: Place, symbolizer: &mut Symbolizer) -> Option<Range<u64>> {
        let extent = || match symbolizer.resolve(place) {
            Resolution::Routine(routine) => Some(routine.start..routine.end),
            Resolution::Unknown(_) => None,
        };
        self.extents.or_insert_with(place, extent).clone()
    }

    fn object(
        &mut self,
        access: SampledAccess<'_>,
        symbolizer: &mut Symbolizer,
    ) -> Option<(Arc<ProgramTypes>, TypedPlace)> {
        let data = access.data?;
        let program = self.program(data.object, symbolizer).ok()?;
        let place = by_object(&program, data.address)?;
        Some((program, place))
    }

    pub(super) fn flow(
        &mut self,
        at: SampledAddress,
        place: Place,
        symbolizer: &mut Symbolizer,
    ) -> Result<(Arc<ProgramTypes>, &RoutineFlow), Untyped> {
        let program = self.program(place.object, symbolizer).map_err(Untyped::Debug)?;
        let Range { start, end } = self.extent(place, symbolizer).ok_or(Untyped::NoRoutine)?;
        let routine = Place { address: start, ..place };
        let flow = self.routines.or_insert_with(routine, || {
            let text = symbolizer.text(at, &(start..end))?;
            match text.bits {
                Some(64) => Ok(RoutineFlow::new(&program, &text.bytes, start)),
                _ => Ok(RoutineFlow::default()),
            }
        });
        match flow {
            Ok(flow) => Ok((program, flow)),
            Err(why) => Err(Untyped::Code(why.clone())),
        }
    }

    fn code(
        &mut self,
        access: SampledAccess<'_>,
        symbolizer: &mut Symbolizer,
    ) -> Result<(Arc<ProgramTypes>, TypedPlace, u64), Untyped> {
        let place = access.place;
        let (program, flow) = self.flow(access.at, place, symbolizer)?;
        let operands = flow.operands(place.address);
        let operands = operands.ok_or(Untyped::Operand(NoType::Unfollowed))?;
        let distance = |from: &CountedFrom| {
            if from.is_written && !access.is_before {
                return None;
            }
            let value = (access.register)(register_number(from.register)?)?;
            Some(access.address?.wrapping_sub(value).cast_signed())
        };
        let found = by_code(&program.types, operands, distance).map_err(Untyped::Operand)?;
        let bytes = operands.first().map_or(0, |operand| operand.bytes);
        Ok((program, found, bytes))
    }
}

impl std::fmt::Debug for SampledAccess<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SampledAccess").field("at", &self.at).finish_non_exhaustive()
    }
}
