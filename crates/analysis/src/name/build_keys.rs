//! What an instruction is called in any build: by its line in its routine's text, and by its
//! operands. Where that is not known it is called after its routine alone, and why.

use super::key_value::KeyValue;
use super::place_names::PlaceNames;
use crate::bounded::{Bounded, MOST_PLACES};
use crate::code::instruction_class::decode;
use crate::code::operand_shape::{keeps_pointer, operand_shape};
use rustc_hash::FxHashMap;
use symbolizer::{FrameDetail, Frames, Place, Reason, Resolution, SampledAddress, Symbolizer};

#[derive(Debug, Default)]
pub(crate) struct BuildKeys {
    pub(crate) wants_lines: bool,
    operands: Bounded<Place, KeyValue, MOST_PLACES>,
    /// The reason by the name, both by their numbers.
    of_routine_alone: FxHashMap<u32, u32>,
}

/// Why debug info that covers an instruction gives no line.
pub(crate) const NO_LINE: &str = "the compiler made this code: it is of no source line";
/// Why a line has no number in its routine.
const NO_START: &str =
    "debug info tells no first line of a routine, of the file that the line is in";
/// Why a frame of a chain has no instruction.
const NO_FRAME: &str = "the instruction is a caller's, of which code is not read";
/// Bytes that are none.
const NO_INSTRUCTION: &str = "no instruction begins there";

impl BuildKeys {
    /// `ROUTINE+LINES`: how far the innermost routine's line is below the one that its text
    /// begins at.
    pub(crate) fn routine_line(
        &mut self,
        place: Place,
        frames: &Result<Frames, Reason>,
        places: &mut PlaceNames,
    ) -> KeyValue {
        let routine = places.routine(place);
        let Some(frames) = frames.as_ref().ok().filter(|_| self.wants_lines) else {
            return routine;
        };
        let innermost = frames.frames.first();
        let source = innermost.and_then(|it| Some((it, it.source.as_ref()?)));
        let Some((frame, source)) = source.filter(|(_, source)| source.line > 0) else {
            return match &frames.depth {
                FrameDetail::Symbols(why) => self.routine_alone(
                    routine,
                    places,
                    (&why.to_string(), why.tag(), why.subject()),
                ),
                _ => self.routine_alone(routine, places, (NO_LINE, "[no-line]", None)),
            };
        };
        let lines = frame.first_line.and_then(|first| source.line.checked_sub(first));
        let own = routine.as_name().ok().map(|number| places.name(number));
        match (lines, frame.name.as_ref().or(own.as_ref())) {
            (Some(lines), Some(name)) => places.texts.key_value(&format!("{name}+{lines}")),
            _ => self.routine_alone(routine, places, (NO_START, "[no-start]", None)),
        }
    }

    /// `ROUTINE: SHAPE`, of an instruction at a place of that address; None: of a frame
    /// whose address is not at hand.
    pub(crate) fn operands(
        &mut self,
        place: Place,
        at: Option<SampledAddress>,
        places: &mut PlaceNames,
    ) -> KeyValue {
        if let Some(known) = self.operands.get(&place) {
            return *known;
        }
        let routine = places.routine(place);
        let shape = match at {
            Some(at) => shape(place, at, &mut places.symbolizer),
            None => Err(NO_FRAME.to_owned()),
        };
        let value = match (shape, routine.as_name()) {
            (Ok(shape), Ok(number)) => {
                let name = format!("{}: {shape}", places.name(number));
                places.texts.key_value(&name)
            }
            (Err(why), _) => self.routine_alone(routine, places, (&why, "[no-code]", None)),
            (Ok(_), Err(_)) => routine,
        };
        self.operands.insert(place, value);
        value
    }

    /// The routine's name and the mark of a reason; without a name, why there is none.
    fn routine_alone(
        &mut self,
        routine: KeyValue,
        places: &mut PlaceNames,
        (why, tag, of): (&str, &'static str, Option<&str>),
    ) -> KeyValue {
        let Ok(number) = routine.as_name() else { return routine };
        let name = places.texts.number(&format!("{} {tag}", places.name(number)));
        let reason = places.reason(why, tag, of);
        self.of_routine_alone.insert(name, reason);
        KeyValue::number(u64::from(name))
    }

    /// Why a row of one of these keys is of a routine alone; None: it is not.
    pub(crate) fn why_routine_alone(&self, value: KeyValue) -> Option<u32> {
        self.of_routine_alone.get(&value.as_name().ok()?).copied()
    }
}

fn shape(place: Place, at: SampledAddress, symbolizer: &mut Symbolizer) -> Result<String, String> {
    let code = symbolizer.code(at).map_err(|error| error.to_string())?;
    let instruction =
        decode(code.bytes(), code.bits, place.address).ok_or_else(|| NO_INSTRUCTION.to_owned())?;
    let pointer = match symbolizer.resolve(place) {
        Resolution::Routine(routine) => {
            let address = at.address.wrapping_sub(routine.offset);
            symbolizer.code(SampledAddress { address, ..at }).ok()
        }
        Resolution::Unknown(_) => None,
    };
    Ok(operand_shape(&instruction, pointer.is_some_and(|start| keeps_pointer(start.bytes()))))
}
