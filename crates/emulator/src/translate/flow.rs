//! Instructions that go elsewhere.

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::access::Address;
use super::assembler::{AddressSum, Assembler, low32};
use super::emitter::{DirectBranch, Emitter};
use super::mark::MarkPhase;
use super::register::{Gpr, Gprs, RAX, RCX, RSP};
use super::stop;
use crate::block::{self, AccessKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstructionFlow {
    /// The next instruction, in the same block.
    Same,
    /// The next instruction, in a block of its own.
    Block,
    /// Nothing in line.
    Nothing,
}

/// Where an instruction may go, for the list of what to translate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Successors {
    pub(crate) target: Option<u64>,
    pub(crate) call: Option<u64>,
    pub(crate) return_address: Option<u64>,
}

impl Emitter {
    /// A jump, conditional or not, to an address in the program.
    fn branch(&mut self, opcode: &[u8], target: u64) {
        self.hot.keep_in_line(opcode.len() as u64, 4);
        self.hot.put(opcode);
        self.branches.push(DirectBranch { place: self.hot.here(), target });
        self.hot.u32(0);
    }

    pub(crate) fn go_on(&mut self, target: u64) {
        self.restore_all();
        self.branch(&[0xe9], target);
    }

    /// Stops before the instruction: it is not for us.
    pub(crate) fn stop(&mut self, kind: u8, address: u64, number: u32) {
        self.restore_all();
        self.mark_step(MarkPhase::Before);
        stop::write(&mut self.hot, kind, address, number);
    }

    /// An instruction whose flow is not the next one's; `raw` are its bytes.
    /// Its accesses were looked up.
    pub(crate) fn flow(
        &mut self,
        instruction: &Instruction,
        raw: &[u8],
    ) -> (InstructionFlow, Successors) {
        let next = instruction.next_ip();
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => self.conditional(instruction, raw),
            FlowControl::UnconditionalBranch if is_near(instruction) => {
                let target = instruction.near_branch_target();
                self.go_on(target);
                (
                    InstructionFlow::Nothing,
                    Successors { target: Some(target), ..Successors::default() },
                )
            }
            FlowControl::Call if is_near(instruction) => {
                let target = instruction.near_branch_target();
                self.restore_all();
                self.push(next);
                self.branch(&[0xe9], target);
                let successors =
                    Successors { call: Some(target), return_address: Some(next), target: None };
                (InstructionFlow::Nothing, successors)
            }
            FlowControl::IndirectBranch | FlowControl::IndirectCall if is_near(instruction) => {
                self.load_target(instruction);
                let call = instruction.flow_control() == FlowControl::IndirectCall;
                if call {
                    self.push(next);
                }
                self.branch_indirect();
                (
                    InstructionFlow::Nothing,
                    Successors { return_address: call.then_some(next), ..Successors::default() },
                )
            }
            FlowControl::Return
                if matches!(instruction.code(), Code::Retnq | Code::Retnq_imm16) =>
            {
                if self.translation.instrumentation.heap {
                    self.allocator_return();
                }
                self.spill(RCX);
                self.spill(RAX);
                self.restore(self.held.without(Gprs::of(RCX).with(RAX)));
                self.hot.byte(0x59); // pop rcx
                self.mark_step(MarkPhase::Checked);
                if instruction.code() == Code::Retnq_imm16 {
                    self.hot.add(RSP, i32::from(instruction.immediate16()));
                }
                self.branch_indirect();
                (InstructionFlow::Nothing, Successors::default())
            }
            _ => {
                self.stop(stop::INSTRUCTION, instruction.ip(), 0);
                (InstructionFlow::Nothing, Successors::default())
            }
        }
    }

    fn conditional(
        &mut self,
        instruction: &Instruction,
        raw: &[u8],
    ) -> (InstructionFlow, Successors) {
        let target = instruction.near_branch_target();
        self.restore_all();
        let successors = Successors { target: Some(target), ..Successors::default() };
        if instruction.is_jcc_short_or_near() {
            let condition = match raw {
                [.., 0x0f, code, _, _, _, _] if instruction.is_jcc_near() => code & 15,
                [.., code, _] => code & 15,
                _ => 0,
            };
            self.branch(&[0x0f, 0x80 | condition], target);
        } else if let [head @ .., _] = raw {
            // loop and jrcxz: a short jump over a short jump.
            self.hot.keep_in_line(head.len() as u64 + 4, 4);
            self.hot.put(head);
            self.hot.byte(2);
            // `loop` has counted: it must not be done again.
            self.mark_step(MarkPhase::Checked);
            self.hot.put(&[0xeb, 5, 0xe9]);
            self.branches.push(DirectBranch { place: self.hot.here(), target });
            self.hot.u32(0);
        }
        (InstructionFlow::Block, successors)
    }

    fn push(&mut self, address: u64) {
        if let Ok(small) = i32::try_from(address.cast_signed()) {
            self.hot.byte(0x68);
            self.hot.put(&small.to_le_bytes());
        } else {
            self.cold.align(8);
            let literal = self.cold.here();
            self.cold.u64(address);
            self.hot.put(&[0xff, 0x35]); // push [rip + literal]
            let relative = literal.wrapping_sub(self.hot.here() + 4);
            self.hot.u32(low32(relative));
        }
        self.mark_step(MarkPhase::Checked);
    }

    /// The target of an indirect branch to rcx.
    fn load_target(&mut self, instruction: &Instruction) {
        match Gpr::of(instruction.op0_register()) {
            Some(register) if instruction.op0_kind() == OpKind::Register => {
                self.restore(Gprs::of(register));
                self.spill(RCX);
                if register != RCX {
                    self.hot.copy(RCX, register);
                }
            }
            _ => {
                let address = Address::operand(instruction);
                self.restore(address.registers());
                self.spill(RCX);
                self.spill(self.second);
                self.address_in_line(&address);
                self.hot.put(&[0x48, 0x8b, 0x09]); // mov rcx, [rcx]
            }
        }
    }

    /// Goes where rcx says; the instruction is done.
    fn branch_indirect(&mut self) {
        self.hot.store(block::BRANCH, RCX);
        self.spill(RAX);
        self.restore(self.held.without(Gprs::of(RCX).with(RAX)));
        self.mark_step(MarkPhase::Branching);
        self.hot.movzx16(RAX, RCX);
        self.hot.jump_indexed(self.table);
    }

    /// The entry of indirect branches to the block at `pc` that follows:
    /// whether it is the one that is meant, and its registers.
    pub(crate) fn entry(&mut self, pc: u64) -> u64 {
        let entry = self.hot.here();
        self.held = Gprs::of(RCX).with(RAX);
        self.mark_step(MarkPhase::Branching);
        write_entry(&mut self.hot, pc, self.stubs.miss);
        self.held = Gprs::NONE;
        self.mark_step(MarkPhase::Before);
        entry
    }

    /// A system call: the tracer's when SYSCALLS has its number, or when
    /// it finds a bad address.
    pub(crate) fn system_call(&mut self, instruction: &Instruction) {
        let next = instruction.next_ip();
        let length = u32::try_from(instruction.len()).unwrap_or(2);
        self.restore_all();
        self.spill(RCX);
        self.hot.movzx16(RCX, RAX);
        self.hot.put(&[0x65, 0x0f, 0xb6, 0x89]); // movzx ecx, byte gs:[rcx + SYSCALLS]
        self.hot.u32(low32(block::SYSCALLS as u64));
        self.hot.jrcxz(14);
        self.hot.load(RCX, RCX.slot());
        let stop = self.cold_stop(stop::SYSCALL, instruction.ip(), length);
        self.hot.jump(stop);
        let call = self.hot.here();
        self.cold.jump(call);
        if self.translation.instrumentation.turns {
            self.call_runtime(AccessKind::Call);
        }
        self.hot.store(block::EXIT_ARGUMENT, RAX);
        self.mark_step(MarkPhase::Syscall);
        self.hot.put(&[0x0f, 0x05]);
        self.held = Gprs::NONE;
        self.mark_step(MarkPhase::AfterSyscall);
        // -EFAULT is for the tracer too.
        self.hot
            .lea(RCX, &AddressSum { base: Some(RAX), displacement: 14, ..AddressSum::default() });
        self.hot.put(&[0xe3, 2, 0xeb, 5]); // jrcxz bad; jmp over; bad:
        let bad = self.cold_stop(stop::BAD_ADDRESS, instruction.ip(), length);
        self.hot.jump(bad);
        self.hot.address(RCX, next);
        self.wrote(Gprs::of(RCX).with(super::register::R11).with(RAX));
    }

    /// The start of a transaction: it is aborted at once, for no reason.
    pub(crate) fn begin_transaction(
        &mut self,
        instruction: &Instruction,
    ) -> (InstructionFlow, Successors) {
        let target = instruction.near_branch_target();
        self.restore_all();
        self.hot.put(&[0xb8, 0, 0, 0, 0]); // mov eax, 0
        self.mark_step(MarkPhase::Checked);
        self.branch(&[0xe9], target);
        (InstructionFlow::Nothing, Successors { target: Some(target), ..Successors::default() })
    }
}

