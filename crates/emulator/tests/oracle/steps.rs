//! Oracle 1: a program done instruction by instruction under the kernel's
//! single step, and what each of them accesses.

use std::{path::Path, process::Command, process::Stdio};

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, Register};

use crate::accesses::{Access, accesses, is_masked};
use crate::sys::{self, Stopped};

/// Status flags and direction: what a record and a step have to agree on.
pub(crate) const FLAGS: u64 = 0xcd5;

/// The processor before an instruction.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// In the order of their encoding: rax rcx rdx rbx rsp rbp rsi rdi r8-15.
    pub(crate) registers: [u64; 16],
    pub(crate) flags: u64,
    pub(crate) fs_base: u64,
    pub(crate) gs_base: u64,
    /// The XSAVE area, where the instruction's accesses depend on it.
    vectors: Vec<u8>,
}

/// An instruction, or one iteration of a repeated one, that has been done.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) ip: u64,
    pub(crate) state: State,
    pub(crate) instruction: Instruction,
    pub(crate) accesses: Vec<Access>,
}

impl State {
    fn new(registers: &libc::user_regs_struct) -> State {
        let r = registers;
        State {
            registers: [
                r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11,
                r.r12, r.r13, r.r14, r.r15,
            ],
            flags: r.eflags,
            fs_base: r.fs_base,
            gs_base: r.gs_base,
            vectors: Vec::new(),
        }
    }

    /// What a record tells: no segment bases, no vectors.
    pub(crate) fn of(registers: [u64; 16], flags: u64) -> State {
        State { registers, flags, fs_base: 0, gs_base: 0, vectors: Vec::new() }
    }

    /// The value of a general register or a part of one, zero-extended.
    pub(crate) fn register(&self, register: Register) -> u64 {
        use Register as R;
        match register {
            R::None | R::ES | R::CS | R::SS | R::DS => return 0,
            _ => {}
        }
        let value = self.registers[register.full_register().number()];
        match (register, register.size()) {
            (R::AH | R::BH | R::CH | R::DH, _) => value >> 8 & 0xff,
            (_, 1) => value & 0xff,
            (_, 2) => value & 0xffff,
            (_, 4) => value & 0xffff_ffff,
            _ => value,
        }
    }

    /// An element of a vector register, sign-extended to 64 bits.
    pub(crate) fn vector_element(&self, register: Register, element: usize, bytes: usize) -> u64 {
        let all = self.vector(register.full_register().number());
        let raw: [u8; 8] = match bytes {
            4 => {
                let low: [u8; 4] = all[element * 4..element * 4 + 4].try_into().unwrap();
                i64::from(i32::from_le_bytes(low)).to_le_bytes()
            }
            _ => all[element * 8..element * 8 + 8].try_into().unwrap(),
        };
        u64::from_le_bytes(raw)
    }

    pub(crate) fn mask(&self, instruction: &Instruction, element: usize, size: u64) -> bool {
        let size = usize::try_from(size).unwrap();
        match instruction.op_mask() {
            Register::None => {
                use Mnemonic::{Maskmovdqu, Vmaskmovdqu};
                let third = matches!(instruction.mnemonic(), Maskmovdqu | Vmaskmovdqu);
                let operand = if third || instruction.is_vsib() { 2 } else { 1 };
                let mask = instruction.op_register(operand).full_register().number();
                self.vector(mask)[(element + 1) * size - 1] & 0x80 != 0
            }
            register => {
                let at = component(5).0 + register.number() * 8;
                self.vectors[at + element / 8] >> (element % 8) & 1 != 0
            }
        }
    }

    fn vector(&self, number: usize) -> [u8; 64] {
        let mut all = [0; 64];
        let mut put = |to: usize, from: usize, length: usize| {
            if let Some(bytes) = self.vectors.get(from..from + length) {
                all[to..to + length].copy_from_slice(bytes);
            }
        };
        if number < 16 {
            put(0, 160 + number * 16, 16);
            put(16, component(2).0 + number * 16, 16);
            if component(6).1 > 0 {
                put(32, component(6).0 + number * 32, 32);
            }
        } else {
            put(0, component(7).0 + (number - 16) * 64, 64);
        }
        all
    }
}

/// Where a state component lies in the standard form, and its size.
fn component(number: u32) -> (usize, usize) {
    let leaf = std::arch::x86_64::__cpuid_count(0xd, number);
    (usize::try_from(leaf.ebx).unwrap(), usize::try_from(leaf.eax).unwrap())
}

