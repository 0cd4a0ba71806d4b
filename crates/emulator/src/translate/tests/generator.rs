//! Random sequences of valid instructions.

use iced_x86::{
    Code, CpuidFeature, Decoder, DecoderOptions, Encoder, EncodingKind, FlowControl, Instruction,
    MandatoryPrefix, Mnemonic, OpCodeInfo, OpCodeTableKind, OpKind, Register,
};

use super::{start_address, sys};

/// Draws the same numbers on every machine.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed) | 1);
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[4]
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// Registers that point at data at the start.
const BASES: [Register; 8] = [
    Register::RBX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R11,
    Register::R13,
    Register::R15,
    Register::RSP,
];

/// What an instruction is drawn from, each kind as often as it stands here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    General,
    String,
    Bits,
    X87,
    Mmx,
    Sse,
    Vex,
    Evex,
}

const KINDS: [Kind; 16] = [
    Kind::General,
    Kind::General,
    Kind::General,
    Kind::General,
    Kind::General,
    Kind::String,
    Kind::Bits,
    Kind::X87,
    Kind::Mmx,
    Kind::Sse,
    Kind::Sse,
    Kind::Sse,
    Kind::Vex,
    Kind::Vex,
    Kind::Evex,
    Kind::Evex,
];

impl Kind {
    fn of(code: Code) -> Kind {
        let features = code.cpuid_features();
        let has = |wanted: &[CpuidFeature]| features.iter().any(|one| wanted.contains(one));
        let mut instruction = Instruction::new();
        instruction.set_code(code);
        if instruction.is_string_instruction() {
            return Kind::String;
        }
        match code.encoding() {
            EncodingKind::EVEX => Kind::Evex,
            _ if has(&[CpuidFeature::BMI1, CpuidFeature::BMI2, CpuidFeature::LZCNT]) => Kind::Bits,
            _ if has(&[CpuidFeature::POPCNT, CpuidFeature::ADX, CpuidFeature::MOVBE]) => Kind::Bits,
            EncodingKind::VEX => Kind::Vex,
            _ if has(&[CpuidFeature::FPU, CpuidFeature::FPU287, CpuidFeature::FPU387]) => Kind::X87,
            _ if has(&[CpuidFeature::MMX]) => Kind::Mmx,
            _ if instruction.is_stack_instruction() => Kind::General,
            _ if has(&[CpuidFeature::INTEL8086, CpuidFeature::INTEL386, CpuidFeature::X64]) => {
                Kind::General
            }
            _ if format!("{features:?}").contains("SSE") => Kind::Sse,
            _ => Kind::General,
        }
    }
}

pub(super) struct Generator {
    encoder: Encoder,
    codes: Vec<(Kind, Vec<Code>)>,
}

