//! What an instruction computes on, or moves: x87, MMX, SSE, AVX and their
//! kin.

use iced_x86::{Instruction, MemorySize, Mnemonic, Register};
use perfdata::InstructionClass;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// The class of an instruction; None for what is not of those, for x87
/// control instructions and for half precision.
pub(super) fn class(instruction: &Instruction) -> Option<InstructionClass> {
    // `movsd` also names a copy of strings.
    let is_string = instruction.is_string_instruction();
    match BY_MNEMONIC.get(&instruction.mnemonic()).filter(|_| !is_string) {
        Some(class) => *class,
        None => by_operands(instruction),
    }
}

static BY_MNEMONIC: LazyLock<FxHashMap<Mnemonic, Option<InstructionClass>>> = LazyLock::new(|| {
    let spelled = |mnemonic| (format!("{mnemonic:?}").to_ascii_lowercase(), mnemonic);
    let known: FxHashMap<String, Mnemonic> = Mnemonic::values().map(spelled).collect();
    // A test holds that each is known.
    let named = |(class, name): (&str, _)| Some((*known.get(name)?, class.parse().ok()));
    rows().filter_map(named).collect()
});

pub(super) fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("mnemonics.txt").lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| line.split_once(' '));
    rows.flat_map(|(class, names)| names.split(' ').map(move |name| (class, name)))
}

fn by_operands(instruction: &Instruction) -> Option<InstructionClass> {
    let width = width(instruction);
    // A prefetch by a vector of addresses moves nothing into a register.
    if width.is_none() && instruction.memory_index().is_vector_register() {
        return None;
    }
    // What an operand in memory would be, even where none is: it tells the
    // type of the elements.
    let size = instruction.memory_size();
    let packed = size.is_packed() || size.is_broadcast();
    match (size.element_type(), packed, width) {
        (MemorySize::Float32, true, Some(_)) => Some(InstructionClass::PackedSp),
        (MemorySize::Float64, true, Some(_)) => Some(InstructionClass::PackedDp),
        // A conversion from memory to a general register has no other.
        (MemorySize::Float32, false, _) => Some(InstructionClass::ScalarSp),
        (MemorySize::Float64, false, _) => Some(InstructionClass::ScalarDp),
        (MemorySize::Float16 | MemorySize::BFloat16, ..) => None,
        (_, _, Some(Width::Mmx)) => Some(InstructionClass::Mmx64),
        (_, _, Some(Width::Vector)) => Some(InstructionClass::Mmx128),
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// mm0 to mm7 alone.
    Mmx,
    /// xmm, ymm or zmm registers.
    Vector,
}

fn width(instruction: &Instruction) -> Option<Width> {
    let mut width = None;
    for register in (0..instruction.op_count()).map(|index| instruction.op_register(index)) {
        if register.is_vector_register() {
            return Some(Width::Vector);
        }
        if (Register::MM0..=Register::MM7).contains(&register) {
            width = Some(Width::Mmx);
        }
    }
    width
}
