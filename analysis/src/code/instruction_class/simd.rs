//! MMX, SSE, AVX and their kin.

use super::moves::moves;
use iced_x86::{Instruction, MemorySize, Mnemonic, Register};
use record::InstructionClass;

/// The class of an instruction on MMX or vector registers.
pub(super) fn class(instruction: &Instruction) -> Option<InstructionClass> {
    let mnemonic = instruction.mnemonic();
    let width = width(instruction);
    // A prefetch by a vector of addresses moves nothing into a register.
    if width.is_none() && instruction.memory_index().is_vector_register() {
        return None;
    }
    if width.is_some() && moves(mnemonic) {
        return Some(InstructionClass::X87SimdMoves);
    }
    if let Some(class) = by_name(mnemonic) {
        return Some(class);
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
        (_, _, Some(Width::Vector)) if !half_precision(mnemonic) => Some(InstructionClass::Mmx128),
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

/// The widest of its MMX and vector registers.
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

/// Where an operand in memory would be of another type than what is computed
/// on, or could not be.
fn by_name(mnemonic: Mnemonic) -> Option<InstructionClass> {
    Some(match mnemonic {
        Mnemonic::Cvtdq2ps
        | Mnemonic::Cvtpi2ps
        | Mnemonic::Vcvtdq2ps
        | Mnemonic::Vcvtudq2ps
        | Mnemonic::Vcvtqq2ps
        | Mnemonic::Vcvtuqq2ps
        | Mnemonic::Vcvtph2ps
        | Mnemonic::Vcvtph2psx
        | Mnemonic::Vcvtps2ph
        | Mnemonic::Vcvtneebf162ps
        | Mnemonic::Vcvtneobf162ps
        | Mnemonic::Vcvtneeph2ps
        | Mnemonic::Vcvtneoph2ps
        | Mnemonic::Vbcstnebf162ps
        | Mnemonic::Vbcstnesh2ps
        | Mnemonic::Vdpbf16ps
        | Mnemonic::Movmskps
        | Mnemonic::Vmovmskps
        | Mnemonic::Insertps
        | Mnemonic::Vinsertps
        | Mnemonic::Pi2fd
        | Mnemonic::Pi2fw => InstructionClass::PackedSp,
        Mnemonic::Cvtdq2pd
        | Mnemonic::Cvtpi2pd
        | Mnemonic::Vcvtdq2pd
        | Mnemonic::Vcvtudq2pd
        | Mnemonic::Vcvtqq2pd
        | Mnemonic::Vcvtuqq2pd
        | Mnemonic::Vcvtph2pd
        | Mnemonic::Movmskpd
        | Mnemonic::Vmovmskpd
        | Mnemonic::Movddup
        | Mnemonic::Vmovddup => InstructionClass::PackedDp,
        Mnemonic::Cvtsi2ss
        | Mnemonic::Vcvtsi2ss
        | Mnemonic::Vcvtusi2ss
        | Mnemonic::Vcvtsh2ss
        | Mnemonic::V4fmaddss
        | Mnemonic::V4fnmaddss => InstructionClass::ScalarSp,
        Mnemonic::Cvtsi2sd | Mnemonic::Vcvtsi2sd | Mnemonic::Vcvtusi2sd | Mnemonic::Vcvtsh2sd => {
            InstructionClass::ScalarDp
        }
        _ => return None,
    })
}

/// Conversions from integers to half precision, and complex numbers of it.
fn half_precision(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Vcvtw2ph
            | Mnemonic::Vcvtuw2ph
            | Mnemonic::Vcvtdq2ph
            | Mnemonic::Vcvtudq2ph
            | Mnemonic::Vcvtqq2ph
            | Mnemonic::Vcvtuqq2ph
            | Mnemonic::Vcvtsi2sh
            | Mnemonic::Vcvtusi2sh
            | Mnemonic::Vfcmaddcph
            | Mnemonic::Vfcmulcph
            | Mnemonic::Vfmaddcph
            | Mnemonic::Vfmulcph
            | Mnemonic::Vfcmaddcsh
            | Mnemonic::Vfcmulcsh
            | Mnemonic::Vfmaddcsh
            | Mnemonic::Vfmulcsh
    )
}