impl Generator {
    /// `runs` tells whether the processor knows an instruction.
    pub(super) fn new(mut runs: impl FnMut(&[u8]) -> bool) -> Generator {
        let mut generator = Generator { encoder: Encoder::new(64), codes: Vec::new() };
        let mut random = Random::new(1);
        for code in Code::values() {
            let known = (0..12)
                .filter_map(|_| generator.of_code(&mut random, code, sys::CODE))
                .take(3)
                .any(|bytes| runs(&bytes));
            if !known {
                continue;
            }
            let kind = Kind::of(code);
            match generator.codes.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, codes)) => codes.push(code),
                None => generator.codes.push((kind, vec![code])),
            }
        }
        generator
    }

    pub(super) fn known(&self) -> Vec<(Kind, usize)> {
        self.codes.iter().map(|(kind, codes)| (*kind, codes.len())).collect()
    }

    /// A sequence of instructions with branches forward among them.
    pub(super) fn sequence(&mut self, random: &mut Random) -> Vec<u8> {
        let mut code = Vec::new();
        let count = 1 + random.below(12);
        let mut made = 0;
        while made < count {
            let ip = sys::CODE + code.len() as u64;
            match random.below(20) {
                0 => {
                    let over = self.instruction(random, ip + 2);
                    let Some(over) = over.filter(|_| code.len() < 4000) else { continue };
                    let opcode = match random.below(4) {
                        0 => 0xe3,
                        _ => 0x70 | u8::try_from(random.below(16)).unwrap(),
                    };
                    code.extend([opcode, u8::try_from(over.len()).unwrap()]);
                    code.extend(over);
                }
                1 => code.extend([0xe8, 0, 0, 0, 0]),
                2 => code.extend([0x50 | u8::try_from(random.below(16)).unwrap()]),
                // mov ecx, small: for what counts with it
                3 => code.extend([0xb9, u8::try_from(random.below(40)).unwrap(), 0, 0, 0]),
                // lea rax, [rip + 3]; push rax; ret
                4 => code.extend([0x48, 0x8d, 0x05, 2, 0, 0, 0, 0x50, 0xc3]),
                // pushfq; popfq and pushfw; popfw: others would set the trap flag
                5 => code
                    .extend(random.one_of(&[[0x9c, 0x9d].as_slice(), &[0x66, 0x9c, 0x66, 0x9d]])),
                // pcmpeqd xmm0, xmm0; mov eax, parts; xor edx, edx; xsave
                // [r8 - 0x40] (or xsavec, xrstor). Not the part of x87, which
                // tells where code is; and that of SSE in use for certain,
                // since the runtime's own use of it may make it so.
                6 => {
                    let digits = [[0xae, 0x60], [0xc7, 0x60], [0xae, 0x68]];
                    let [opcode, digit] = random.one_of(&digits);
                    let parts = random.one_of(&[2, 6, 0xe6, 0xe0]);
                    code.extend([0x66, 0x0f, 0x76, 0xc0, 0xb8, parts, 0, 0, 0, 0x31, 0xd2]);
                    code.extend([0x41, 0x0f, opcode, digit, 0xc0]);
                }
                _ => {
                    let Some(bytes) = self.instruction(random, ip) else { continue };
                    code.extend(bytes);
                }
            }
            made += 1;
        }
        code
    }

    /// One instruction at `ip`, or None when what was drawn was not fit.
    fn instruction(&mut self, random: &mut Random, ip: u64) -> Option<Vec<u8>> {
        if random.once_in(4) {
            return self.of_bytes(random, ip);
        }
        let kind = random.one_of(&KINDS);
        let (_, codes) = self.codes.iter().find(|(other, _)| *other == kind)?;
        let code = random.one_of(codes);
        (0..8).find_map(|_| self.of_code(random, code, ip))
    }

    /// From random bytes: what assemblers would not write, too.
    fn of_bytes(&mut self, random: &mut Random, ip: u64) -> Option<Vec<u8>> {
        let mut bytes = [(); 16].map(|()| random.byte());
        // Legacy bytes and the two- and three-byte maps, vector prefixes too.
        match random.below(10) {
            0 | 1 => bytes[0] = 0x0f,
            2 => bytes[0] = random.one_of(&[0xc4, 0xc5]),
            3 => {
                bytes[0] = 0x62;
                bytes[1] = bytes[1] & 0xf0 | random.one_of(&[1, 2, 3]);
                bytes[2] |= 4;
            }
            4 => (bytes[0], bytes[1]) = (0x66, 0x0f),
            5 => bytes[0] = 0x48 | bytes[0] & 7,
            6 => bytes[0] = random.one_of(&[0xf2, 0xf3, 0xf0, 0x64, 0x65]),
            _ => {}
        }
        self.fit(random, &bytes, ip, None)
    }

    fn of_code(&mut self, random: &mut Random, code: Code, ip: u64) -> Option<Vec<u8>> {
        let about = code.op_code();
        if !about.mode64() || about.fwait() || about.is_privileged() {
            return None;
        }
        let mut bytes = match about.encoding() {
            EncodingKind::Legacy => legacy(random, about),
            EncodingKind::VEX => vex(random, about),
            EncodingKind::EVEX => evex(random, about),
            _ => return None,
        }?;
        let opcode = about.op_code().to_be_bytes();
        bytes.extend(&opcode[4 - usize::try_from(about.op_code_len()).unwrap()..]);
        // Where the opcode names a register.
        if random.once_in(2) {
            *bytes.last_mut()? |= random.byte() & 7;
        }
        let field = |index: i32, random: &mut Random| {
            u8::try_from(index).unwrap_or_else(|_| random.byte() & 7)
        };
        let mode = random.byte() & 0xc0;
        bytes.push(
            mode | field(about.group_index(), random) << 3 | field(about.rm_group_index(), random),
        );
        bytes.extend([(); 12].map(|()| random.byte()));
        self.fit(random, &bytes, ip, Some(code))
    }

    /// Decodes, puts operands in memory where the program's data is.
    fn fit(
        &mut self,
        random: &mut Random,
        bytes: &[u8],
        ip: u64,
        code: Option<Code>,
    ) -> Option<Vec<u8>> {
        let bytes = bytes.get(..15).unwrap_or(bytes);
        let mut instruction = Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE).decode();
        if instruction.is_invalid()
            || code.is_some_and(|code| instruction.code() != code)
            || is_excluded(&instruction)
            || !matches!(
                instruction.flow_control(),
                FlowControl::Next | FlowControl::Exception | FlowControl::IndirectCall
            )
        {
            return None;
        }
        if (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
        {
            locate(random, &mut instruction);
        }
        self.encoder.encode(&instruction, ip).ok()?;
        Some(self.encoder.take_buffer())
    }
}

