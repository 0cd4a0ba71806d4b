//! What is known of all registers and stack slots before an instruction.

use super::flow_value::{FlowValue, PartOf};
use crate::code::register_number;
use iced_x86::Register;
use std::collections::BTreeMap;

/// Slots of a frame that are followed.
const MOST_SLOTS: usize = 512;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlowState {
    registers: [FlowValue; 16],
    /// By bytes from the canonical frame address.
    slots: BTreeMap<i64, FlowValue>,
}

impl FlowState {
    /// At a routine's first instruction: the return address lies on top.
    pub(crate) fn at_entry() -> FlowState {
        let mut state = FlowState::anywhere();
        state.set(Register::RSP, FlowValue::in_frame(-8));
        state
    }

    pub(crate) fn anywhere() -> FlowState {
        FlowState { registers: [FlowValue::UNKNOWN; 16], slots: BTreeMap::new() }
    }

    pub(crate) fn registers() -> impl Iterator<Item = Register> {
        ORDER.into_iter()
    }

    /// A register by its full width; what is none of the sixteen is unknown.
    pub(crate) fn get(&self, register: Register) -> FlowValue {
        index(register).map_or(FlowValue::UNKNOWN, |index| self.registers[index])
    }

    pub(crate) fn set(&mut self, register: Register, value: FlowValue) {
        if let Some(index) = index(register) {
            self.registers[index] = value;
        }
    }

    pub(crate) fn slot(&self, offset: i64) -> FlowValue {
        self.slots.get(&offset).copied().unwrap_or(FlowValue::UNKNOWN)
    }

    /// Puts a value of some bytes there: what overlaps is gone.
    pub(crate) fn put(&mut self, offset: i64, bytes: u64, value: FlowValue) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let over = offset.saturating_sub(7)..offset.saturating_add(bytes);
        let gone: Vec<i64> = self.slots.range(over).map(|(at, _)| *at).collect();
        for at in gone {
            self.slots.remove(&at);
        }
        if bytes == 8 && value != FlowValue::UNKNOWN && self.slots.len() < MOST_SLOTS {
            self.slots.insert(offset, value);
        }
    }

    /// Takes in what another path knows; whether that changed anything.
    pub(crate) fn join(&mut self, other: &FlowState, part: &PartOf<'_>) -> bool {
        let before = self.clone();
        for (own, other) in self.registers.iter_mut().zip(&other.registers) {
            *own = own.joined(other, part);
        }
        self.slots.retain(|at, value| match other.slots.get(at) {
            Some(other) => {
                *value = value.joined(other, part);
                *value != FlowValue::UNKNOWN
            }
            None => false,
        });
        *self != before
    }
}

/// Intel's number of one of the sixteen.
fn index(register: Register) -> Option<usize> {
    let full = register.full_register();
    register_number(full).map(|_| full.number())
}

/// The sixteen, as DWARF numbers them (psABI x86-64, figure 3.36).
const ORDER: [Register; 16] = [
    Register::RAX,
    Register::RDX,
    Register::RCX,
    Register::RBX,
    Register::RSI,
    Register::RDI,
    Register::RBP,
    Register::RSP,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

pub(crate) fn of_dwarf(number: u16) -> Register {
    ORDER.get(usize::from(number)).copied().unwrap_or(Register::None)
}