/// A system call leaves the flags in r11, and with them the flag that makes
/// the processor step.
fn forget_the_step(pid: i32) {
    const STEP: u64 = 1 << 8;
    let mut registers = sys::registers(pid);
    registers.r11 &= !STEP;
    sys::set_registers(pid, &registers);
}

fn repeats(before: &Step, instruction: &Instruction) -> bool {
    use Mnemonic as M;
    let compares = matches!(
        instruction.mnemonic(),
        M::Cmpsb | M::Cmpsw | M::Cmpsd | M::Cmpsq | M::Scasb | M::Scasw | M::Scasd | M::Scasq
    );
    let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
    compares && repeated && instruction.is_string_instruction() && before.ip == instruction.ip()
}

/// A step, and the flags that the processor showed before it.
struct ShownStep<'a> {
    step: &'a Step,
    flags: u64,
}

/// The status flags between two repetitions of a comparison. AMD's processors
/// show them there; Intel's show those from before the instruction (SDM,
/// volume 2, REP), as nothing of it depends on them.
fn show_the_comparison(pid: i32, last: &ShownStep<'_>, state: &mut State) {
    const STATUS: u64 = 0x8d5;
    let value = |access: &Access| {
        let mut bytes = [0; 8];
        let size = usize::try_from(access.size).unwrap();
        assert_eq!(sys::read(pid, access.address, &mut bytes[..size]), size);
        u64::from_le_bytes(bytes)
    };
    let before = last.step;
    let [.., compared] = &before.accesses[..] else { return };
    let bits = 8 * compared.size;
    let mask = u64::MAX >> (64 - bits);
    let (from, taken) = match &before.accesses[..] {
        [source, _] => (value(source), value(compared)),
        _ => (before.state.registers[0] & mask, value(compared)),
    };
    let result = from.wrapping_sub(taken) & mask;
    let sign = |value: u64| value >> (bits - 1) & 1;
    let flags = u64::from(from < taken)
        | u64::from((result & 0xff).count_ones() % 2 == 0) << 2
        | (from ^ taken ^ result) & 0x10
        | u64::from(result == 0) << 6
        | sign(result) << 7
        | sign((from ^ taken) & (from ^ result)) << 11;
    let shown = state.flags & STATUS;
    assert!(shown == flags || shown == last.flags & STATUS, "{shown:#x}, not {flags:#x}");
    state.flags = state.flags & !STATUS | flags;
}

/// All steps of a program, from its first instruction to its end, and its
/// exit status. No instruction of the program may be another program's.
pub(crate) fn steps(program: &Path) -> (Vec<Step>, i32) {
    let mut child = sys::spawn_traced(Command::new(program).env_clear().stdout(Stdio::null()));
    let pid = sys::pid(&child);
    let mut steps: Vec<Step> = Vec::new();
    let (mut signal, mut shown) = (0, 0);
    let status = loop {
        let registers = sys::registers(pid);
        let mut bytes = [0; 15];
        let length = sys::read(pid, registers.rip, &mut bytes);
        let mut decoder =
            Decoder::with_ip(64, &bytes[..length], registers.rip, DecoderOptions::NONE);
        let instruction = decoder.decode();
        assert!(!instruction.is_invalid(), "no instruction at {:#x}", registers.rip);
        let mut state = State::new(&registers);
        if is_masked(&instruction) {
            state.vectors = sys::vectors(pid);
        }
        if let Some(before) = steps.last().filter(|before| repeats(before, &instruction)) {
            show_the_comparison(pid, &ShownStep { step: before, flags: shown }, &mut state);
        }
        shown = registers.eflags;
        let accesses = accesses(&instruction, &state);
        steps.push(Step { ip: registers.rip, state, instruction, accesses });
        sys::step(pid, signal);
        signal = match sys::wait(pid) {
            Stopped::By(libc::SIGTRAP) => {
                if instruction.mnemonic() == Mnemonic::Syscall {
                    forget_the_step(pid);
                }
                0
            }
            Stopped::By(other) => other,
            Stopped::Exited(status) => break status,
            Stopped::Killed(signal) => panic!("{}: killed by {signal}", program.display()),
        };
    };
    // Reaped by the loop; the library must not wait for the number again.
    let _ = child.try_wait();
    (steps, status)
}
