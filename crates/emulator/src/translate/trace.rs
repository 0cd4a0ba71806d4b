//! One trace: instructions that follow each other, in blocks.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    Register,
};
use perfdata::AllocatorCall;
use rustc_hash::FxHashSet;

use super::access::{self, InstructionAccess, RegisterUsage};
use super::assembler::low32;
use super::emitter::{BlockHead, ColdPath, Emitter};
use super::flow::{self, InstructionFlow, Successors};
use super::mark::{ColdMark, MarkPhase};
use super::register::{Gprs, RAX, RCX};
use super::settings::CodeSource;
use super::special::has_memory;
use super::special::region_side;
use super::stop;
use crate::block::{self, AccessKind};

/// Instructions of a trace at most.
const MAX_INSTRUCTIONS: u32 = 256;
/// Accesses of a block after which another begins: one instruction more must
/// fit the clock's stride.
const ACCESSES: u32 = 28;
/// Bytes of the program that are read at once.
const WINDOW: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceRequest {
    pub(crate) pc: u64,
    /// Indirect branches go there.
    pub(crate) entry: bool,
}

pub(crate) struct TraceContext<'a> {
    pub(crate) known: &'a dyn Fn(u64) -> bool,
    /// Pages whose code checks itself.
    pub(crate) checked: &'a FxHashSet<u64>,
    pub(crate) source: &'a mut dyn CodeSource,
    pub(crate) work: &'a mut Vec<TraceRequest>,
}

pub(crate) struct TraceWriter {
    pub(crate) emitter: Emitter,
    factory: InstructionInfoFactory,
    accesses: Vec<InstructionAccess>,
    window: Vec<u8>,
    count: u32,
    /// Where the code says how many it has.
    burst: Option<BurstPatch>,
    /// Where the block's check of itself is jumped to.
    check: Option<usize>,
    /// The program's bytes of the block, if it checks itself.
    code: Vec<u8>,
    writes: bool,
    /// The line of code that was looked up last.
    line: u64,
    /// Which function of an allocator the instruction begins.
    call: Option<AllocatorCall>,
}

#[derive(Clone, Copy)]
struct BurstPatch {
    hot: usize,
    cold: usize,
}

impl std::fmt::Debug for TraceWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.emitter.fmt(f)
    }
}

impl TraceWriter {
    pub(crate) fn new(emitter: Emitter) -> TraceWriter {
        TraceWriter {
            emitter,
            factory: InstructionInfoFactory::new(),
            accesses: Vec::new(),
            window: vec![0; WINDOW],
            count: 0,
            burst: None,
            check: None,
            code: Vec::new(),
            writes: false,
            line: 1,
            call: None,
        }
    }

