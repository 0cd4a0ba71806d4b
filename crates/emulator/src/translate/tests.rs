//! Runs code natively and translated in a child process, compares all that a
//! program can see.

mod changes;
mod fuzz;
mod generator;
mod programs;
mod records;
#[allow(unsafe_code, reason = "ptrace, mmap and fork have no safe form")]
mod sys;

use iced_x86::Register;
use libc::user_regs_struct;

use super::{
    CodeSource, CodeStop, CodeVariant, Countdown, CpuFeatures, EventCountdown, InstructionPhase,
    Instrumentation, RuntimeAddresses, Translation,
};
use crate::block;
use crate::code_cache::{BlockEntry, CodeCache};
use crate::tracer::registers::register;
use sys::{Child, Signal};

/// What is compared of the flags: all but TF, RF and what never changes.
const FLAGS: u64 = 0xcd5 | 1 << 18 | 1 << 21;

struct Shared;

impl CodeSource for Shared {
    fn read(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        let limit = sys::CODE + 0x1000;
        if !(sys::CODE..limit).contains(&address) {
            return 0;
        }
        let there = usize::try_from(limit - address).unwrap().min(buffer.len());
        buffer[..there].copy_from_slice(sys::memory(address, there));
        there
    }
}

#[derive(Clone)]
struct State {
    registers: user_regs_struct,
    vectors: Vec<u8>,
    data: Vec<u8>,
    stack: Vec<u8>,
}

struct ZoneBytes;

impl AsMut<[u8]> for ZoneBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        sys::memory(sys::ZONE, sys::ZONE_LEN)
    }
}

fn all_of(events: &[u32]) -> Vec<EventCountdown> {
    events.iter().map(|&event| EventCountdown { event, of: Countdown::All }).collect()
}

fn needs_data() -> Instrumentation {
    Instrumentation { data: true, ..Instrumentation::default() }
}

fn features(bmi2: bool) -> CpuFeatures {
    let fsgsbase = sys::allows_fsgsbase();
    CpuFeatures {
        bmi2: bmi2 && std::is_x86_feature_detected!("bmi2"),
        fsgsbase: bmi2 && fsgsbase,
        avx512bw: std::is_x86_feature_detected!("avx512bw"),
        xsave_bytes: 2696,
    }
}

fn cache(instrumentation: Instrumentation, features: CpuFeatures) -> CodeCache {
    let address = |function: extern "C" fn(u64) -> u64| function as usize as u64;
    let runtime = RuntimeAddresses {
        quick: address(sys::quick),
        access: address(sys::access),
        record: address(sys::record),
        lookup: address(sys::lookup),
        turn: address(sys::turn),
        vectors: 0xffff,
    };
    let mut cache = CodeCache::new(Translation { features, instrumentation, runtime });
    cache.add_zone(sys::ZONE, Box::new(ZoneBytes)).unwrap();
    cache
}

fn prepare_block(cache: &CodeCache, fill: bool, record: bool) {
    sys::memory(sys::BLOCK, block::SIZE).fill(0);
    sys::memory(sys::LOG, 0x10_0000).fill(0);
    let set = |offset: usize, value: u64| sys::set_word(sys::BLOCK + offset as u64, value);
    set(block::SELF, sys::BLOCK);
    set(block::STACK, sys::RUNTIME_STACK);
    for event in 0..block::EVENTS {
        set(block::countdown(event), 3 + event as u64);
    }
    set(block::BURST, 1 << 30);
    set(sys::FILL, u64::from(fill));
    set(sys::RECORD, u64::from(record));
    let miss = cache.miss().unwrap();
    for entry in 0..block::ENTRIES {
        set(block::BRANCHES + 8 * entry, miss);
        set(block::BARE_BRANCHES + 8 * entry, miss);
    }
}

fn variant() -> CodeVariant {
    CodeVariant::of(sys::word(sys::BLOCK + block::VARIANT as u64))
}

