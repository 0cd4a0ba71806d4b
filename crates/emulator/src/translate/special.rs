//! Instructions that are not copied as they are.

use iced_x86::{ConstantOffsets, Encoder, Instruction, Mnemonic, OpKind, Register};

use super::access::{self, Address, InstructionAccess, RegisterUsage, SegmentBase};
use super::assembler::{AddressSum, low32, reach};
use super::emitter::Emitter;
use super::mark::MarkPhase;
use super::register::{Gpr, Gprs, RAX, RBX, RCX, RDI, RDX, RSI};
use super::stop;
use crate::block::{self, AccessKind};

/// Registers that can stand in for an address, best first.
const STAND_IN: [Gpr; 6] = [RCX, RAX, RDX, RSI, RDI, RBX];

impl Emitter {
    /// The instruction itself, its registers put back.
    pub(crate) fn body(
        &mut self,
        instruction: &Instruction,
        raw: &[u8],
        offsets: &ConstantOffsets,
        usage: &RegisterUsage,
    ) {
        self.restore(usage.needed);
        match instruction.mnemonic() {
            Mnemonic::Rdgsbase | Mnemonic::Wrgsbase => self.gs_base(instruction),
            _ if instruction.memory_segment() == Register::GS
                && instruction.mnemonic() != Mnemonic::Lea
                && has_memory(instruction) =>
            {
                self.stand_in(instruction, usage);
            }
            _ if instruction.is_ip_rel_memory_operand() => {
                self.relative(instruction, raw, offsets, usage);
            }
            Mnemonic::Wrfsbase => {
                self.hot.put(raw);
                if let Some(register) = Gpr::of(instruction.op0_register()) {
                    self.hot.store(block::FS_BASE, register);
                }
            }
            _ => self.hot.put(raw),
        }
        self.wrote(usage.written);
    }

    /// An operand relative to the instruction: the same place from here.
    fn relative(
        &mut self,
        instruction: &Instruction,
        raw: &[u8],
        offsets: &ConstantOffsets,
        usage: &RegisterUsage,
    ) {
        let target = instruction.memory_displacement64();
        let end = self.hot.here() + raw.len() as u64;
        let at = offsets.displacement_offset();
        match reach(end, target) {
            Some(relative)
                if offsets.displacement_size() == 4
                    && instruction.memory_base() == Register::RIP =>
            {
                let start = self.hot.bytes.len();
                self.hot.put(raw);
                self.hot.patch32(start + at, relative.cast_unsigned());
            }
            _ => self.stand_in(instruction, usage),
        }
    }

    /// An operand whose address another register takes: it is relative to GS,
    /// or out of reach.
    fn stand_in(&mut self, instruction: &Instruction, usage: &RegisterUsage) {
        let vsib = instruction.is_vsib();
        let mut address = Address::operand(instruction);
        if vsib {
            address = Address::operand(&{
                let mut other = *instruction;
                other.set_memory_index(Register::None);
                other
            });
        }
        let taken = usage.named.or(address.registers());
        let mut free = STAND_IN.into_iter().filter(|&register| !taken.has(register));
        let (Some(to), Some(other)) = (free.next(), free.next()) else {
            self.stop(stop::INSTRUCTION, instruction.ip(), 0);
            return;
        };
        self.restore(address.registers());
        self.spill(to);
        if address.segment != SegmentBase::Flat {
            self.spill(other);
        }
        let mut flat = address;
        flat.segment = SegmentBase::Flat;
        let mut hot = std::mem::take(&mut self.hot);
        match flat.form {
            access::AddressForm::Registers(sum) => hot.lea(to, &sum),
            access::AddressForm::Absolute(value) => hot.address(to, value),
            access::AddressForm::Table => hot.copy(to, RBX),
        }
        if address.segment != SegmentBase::Flat {
            let fs = address.segment == SegmentBase::Fs;
            hot.segment_base(other, fs, self.translation.features.fsgsbase);
            hot.plus(to, other, 0);
        }
        self.hot = hot;
        let mut changed = *instruction;
        if changed.segment_prefix() == Register::GS {
            changed.set_segment_prefix(Register::None);
        }
        changed.set_memory_base(to.named());
        changed.set_memory_displacement64(0);
        changed.set_memory_displ_size(0);
        if !vsib {
            changed.set_memory_index(Register::None);
            changed.set_memory_index_scale(1);
        }
        let mut encoder = Encoder::new(64);
        match encoder.encode(&changed, self.hot.here()) {
            Ok(_) => {
                let bytes = encoder.take_buffer();
                self.mark();
                self.hot.put(&bytes);
            }
            Err(_) => self.stop(stop::INSTRUCTION, instruction.ip(), 0),
        }
    }

    fn gs_base(&mut self, instruction: &Instruction) {
        let register = instruction.op0_register();
        let Some(gpr) = Gpr::of(register) else { return };
        match (instruction.mnemonic() == Mnemonic::Rdgsbase, register.is_gpr64()) {
            (true, true) => self.hot.load(gpr, block::GS_BASE),
            (true, false) => self.hot.load32(gpr, block::GS_BASE),
            (false, true) => self.hot.store(block::GS_BASE, gpr),
            (false, false) => {
                let other = if gpr == RCX { RAX } else { RCX };
                self.spill(other);
                self.hot.copy32(other, gpr);
                self.hot.store(block::GS_BASE, other);
            }
        }
    }