fn locate(random: &mut Random, instruction: &mut Instruction) {
    let vsib = instruction.is_vsib();
    let narrow = instruction.memory_base().is_gpr32()
        || instruction.memory_index().is_gpr32()
        || instruction.memory_base() == Register::EIP;
    if !vsib && !narrow && instruction.is_ip_rel_memory_operand() {
        let inside = random.below(0x3000);
        instruction.set_memory_base(Register::RIP);
        instruction.set_memory_displacement64(sys::DATA + inside);
        return;
    }
    let base = random.one_of(&BASES);
    let mut displacement = random.below(0x300).cast_signed() - 0x100;
    let mut index = Register::None;
    if !vsib {
        index = random.one_of(&[Register::None, Register::RCX, Register::RAX]);
    }
    // Often as vectors want it.
    if random.once_in(2) {
        index = Register::None;
        displacement -= (start_address(base).cast_signed() + displacement).rem_euclid(64);
    }
    // A register of 32 bits finds the data where its low half says, too.
    let named = |register: Register| if narrow { register.full_register32() } else { register };
    instruction.set_memory_base(named(base));
    if !vsib {
        instruction.set_memory_index(if index == Register::None { index } else { named(index) });
    }
    instruction.set_memory_displ_size(if narrow { 4 } else { 8 });
    let displacement = displacement.cast_unsigned();
    instruction.set_memory_displacement64(if narrow {
        displacement & 0xffff_ffff
    } else {
        displacement
    });
}

fn legacy(random: &mut Random, about: &OpCodeInfo) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(16);
    if random.once_in(12) {
        bytes.push(random.one_of(&[0x64, 0x65, 0x2e, 0x3e]));
    }
    if about.address_size() == 32 || about.address_size() == 0 && random.once_in(12) {
        bytes.push(0x67);
    }
    match about.mandatory_prefix() {
        MandatoryPrefix::P66 => bytes.push(0x66),
        MandatoryPrefix::PF3 => bytes.push(0xf3),
        MandatoryPrefix::PF2 => bytes.push(0xf2),
        _ if about.operand_size() == 16 => bytes.push(0x66),
        _ => {}
    }
    if about.can_use_lock_prefix() && random.once_in(3) {
        bytes.push(0xf0);
    } else if (about.can_use_rep_prefix() || about.can_use_repne_prefix()) && random.once_in(2) {
        bytes.push(random.one_of(&[0xf2, 0xf3]));
    }
    let wide = about.operand_size() == 64 || about.w() == 1;
    if wide || random.once_in(2) {
        bytes.push(0x40 | u8::from(wide) << 3 | random.byte() & 7);
    }
    match about.table() {
        OpCodeTableKind::Normal => {}
        OpCodeTableKind::T0F => bytes.push(0x0f),
        OpCodeTableKind::T0F38 => bytes.extend([0x0f, 0x38]),
        OpCodeTableKind::T0F3A => bytes.extend([0x0f, 0x3a]),
        _ => return None,
    }
    Some(bytes)
}

