//! What debug info says of registers, the frame and static memory.

use super::flow_state::{FlowState, of_dwarf};
use super::flow_value::{FlowValue, TypedPointer};
use super::transfer::Transfer;
use super::typed_operand::within;
use crate::code::written;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Register};
use types::{LocalVariable, PathEnd, PlaceBase, PlaceUse, TypeId, TypeKind, VariablePlace};

/// Instructions behind one at which variables are looked for.
const MOST_AHEAD: usize = 16;

impl Transfer<'_> {
    /// To something by the type that stands behind names and qualifiers, so that
    /// `const T *` and `T *` are one.
    pub(super) fn pointer(&self, to: TypeId, offset: i64) -> TypedPointer {
        let to = self.program.types.resolved(to);
        TypedPointer { to, offset, step: 0, or: None, is_alone: false }
    }

    fn of_variable(&self, of: TypeId, offset: i64) -> TypedPointer {
        TypedPointer { is_alone: true, ..self.pointer(of, offset) }
    }

    /// A pointer into a type as one into a part of that.
    pub(crate) fn part(&self, pointer: TypedPointer, to: TypeId) -> Option<TypedPointer> {
        let types = &self.program.types;
        let is_whole = |of| matches!(types.get(of).kind, TypeKind::Composite(_));
        if pointer.step != 0 || !is_whole(to) || !is_whole(pointer.to) {
            return None;
        }
        let offset = u64::try_from(pointer.offset).ok()?;
        let rest = within(types, pointer.to, offset, to)?;
        Some(self.pointer(to, i64::try_from(rest).ok()?))
    }

    pub(super) fn pointee(&self, of: TypeId, byte: u64) -> Option<TypeId> {
        let mut known = self.pointees.borrow_mut();
        *known.entry((of, byte)).or_insert_with(|| {
            let types = &self.program.types;
            let found = types.member_at(of, byte);
            found.paths.iter().find_map(|path| match types.get(types.resolved(path.of)).kind {
                TypeKind::Pointer { to, .. } if path.end == PathEnd::Value && path.rest == 0 => {
                    Some(to)
                }
                _ => None,
            })
        })
    }

    /// Takes in what debug info says of variables before the instruction at
    /// an address.
    pub(crate) fn learn(&self, address: u64, state: &mut FlowState) {
        for variable in self.live.at(address) {
            let VariablePlace { base: PlaceBase::Register(number), offset, is } = variable.place
            else {
                continue;
            };
            let register = of_dwarf(number);
            let mut value = state.get(register);
            let pointer = match is {
                PlaceUse::Value => {
                    let to = self.pointee(variable.of, variable.first);
                    to.map(|to| self.pointer(to, offset.wrapping_neg()))
                }
                // Of one in pieces the next lies elsewhere.
                PlaceUse::Memory if value.frame.is_none() && variable.bytes.is_none() => {
                    let first = i64::try_from(variable.first).unwrap_or(0);
                    Some(self.of_variable(variable.of, first.wrapping_sub(offset)))
                }
                PlaceUse::Memory | PlaceUse::Reference => None,
            };
            if let Some(pointer) = pointer {
                value.add(pointer);
                state.set(register, value);
            }
        }
    }

    /// Takes in what is said of the registers of an instruction's address by
    /// variables that begin behind it, as long as these keep their values;
    /// whether that is anything.
    pub(crate) fn look_ahead(
        &self,
        instruction: &Instruction,
        rest: &[Instruction],
        state: &mut FlowState,
        factory: &mut InstructionInfoFactory,
    ) -> bool {
        let mut wanted = vec![instruction.memory_base(), instruction.memory_index()];
        wanted.retain(|register| register.size() == 8 && *register != Register::RSP);
        let before = state.clone();
        let mut last = instruction;
        for next in rest.iter().take(MOST_AHEAD) {
            let written = written(factory.info(last));
            wanted.retain(|register| !written.contains(register));
            if last.flow_control() != FlowControl::Next || wanted.is_empty() {
                break;
            }
            let mut later = state.clone();
            self.learn(next.ip(), &mut later);
            for register in &wanted {
                state.set(*register, later.get(*register));
            }
            last = next;
        }
        *state != before
    }

    /// Where in the frame a variable lies, or the pointer to it.
    pub(super) fn frame_offset(variable: &LocalVariable, state: &FlowState) -> Option<i64> {
        let base = match variable.place.base {
            PlaceBase::Frame => Some(0),
            PlaceBase::Register(number) => state.get(of_dwarf(number)).frame,
        };
        base.map(|base| base.wrapping_add(variable.place.offset))
    }

    /// The variable that has a byte of the frame, as a pointer there.
    pub(super) fn in_frame(
        &self,
        address: u64,
        at: i64,
        state: &FlowState,
    ) -> Option<TypedPointer> {
        let types = &self.program.types;
        self.live.at(address).find_map(|variable| {
            if variable.place.is != PlaceUse::Memory {
                return None;
            }
            let start = Self::frame_offset(variable, state)?;
            let whole = || types.size_of(variable.of)?.checked_sub(variable.first);
            let bytes = i64::try_from(variable.bytes.or_else(whole)?).ok()?;
            let within = at.wrapping_sub(start);
            let first = i64::try_from(variable.first).ok()?;
            let is_there = (0..bytes).contains(&within);
            is_there.then(|| self.of_variable(variable.of, first.wrapping_add(within)))
        })
    }

    /// What lies in the frame as a pointer to something that is passed by
    /// reference.
    pub(super) fn reference(
        &self,
        address: u64,
        at: i64,
        state: &FlowState,
    ) -> Option<TypedPointer> {
        self.live.at(address).find_map(|variable| {
            let is_there = variable.place.is == PlaceUse::Reference
                && Self::frame_offset(variable, state) == Some(at);
            is_there.then(|| self.pointer(variable.of, 0))
        })
    }

    pub(super) fn statically(&self, address: u64) -> FlowValue {
        let Some(variable) = self.program.variables.static_before(address) else {
            return FlowValue::UNKNOWN;
        };
        let size = self.program.types.size_of(variable.of).unwrap_or(0);
        let within = address.wrapping_sub(variable.start);
        match i64::try_from(within) {
            Ok(offset) if within < size => {
                FlowValue::pointing(self.of_variable(variable.of, offset))
            }
            _ => FlowValue::UNKNOWN,
        }
    }
}
