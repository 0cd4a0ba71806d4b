//! Random instructions, natively and translated.

use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

use super::*;

/// A small generator: the same sequences on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
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

/// One instruction at `ip`, or None when the bytes drawn were not fit.
fn instruction(random: &mut Random, ip: u64, encoder: &mut Encoder) -> Option<Vec<u8>> {
    let mut bytes = [0_u8; 16];
    for eight in bytes.chunks_mut(8) {
        eight.copy_from_slice(&random.next().to_le_bytes());
    }
    // Legacy bytes and the two- and three-byte maps, vector prefixes too.
    match random.below(10) {
        0 | 1 => bytes[0] = 0x0f,
        2 => bytes[0] = [0xc4, 0xc5][usize::try_from(random.below(2)).unwrap()],
        3 => {
            bytes[0] = 0x62;
            bytes[1] = bytes[1] & 0xf0 | [1, 2, 3][usize::try_from(random.below(3)).unwrap()];
            bytes[2] |= 4;
        }
        4 => (bytes[0], bytes[1]) = (0x66, 0x0f),
        5 => bytes[0] = 0x48 | bytes[0] & 7,
        6 => bytes[0] = [0xf2, 0xf3, 0xf0, 0x64, 0x65][usize::try_from(random.below(5)).unwrap()],
        _ => {}
    }
    let mut instruction = Decoder::with_ip(64, &bytes, ip, DecoderOptions::NONE).decode();
    if instruction.is_invalid()
        || is_excluded(&instruction)
        || !matches!(
            instruction.flow_control(),
            FlowControl::Next | FlowControl::Exception | FlowControl::IndirectCall
        )
    {
        return None;
    }
    let memory =
        (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    if memory {
        let vsib = instruction.is_vsib();
        if !vsib && instruction.is_ip_rel_memory_operand() {
            let inside = random.below(0x3000);
            instruction.set_memory_base(Register::RIP);
            instruction.set_memory_displacement64(sys::DATA + inside);
        } else {
            let base = BASES[usize::try_from(random.below(8)).unwrap()];
            instruction.set_memory_base(base);
            if !vsib {
                let index = [Register::None, Register::RCX, Register::RAX]
                    [usize::try_from(random.below(3)).unwrap()];
                instruction.set_memory_index(index);
            }
            instruction.set_memory_displ_size(8);
            let displacement = random.below(0x300).cast_signed() - 0x100;
            instruction.set_memory_displacement64(displacement.cast_unsigned());
        }
    }
    encoder.encode(&instruction, ip).ok()?;
    Some(encoder.take_buffer())
}

/// A sequence of instructions with branches forward among them.
fn sequence(random: &mut Random) -> Vec<u8> {
    let mut encoder = Encoder::new(64);
    let mut code = Vec::new();
    let count = 1 + random.below(12);
    let mut made = 0;
    while made < count {
        match random.below(16) {
            0 => {
                let over = instruction(random, sys::CODE, &mut encoder);
                let Some(over) = over.filter(|_| code.len() < 4000) else { continue };
                // The one that is jumped over must not depend on its place.
                let here = sys::CODE + code.len() as u64 + 2;
                let decoded = Decoder::with_ip(64, &over, here, DecoderOptions::NONE).decode();
                if decoded.is_ip_rel_memory_operand() {
                    continue;
                }
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
            _ => {
                let ip = sys::CODE + code.len() as u64;
                let Some(bytes) = instruction(random, ip, &mut encoder) else { continue };
                code.extend(bytes);
            }
        }
        made += 1;
    }
    code
}

#[test]
fn random_sequences_come_out_the_same() {
    let count = std::env::var("HARDMETER_FUZZ_SEQUENCES")
        .ok()
        .and_then(|count| count.parse::<u64>().ok())
        .unwrap_or(2000);
    let seed = std::env::var("HARDMETER_FUZZ_SEED")
        .ok()
        .and_then(|seed| seed.parse::<u64>().ok())
        .unwrap_or(1);
    let child = Child::start();
    let mut caches = Vec::new();
    for bmi2 in [true, false] {
        for fetch in [false, true] {
            let countdown = fetch.then_some(Countdown::All);
            let needs = Needs { data: true, fetch, countdown, burst: fetch };
            caches.push(cache(needs, features(bmi2)));
        }
    }
    let mut base = start_state(&child);
    // SSE and AVX state is in use.
    base.vectors[512] |= 7;
    prepare_block(&caches[0], false, false);
    let mut faults = 0;
    let mut failures = Vec::new();
    for number in 0..count {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed + number) | 1);
        random.next();
        let code = sequence(&mut random);
        let which = usize::try_from(random.below(8)).unwrap();
        // All write the same stubs to the one zone.
        let needs = if which < 5 { 0 } else { which % 4 };
        let cache = &mut caches[needs];
        place(cache, &code);
        prepare_tables(cache, random.below(4) != 0, random.below(2) == 0);
        let mut start = base.clone();
        start.registers.eflags = 0x202 | random.next() & 0x8d5;
        for byte in start.data.iter_mut().step_by(3) {
            *byte = random.next().to_le_bytes()[3];
        }
        for at in (160..416).chain(576..832) {
            start.vectors[at] = random.next().to_le_bytes()[4];
        }
        let (signal, mut native) = run_native(&child, &start);
        let (own, translated) = run_translated(&child, cache, &start);
        if signal.0 == libc::SIGTRAP && own.is_none() && native.registers.rip > sys::CODE {
            native.registers.rip -= 1;
        }
        let there = translated.registers.rip;
        if own.is_none() && there >> 47 != 0 {
            // The branch itself faults natively, by its maker's rules.
            continue;
        }
        faults += u64::from(signal.0 != libc::SIGTRAP);
        let mut what = difference(&native, &translated);
        if own.is_some_and(|own| own != signal) {
            what = Some(format!("signal: native {signal:?}, translated {own:?}"));
        }
        if let Some(what) = what {
            let mut text = String::new();
            for one in Decoder::with_ip(64, &code, sys::CODE, DecoderOptions::NONE) {
                let at = usize::try_from(one.ip() - sys::CODE).unwrap();
                text += &format!(
                    "  {:#x}: {:?} {:02x?}\n",
                    one.ip(),
                    one.code(),
                    &code[at..(at + one.len()).min(code.len())]
                );
            }
            failures.push(format!("sequence {} (needs {needs}): {what}\n{text}", seed + number));
            if failures.len() > 10 {
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count < 1000 || faults < count, "every sequence faults");
}