/// Empties those parts of a prepared block that code here can change.
fn prepare_tables(cache: &CodeCache, fill: bool, record: bool) {
    let table = |offset: usize, from: u64, length: usize| {
        let at = sys::BLOCK + (offset + 8 * block::index(from)) as u64;
        sys::memory(at, length / 8).fill(0);
    };
    for offset in [block::LOADS, block::STORES] {
        table(offset, sys::DATA, sys::DATA_LEN);
        table(offset, sys::STACK, sys::STACK_LEN);
    }
    table(block::FETCHES, sys::CODE, 0x2000);
    let set = |offset: usize, value: u64| sys::set_word(sys::BLOCK + offset as u64, value);
    for event in 0..block::EVENTS {
        set(block::countdown(event), 3 + event as u64);
    }
    set(block::BURST, 1 << 30);
    set(sys::FILL, u64::from(fill));
    set(sys::RECORD, u64::from(record));
    sys::set_word(sys::LOG, 0);
    sys::set_word(sys::LOG + 0xf_0000, 0);
    let miss = cache.miss().unwrap();
    for entry in 0..0x1100 {
        set(block::BRANCHES + 8 * entry, miss);
        set(block::BARE_BRANCHES + 8 * entry, miss);
    }
}

fn apply(child: &Child, state: &State) {
    sys::memory(sys::DATA, sys::DATA_LEN).copy_from_slice(&state.data);
    sys::memory(sys::STACK, sys::STACK_LEN).copy_from_slice(&state.stack);
    child.set_registers(&state.registers);
    child.set_vectors(&state.vectors);
}

fn take(child: &Child) -> State {
    State {
        registers: child.registers(),
        vectors: child.vectors(),
        data: sys::memory(sys::DATA, sys::DATA_LEN).to_vec(),
        stack: sys::memory(sys::STACK, sys::STACK_LEN).to_vec(),
    }
}

/// Runs natively to the first signal.
fn run_native(child: &Child, start: &State) -> (Signal, State) {
    apply(child, start);
    let signal = child.go();
    (signal, take(child))
}

/// Runs translated to the first signal of the program's own; where the
/// tracer is to do an instruction, to there, as if it had trapped.
fn run_translated(child: &Child, cache: &mut CodeCache, start: &State) -> (Option<Signal>, State) {
    let mut begin = start.clone();
    begin.registers.rip = cache.translate(variant(), start.registers.rip, &mut Shared).unwrap();
    begin.registers.gs_base = sys::BLOCK;
    sys::set_word(sys::BLOCK + block::FS_BASE as u64, start.registers.fs_base);
    sys::set_word(sys::BLOCK + block::GS_BASE as u64, start.registers.gs_base);
    apply(child, &begin);
    for _ in 0..100_000 {
        let signal = child.go();
        let mut registers = child.registers();
        let stop = (signal.0 == libc::SIGTRAP).then(|| cache.stop_at(registers.rip - 1)).flatten();
        match stop {
            Some(CodeStop::Direct { target }) => {
                registers.rip = cache.translate(variant(), target, &mut Shared).unwrap();
                child.set_registers(&registers);
            }
            Some(CodeStop::Indirect) => {
                let target = sys::word(sys::BLOCK + block::BRANCH as u64);
                let Ok(there) = cache.translate(variant(), target, &mut Shared) else {
                    // Nothing is there to be run.
                    registers.rip = target;
                    return (None, guest(child, registers, 0));
                };
                registers.rip = there;
                for BlockEntry { variant: of, pc, to } in cache.take_entries() {
                    let table = sys::LOG + 0xf_0000;
                    let count = sys::word(table);
                    if pc == target && of == variant() && count < 1000 {
                        sys::set_word(table + 8 + 16 * count, pc);
                        sys::set_word(table + 16 + 16 * count, to);
                        sys::set_word(table, count + 1);
                    }
                }
                child.set_registers(&registers);
            }
            Some(CodeStop::Instruction { ip } | CodeStop::Syscall { ip, .. }) => {
                registers.rip = ip;
                let mut own = guest(child, registers, 0);
                let at = usize::try_from(ip.wrapping_sub(sys::CODE)).unwrap();
                if sys::memory(sys::CODE, 0x1000).get(at) == Some(&0xcc) {
                    return (None, own);
                }
                // As the tracer does it: by itself, natively.
                child.set_registers(&own.registers);
                let signal = child.step();
                own = take(child);
                if signal.0 != libc::SIGTRAP {
                    return (Some(signal), own);
                }
                sys::set_word(sys::BLOCK + block::GS_BASE as u64, own.registers.gs_base);
                let Ok(there) = cache.translate(variant(), own.registers.rip, &mut Shared) else {
                    return (None, own);
                };
                own.registers.rip = there;
                own.registers.gs_base = sys::BLOCK;
                child.set_registers(&own.registers);
            }
            Some(CodeStop::Changed { ip }) => {
                cache.invalidate(ip..ip + 1);
                registers.rip = cache.translate(variant(), ip, &mut Shared).unwrap();
                child.set_registers(&registers);
            }
            Some(other) => panic!("{other:?}"),
            None => {
                let location = cache.locate(registers.rip).unwrap_or_else(|| {
                    panic!("signal {} outside of the cache: {:#x}", signal.0, registers.rip)
                });
                match location.phase {
                    InstructionPhase::Before | InstructionPhase::Checked => {
                        registers.rip = location.ip
                    }
                    // The branch was made; where it goes there is nothing.
                    other => panic!("signal {} in {other:?}", signal.0),
                }
                return (Some(signal), guest(child, registers, location.held));
            }
        }
    }
    panic!("does not end: {:02x?}", sys::memory(sys::CODE, 0x80));
}

