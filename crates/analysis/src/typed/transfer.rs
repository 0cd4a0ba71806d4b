//! What an instruction does to what is known.

use super::flow_state::FlowState;
use super::flow_value::{FlowValue, TypedPointer};
use super::live_variables::LiveVariables;
use super::typed_operand::{CountedFrom, TypedOperand, is_alike, is_one_array};
use crate::code::instruction_class::{reads, writes};
use crate::code::written;
use iced_x86::{
    Instruction, InstructionInfoFactory, MemorySize, Mnemonic, OpKind, Register, UsedMemory,
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use types::{ProgramTypes, TypeId};

/// Registers that a called routine may change (psABI x86-64, 3.2.1).
const OF_CALLEE: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];
/// What a mask leaves of a pointer whose low bits tell something else.
const LOWEST_MASK: i64 = -64;
/// Frames that are aligned lie anywhere from where the stack was: they have
/// places of their own, so far from the others.
const ALIGNED_APART: i64 = 1 << 40;
/// Places in a structure that are tried where one of them is meant.
const MOST_TRIED: usize = 64;

#[derive(Debug)]
pub(crate) struct Transfer<'p> {
    pub(crate) program: &'p ProgramTypes,
    pub(crate) live: LiveVariables<'p>,
    /// What a pointer at a byte of a type points to.
    pub(super) pointees: RefCell<FxHashMap<(TypeId, u64), Option<TypeId>>>,
}

#[derive(Clone, Copy, Debug)]
struct OperandAddress {
    at: u64,
    address: FlowValue,
    base: Register,
    bytes: u64,
}