/// Place in an entry of the byte that says how far to jump when the address is
/// the block's: at 0 the entry leads to the lookup whatever the address is.
pub(crate) const ENTRY_MATCHED: u64 = 15;

/// Compares rcx with the block's address, and puts rax and rcx back.
pub(crate) fn write_entry(code: &mut Assembler, pc: u64, miss: u64) {
    code.immediate(RAX, pc.wrapping_neg());
    code.plus(RCX, RAX, 0);
    code.jrcxz(5);
    code.jump(miss);
    code.load(RAX, RAX.slot());
    code.load(RCX, RCX.slot());
}

/// Whether a branch stays in the code segment and its addresses have 64
/// bits.
fn is_near(instruction: &Instruction) -> bool {
    let far = matches!(
        instruction.op0_kind(),
        OpKind::FarBranch16 | OpKind::FarBranch32 | OpKind::NearBranch16 | OpKind::NearBranch32
    );
    !far && matches!(
        instruction.code(),
        Code::Jmp_rel8_64
            | Code::Jmp_rel32_64
            | Code::Jmp_rm64
            | Code::Call_rel32_64
            | Code::Call_rm64
    )
}

/// Whether an instruction of no other flow must be done outside.
pub(crate) fn is_foreign(instruction: &Instruction) -> bool {
    let writes_segment = instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().is_segment_register();
    writes_segment
        || matches!(
            instruction.mnemonic(),
            Mnemonic::Lgs
                | Mnemonic::Lfs
                | Mnemonic::Lss
                | Mnemonic::Swapgs
                | Mnemonic::Hlt
                | Mnemonic::In
                | Mnemonic::Out
                | Mnemonic::Sysenter
                | Mnemonic::Sysexit
                | Mnemonic::Sysret
                | Mnemonic::Jmpe
        )
        || (instruction.mnemonic() == Mnemonic::Pop
            && instruction.op0_kind() == OpKind::Register
            && instruction.op0_register().is_segment_register())
        // rsp changes before the address is made of it, and no other register
        // stands in for that.
        || (instruction.mnemonic() == Mnemonic::Pop
            && instruction.segment_prefix() == Register::GS
            && instruction.memory_base().full_register() == Register::RSP)
        || matches!(instruction.flow_control(), FlowControl::Interrupt | FlowControl::Exception)
}
