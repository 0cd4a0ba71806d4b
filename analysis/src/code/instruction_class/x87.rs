//! The x87 floating-point unit.

use iced_x86::{CpuidFeature, Instruction, Mnemonic};
use record::InstructionClass;

/// The class of an x87 instruction; None for others and for control
/// instructions.
pub(super) fn class(instruction: &Instruction) -> Option<InstructionClass> {
    if !is_x87(instruction) {
        return None;
    }
    match instruction.mnemonic() {
        mnemonic if moves(mnemonic) => Some(InstructionClass::X87SimdMoves),
        mnemonic if computes(mnemonic) => Some(InstructionClass::X87),
        _ => None,
    }
}

pub(super) fn is_x87(instruction: &Instruction) -> bool {
    let of_fpu = |feature: &CpuidFeature| {
        matches!(
            feature,
            CpuidFeature::FPU
                | CpuidFeature::FPU287
                | CpuidFeature::FPU287XL_ONLY
                | CpuidFeature::FPU387
                | CpuidFeature::FPU387SL_ONLY
        )
    };
    instruction.cpuid_features().iter().any(of_fpu)
}

fn moves(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Fld
            | Mnemonic::Fst
            | Mnemonic::Fstp
            | Mnemonic::Fstpnce
            | Mnemonic::Fild
            | Mnemonic::Fist
            | Mnemonic::Fistp
            | Mnemonic::Fisttp
            | Mnemonic::Fbld
            | Mnemonic::Fbstp
            | Mnemonic::Fxch
            | Mnemonic::Fcmovb
            | Mnemonic::Fcmovbe
            | Mnemonic::Fcmove
            | Mnemonic::Fcmovnb
            | Mnemonic::Fcmovnbe
            | Mnemonic::Fcmovne
            | Mnemonic::Fcmovnu
            | Mnemonic::Fcmovu
    )
}

fn computes(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Fadd
            | Mnemonic::Faddp
            | Mnemonic::Fiadd
            | Mnemonic::Fsub
            | Mnemonic::Fsubp
            | Mnemonic::Fisub
            | Mnemonic::Fsubr
            | Mnemonic::Fsubrp
            | Mnemonic::Fisubr
            | Mnemonic::Fmul
            | Mnemonic::Fmulp
            | Mnemonic::Fimul
            | Mnemonic::Fdiv
            | Mnemonic::Fdivp
            | Mnemonic::Fidiv
            | Mnemonic::Fdivr
            | Mnemonic::Fdivrp
            | Mnemonic::Fidivr
            | Mnemonic::Fcom
            | Mnemonic::Fcomp
            | Mnemonic::Fcompp
            | Mnemonic::Ficom
            | Mnemonic::Ficomp
            | Mnemonic::Fucom
            | Mnemonic::Fucomp
            | Mnemonic::Fucompp
            | Mnemonic::Fcomi
            | Mnemonic::Fcomip
            | Mnemonic::Fucomi
            | Mnemonic::Fucomip
            | Mnemonic::Ftst
            | Mnemonic::Fxam
            | Mnemonic::Fabs
            | Mnemonic::Fchs
            | Mnemonic::Fsqrt
            | Mnemonic::Frndint
            | Mnemonic::Fscale
            | Mnemonic::Fprem
            | Mnemonic::Fprem1
            | Mnemonic::Fxtract
            | Mnemonic::Fsin
            | Mnemonic::Fcos
            | Mnemonic::Fsincos
            | Mnemonic::Fptan
            | Mnemonic::Fpatan
            | Mnemonic::F2xm1
            | Mnemonic::Fyl2x
            | Mnemonic::Fyl2xp1
            | Mnemonic::Fld1
            | Mnemonic::Fldz
            | Mnemonic::Fldpi
            | Mnemonic::Fldl2e
            | Mnemonic::Fldl2t
            | Mnemonic::Fldlg2
            | Mnemonic::Fldln2
    )
}