    pub(crate) fn trace(&mut self, request: TraceRequest, context: &mut TraceContext<'_>) {
        let mut pc = request.pc;
        let mut entry = request.entry;
        let mut fresh = true;
        let mut left = MAX_INSTRUCTIONS;
        let mut window = std::mem::take(&mut self.window);
        'windows: loop {
            let got = context.source.read(pc, &mut window).min(WINDOW);
            let bytes = window.get(..got).unwrap_or_default();
            let base = pc;
            let mut decoder = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE);
            let mut instruction = Instruction::default();
            loop {
                if fresh || context.work.iter().any(|request| request.pc == pc) {
                    if pc != request.pc {
                        self.end_block(pc);
                        if (context.known)(pc) || left == 0 {
                            self.emitter.go_on(pc);
                            push_request(context.work, TraceRequest { pc, entry: false });
                            break 'windows;
                        }
                    }
                    if let Some(at) = context.work.iter().position(|request| request.pc == pc) {
                        entry |= context.work.swap_remove(at).entry;
                    }
                    self.begin_block(pc, entry, context.checked);
                    entry = false;
                    fresh = false;
                }
                decoder.decode_out(&mut instruction);
                let at = usize::try_from(pc - base).unwrap_or(0);
                if instruction.is_invalid() {
                    if got == WINDOW && at > 0 && WINDOW - at < 15 {
                        continue 'windows;
                    }
                    self.emitter.begin_instruction(pc, 0);
                    self.emitter.stop(stop::INSTRUCTION, pc, 0);
                    self.end_block(pc.wrapping_add(1));
                    break 'windows;
                }
                let raw = bytes.get(at..at + instruction.len()).unwrap_or_default();
                let needs_heap = self.emitter.translation.instrumentation.heap;
                self.call = if needs_heap { context.source.allocator(pc) } else { None };
                let (next, successors) = self.instruction(&instruction, raw, &decoder);
                self.count += 1;
                left = left.saturating_sub(1);
                pc = instruction.next_ip();
                if self.check.is_some() {
                    self.code.extend_from_slice(raw);
                }
                note(context.work, successors);
                match next {
                    InstructionFlow::Nothing => {
                        self.end_block(pc);
                        break 'windows;
                    }
                    InstructionFlow::Block => fresh = true,
                    // What a block that checks itself writes may be its own
                    // next instruction.
                    InstructionFlow::Same
                        if left == 0
                            || self.emitter.accesses > ACCESSES
                            || (self.check.is_some() && self.writes) =>
                    {
                        self.emitter.restore_all();
                        fresh = true;
                    }
                    InstructionFlow::Same => {}
                }
            }
        }
        self.window = window;
    }

    fn begin_block(&mut self, pc: u64, entry: bool, checked: &FxHashSet<u64>) {
        let emitter = &mut self.emitter;
        emitter.restore_all();
        emitter.begin_block(pc);
        let entry = if entry { emitter.entry(pc) } else { 0 };
        let host = emitter.hot.here();
        emitter.heads.push(BlockHead { pc, end: pc, host, entry });
        self.count = 0;
        self.line = 1;
        let page = pc >> 12;
        self.check = None;
        if !checked.is_empty() && (checked.contains(&page) || checked.contains(&(page + 1))) {
            emitter.hot.byte(0xe9);
            self.check = Some(emitter.hot.bytes.len());
            emitter.hot.u32(0);
            self.code.clear();
        }
        self.burst = None;
        if emitter.translation.instrumentation.counts_blocks() {
            self.burst = Some(count_burst(emitter, pc));
        }
    }

    fn end_block(&mut self, end: u64) {
        if let Some(head) = self.emitter.heads.last_mut() {
            head.end = end;
        }
        if let Some(burst) = self.burst.take() {
            let count = self.count;
            self.emitter.hot.patch32(burst.hot, count.wrapping_neg());
            self.emitter.cold.patch32(burst.cold, count);
        }
        if let Some(at) = self.check.take() {
            let pc = self.emitter.heads.last().map_or(0, |head| head.pc);
            check_itself(&mut self.emitter, pc, at, &self.code);
        }
    }

    fn instruction(
        &mut self,
        instruction: &Instruction,
        raw: &[u8],
        decoder: &Decoder<'_>,
    ) -> (InstructionFlow, Successors) {
        let emitter = &mut self.emitter;
        let ip = instruction.ip();
        emitter.begin_instruction(ip, u8::try_from(raw.len()).unwrap_or(15));
        if let Some(call) = self.call.take() {
            emitter.allocator_entry(call);
        }
        if emitter.translation.instrumentation.fetch {
            for line in [ip & !63, (ip + raw.len() as u64 - 1) & !63] {
                if line != self.line {
                    emitter.check_fetch(line);
                    self.line = line;
                }
            }
        }
        if flow::is_foreign(instruction) {
            emitter.stop(stop::INSTRUCTION, ip, 0);
            return (InstructionFlow::Nothing, Successors::default());
        }
        let info = self.factory.info(instruction);
        let usage = RegisterUsage::of(instruction, info);
        self.writes = info.used_memory().iter().any(access::writes);
        if instruction.segment_prefix() == Register::GS
            && !has_memory(instruction)
            && info.used_memory().iter().any(|memory| memory.segment() == Register::GS)
        {
            emitter.stop(stop::INSTRUCTION, ip, 0);
            return (InstructionFlow::Nothing, Successors::default());
        }
        let instrumentation = &emitter.translation.instrumentation;
        let counted = instrumentation.counted(instruction);
        if instrumentation.data || counted != 0 {
            let xsave = emitter.translation.features.xsave_bytes;
            access::list(instruction, info, xsave, &mut self.accesses);
        } else {
            self.accesses.clear();
        }
        let steps = matches!(
            instruction.mnemonic(),
            Mnemonic::Cmpsb
                | Mnemonic::Cmpsw
                | Mnemonic::Cmpsd
                | Mnemonic::Cmpsq
                | Mnemonic::Scasb
                | Mnemonic::Scasw
                | Mnemonic::Scasd
                | Mnemonic::Scasq
                | Mnemonic::Lodsb
                | Mnemonic::Lodsw
                | Mnemonic::Lodsd
                | Mnemonic::Lodsq
        ) && instruction.is_string_instruction()
            && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
        if steps {
            if counted != 0 {
                emitter.count_repeat(instruction, self.accesses.first(), counted);
            }
            if emitter.translation.instrumentation.data {
                emitter.repeat(instruction, raw, &self.accesses, &usage);
            } else {
                emitter.body(instruction, raw, &decoder.get_constant_offsets(instruction), &usage);
            }
            return (InstructionFlow::Same, Successors::default());
        }
        if let [access] = self.accesses.as_slice()
            && matches!(access.kind, AccessKind::Move | AccessKind::Fill)
        {
            if counted != 0 {
                emitter.count_repeat(instruction, Some(access), counted);
            }
            if emitter.translation.instrumentation.data {
                emitter.in_parts(instruction, raw, access, &usage);
            } else {
                emitter.body(instruction, raw, &decoder.get_constant_offsets(instruction), &usage);
            }
            return (InstructionFlow::Same, Successors::default());
        }
        look_up(emitter, &self.accesses, counted);
        match instruction.flow_control() {
            FlowControl::Next => {
                let pauses = instruction.mnemonic() == Mnemonic::Pause;
                if pauses && emitter.translation.instrumentation.turns {
                    // In a loop that waits others run first.
                    emitter.call_runtime(AccessKind::Pause);
                    emitter.hot.put(raw);
                    return (InstructionFlow::Block, Successors::default());
                }
                if let Some(side) = region_side(raw) {
                    emitter.region(side, raw);
                    return (InstructionFlow::Same, Successors::default());
                }
                emitter.body(instruction, raw, &decoder.get_constant_offsets(instruction), &usage);
                (InstructionFlow::Same, Successors::default())
            }
            FlowControl::XbeginXabortXend => {
                if instruction.mnemonic() == Mnemonic::Xbegin {
                    return emitter.begin_transaction(instruction);
                }
                emitter.restore_all();
                emitter.hot.put(raw);
                (InstructionFlow::Same, Successors::default())
            }
            FlowControl::Call if instruction.code() == Code::Syscall => {
                emitter.system_call(instruction);
                // The tracer goes on in a block that counts itself.
                let counted = emitter.translation.instrumentation.counts_blocks();
                (
                    if counted { InstructionFlow::Block } else { InstructionFlow::Same },
                    Successors::default(),
                )
            }
            _ => emitter.flow(instruction, raw),
        }
    }
}