impl<'p> Transfer<'p> {
    pub(crate) fn new(program: &'p ProgramTypes, live: LiveVariables<'p>) -> Transfer<'p> {
        Transfer { program, live, pointees: RefCell::default() }
    }

    /// The address of the operand in memory that is written out, and the
    /// register that it is counted from.
    fn address(&self, instruction: &Instruction, state: &FlowState) -> (FlowValue, Register) {
        if matches!(instruction.memory_segment(), Register::FS | Register::GS) {
            return (FlowValue::UNKNOWN, Register::None);
        }
        let displacement = instruction.memory_displacement64();
        let (base, index) = (instruction.memory_base(), instruction.memory_index());
        let scale = u64::from(instruction.memory_index_scale());
        if instruction.is_ip_rel_memory_operand() {
            let address = instruction.ip_rel_memory_address();
            return (self.statically(address), Register::None);
        }
        let (base, index) = match scale == 1 && index != Register::None {
            // Either can be the pointer.
            true if !state.get(base).is_pointer() && state.get(index).is_pointer() => (index, base),
            _ => (base, index),
        };
        if base == index && base != Register::None {
            let value = state.get(base).times(scale + 1).plus(displacement.cast_signed());
            return (value, Register::None);
        }
        let start = match base {
            Register::None => self.statically(displacement),
            base => state.get(base).plus(displacement.cast_signed()),
        };
        let address = match index {
            Register::None => start,
            index => start.plus_multiple(state.get(index).times(scale).multiple),
        };
        (address, base.full_register())
    }

    /// The operands in memory of the instruction at its own address.
    pub(crate) fn operands(
        &self,
        instruction: &Instruction,
        state: &FlowState,
        factory: &mut InstructionInfoFactory,
    ) -> Vec<TypedOperand> {
        let info = factory.info(instruction);
        // What `lea`, `nop` and prefetches name is not accessed.
        let accessed: Vec<&UsedMemory> = info
            .used_memory()
            .iter()
            .filter(|it| reads(it.access()) || writes(it.access()))
            .collect();
        let mut operands = match accessed.is_empty() {
            true => Vec::new(),
            false if is_written_out(instruction) => {
                let (address, base) = self.address(instruction, state);
                let bytes = element(instruction.memory_size());
                let access = OperandAddress { at: instruction.ip(), address, base, bytes };
                vec![self.operand(access, state)]
            }
            false => {
                let operand = |it: &&UsedMemory| {
                    let base = it.base().full_register();
                    let address = state.get(base).plus(it.displacement().cast_signed());
                    let (at, bytes) = (instruction.ip(), element(it.memory_size()));
                    self.operand(OperandAddress { at, address, base, bytes }, state)
                };
                accessed.iter().map(operand).collect()
            }
        };
        let written = written(info);
        for operand in &mut operands {
            for from in operand.from.iter_mut().chain(&mut operand.beside) {
                from.is_written = written.contains(&from.register);
            }
        }
        operands
    }

    fn operand(&self, operand: OperandAddress, state: &FlowState) -> TypedOperand {
        let OperandAddress { at, address, base, bytes } = operand;
        let mut pointers: Vec<TypedPointer> = Vec::new();
        if let Some(frame) = address.frame {
            pointers.extend(self.in_frame(at, frame, state));
        }
        pointers.extend(address.pointers());
        let exact: Vec<TypedPointer> =
            state.get(base).pointers().filter(|pointer| pointer.step == 0).collect();
        let is_exact = address.pointers().all(|pointer| pointer.step == 0);
        let from = (!is_exact && !exact.is_empty()).then_some(CountedFrom {
            register: base,
            pointers: exact,
            is_written: false,
        });
        let beside = match is_exact {
            true => Vec::new(),
            false => self.beside(&pointers, base, state),
        };
        let is_in_frame = state.get(base).frame.is_some();
        TypedOperand { bytes, pointers, from, beside, is_in_frame }
    }

    /// Registers but one that point exactly to what some pointers point into.
    fn beside(
        &self,
        pointers: &[TypedPointer],
        base: Register,
        state: &FlowState,
    ) -> Vec<CountedFrom> {
        let types = &self.program.types;
        let others = FlowState::registers().filter(|register| *register != base);
        let counted = others.map(|register| {
            let is_same = |it: &TypedPointer| {
                let mut chosen = pointers.iter().filter(|other| other.or.is_some());
                it.step == 0 && chosen.any(|other| is_alike(types, other.to, it.to))
            };
            let pointers = state.get(register).pointers().filter(is_same).collect();
            CountedFrom { register, pointers, is_written: false }
        });
        counted.filter(|from| !from.pointers.is_empty()).collect()
    }

    /// What is loaded from an address, eight bytes.
    fn loaded(&self, at: u64, address: FlowValue, state: &FlowState) -> FlowValue {
        let mut value = match address.frame {
            Some(frame) => {
                let mut value = state.slot(frame);
                let variable = self.in_frame(at, frame, state);
                if let Some(pointer) = variable.and_then(|it| self.followed(it)) {
                    value.add(pointer);
                }
                if let Some(pointer) = self.reference(at, frame, state) {
                    value.add(pointer);
                }
                value
            }
            None => FlowValue::UNKNOWN,
        };
        for pointer in address.pointers() {
            if let Some(pointer) = self.followed(pointer) {
                value.add(pointer);
            }
        }
        value
    }

    /// What the pointer that lies where another one points leads to.
    fn followed(&self, pointer: TypedPointer) -> Option<TypedPointer> {
        let operand = TypedOperand { bytes: 8, pointers: vec![pointer], ..TypedOperand::default() };
        let place = operand.place(&self.program.types, |_| None)?;
        let to = match place.offset {
            Some(offset) => self.pointee(place.of, offset)?,
            None => self.any_pointee(place.of, pointer)?,
        };
        Some(self.pointer(to, 0))
    }

    /// What a pointer leads to that lies anywhere in steps from a place of a
    /// structure: all of an array there, or else all that lie so do the same.
    fn any_pointee(&self, of: TypeId, pointer: TypedPointer) -> Option<TypeId> {
        let types = &self.program.types;
        let step = i64::try_from(pointer.step).ok().filter(|step| *step > 0)?;
        if let Ok(here) = u64::try_from(pointer.offset)
            && is_one_array(types, of, [here, here.saturating_add(pointer.step)])
        {
            return self.pointee(of, here);
        }
        let first = u64::try_from(pointer.offset.rem_euclid(step)).ok()?;
        let size = types.size_of(of)?;
        let places = (first..size).step_by(usize::try_from(step).ok()?);
        let beyond = types.open_array(of).and_then(|array| {
            // The first place behind the start of the array that lies so.
            let from = i64::try_from(array.start.max(size)).ok()?;
            let behind = (pointer.offset.wrapping_sub(from)).rem_euclid(step);
            u64::try_from(from.checked_add(behind)?).ok()
        });
        let places = places.take(MOST_TRIED).chain(beyond);
        let mut found = places.filter_map(|at| self.pointee(of, at));
        let one = found.next()?;
        found.all(|other| types.resolved(other) == types.resolved(one)).then_some(one)
    }

    /// The value of an operand of eight bytes.
    fn value(&self, instruction: &Instruction, operand: u32, state: &FlowState) -> FlowValue {
        match instruction.op_kind(operand) {
            OpKind::Register => {
                let register = instruction.op_register(operand);
                match register.size() {
                    8 => state.get(register),
                    _ => FlowValue::UNKNOWN,
                }
            }
            OpKind::Memory if size(instruction.memory_size()) == 8 => {
                let (address, _) = self.address(instruction, state);
                self.loaded(instruction.ip(), address, state)
            }
            _ => match constant(instruction, operand) {
                Some(0) => FlowValue::ZERO,
                Some(number) => {
                    // An address of a program that is not loaded anywhere else.
                    let mut value = self.statically(number.cast_unsigned());
                    value.multiple = number.unsigned_abs();
                    value
                }
                None => FlowValue::UNKNOWN,
            },
        }
    }

    /// What is known after the instruction at its own address.
    pub(crate) fn step(
        &self,
        instruction: &Instruction,
        state: &mut FlowState,
        factory: &mut InstructionInfoFactory,
    ) {
        let first = instruction.op0_register();
        let is_wide = instruction.op0_kind() == OpKind::Register && first.size() == 8;
        let is_same = instruction.op_count() == 2
            && instruction.op1_kind() == OpKind::Register
            && instruction.op1_register() == first;
        let result = match instruction.mnemonic() {
            Mnemonic::Mov if is_wide => Some(self.value(instruction, 1, state)),
            Mnemonic::Mov if first.size() == 4 => Some(match constant(instruction, 1) {
                // The upper half becomes 0.
                Some(_) => self.value(instruction, 1, state),
                None => FlowValue::UNKNOWN,
            }),
            Mnemonic::Lea if is_wide => Some(self.address(instruction, state).0),
            Mnemonic::Xor | Mnemonic::Sub if is_same && first.size() >= 4 => Some(FlowValue::ZERO),
            Mnemonic::Add if is_wide => Some(match constant(instruction, 1) {
                Some(number) => state.get(first).plus(number),
                None => {
                    let (left, right) = (state.get(first), self.value(instruction, 1, state));
                    match left.is_pointer() || !right.is_pointer() {
                        true => left.plus_multiple(right.multiple),
                        false => right.plus_multiple(left.multiple),
                    }
                }
            }),
            Mnemonic::Sub if is_wide => Some(match constant(instruction, 1) {
                Some(number) => state.get(first).plus(number.wrapping_neg()),
                None => {
                    let right = self.value(instruction, 1, state);
                    match right.is_pointer() || right.frame.is_some() {
                        true => FlowValue::UNKNOWN,
                        false => state.get(first).plus_multiple(right.multiple),
                    }
                }
            }),
            Mnemonic::Inc if is_wide => Some(state.get(first).plus(1)),
            Mnemonic::Dec if is_wide => Some(state.get(first).plus(-1)),
            Mnemonic::And if is_wide => Some(match constant(instruction, 1) {
                Some(mask) if (LOWEST_MASK..0).contains(&mask) => {
                    let mut value = state.get(first);
                    value.frame = value.frame.map(|frame| frame.wrapping_sub(ALIGNED_APART));
                    value
                }
                _ => FlowValue::UNKNOWN,
            }),
            Mnemonic::Shl if is_wide => Some(match constant(instruction, 1) {
                Some(bits @ 0..=62) => state.get(first).times(1 << bits),
                _ => FlowValue::UNKNOWN,
            }),
            Mnemonic::Imul if is_wide && instruction.op_count() == 3 => {
                let factor = constant(instruction, 2).map_or(1, i64::unsigned_abs);
                Some(self.value(instruction, 1, state).times(factor))
            }
            Mnemonic::Pop if is_wide => {
                let top = state.get(Register::RSP);
                Some(top.frame.map_or(FlowValue::UNKNOWN, |at| state.slot(at)))
            }
            mnemonic if is_wide && is_conditional_move(mnemonic) => {
                let part = |pointer, to| self.part(pointer, to);
                Some(state.get(first).joined(&self.value(instruction, 1, state), &part))
            }
            _ => None,
        };
        let stored = self.stored(instruction, state);
        self.forget(instruction, state, factory);
        if let Some((at, bytes, value)) = stored {
            state.put(at, bytes, value);
        }
        if let Some(value) = result {
            state.set(first, value);
        }
    }

    fn stored(
        &self,
        instruction: &Instruction,
        state: &FlowState,
    ) -> Option<(i64, u64, FlowValue)> {
        match instruction.mnemonic() {
            Mnemonic::Push => {
                let top = state.get(Register::RSP).frame?;
                Some((top.wrapping_sub(8), 8, self.value(instruction, 0, state)))
            }
            _ if instruction.op0_kind() == OpKind::Memory
                && !matches!(
                    instruction.mnemonic(),
                    Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Call | Mnemonic::Jmp
                ) =>
            {
                let at = self.address(instruction, state).0.frame?;
                let value = match instruction.mnemonic() {
                    Mnemonic::Mov => self.value(instruction, 1, state),
                    _ => FlowValue::UNKNOWN,
                };
                Some((at, size(instruction.memory_size()).max(1), value))
            }
            _ => None,
        }
    }

    /// Registers that it writes are unknown, but for what is known of the
    /// stack pointer.
    fn forget(
        &self,
        instruction: &Instruction,
        state: &mut FlowState,
        factory: &mut InstructionInfoFactory,
    ) {
        let top = match instruction.mnemonic() {
            Mnemonic::Leave => {
                let top = state.get(Register::RBP);
                let kept = top.frame.map_or(FlowValue::UNKNOWN, |at| state.slot(at));
                state.set(Register::RBP, kept);
                state.set(Register::RSP, top.plus(8));
                return;
            }
            Mnemonic::Call => {
                for register in OF_CALLEE {
                    state.set(register, FlowValue::UNKNOWN);
                }
                if let Some(to) = self.returned(instruction) {
                    state.set(Register::RAX, FlowValue::pointing(self.pointer(to, 0)));
                }
                return;
            }
            Mnemonic::Syscall => {
                for register in [Register::RAX, Register::RCX, Register::R11] {
                    state.set(register, FlowValue::UNKNOWN);
                }
                return;
            }
            Mnemonic::Xchg if instruction.op1_kind() == OpKind::Register => {
                let (a, b) = (instruction.op0_register(), instruction.op1_register());
                if instruction.op0_kind() == OpKind::Register && a.size() == 8 {
                    let (x, y) = (state.get(a), state.get(b));
                    state.set(a, y);
                    state.set(b, x);
                    return;
                }
                state.get(Register::RSP)
            }
            _ => {
                let by = i64::from(instruction.stack_pointer_increment());
                state.get(Register::RSP).plus(by)
            }
        };
        for register in written(factory.info(instruction)) {
            state.set(register, FlowValue::UNKNOWN);
        }
        // What writes it in another way gives it a result.
        state.set(Register::RSP, top);
    }

    /// What the pointer leads to that a called routine returns.
    fn returned(&self, call: &Instruction) -> Option<TypeId> {
        let direct = call.op0_kind() == OpKind::NearBranch64;
        let target = direct.then(|| call.near_branch64())?;
        self.pointee(self.program.variables.returned_by(target)?, 0)
    }
}

fn is_written_out(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|it| instruction.op_kind(it) == OpKind::Memory)
}

fn is_conditional_move(mnemonic: Mnemonic) -> bool {
    (Mnemonic::Cmova as u32..=Mnemonic::Cmovs as u32).contains(&(mnemonic as u32))
}

fn size(size: MemorySize) -> u64 {
    size.size() as u64
}

fn element(size: MemorySize) -> u64 {
    size.element_size() as u64
}

fn constant(instruction: &Instruction, operand: u32) -> Option<i64> {
    instruction.try_immediate(operand).ok().map(u64::cast_signed)
}
