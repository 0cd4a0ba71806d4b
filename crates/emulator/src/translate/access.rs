//! Which memory an instruction touches.

use iced_x86::{
    Code, Instruction, InstructionInfo, MemorySize, Mnemonic, OpAccess, Register, UsedMemory,
};

use super::assembler::{AddressSum, low32};
use super::register::{Gpr, Gprs, RAX, RBX, RSP};
use crate::block::{AccessKind, LOCKED, NARROW, READS};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressForm {
    Registers(AddressSum),
    Absolute(u64),
    /// rbx + al.
    Table,
}

/// A segment that has a base of its own in 64-bit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentBase {
    Flat,
    Fs,
    Gs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) form: AddressForm,
    pub(crate) segment: SegmentBase,
}

impl Address {
    pub(crate) fn registers(&self) -> Gprs {
        match self.form {
            AddressForm::Registers(AddressSum { base, index, .. }) => {
                let base = base.map_or(Gprs::NONE, Gprs::of);
                base.or(index.map_or(Gprs::NONE, |(index, _)| Gprs::of(index)))
            }
            AddressForm::Absolute(_) => Gprs::NONE,
            AddressForm::Table => Gprs::of(RAX).with(RBX),
        }
    }

    fn new(
        base: Register,
        index: Register,
        scale: u32,
        displacement: u64,
        segment: Register,
    ) -> Address {
        let segment = match segment {
            Register::FS => SegmentBase::Fs,
            Register::GS => SegmentBase::Gs,
            _ => SegmentBase::Flat,
        };
        let narrow = base.is_gpr32() || index.is_gpr32();
        let (of_base, of_index) = (Gpr::of(base), Gpr::of(index));
        let form = if of_base.is_none() && of_index.is_none() {
            AddressForm::Absolute(displacement)
        } else {
            let scale = u8::try_from(scale.trailing_zeros()).unwrap_or(0);
            AddressForm::Registers(AddressSum {
                base: of_base,
                index: of_index.map(|index| (index, scale)),
                displacement: low32(displacement).cast_signed(),
                narrow,
            })
        };
        Address { form, segment }
    }

    pub(crate) fn operand(instruction: &Instruction) -> Address {
        Address::new(
            instruction.memory_base(),
            instruction.memory_index(),
            instruction.memory_index_scale(),
            instruction.memory_displacement64(),
            instruction.memory_segment(),
        )
    }

