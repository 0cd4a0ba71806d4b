//! The types of the operands of a whole routine.
//!
//! Values are followed along all ways through the code until nothing more is
//! learnt. What no way that can be seen leads to (a table of jumps, a handler
//! of exceptions) begins with what all computed jumps, or else all calls, of
//! the routine have in common.

use super::flow_state::FlowState;
use super::live_variables::LiveVariables;
use super::transfer::Transfer;
use super::typed_operand::TypedOperand;
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind,
    Register,
};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use types::ProgramTypes;

/// Instructions of a routine.
const MOST_INSTRUCTIONS: usize = 1 << 18;
/// Instructions that are looked at, all times together.
const MOST_STEPS: usize = 1 << 23;

/// Registers that a frame is reached by, as bytes from the canonical frame address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameRegisters {
    pub(crate) stack: i64,
    pub(crate) base: Option<i64>,
}

impl FrameRegisters {
    /// One of them, by DWARF's number (psABI x86-64, figure 3.36).
    pub(super) fn get(self, register: u16) -> Option<i64> {
        match register {
            6 => self.base,
            7 => Some(self.stack),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct RoutineFlow {
    operands: FxHashMap<u64, Vec<TypedOperand>>,
    frames: FxHashMap<u64, FrameRegisters>,
}

#[derive(Debug)]
struct Block {
    first: usize,
    end: usize,
    before: Option<FlowState>,
}

impl RoutineFlow {
    /// Of 64-bit code that begins at a link-time address.
    pub(crate) fn new(program: &ProgramTypes, code: &[u8], start: u64) -> RoutineFlow {
        let end = start.saturating_add(code.len() as u64);
        let locals = program.variables.locals(start).unwrap_or_default();
        let transfer = Transfer::new(program, LiveVariables::new(locals, &(start..end)));
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        let instructions: Vec<Instruction> =
            decoder.iter().take(MOST_INSTRUCTIONS).take_while(|it| !it.is_invalid()).collect();
        let mut walk = Walk {
            transfer,
            blocks: blocks(&instructions),
            instructions,
            factory: InstructionInfoFactory::new(),
            waiting: BTreeSet::new(),
            left: MOST_STEPS,
        };
        match walk.run() {
            Some(()) => walk.flow(),
            // What is known so far may not hold on all ways.
            None => RoutineFlow::default(),
        }
    }

    /// The operands in memory of the instruction at a link-time address, none
    /// if it accesses none; None: no way that was followed leads there.
    pub(crate) fn operands(&self, address: u64) -> Option<&[TypedOperand]> {
        self.operands.get(&address).map(Vec::as_slice)
    }

    /// Where registers point in the frame before the instruction at a link-time address.
    pub(crate) fn frame(&self, address: u64) -> Option<FrameRegisters> {
        self.frames.get(&address).copied()
    }
}

/// Cuts at each jump and at each place that one leads to.
fn blocks(instructions: &[Instruction]) -> Vec<Block> {
    let find = |address: u64| instructions.binary_search_by_key(&address, Instruction::ip).ok();
    let mut starts = BTreeSet::from([0]);
    for (number, instruction) in instructions.iter().enumerate() {
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => continue,
            _ => starts.insert(number + 1),
        };
        if is_branch(instruction) {
            starts.extend(find(instruction.near_branch64()));
        }
    }
    let ends = starts.iter().copied().skip(1).chain([instructions.len()]);
    let pairs = starts.iter().copied().zip(ends).filter(|(first, end)| first < end);
    pairs.map(|(first, end)| Block { first, end, before: None }).collect()
}

fn is_branch(instruction: &Instruction) -> bool {
    instruction.op_count() > 0
        && matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        )
        && instruction.flow_control() != FlowControl::Call
}

struct Walk<'p> {
    transfer: Transfer<'p>,
    blocks: Vec<Block>,
    instructions: Vec<Instruction>,
    factory: InstructionInfoFactory,
    /// Blocks of which more was learnt than was followed.
    waiting: BTreeSet<usize>,
    left: usize,
}

