//! What an instruction accesses, computed from the registers before it: the
//! tests' own rules, which the translator does not share.

use iced_x86::{
    Instruction, InstructionInfoFactory, MemorySize, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};

use crate::steps::State;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Writes, or reads and writes.
    pub(crate) store: bool,
}

/// The accesses in the order in which the processor makes them: what is read
/// before what is written. Of a repeated string instruction, those of one
/// iteration.
pub(crate) fn accesses(instruction: &Instruction, state: &State) -> Vec<Access> {
    if instruction.is_string_instruction() {
        return string(instruction, state);
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let mut found: Vec<Access> = info
        .used_memory()
        .iter()
        .filter_map(|memory| store_of(memory).map(|store| (memory, store)))
        .flat_map(|(memory, store)| elements(instruction, memory, store, state))
        .collect();
    found.sort_by_key(|access| access.store);
    found
}

fn store_of(memory: &UsedMemory) -> Option<bool> {
    match memory.access() {
        OpAccess::Read | OpAccess::CondRead => Some(false),
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
            Some(true)
        }
        OpAccess::None | OpAccess::NoMemAccess => None,
    }
}

fn string(instruction: &Instruction, state: &State) -> Vec<Access> {
    let wide = instruction.op_count() > 0
        && (0..instruction.op_count()).any(|operand| {
            matches!(
                instruction.op_kind(operand),
                OpKind::MemorySegRSI | OpKind::MemoryESRDI | OpKind::MemorySegRDI
            )
        });
    let cut = |value: u64| if wide { value } else { value & 0xffff_ffff };
    let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    if repeated && cut(state.register(Register::RCX)) == 0 {
        return Vec::new();
    }
    let size = u64::try_from(instruction.memory_size().size()).unwrap();
    let source = Access { address: cut(state.register(Register::RSI)), size, store: false };
    let source = match instruction.memory_segment() {
        Register::FS => Access { address: source.address.wrapping_add(state.fs_base), ..source },
        Register::GS => Access { address: source.address.wrapping_add(state.gs_base), ..source },
        _ => source,
    };
    let target = Access { address: cut(state.register(Register::RDI)), size, store: true };
    let compared = Access { store: false, ..target };
    use Mnemonic as M;
    match instruction.mnemonic() {
        M::Movsb | M::Movsw | M::Movsd | M::Movsq => vec![source, target],
        M::Stosb | M::Stosw | M::Stosd | M::Stosq => vec![target],
        M::Lodsb | M::Lodsw | M::Lodsd | M::Lodsq => vec![source],
        M::Scasb | M::Scasw | M::Scasd | M::Scasq => vec![compared],
        M::Cmpsb | M::Cmpsw | M::Cmpsd | M::Cmpsq => vec![source, compared],
        other => panic!("no rule for the string instruction {other:?}"),
    }
}

fn elements(
    instruction: &Instruction,
    memory: &UsedMemory,
    store: bool,
    state: &State,
) -> Vec<Access> {
    let size = u64::try_from(memory.memory_size().size()).unwrap();
    let size = match instruction.mnemonic() {
        Mnemonic::Fxsave | Mnemonic::Fxsave64 | Mnemonic::Fxrstor | Mnemonic::Fxrstor64 => 512,
        _ if size == 0 => panic!("no size: {instruction:?}"),
        _ => size,
    };
    let at = |element: usize| {
        memory.virtual_address(element, |register, element, bytes| {
            Some(match register {
                Register::FS => state.fs_base,
                Register::GS => state.gs_base,
                vector if vector.is_vector_register() => {
                    state.vector_element(vector, element, bytes)
                }
                other => state.register(other),
            })
        })
    };
    if is_masked(instruction) && !instruction.is_vsib() {
        let element = u64::try_from(memory.memory_size().element_size()).unwrap();
        let (element, count) = match instruction.mnemonic() {
            Mnemonic::Maskmovdqu | Mnemonic::Vmaskmovdqu => (1, 16),
            _ => (element, usize::try_from(size / element).unwrap()),
        };
        // One access, from the first element that is meant to the last one.
        let start = at(0).unwrap();
        let place = |number: usize| u64::try_from(number).unwrap() * element;
        let meant = |&number: &usize| state.mask(instruction, number, element);
        let Some(first) = (0..count).find(meant) else { return Vec::new() };
        let last = (0..count).rfind(meant).unwrap();
        let size = place(last + 1 - first);
        return vec![Access { address: start + place(first), size, store }];
    }
    if !instruction.is_vsib() {
        let mut address = at(0).unwrap();
        if let Some(offset) = bit_offset(instruction, memory.memory_size(), state) {
            address = address.wrapping_add_signed(offset);
        }
        return vec![Access { address, size, store }];
    }
    let count = element_count(instruction, size);
    (0..count)
        .filter(|&element| state.mask(instruction, element, size))
        .map(|element| Access { address: at(element).unwrap(), size, store })
        .collect()
}

/// Whether a mask says which elements of the operand are accessed.
pub(crate) fn is_masked(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    let by_vector = matches!(
        instruction.mnemonic(),
        M::Maskmovdqu
            | M::Vmaskmovdqu
            | M::Vmaskmovps
            | M::Vmaskmovpd
            | M::Vpmaskmovd
            | M::Vpmaskmovq
    );
    let by_register = instruction.op_mask() != Register::None
        && !instruction.memory_size().is_broadcast()
        && instruction.memory_size().element_count() > 1;
    by_vector || by_register || instruction.is_vsib()
}

/// A bit that a register names lies anywhere around the operand.
fn bit_offset(instruction: &Instruction, size: MemorySize, state: &State) -> Option<i64> {
    use Mnemonic as M;
    let tests_bits = matches!(instruction.mnemonic(), M::Bt | M::Bts | M::Btr | M::Btc);
    if !tests_bits || instruction.op1_kind() != OpKind::Register {
        return None;
    }
    let register = instruction.op1_register();
    let value = state.register(register);
    let bytes = i64::try_from(size.size()).unwrap();
    let signed = match bytes {
        2 => i64::from(u16::try_from(value).unwrap().cast_signed()),
        4 => i64::from(u32::try_from(value).unwrap().cast_signed()),
        _ => value.cast_signed(),
    };
    Some(signed.div_euclid(bytes * 8) * bytes)
}

/// Elements of a gather or a scatter: as many as both the index vector and
/// the data vector hold.
fn element_count(instruction: &Instruction, size: u64) -> usize {
    let vector_bytes = |register: Register| register.size();
    let data = (0..instruction.op_count())
        .filter(|&operand| instruction.op_kind(operand) == OpKind::Register)
        .map(|operand| instruction.op_register(operand))
        .find(|register| register.is_vector_register())
        .unwrap();
    let data_elements = vector_bytes(data) / usize::try_from(size).unwrap();
    let index_bytes = if instruction.is_vsib64() { 8 } else { 4 };
    let index_elements = vector_bytes(instruction.memory_index()) / index_bytes;
    data_elements.min(index_elements)
}