/// Counts the instruction for the events that are marked, looks its accesses
/// up if they matter.
fn look_up(emitter: &mut Emitter, accesses: &[InstructionAccess], marks: u32) {
    let data = emitter.translation.instrumentation.data;
    let mut counted: Vec<ColdPath> = Vec::new();
    if marks != 0 {
        counted = emitter.count_down(accesses.first(), marks);
    }
    let last = accesses.len().saturating_sub(1);
    for (number, access) in accesses.iter().enumerate() {
        if data {
            let mut access = *access;
            if number == last {
                access.marks |= block::LAST;
            }
            if access.is_slow() {
                emitter.check_slow(&access);
            } else {
                emitter.check(&access);
            }
        }
        for cold in counted.drain(..) {
            emitter.resume_here(cold);
        }
    }
    for cold in counted {
        emitter.resume_here(cold);
    }
}

fn push_request(work: &mut Vec<TraceRequest>, request: TraceRequest) {
    match work.iter_mut().find(|other| other.pc == request.pc) {
        Some(other) => other.entry |= request.entry,
        None => work.push(request),
    }
}

/// Adds where an instruction goes to what is to be translated; the last is
/// done first, calls last.
fn note(work: &mut Vec<TraceRequest>, successors: Successors) {
    if let Some(pc) = successors.target {
        push_request(work, TraceRequest { pc, entry: false });
    }
    if let Some(pc) = successors.call {
        if let Some(other) = work.iter_mut().find(|other| other.pc == pc) {
            other.entry = true;
        } else {
            work.insert(0, TraceRequest { pc, entry: true });
        }
    }
    if let Some(pc) = successors.return_address {
        push_request(work, TraceRequest { pc, entry: true });
    }
}