    /// Counts a string instruction that is stepped through for the events that
    /// are marked, with its first element's access if it has an element.
    pub(crate) fn count_repeat(
        &mut self,
        instruction: &Instruction,
        first: Option<&InstructionAccess>,
        marks: u32,
    ) {
        self.restore_all();
        let none = self.leave_if_none(access::is_narrow_string(instruction));
        self.count_alone(first, marks);
        self.hot.byte(0xe9);
        let done = self.hot.bytes.len();
        self.hot.u32(0);
        let distance = self.hot.bytes.len() - none - 4;
        self.hot.patch32(none, low32(distance as u64));
        self.mark_step(MarkPhase::Before);
        self.count_alone(None, marks);
        let distance = self.hot.bytes.len() - done - 4;
        self.hot.patch32(done, low32(distance as u64));
        self.mark();
    }

    /// Counts, with all registers in themselves before and after, and nothing
    /// known of the slots.
    fn count_alone(&mut self, access: Option<&InstructionAccess>, marks: u32) {
        self.valid = Gprs::NONE;
        self.clock_again();
        for cold in self.count_down(access, marks) {
            self.resume_here(cold);
        }
        self.restore_all();
        self.valid = Gprs::NONE;
        self.clock_again();
    }

    /// `rep movs` and `rep stos`: a part after the other as the runtime cuts
    /// them, each looked up before it is done. A fault comes where the program
    /// has it, and what lies behind is not looked up yet.
    pub(crate) fn in_parts(
        &mut self,
        instruction: &Instruction,
        raw: &[u8],
        access: &InstructionAccess,
        usage: &RegisterUsage,
    ) {
        self.restore_all();
        self.hot.store_value(block::REST, 0);
        let top = self.hot.here();
        self.valid = Gprs::NONE;
        self.clock_again();
        self.mark_step(MarkPhase::Before);
        let done = self.leave_if_none(access::is_narrow_string(instruction));
        self.check_slow(access);
        self.mark_step(MarkPhase::Part);
        self.hot.put(raw);
        self.mark_step(MarkPhase::Checked);
        self.hot.load(RCX, block::REST);
        self.hot.put(&[0xe3, 5, 0xe9]); // jrcxz over; jmp top; over:
        let relative = low32(top.wrapping_sub(self.hot.here() + 4));
        self.hot.u32(relative);
        let distance = self.hot.bytes.len() - done - 4;
        self.hot.patch32(done, low32(distance as u64));
        self.valid = Gprs::NONE;
        self.clock_again();
        self.wrote(usage.written);
    }

    /// Jumps when rcx, or ecx, is 0: gives the place of the distance.
    fn leave_if_none(&mut self, narrow: bool) -> usize {
        if narrow {
            self.hot.byte(0x67);
        }
        self.hot.put(&[0xe3, 2, 0xeb, 5, 0xe9]); // jrcxz done; jmp over; done: jmp; over:
        let place = self.hot.bytes.len();
        self.hot.u32(0);
        place
    }

    /// `rep cmps` and `rep scas`, whose end depends on what they find, and
    /// `rep lods`, which changes rax each time: one step after the other, each with its accesses looked up. The counter
    /// and the pointers are what an interrupt would show.
    pub(crate) fn repeat(
        &mut self,
        instruction: &Instruction,
        raw: &[u8],
        accesses: &[InstructionAccess],
        usage: &RegisterUsage,
    ) {
        self.restore_all();
        let narrow = access::is_narrow_string(instruction);
        let top = self.hot.here();
        self.valid = Gprs::NONE;
        self.clock_again();
        self.mark_step(MarkPhase::Before);
        let done = self.leave_if_none(narrow);
        if self.translation.instrumentation.data {
            for access in accesses {
                self.check(access);
            }
        }
        self.restore_all();
        for &byte in raw.iter().filter(|&&byte| byte != 0xf2 && byte != 0xf3) {
            self.hot.byte(byte);
        }
        self.mark_step(MarkPhase::Checked);
        // lea rcx, [rcx - 1] or lea ecx, [ecx - 1]
        let less = AddressSum { base: Some(RCX), displacement: -1, narrow, index: None };
        self.hot.lea(RCX, &less);
        // lods goes on always, the others if what was found does not end it.
        if matches!(raw.last(), Some(0xac | 0xad)) {
            self.hot.byte(0xe9);
        } else {
            let opcode = if instruction.has_repne_prefix() { 0x85 } else { 0x84 };
            self.hot.put(&[0x0f, opcode]);
        }
        let relative = low32(top.wrapping_sub(self.hot.here() + 4));
        self.hot.u32(relative);
        let distance = self.hot.bytes.len() - done - 4;
        self.hot.patch32(done, low32(distance as u64));
        // Nothing was stored on the way that makes no step.
        self.valid = Gprs::NONE;
        self.wrote(usage.written);
    }
}

pub(crate) fn has_memory(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

/// Bytes of an instruction by which a program marks its regions: a no-operation
/// of a form that compilers do not write.
pub(crate) const MARK_BYTES: u64 = 8;

/// What an instruction marks, by its bytes: `nopl 0x484d5200(%rax,%rax,1)` and
/// what is to be done in the lowest byte of the displacement.
pub(crate) fn region_side(raw: &[u8]) -> Option<AccessKind> {
    match raw {
        [0x0f, 0x1f, 0x84, 0x00, 1, b'R', b'M', b'H'] => Some(AccessKind::RegionBegin),
        [0x0f, 0x1f, 0x84, 0x00, 2, b'R', b'M', b'H'] => Some(AccessKind::RegionEnd),
        _ => None,
    }
}

impl Emitter {
    /// Has the runtime write the mark, once: who is stopped behind that is taken
    /// on to the next instruction.
    pub(crate) fn region(&mut self, side: AccessKind, raw: &[u8]) {
        self.call_runtime(side);
        self.mark_step(MarkPhase::Checked);
        self.hot.put(raw);
    }
}