/// Map, then W, vvvv and pp without the vector's length.
fn vector_prefix(random: &mut Random, about: &OpCodeInfo) -> Option<(u8, u8)> {
    let map = match about.table() {
        OpCodeTableKind::T0F => 1,
        OpCodeTableKind::T0F38 => 2,
        OpCodeTableKind::T0F3A => 3,
        _ => return None,
    };
    let prefix = match about.mandatory_prefix() {
        MandatoryPrefix::P66 => 1,
        MandatoryPrefix::PF3 => 2,
        MandatoryPrefix::PF2 => 3,
        _ => 0,
    };
    let wide = if about.is_wig() { random.byte() & 1 } else { u8::try_from(about.w()).ok()? & 1 };
    let register = if random.once_in(2) { 0xf } else { random.byte() & 0xf };
    Some((map, wide << 7 | register << 3 | prefix))
}

fn vex(random: &mut Random, about: &OpCodeInfo) -> Option<Vec<u8>> {
    let (map, rest) = vector_prefix(random, about)?;
    let length = u8::try_from(about.l()).ok()? & 1;
    Some(vec![0xc4, random.byte() & 0xe0 | map, rest | length << 2])
}

fn evex(random: &mut Random, about: &OpCodeInfo) -> Option<Vec<u8>> {
    let (map, rest) = vector_prefix(random, about)?;
    let length = u8::try_from(about.l()).ok()? & 3;
    let mask = if random.once_in(3) { 0 } else { random.byte() & 7 };
    let zero = if mask != 0 && random.once_in(3) { 0x80 } else { 0 };
    let broadcast = if random.once_in(4) { 0x10 } else { 0 };
    let high = if random.once_in(4) { 0 } else { 8 };
    let last = zero | length << 5 | broadcast | high | mask;
    Some(vec![0x62, random.byte() & 0xf0 | map, rest | 4, last])
}

/// What cannot be compared: it tells the time or the place, or goes to the
/// kernel.
fn is_excluded(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Rdtsc
            | Mnemonic::Rdtscp
            | Mnemonic::Rdrand
            | Mnemonic::Rdseed
            | Mnemonic::Rdpid
            | Mnemonic::Rdpmc
            | Mnemonic::Rdpru
            | Mnemonic::Cpuid
            | Mnemonic::Syscall
            | Mnemonic::Sysenter
            | Mnemonic::Int
            | Mnemonic::Xbegin
            | Mnemonic::Xabort
            | Mnemonic::Vmcall
            | Mnemonic::Vmmcall
            | Mnemonic::Fnstenv
            | Mnemonic::Fstenv
            | Mnemonic::Fnsave
            | Mnemonic::Fsave
            | Mnemonic::Fldenv
            | Mnemonic::Frstor
            | Mnemonic::Fxsave
            | Mnemonic::Fxsave64
            | Mnemonic::Xsave
            | Mnemonic::Xsave64
            | Mnemonic::Xsavec
            | Mnemonic::Xsavec64
            | Mnemonic::Xsaveopt
            | Mnemonic::Xsaveopt64
            | Mnemonic::Xrstor
            | Mnemonic::Xrstor64
            | Mnemonic::Fxrstor
            | Mnemonic::Fxrstor64
            | Mnemonic::Popf
            | Mnemonic::Popfq
            | Mnemonic::Iret
            | Mnemonic::Iretd
            | Mnemonic::Iretq
            | Mnemonic::Wrfsbase
            | Mnemonic::Wrgsbase
            | Mnemonic::Wrpkru
            | Mnemonic::Umwait
            | Mnemonic::Tpause
            | Mnemonic::Sgdt
            | Mnemonic::Sidt
            | Mnemonic::Sldt
            | Mnemonic::Str
            | Mnemonic::Smsw
            | Mnemonic::Clzero
            | Mnemonic::Mwaitx
            | Mnemonic::Monitorx
    ) || instruction.op_register(0).is_segment_register()
        || matches!(
            instruction.code(),
            Code::Mov_rm16_Sreg | Code::Mov_r32m16_Sreg | Code::Mov_r64m16_Sreg
        )
        || matches!(instruction.mnemonic(), Mnemonic::Lfs | Mnemonic::Lgs | Mnemonic::Lss)
}