/// Takes the block's instructions from BURST; their number follows. Below 0
/// the block is the first of the next stretch.
fn count_burst(emitter: &mut Emitter, pc: u64) -> BurstPatch {
    emitter.spill(RCX);
    emitter.hot.load(RCX, block::BURST);
    emitter.hot.put(&[0x48, 0x8d, 0x89]); // lea rcx, [rcx - count]
    let hot = emitter.hot.bytes.len();
    emitter.hot.u32(0);
    emitter.hot.store(block::BURST, RCX);
    emitter.mark_step(MarkPhase::Checked);
    emitter.hot.load32(RCX, block::BURST + 4);
    emitter.hot.jrcxz(5);
    let begin = emitter.cold.bytes.len();
    let target = emitter.cold.here();
    let start = emitter.cold_offset();
    emitter.cold.store(RAX.slot(), RAX);
    let saved = u8::try_from(emitter.cold.bytes.len() - begin).unwrap_or(u8::MAX);
    emitter.cold.address(RAX, pc);
    emitter.cold.store(block::BRANCH, RAX);
    emitter.cold.store_value(block::TURN, 0);
    let cold = emitter.cold.bytes.len() - 4;
    emitter.cold.jump(emitter.stubs.turn);
    let site = u16::try_from(emitter.cold.bytes.len() - begin).unwrap_or(0);
    // Says where it is; nobody comes here.
    stop::write(&mut emitter.cold, stop::DIRECT, pc, 0);
    emitter.hot.jump(target);
    emitter.colds.push(ColdMark {
        start,
        site,
        saved,
        is_site: false,
        held: Gprs::of(RCX).0,
        phase: MarkPhase::Checked,
    });
    BurstPatch { hot, cold }
}

/// Compares the program's bytes with those that were translated, out of line.
fn check_itself(emitter: &mut Emitter, pc: u64, at: usize, code: &[u8]) {
    let start = emitter.cold_offset();
    let target = emitter.cold.here();
    let after = emitter.hot.base + at as u64 + 4;
    emitter.hot.patch32(at, low32(target.wrapping_sub(after)));
    let cold = &mut emitter.cold;
    let begin = cold.bytes.len();
    cold.store(RCX.slot(), RCX);
    cold.store(RAX.slot(), RAX);
    let mut rest = code;
    let mut address = pc;
    let mut fails = Vec::new();
    while !rest.is_empty() {
        let size = [8, 4, 2, 1].into_iter().find(|&size| size <= rest.len()).unwrap_or(1);
        let (piece, others) = rest.split_at(size);
        let mut value = [0; 8];
        if let Some(low) = value.get_mut(..size) {
            low.copy_from_slice(piece);
        }
        cold.address(RCX, address);
        cold.put(match size {
            8 => &[0x48, 0x8b, 0x09],
            4 => &[0x8b, 0x09],
            2 => &[0x0f, 0xb7, 0x09],
            _ => &[0x0f, 0xb6, 0x09],
        });
        cold.immediate(RAX, u64::from_le_bytes(value).wrapping_neg());
        cold.plus(RCX, RAX, 0);
        cold.jrcxz(5);
        cold.byte(0xe9);
        fails.push(cold.bytes.len());
        cold.u32(0);
        rest = others;
        address += size as u64;
    }
    cold.load(RAX, RAX.slot());
    cold.load(RCX, RCX.slot());
    cold.jump(after);
    for fail in fails {
        let distance = cold.bytes.len() - fail - 4;
        cold.patch32(fail, low32(distance as u64));
    }
    cold.load(RAX, RAX.slot());
    cold.load(RCX, RCX.slot());
    let site = u16::try_from(cold.bytes.len() - begin).unwrap_or(u16::MAX);
    stop::write(cold, stop::CHANGED, pc, 0);
    emitter.colds.push(ColdMark {
        start,
        site,
        saved: 18,
        is_site: false,
        held: 0,
        phase: MarkPhase::Before,
    });
}
