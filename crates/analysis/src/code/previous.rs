//! What the instruction before a sampled one accessed, worked out of the
//! registers that the sample shows.
//!
//! A timer interrupts between two instructions: registers are those after
//! the one before the sampled address. Where that one read or wrote memory,
//! and left the registers of its address alone, the address can be told. It
//! says where the program was at work, by time; never that it missed, nor
//! what served it.

use crate::bounded::{Bounded, MOST_REMEMBERED};
use crate::code::instruction_class::decode;
use crate::code::{register_number, written};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register};
use symbolizer::{Place, Resolution, SampledAddress, Symbolizer};

/// Instructions of a routine that are looked at before the sampled one.
const LONGEST_ROUTINE: usize = 1 << 16;

/// Instructions before sampled ones, each found once.
#[derive(Debug, Default)]
pub struct Previous {
    /// By place, and address at run time.
    known: Bounded<(Place, u64), Result<Instruction, NoAccess>, MOST_REMEMBERED>,
}

impl Previous {
    /// What the instruction before the one at `at` accessed, for a sample
    /// that a timer took there: `register` gives the value of one by its
    /// number in perf_event_attr's masks. None where that cannot be told:
    /// `docs/report.md` has the reasons.
    pub fn address(
        &mut self,
        symbolizer: &mut Symbolizer,
        at: SampledAddress,
        register: impl Fn(u32) -> Option<u64>,
    ) -> Option<u64> {
        let place = at.place(symbolizer);
        let instruction = self.instruction(symbolizer, at, place).ok()?;
        accessed(&instruction, register).ok()
    }

