//! The instructions of one routine with the samples that lie at them: source
//! lines, operands, and what registers and data addresses have in common.

mod addresses;
mod build;
mod choice;
pub(crate) mod collect;
mod details;
mod extent;
mod instructions;
mod json;
mod lines;
mod meaning;
mod operand;
mod operand_type;
mod print;

pub use crate::error::{ChoiceError, Commonest};
pub use crate::query::target::{RoutineTarget, TargetError, What};
pub use addresses::Stretch;
pub use instructions::Syntax;
pub use meaning::Cause;
pub use operand::{Operand, OperandRegister};
pub use operand_type::OperandType;
pub use print::{SourceTexts, render};

pub(crate) use build::{Showing, annotation};
pub(crate) use meaning::meanings;

use crate::collect::registers::Register;
use crate::report::{Report, RowFacts};
use std::collections::BTreeMap;
use std::sync::Arc;
use symbolizer::Frame;

/// What of a routine is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ListingOptions {
    /// How instructions are written.
    pub syntax: Syntax,
    /// Instructions without samples that are shown on each side of those that
    /// have some; None: all of the routine.
    pub context: Option<usize>,
    /// Share of the routine, 0 to 1, below which an instruction counts as one
    /// without samples for what is shown. Its numbers are shown all the same.
    pub least_share: f64,
    /// Instructions of which details are told, most samples first.
    pub detailed: usize,
    /// The stream goes on: that it has no end is no caveat.
    pub is_so_far: bool,
}

/// A routine with its samples, of every event that was sampled.
#[derive(Clone, Debug)]
pub struct Annotation {
    /// What was counted in all, as `ebs report` says above a table.
    pub report: Report,
    /// Which routine.
    pub routine: Extent,
    /// Its code as far as it is shown, in order of addresses.
    pub items: Vec<ListingItem>,
    /// What the reader must know to read it right, in sentences.
    pub notes: Vec<String>,
    /// One an event of the report.
    pub events: Vec<Heat>,
}

/// Where a routine lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Demangled.
    pub name: Arc<str>,
    /// As tables have it.
    pub object: Arc<str>,
    /// First address: in the object, or the run-time one where tables have
    /// that.
    pub start: u64,
    /// First address beyond.
    pub end: u64,
}

/// A piece of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListingItem {
    /// An instruction.
    Line(InstructionLine),
    /// Code without samples that is left out.
    Gap {
        /// First address.
        start: u64,
        /// First address beyond.
        end: u64,
        /// How many.
        instructions: usize,
    },
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionLine {
    /// Of its first byte, in the terms of [`Extent::start`].
    pub address: u64,
    /// Its bytes; empty where they cannot be had.
    pub bytes: Vec<u8>,
    /// Mnemonic and operands; None where they cannot be told.
    pub text: Option<String>,
    /// What lies at the address that it names: `write+0x10`.
    pub target: Option<String>,
    /// On whose data it works, as far as that is known.
    pub data: Option<OperandType>,
    /// The innermost routine first, each inlined into the next.
    pub frames: Arc<[Frame]>,
}

/// The samples of one event in the routine.
#[derive(Clone, Debug)]
pub struct Heat {
    /// Samples in the routine.
    pub count: u64,
    /// Sum of their periods.
    pub period: u64,
    /// Those with EXACT_IP.
    pub exact: u64,
    /// Part of the event's samples or periods, 0 to 1.
    pub share: f64,
    /// What a count at an instruction means, in a sentence.
    pub reading: String,
    /// By the instruction's address.
    pub hot: BTreeMap<u64, HotInstruction>,
    /// Samples at addresses at which no instruction begins.
    pub misplaced: BTreeMap<u64, u64>,
}

/// The samples at one instruction.
#[derive(Clone, Debug)]
pub struct HotInstruction {
    /// Samples.
    pub count: u64,
    /// Sum of their periods.
    pub period: u64,
    /// Those with EXACT_IP.
    pub exact: u64,
    /// Part of the routine's samples or periods, 0 to 1.
    pub share: f64,
    /// Where the instruction is that caused them.
    pub cause: Cause,
    /// More of it; None of all but the hottest.
    pub details: Option<Details>,
}

/// What is known of the samples at one instruction.
#[derive(Clone, Debug)]
pub struct Details {
    /// The access that they are about, where the instruction can be decoded
    /// and accesses memory.
    pub access: Option<OperandAccess>,
    /// What registers and data addresses have in common, a line each: those
    /// of the operand first, then others that look like structures.
    pub findings: Vec<String>,
    /// The same as data, of all registers that were sampled.
    pub registers: Vec<Register>,
    /// What the kernel counted instead of writing samples.
    pub facts: Option<RowFacts>,
    /// Variables, or memory, that the data addresses lie in; most first.
    pub variables: Vec<(String, u64)>,
    /// What served the accesses; most first.
    pub levels: Vec<(String, u64)>,
    /// The data addresses, in order.
    pub addresses: Vec<Stretch>,
}

/// An access to memory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct OperandAccess {
    /// Address of the instruction.
    #[serde(serialize_with = "json::hexadecimal")]
    pub instruction: u64,
    /// What it does: `misses on`, `faults on`, `accesses`.
    pub verb: &'static str,
    /// What it accesses.
    pub operands: Vec<Operand>,
}