impl Walk<'_> {
    /// None: the routine takes more steps than are made.
    fn run(&mut self) -> Option<()> {
        let start = self.instructions.first()?.ip();
        let first = match self.transfer.program.variables.is_entry(start) {
            true => FlowState::at_entry(),
            false => FlowState::anywhere(),
        };
        self.enter(0, &first);
        self.settle()?;
        // What nothing leads to, one after the other: more may follow from it.
        let landing = self.landing();
        for number in 0..self.blocks.len() {
            if self.blocks[number].before.is_none() && !self.is_filling(number) {
                self.enter(number, &landing);
                self.settle()?;
            }
        }
        Some(())
    }

    /// Whether nothing but the next block's alignment is there.
    fn is_filling(&self, number: usize) -> bool {
        let Block { first, end, .. } = self.blocks[number];
        let fills = |it: &Instruction| matches!(it.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
        self.instructions[first..end].iter().all(fills)
    }

    fn settle(&mut self) -> Option<()> {
        while let Some(number) = self.waiting.pop_first() {
            let Some(mut state) = self.blocks[number].before.clone() else { continue };
            let (first, end) = (self.blocks[number].first, self.blocks[number].end);
            self.left = self.left.checked_sub(end - first)?;
            for at in first..end {
                let instruction = self.instructions[at];
                self.transfer.learn(instruction.ip(), &mut state);
                self.transfer.step(&instruction, &mut state, &mut self.factory);
            }
            let last = self.instructions[end - 1];
            if is_branch(&last) {
                self.enter_at(last.near_branch64(), &state);
            }
            let goes_on = matches!(
                last.flow_control(),
                FlowControl::Next
                    | FlowControl::ConditionalBranch
                    | FlowControl::Call
                    | FlowControl::IndirectCall
            );
            if goes_on {
                self.enter_at(last.next_ip(), &state);
            }
        }
        Some(())
    }

    fn enter_at(&mut self, address: u64, state: &FlowState) {
        let first = |block: &Block| self.instructions[block.first].ip();
        if let Ok(number) = self.blocks.binary_search_by_key(&address, first) {
            self.enter(number, state);
        }
    }

    fn enter(&mut self, number: usize, state: &FlowState) {
        let block = &mut self.blocks[number];
        let transfer = &self.transfer;
        let part = |pointer, to| transfer.part(pointer, to);
        let has_learnt = match &mut block.before {
            Some(known) => known.join(state, &part),
            None => {
                block.before = Some(state.clone());
                true
            }
        };
        if has_learnt {
            self.waiting.insert(number);
        }
    }

    /// What holds where a computed jump leads, or a handler of exceptions
    /// begins.
    fn landing(&mut self) -> FlowState {
        let mut jumps: Option<FlowState> = None;
        let mut calls: Option<FlowState> = None;
        for number in 0..self.blocks.len() {
            let block = &self.blocks[number];
            let Some(mut state) = block.before.clone() else { continue };
            for at in block.first..block.end {
                let instruction = self.instructions[at];
                self.transfer.learn(instruction.ip(), &mut state);
                self.transfer.step(&instruction, &mut state, &mut self.factory);
                let known = match instruction.flow_control() {
                    FlowControl::IndirectBranch => &mut jumps,
                    FlowControl::Call | FlowControl::IndirectCall => &mut calls,
                    _ => continue,
                };
                match known {
                    Some(known) => {
                        known.join(&state, &|_, _| None);
                    }
                    None => *known = Some(state.clone()),
                }
            }
        }
        jumps.or(calls).unwrap_or_else(FlowState::anywhere)
    }

    fn flow(&mut self) -> RoutineFlow {
        let mut flow = RoutineFlow::default();
        let types = self.transfer.program;
        for block in &self.blocks {
            let Some(mut state) = block.before.clone() else { continue };
            for number in block.first..block.end {
                let instruction = &self.instructions[number];
                if let Some(stack) = state.get(Register::RSP).frame {
                    let base = state.get(Register::RBP).frame;
                    flow.frames.insert(instruction.ip(), FrameRegisters { stack, base });
                }
                self.transfer.learn(instruction.ip(), &mut state);
                let mut operands = self.transfer.operands(instruction, &state, &mut self.factory);
                if operands.iter().any(|it| it.place(&types.types, |_| None).is_none()) {
                    // What a variable is often told some instructions late.
                    let rest = &self.instructions[number + 1..block.end];
                    let mut later = state.clone();
                    if self.transfer.look_ahead(instruction, rest, &mut later, &mut self.factory) {
                        operands = self.transfer.operands(instruction, &later, &mut self.factory);
                    }
                }
                flow.operands.insert(instruction.ip(), operands);
                self.transfer.step(instruction, &mut state, &mut self.factory);
            }
        }
        flow
    }
}