    /// The instruction before the one at `at`, which lies at `place`, in the
    /// same routine.
    pub(crate) fn instruction(
        &mut self,
        symbolizer: &mut Symbolizer,
        at: SampledAddress,
        place: Place,
    ) -> Result<Instruction, NoAccess> {
        let ip = at.address;
        if let Some(known) = self.known.get(&(place, ip)) {
            return *known;
        }
        let offset = match symbolizer.resolve(place) {
            Resolution::Routine(routine) => routine.offset,
            Resolution::Unknown(_) => 0,
        };
        let found = before(ip.wrapping_sub(offset), ip, |address| {
            let code = symbolizer.code(SampledAddress { address, ..at }).ok()?;
            Some((code.bytes().to_vec(), code.bits))
        });
        self.known.insert((place, ip), found);
        found
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NoAccess {
    /// The sampled instruction is its routine's first, or of no routine.
    First,
    /// The code cannot be read, or its instructions do not lead to the
    /// sampled one.
    NoCode,
    /// The one before leaves by a jump, a call or a return: another one ran.
    Leaves,
    NoMemory,
    /// It overwrote a register of its address.
    Overwritten,
    Several,
    Registers,
    /// The event's registers are not those of a place that a timer
    /// interrupted.
    Event,
}

impl NoAccess {
    pub(crate) const ALL: [NoAccess; 8] = [
        NoAccess::First,
        NoAccess::NoCode,
        NoAccess::Leaves,
        NoAccess::NoMemory,
        NoAccess::Overwritten,
        NoAccess::Several,
        NoAccess::Registers,
        NoAccess::Event,
    ];

    pub(crate) const fn text(self) -> &'static str {
        match self {
            NoAccess::First => "the sampled instruction is the first of its routine",
            NoAccess::NoCode => "the code before the sampled instruction cannot be read",
            NoAccess::Leaves => "the instruction before leaves for another place",
            NoAccess::NoMemory => "the instruction before accesses no memory",
            NoAccess::Overwritten => "the instruction before overwrote its address's registers",
            NoAccess::Several => "the instruction before accesses several places",
            NoAccess::Registers => "its address takes more than the sampled registers",
            NoAccess::Event => "no timer interrupted the program here",
        }
    }
}

/// The instruction that ends where `ip` begins, of a routine that starts at
/// `start`; `code` gives the bytes at an address and the width of the code.
fn before(
    start: u64,
    ip: u64,
    mut code: impl FnMut(u64) -> Option<(Vec<u8>, u32)>,
) -> Result<Instruction, NoAccess> {
    if start >= ip {
        return Err(NoAccess::First);
    }
    let mut at = start;
    for _ in 0..LONGEST_ROUTINE {
        let (bytes, bits) = code(at).ok_or(NoAccess::NoCode)?;
        let instruction = decode(&bytes, bits, at).ok_or(NoAccess::NoCode)?;
        let next = instruction.next_ip();
        if next == ip {
            return Ok(instruction);
        }
        if next > ip {
            return Err(NoAccess::NoCode);
        }
        at = next;
    }
    Err(NoAccess::NoCode)
}

/// Where an instruction's data lies, by the registers after it.
pub(crate) fn accessed(
    instruction: &Instruction,
    register: impl Fn(u32) -> Option<u64>,
) -> Result<u64, NoAccess> {
    if instruction.flow_control() != FlowControl::Next {
        return Err(NoAccess::Leaves);
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let written = written(info);
    let memory = match info.used_memory() {
        [] => return Err(NoAccess::NoMemory),
        [memory] => memory,
        _ => return Err(NoAccess::Several),
    };
    if memory.access() == OpAccess::NoMemAccess {
        return Err(NoAccess::NoMemory);
    }
    if memory.vsib_size() != 0 {
        return Err(NoAccess::Several);
    }
    let parts = [memory.base(), memory.index()];
    if parts
        .into_iter()
        .any(|part| part != Register::None && written.contains(&part.full_register()))
    {
        return Err(NoAccess::Overwritten);
    }
    let address = memory.virtual_address(0, |wanted, _, _| match wanted {
        Register::ES | Register::CS | Register::SS | Register::DS => Some(0),
        Register::FS | Register::GS => None,
        wanted => {
            let value = register(register_number(wanted.full_register())?)?;
            Some(if wanted.size() == 4 { value & 0xffff_ffff } else { value })
        }
    });
    address.ok_or(NoAccess::Registers)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1000;
    const RAX: u64 = 0x5000;
    const RCX: u64 = 3;

    fn of(bytes: &[u8]) -> Result<u64, NoAccess> {
        let ip = START + bytes.len() as u64;
        let code = |at: u64| {
            let offset = usize::try_from(at - START).ok()?;
            Some((bytes.get(offset..)?.to_vec(), 64))
        };
        let register = |number: u32| match number {
            0 => Some(RAX),
            2 => Some(RCX),
            _ => None,
        };
        accessed(&before(START, ip, code)?, register)
    }

    #[test]
    fn an_address_whose_registers_survive_is_known() {
        assert_eq!(of(&[0x48, 0x8b, 0x10]), Ok(RAX), "mov rdx, [rax]");
        assert_eq!(of(&[0x90, 0x90, 0x48, 0x89, 0x54, 0xc8, 0x08]), Ok(RAX + 8 * RCX + 8));
        assert_eq!(of(&[0x8b, 0x15, 0x10, 0, 0, 0]), Ok(START + 6 + 0x10), "mov edx, [rip+16]");
        assert_eq!(of(&[0xff, 0x00]), Ok(RAX), "inc dword [rax]");
        assert_eq!(of(&[0x67, 0x8b, 0x10]), Ok(RAX), "mov edx, [eax]");
    }

    #[test]
    fn what_cannot_be_known_has_a_reason() {
        assert_eq!(of(&[0x48, 0x8b, 0x00]), Err(NoAccess::Overwritten), "mov rax, [rax]");
        assert_eq!(of(&[0x58]), Err(NoAccess::Overwritten), "pop rax");
        assert_eq!(
            of(&[0x48, 0x8b, 0x13]),
            Err(NoAccess::Registers),
            "mov rdx, [rbx]: not sampled"
        );
        assert_eq!(of(&[0x64, 0x8b, 0x10]), Err(NoAccess::Registers), "mov edx, fs:[rax]");
        assert_eq!(of(&[0x48, 0x01, 0xc8]), Err(NoAccess::NoMemory), "add rax, rcx");
        assert_eq!(of(&[0x48, 0x8d, 0x10]), Err(NoAccess::NoMemory), "lea rdx, [rax]");
        assert_eq!(of(&[0xeb, 0x00]), Err(NoAccess::Leaves), "jmp");
        assert_eq!(of(&[0xff, 0x10]), Err(NoAccess::Leaves), "call [rax]");
        assert_eq!(of(&[]), Err(NoAccess::First));
        assert_eq!(of(&[0x06]), Err(NoAccess::NoCode), "no instruction of 64-bit code");
        assert_eq!(before(START, START + 1, |_| None), Err(NoAccess::NoCode));
        let long = before(START, START + 1, |_| Some((vec![0x48, 0x8b, 0x10], 64)));
        assert_eq!(long, Err(NoAccess::NoCode), "the sampled address is inside of one");
    }
}