fn guest(child: &Child, mut registers: user_regs_struct, held: u16) -> State {
    for number in (0..16).filter(|number| held >> number & 1 == 1) {
        *register_mut(&mut registers, number) =
            sys::word(sys::BLOCK + (block::REGISTERS + 8 * number) as u64);
    }
    registers.gs_base = sys::word(sys::BLOCK + block::GS_BASE as u64);
    let mut state = take(child);
    state.registers = registers;
    state
}

fn register_mut(registers: &mut user_regs_struct, number: usize) -> &mut u64 {
    register(registers, number).expect("there are sixteen")
}

fn difference(native: &State, translated: &State) -> Option<String> {
    let (mut a, mut b) = (native.registers, translated.registers);
    for number in 0..16 {
        let (x, y) = (*register_mut(&mut a, number), *register_mut(&mut b, number));
        if x != y {
            return Some(format!("register {number}: native {x:#x}, translated {y:#x}"));
        }
    }
    if a.rip != b.rip {
        return Some(format!("rip: native {:#x}, translated {:#x}", a.rip, b.rip));
    }
    if (a.eflags ^ b.eflags) & FLAGS != 0 {
        return Some(format!("flags: native {:#x}, translated {:#x}", a.eflags, b.eflags));
    }
    if a.gs_base != b.gs_base {
        return Some(format!("gs: native {:#x}, translated {:#x}", a.gs_base, b.gs_base));
    }
    // The x87 opcode and pointers (6 to 24) say where code is; the header
    // (512 to 576) which parts are in use.
    let compared = |at: usize| !(6..24).contains(&at) && !(464..576).contains(&at);
    let vectors = native.vectors.iter().zip(&translated.vectors).enumerate();
    if let Some((at, _)) = vectors.filter(|(at, _)| compared(*at)).find(|(_, (x, y))| x != y) {
        return Some(format!("vector state at {at}"));
    }
    for (name, x, y) in
        [("data", &native.data, &translated.data), ("stack", &native.stack, &translated.stack)]
    {
        if let Some(at) = x.iter().zip(y.iter()).position(|(x, y)| x != y) {
            return Some(format!(
                "{name} at {at:#x}: native {:#x}, translated {:#x}",
                x[at], y[at]
            ));
        }
    }
    None
}

/// Registers that point into data and stack.
fn start_state(child: &Child) -> State {
    let mut state = take(child);
    let registers = &mut state.registers;
    for number in 0..16 {
        *register_mut(registers, number) = pointer(number);
    }
    registers.rax = 7;
    registers.rcx = 5;
    registers.rdx = 0x11;
    registers.rsp = start_address(Register::RSP);
    registers.rip = sys::CODE;
    registers.eflags = 0x202;
    registers.fs_base = sys::DATA;
    registers.gs_base = sys::DATA + 0x100;
    for (at, byte) in state.data.iter_mut().enumerate() {
        *byte = u8::try_from(at * 7 % 251).unwrap();
    }
    state
}

fn pointer(number: usize) -> u64 {
    sys::DATA + 0x800 + 0x208 * number as u64
}

fn start_address(register: Register) -> u64 {
    if register == Register::RSP { sys::STACK + 0x1000 } else { pointer(register.number()) }
}

/// Puts code where the program is and forgets what was made of other code.
fn place(cache: &mut CodeCache, code: &[u8]) {
    sys::memory(sys::CODE, 0x1100).fill(0xcc);
    sys::memory(sys::CODE, code.len()).copy_from_slice(code);
    cache.flush();
}