    fn used(memory: &UsedMemory) -> Address {
        Address::new(
            memory.base(),
            memory.index(),
            memory.scale(),
            memory.displacement(),
            memory.segment(),
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vectors {
    /// Where the elements are, for gathers.
    pub(crate) index: Register,
    /// Which of them are meant: a vector or a mask register.
    pub(crate) mask: Register,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InstructionAccess {
    pub(crate) address: Address,
    pub(crate) size: u16,
    pub(crate) kind: AccessKind,
    pub(crate) marks: u32,
    pub(crate) elements: u32,
    pub(crate) vectors: Option<Vectors>,
    /// A register that counts bits from the address, and the power of two of
    /// the bits in an operand.
    pub(crate) bits: Option<(Gpr, u8)>,
}

impl InstructionAccess {
    fn plain(address: Address, size: u16, kind: AccessKind) -> InstructionAccess {
        InstructionAccess { address, size, kind, marks: 0, elements: 0, vectors: None, bits: None }
    }

    /// Whether only the runtime can tell.
    pub(crate) fn is_slow(&self) -> bool {
        self.vectors.is_some() || self.bits.is_some() || self.kind as u8 > AccessKind::None as u8
    }
}

/// Adds the instruction's accesses in the order in which they happen.
pub(crate) fn list(
    instruction: &Instruction,
    info: &InstructionInfo,
    xsave_bytes: u16,
    out: &mut Vec<InstructionAccess>,
) {
    out.clear();
    if info.used_memory().is_empty() || is_no_access(instruction) {
        return;
    }
    if instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
        && let Some(access) = repeated(instruction)
    {
        out.push(access);
        return;
    }
    for memory in info.used_memory() {
        let Some(kind) = kind_of(memory.access()) else { continue };
        let size = size_of(instruction, memory.memory_size(), xsave_bytes);
        let mut access = InstructionAccess::plain(Address::used(memory), size, kind);
        if matches!(memory.access(), OpAccess::ReadWrite | OpAccess::ReadCondWrite) {
            access.marks |= READS;
        }
        if instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg {
            access.marks |= LOCKED;
        }
        if memory.base() == RSP.named()
            && kind == AccessKind::Store
            && matches!(instruction.code(), Code::Pop_rm64 | Code::Pop_rm16)
            && let AddressForm::Registers(AddressSum { displacement, .. }) =
                &mut access.address.form
            && instruction.memory_base() == Register::RSP
            && displacement.cast_unsigned() == instruction.memory_displacement32()
        {
            *displacement += i32::from(instruction.code() == Code::Pop_rm64) * 6 + 2;
        }
        special(instruction, memory, &mut access);
        out.push(access);
    }
    out.sort_by_key(|access| is_write(access.kind));
}

fn is_write(kind: AccessKind) -> bool {
    matches!(kind, AccessKind::Store | AccessKind::Scatter | AccessKind::MaskedStore)
}

pub(crate) fn writes(memory: &UsedMemory) -> bool {
    kind_of(memory.access()) == Some(AccessKind::Store)
}

fn kind_of(access: OpAccess) -> Option<AccessKind> {
    match access {
        OpAccess::Read | OpAccess::CondRead => Some(AccessKind::Load),
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
            Some(AccessKind::Store)
        }
        OpAccess::None | OpAccess::NoMemAccess => None,
    }
}

/// Instructions that name memory and leave data where it is.
fn is_no_access(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Nop
            | Mnemonic::Lea
            | Mnemonic::Clflush
            | Mnemonic::Clflushopt
            | Mnemonic::Clwb
            | Mnemonic::Cldemote
            | Mnemonic::Prefetch
            | Mnemonic::Prefetchw
            | Mnemonic::Prefetchwt1
            | Mnemonic::Prefetchnta
            | Mnemonic::Prefetcht0
            | Mnemonic::Prefetcht1
            | Mnemonic::Prefetcht2
            | Mnemonic::Prefetchit0
            | Mnemonic::Prefetchit1
    )
}

fn size_of(instruction: &Instruction, size: MemorySize, xsave_bytes: u16) -> u16 {
    // Of a repeated string instruction, the operand tells: an element's.
    let size = if instruction.is_string_instruction() { instruction.memory_size() } else { size };
    let bytes = u16::try_from(size.size()).unwrap_or(u16::MAX);
    match instruction.mnemonic() {
        Mnemonic::Xsave
        | Mnemonic::Xsave64
        | Mnemonic::Xsaveopt
        | Mnemonic::Xsaveopt64
        | Mnemonic::Xsavec
        | Mnemonic::Xsavec64
        | Mnemonic::Xrstor
        | Mnemonic::Xrstor64 => xsave_bytes.max(576),
        Mnemonic::Fxsave | Mnemonic::Fxsave64 | Mnemonic::Fxrstor | Mnemonic::Fxrstor64 => 512,
        _ => bytes.max(1),
    }
}

/// What is not one run of bytes at the operand's address.
fn special(instruction: &Instruction, memory: &UsedMemory, access: &mut InstructionAccess) {
    let load = access.kind == AccessKind::Load;
    let size = memory.memory_size();
    match instruction.mnemonic() {
        Mnemonic::Xlatb => access.address.form = AddressForm::Table,
        Mnemonic::Bt | Mnemonic::Btc | Mnemonic::Btr | Mnemonic::Bts => {
            let register = instruction.op1_register();
            if let Some(offset) = Gpr::of(register) {
                let bits = u8::try_from(register.size().trailing_zeros()).unwrap_or(3) + 3;
                access.bits = Some((offset, bits));
            }
        }
        Mnemonic::Vmaskmovps
        | Mnemonic::Vmaskmovpd
        | Mnemonic::Vpmaskmovd
        | Mnemonic::Vpmaskmovq => {
            let mask = instruction.op1_register();
            masked(access, load, size.element_size(), size.element_count(), mask);
        }
        Mnemonic::Maskmovdqu | Mnemonic::Vmaskmovdqu => {
            masked(access, load, 1, 16, instruction.op2_register());
        }
        Mnemonic::Maskmovq => masked(access, load, 1, 8, instruction.op2_register()),
        _ if instruction.is_vsib() => {
            let element = size.size().max(1);
            let wide = instruction.is_vsib64();
            let index = instruction.memory_index();
            let of_index = index.size() / if wide { 8 } else { 4 };
            let data = data_register(instruction);
            let elements = of_index.min(data.size() / element);
            let mask = if instruction.op_mask() == Register::None {
                instruction.op2_register()
            } else {
                instruction.op_mask()
            };
            let index_power = if wide { 3 } else { 2 };
            let scale = instruction.memory_index_scale().trailing_zeros();
            access.elements = u32::try_from(elements).unwrap_or(0)
                | index_power << 8
                | scale << 10
                | u32::from(mask.is_k()) << 12;
            access.size = u16::try_from(element).unwrap_or(1);
            access.kind = if load { AccessKind::Gather } else { AccessKind::Scatter };
            access.vectors = Some(Vectors { index, mask });
            access.address = Address::new(
                memory.base(),
                Register::None,
                1,
                instruction.memory_displacement64(),
                memory.segment(),
            );
        }
        _ if instruction.op_mask() != Register::None && !size.is_broadcast() => {
            let (element, count) = match size.element_count() {
                0 | 1 => return,
                count => (size.element_size(), count),
            };
            masked(access, load, element, count, instruction.op_mask());
            access.elements |= u32::from(is_packed(instruction)) << 13;
        }
        _ => {}
    }
}

/// Whether a mask chooses how many elements there are, not which.
fn is_packed(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Vpcompressb
            | Mnemonic::Vpcompressw
            | Mnemonic::Vpcompressd
            | Mnemonic::Vpcompressq
            | Mnemonic::Vcompressps
            | Mnemonic::Vcompresspd
            | Mnemonic::Vpexpandb
            | Mnemonic::Vpexpandw
            | Mnemonic::Vpexpandd
            | Mnemonic::Vpexpandq
            | Mnemonic::Vexpandps
            | Mnemonic::Vexpandpd
    )
}

fn data_register(instruction: &Instruction) -> Register {
    (0..instruction.op_count())
        .map(|operand| instruction.op_register(operand))
        .find(|register| register.is_vector_register())
        .unwrap_or(Register::XMM0)
}

fn masked(
    access: &mut InstructionAccess,
    load: bool,
    element: usize,
    count: usize,
    mask: Register,
) {
    access.kind = if load { AccessKind::MaskedLoad } else { AccessKind::MaskedStore };
    access.size = u16::try_from(element).unwrap_or(1);
    access.elements = u32::try_from(count).unwrap_or(0) | u32::from(mask.is_k()) << 12;
    access.vectors = Some(Vectors { index: Register::None, mask });
}

/// A string instruction that the runtime walks; those that end at what they
/// find, and the one that changes rax on the way, are done step by step.
fn repeated(instruction: &Instruction) -> Option<InstructionAccess> {
    let (kind, size) = match instruction.mnemonic() {
        Mnemonic::Movsb => (AccessKind::Move, 1),
        Mnemonic::Movsw => (AccessKind::Move, 2),
        Mnemonic::Movsd => (AccessKind::Move, 4),
        Mnemonic::Movsq => (AccessKind::Move, 8),
        Mnemonic::Stosb => (AccessKind::Fill, 1),
        Mnemonic::Stosw => (AccessKind::Fill, 2),
        Mnemonic::Stosd => (AccessKind::Fill, 4),
        Mnemonic::Stosq => (AccessKind::Fill, 8),
        _ => return None,
    };
    let base = if kind == AccessKind::Fill { Register::RDI } else { Register::RSI };
    let address = Address::new(base, Register::None, 1, 0, Register::None);
    let mut access = InstructionAccess::plain(address, size, kind);
    if is_narrow_string(instruction) {
        access.marks |= NARROW;
    }
    Some(access)
}

/// Whether a string instruction uses esi, edi and ecx.
pub(crate) fn is_narrow_string(instruction: &Instruction) -> bool {
    use iced_x86::OpKind::{MemoryESEDI, MemorySegEDI, MemorySegESI};
    (0..instruction.op_count()).any(|operand| {
        matches!(instruction.op_kind(operand), MemoryESEDI | MemorySegEDI | MemorySegESI)
    })
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RegisterUsage {
    /// Their values matter to it, or they keep a part.
    pub(crate) needed: Gprs,
    pub(crate) written: Gprs,
    pub(crate) named: Gprs,
}

impl RegisterUsage {
    pub(crate) fn of(instruction: &Instruction, info: &InstructionInfo) -> RegisterUsage {
        let mut usage = RegisterUsage::default();
        // Without a shadow stack it is a no-operation, which keeps its register.
        let hint = matches!(instruction.mnemonic(), Mnemonic::Rdsspd | Mnemonic::Rdsspq);
        for used in info.used_registers() {
            let Some(gpr) = Gpr::of(used.register()) else { continue };
            usage.named = usage.named.with(gpr);
            match used.access() {
                OpAccess::Write if used.register().size() >= 4 && !hint => {
                    usage.written = usage.written.with(gpr);
                }
                OpAccess::Read | OpAccess::CondRead => usage.needed = usage.needed.with(gpr),
                _ => {
                    usage.needed = usage.needed.with(gpr);
                    usage.written = usage.written.with(gpr);
                }
            }
        }
        usage
    }
}
