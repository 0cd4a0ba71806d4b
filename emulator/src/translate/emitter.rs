//! The code that is being made: what is in line, what is not, and which of
//! the program's registers are where.

use super::access::{Access, Address, Form, Segment};
use super::assembler::{Assembler, Sum, low32};
use super::register::{Gpr, Gprs, R11, RAX, RBX, RCX, RDX};
use super::settings::Translation;
use super::stop;
use super::stubs::Stubs;
use crate::block::{self, AccessKind};
use crate::zone::{BlockMark, ColdMark, Mark, Step};

/// By how much CLOCK is advanced for a block; it has fewer accesses.
pub(crate) const STRIDE: u32 = 64;

/// A direct branch to be linked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    /// Address of its 32 bits.
    pub(crate) place: u64,
    /// Address in the program.
    pub(crate) target: u64,
}

/// A block that was translated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Address in the program.
    pub(crate) pc: u64,
    /// Behind its last byte.
    pub(crate) end: u64,
    /// Where direct branches enter.
    pub(crate) host: u64,
    /// Where indirect ones do, or 0.
    pub(crate) entry: u64,
}

/// Makes the code of one trace after the other.
#[derive(Debug)]
pub(crate) struct Emitter {
    pub(crate) translation: Translation,
    pub(crate) stubs: Stubs,
    pub(crate) zone: u64,
    pub(crate) hot: Assembler,
    pub(crate) cold: Assembler,
    pub(crate) blocks: Vec<BlockMark>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) colds: Vec<ColdMark>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) heads: Vec<Head>,
    /// Marks that the zone has before ours.
    pub(crate) marks_before: usize,
    last_mark: u64,
    /// Registers whose values are in their slots only.
    pub(crate) held: Gprs,
    /// Registers whose slots have their values.
    pub(crate) valid: Gprs,
    pub(crate) step: Step,
    /// Accesses of the block so far.
    pub(crate) accesses: u32,
    clocked: bool,
    /// The instruction: its address and length.
    pub(crate) ip: u64,
    pub(crate) length: u8,
    /// The flags are in rax.
    flags_out: bool,
    /// The second scratch register of checks; rcx is the first.
    pub(crate) second: Gpr,
}

impl Emitter {
    pub(crate) fn new(translation: Translation) -> Emitter {
        // Compilers use r11 less than others; the flags go through rax.
        let second = if translation.features.bmi2 { R11 } else { RDX };
        Emitter {
            translation,
            stubs: Stubs::default(),
            zone: 0,
            hot: Assembler::default(),
            cold: Assembler::default(),
            blocks: Vec::new(),
            marks: Vec::new(),
            colds: Vec::new(),
            branches: Vec::new(),
            heads: Vec::new(),
            marks_before: 0,
            last_mark: 0,
            held: Gprs::NONE,
            valid: Gprs::NONE,
            step: Step::Before,
            accesses: 0,
            clocked: false,
            ip: 0,
            length: 0,
            flags_out: false,
            second,
        }
    }

    /// Forgets what was made, goes on at these addresses.
    pub(crate) fn restart(&mut self, hot: u64, cold: u64, marks_before: usize) {
        self.hot.restart(hot);
        self.cold.restart(cold);
        self.blocks.clear();
        self.marks.clear();
        self.colds.clear();
        self.branches.clear();
        self.heads.clear();
        self.marks_before = marks_before;
        // Behind the last trace's end nothing comes in line.
        self.held = Gprs::NONE;
        self.valid = Gprs::NONE;
        self.last_mark = hot;
    }

    /// Begins a block: nothing is held, nothing is known of the slots.
    pub(crate) fn begin_block(&mut self, pc: u64) {
        self.held = Gprs::NONE;
        self.valid = Gprs::NONE;
        self.step = Step::Before;
        self.accesses = 0;
        self.clocked = false;
        self.ip = pc;
        let start = low32(self.hot.here() - self.zone);
        let marks = u32::try_from(self.marks_before + self.marks.len()).unwrap_or(u32::MAX);
        self.blocks.push(BlockMark { start, marks, ip: pc });
        self.last_mark = self.hot.here();
        self.push_mark(0, 0);
    }

    /// Begins an instruction.
    pub(crate) fn begin_instruction(&mut self, ip: u64, length: u8) {
        self.ip = ip;
        self.length = length;
        self.step = Step::Before;
        self.mark_here(length);
    }

    /// Notes that the state is another from here on.
    pub(crate) fn mark(&mut self) {
        self.mark_here(0);
    }

    pub(crate) fn mark_step(&mut self, step: Step) {
        self.step = step;
        self.mark_here(0);
    }

    fn mark_here(&mut self, length: u8) {
        let here = self.hot.here();
        let mut distance = here - self.last_mark;
        if distance == 0
            && let Some(last) = self.marks.last_mut()
            && (length == 0 || last.length == 0)
        {
            last.held = self.held.0;
            last.phase = self.step;
            last.length |= length;
            return;
        }
        while distance > 255 {
            if let Some(&last) = self.marks.last() {
                self.marks.push(Mark { delta: 255, length: 0, ..last });
            }
            distance -= 255;
        }
        self.last_mark = here;
        self.push_mark(u8::try_from(distance).unwrap_or(255), length);
    }

    fn push_mark(&mut self, delta: u8, length: u8) {
        self.marks.push(Mark { delta, length, held: self.held.0, phase: self.step });
    }

    /// Makes a register free for use: its value is in its slot.
    pub(crate) fn spill(&mut self, register: Gpr) {
        if self.held.has(register) {
            return;
        }
        if !self.valid.has(register) {
            self.hot.store(register.slot(), register);
            self.valid = self.valid.with(register);
        }
        self.held = self.held.with(register);
        self.mark();
    }

    /// Puts those of the registers that are held back.
    pub(crate) fn restore(&mut self, registers: Gprs) {
        let back = self.held.and(registers);
        if back == Gprs::NONE {
            return;
        }
        for register in back.each() {
            self.hot.load(register, register.slot());
        }
        self.held = self.held.without(back);
        self.mark();
    }

    pub(crate) fn restore_all(&mut self) {
        self.restore(self.held);
    }

    /// The instruction gave these registers other values.
    pub(crate) fn wrote(&mut self, registers: Gprs) {
        self.valid = self.valid.without(registers);
        self.held = self.held.without(registers);
    }

    /// The effective address to rcx, with another register for a segment's
    /// base. Its registers must not be held.
    pub(crate) fn address(&self, code: &mut Assembler, address: &Address, other: Gpr) {
        match address.form {
            Form::Registers(sum) => code.lea(RCX, &sum),
            Form::Absolute(value) => code.address(RCX, value),
            Form::Table => {
                code.put(&[0x0f, 0xb6, 0xc8]); // movzx ecx, al
                code.plus(RCX, RBX, 0);
            }
        }
        if address.segment != Segment::Flat {
            let fs = address.segment == Segment::Fs;
            code.segment_base(other, fs, self.translation.features.fsgsbase);
            code.plus(RCX, other, 0);
        }
    }

    pub(crate) fn address_in_line(&mut self, address: &Address) {
        let mut hot = std::mem::take(&mut self.hot);
        self.address(&mut hot, address, self.second);
        self.hot = hot;
    }

    /// Advances the clock once in a block, with rcx free.
    fn advance_clock(&mut self) {
        if !self.clocked {
            self.clocked = true;
            self.hot.load(RCX, block::CLOCK);
            self.hot.add(RCX, STRIDE.cast_signed());
            self.hot.store(block::CLOCK, RCX);
        }
    }

    fn next_offset(&mut self) -> u32 {
        let offset = self.accesses;
        self.accesses += 1;
        offset
    }

    /// rcx (or rcx and rdx) free and the clock advanced: before the first
    /// check, so that what a cold stub of a counted instruction sees is the
    /// same.
    pub(crate) fn prepare(&mut self, access: &Access) {
        self.restore(access.address.registers());
        self.spill(RCX);
        self.spill(self.second);
        if !self.clocked {
            // rcx must be put back if the address is made of it.
            self.advance_clock();
            if access.address.registers().has(RCX) {
                self.hot.load(RCX, RCX.slot());
            }
        }
    }

    /// Looks an access up. Returns the place in the cold code where its
    /// site's `resume` is, already set, for who wants another.
    pub(crate) fn check(&mut self, access: &Access) {
        self.prepare(access);
        let offset = self.next_offset();
        if self.translation.features.bmi2 {
            self.check_bmi2(access, offset);
        } else {
            self.check_flags(access, offset);
        }
    }

    fn check_bmi2(&mut self, access: &Access, offset: u32) {
        let second = self.second;
        let keys = if access.kind == AccessKind::Store { block::STORES } else { block::LOADS };
        self.address_in_line(&access.address);
        let known = match access.address {
            Address { form: Form::Absolute(at), segment: Segment::Flat } => Some(block::index(at)),
            _ => None,
        };
        match known {
            Some(index) => self.hot.load(second, keys + 8 * index),
            None => {
                self.hot.rorx(second, RCX, 6);
                self.hot.movzx16(second, second);
                self.hot.load_indexed(second, second, keys);
            }
        }
        self.hot.plus(RCX, second, i32::from(access.size) - 7);
        self.hot.shrx(RCX, second);
        self.hot.jrcxz(5);
        let cold = self.cold_access(access, offset, self.step);
        self.hot.jump(cold.start);
        self.stamp(known, offset);
        self.resume_here(cold);
        self.mark_step(Step::Checked);
    }

    /// The same with shifts that change flags, which wait in rax meanwhile.
    fn check_flags(&mut self, access: &Access, offset: u32) {
        let keys = if access.kind == AccessKind::Store { block::STORES } else { block::LOADS };
        self.address_in_line(&access.address);
        self.spill(RAX);
        self.hot.flags_out();
        self.mark_step(Step::Checked);
        self.hot.copy32(RDX, RCX);
        self.hot.shr32(RDX, 6);
        self.hot.movzx16(RDX, RDX);
        self.hot.load_indexed(RDX, RDX, keys);
        self.hot.plus(RCX, RDX, i32::from(access.size) - 7);
        self.hot.shr64(RCX, 6);
        self.hot.jrcxz(5);
        self.flags_out = true;
        let cold = self.cold_access(access, offset, Step::Checked);
        self.flags_out = false;
        self.hot.jump(cold.start);
        self.hot.shr32(RDX, 6);
        self.hot.movzx16(RDX, RDX);
        self.hot.load(RCX, block::CLOCK);
        self.hot.add(RCX, offset.cast_signed());
        self.hot.store_indexed(RDX, block::LOAD_STAMPS, RCX);
        self.hot.flags_in();
        self.resume_here(cold);
        self.mark_step(Step::Checked);
    }

    /// The line's stamp: its key is in the second register, or its place is
    /// known.
    fn stamp(&mut self, known: Option<usize>, offset: u32) {
        let second = self.second;
        if known.is_none() {
            self.hot.rorx(second, second, 6);
            self.hot.movzx16(second, second);
        }
        self.hot.load(RCX, block::CLOCK);
        self.hot.add(RCX, offset.cast_signed());
        match known {
            Some(index) => {
                self.hot.store(block::LOAD_STAMPS + 8 * block::stamp_index(index), RCX);
            }
            None => self.hot.store_indexed(second, block::LOAD_STAMPS, RCX),
        }
    }

    /// What follows may run more than once: each time has its own clock.
    pub(crate) fn clock_again(&mut self) {
        self.clocked = false;
    }

    fn prepare_slow(&mut self) {
        if !self.clocked {
            self.spill(RCX);
            self.advance_clock();
        }
        self.restore_all();
    }

    /// An access that always takes the slow path.
    pub(crate) fn check_slow(&mut self, access: &Access) {
        self.prepare_slow();
        let offset = self.next_offset();
        // A bit offset changes flags on the way.
        let step = if access.bits.is_some() { Step::Checked } else { self.step };
        let cold = self.cold_access(access, offset, step);
        self.hot.jump(cold.start);
        self.resume_here(cold);
        self.mark_step(Step::Checked);
    }

    /// Takes one from COUNTDOWN; at 0 the slow path is taken with the access,
    /// or with none. Gives what is to be told where to go on.
    pub(crate) fn count_down(&mut self, access: Option<&Access>) -> Cold {
        if let Some(access) = access {
            if access.is_slow() {
                self.prepare_slow();
            } else {
                self.prepare(access);
            }
        }
        self.spill(RCX);
        self.hot.load(RCX, block::COUNTDOWN);
        self.hot.add(RCX, -1);
        self.hot.store(block::COUNTDOWN, RCX);
        self.mark_step(Step::Checked);
        self.hot.put(&[0xe3, 2, 0xeb, 5]); // jrcxz due; jmp over; due:
        let mut counted = access.copied().unwrap_or(Access {
            address: Address { form: Form::Absolute(0), segment: Segment::Flat },
            size: 0,
            kind: AccessKind::None,
            marks: 0,
            elements: 0,
            vectors: None,
            bits: None,
        });
        counted.marks |= block::COUNTED;
        let offset = self.accesses;
        let cold = self.cold_access(&counted, offset, Step::Checked);
        self.hot.jump(cold.start);
        if access.is_some() {
            self.restore(Gprs::of(RCX));
        }
        cold
    }

    /// A line of code is entered.
    pub(crate) fn check_fetch(&mut self, line: u64) {
        let second = self.second;
        self.spill(RCX);
        self.spill(second);
        self.advance_clock();
        let offset = self.next_offset();
        let index = block::index(line);
        self.hot.address(RCX, line);
        self.hot.load(second, block::FETCHES + 8 * index);
        self.hot.plus(RCX, second, -6);
        self.hot.jrcxz(5);
        let access = Access {
            address: Address { form: Form::Absolute(line), segment: Segment::Flat },
            size: 64,
            kind: AccessKind::Fetch,
            marks: 0,
            elements: 0,
            vectors: None,
            bits: None,
        };
        let cold = self.cold_access(&access, offset, self.step);
        self.hot.jump(cold.start);
        self.hot.load(RCX, block::CLOCK);
        self.hot.add(RCX, offset.cast_signed());
        self.hot.store(block::FETCH_STAMPS + 8 * block::stamp_index(index), RCX);
        self.resume_here(cold);
        self.mark_step(Step::Checked);
    }

    /// Lets a slow path go on here.
    pub(crate) fn resume_here(&mut self, cold: Cold) {
        self.cold.patch64(cold.resume, self.hot.here());
    }

    /// Code out of line begins: its mark is added by the caller.
    pub(crate) fn cold_offset(&self) -> u32 {
        low32(self.cold.here() - self.zone)
    }

    /// A stop out of line; gives its address.
    pub(crate) fn cold_stop(&mut self, kind: u8, address: u64, number: u32) -> u64 {
        let start = self.cold.here();
        self.colds.push(ColdMark {
            start: self.cold_offset(),
            site: 0,
            saved: 0,
            is_site: false,
            held: 0,
            phase: Step::Before,
        });
        stop::write(&mut self.cold, kind, address, number);
        start
    }

    /// The way to the runtime, and the site behind it.
    fn cold_access(&mut self, access: &Access, offset: u32, step: Step) -> Cold {
        let mut cold = std::mem::take(&mut self.cold);
        let begin = cold.bytes.len();
        let start = cold.here();
        if self.flags_out {
            cold.flags_in();
        }
        for register in self.held.each() {
            if register != RCX || access.address.registers().has(RCX) || access.bits.is_some() {
                cold.load(register, register.slot());
            }
        }
        if !self.held.has(RCX) {
            cold.store(RCX.slot(), RCX);
        }
        if !self.held.has(RAX) {
            cold.store(RAX.slot(), RAX);
        }
        let saved = cold.bytes.len() - begin;
        self.address(&mut cold, &access.address, RAX);
        if let Some((register, power)) = access.bits {
            bit_offset(&mut cold, register, power);
        }
        if let Some(vectors) = access.vectors {
            self.store_vectors(&mut cold, &vectors);
        }
        cold.put(&[0x48, 0x8d, 0x05]); // lea rax, [site]
        let to_site = cold.bytes.len();
        cold.u32(0);
        cold.jump(self.stubs.slow);
        cold.align(8);
        let site = cold.bytes.len();
        cold.patch32(to_site, low32((site - to_site - 4) as u64));
        cold.u64(self.ip);
        cold.u64(0);
        cold.u32(offset);
        cold.put(&access.size.to_le_bytes());
        cold.put(&[access.kind as u8, self.length]);
        cold.u32(access.marks);
        cold.u32(access.elements);
        self.colds.push(ColdMark {
            start: low32(start - self.zone),
            site: u16::try_from(site - begin).unwrap_or(u16::MAX),
            saved: u8::try_from(saved.max(1)).unwrap_or(u8::MAX),
            is_site: true,
            held: self.held.0,
            phase: step,
        });
        self.cold = cold;
        Cold { start, resume: site + 8 }
    }

    /// Index and mask vectors to where the runtime finds them.
    fn store_vectors(&self, code: &mut Assembler, vectors: &super::access::Vectors) {
        super::vector::store(code, vectors.index, block::VECTORS, false);
        let wide = self.translation.features.avx512bw;
        super::vector::store(code, vectors.mask, block::VECTORS + 64, wide);
    }
}

/// Code out of line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cold {
    pub(crate) start: u64,
    /// Where in the cold code its site has the address to go on at.
    pub(crate) resume: usize,
}

/// Adds what a bit offset in a register means to rcx; rax and rcx are free
/// but for the address, their values in their slots. FLAGS is free too.
fn bit_offset(code: &mut Assembler, register: Gpr, power: u8) {
    code.flags_out();
    code.store(block::FLAGS, RAX);
    if register == RAX || register == RCX {
        code.load(RAX, register.slot());
    } else {
        code.copy(RAX, register);
    }
    match power {
        // movsx rax, ax; movsxd rax, eax
        4 => code.put(&[0x48, 0x0f, 0xbf, 0xc0]),
        5 => code.put(&[0x48, 0x63, 0xc0]),
        _ => {}
    }
    code.put(&[0x48, 0xc1, 0xf8, power]); // sar rax, power
    let index = Some((RAX, power - 3));
    code.lea(RCX, &Sum { base: Some(RCX), index, ..Sum::default() });
    code.load(RAX, block::FLAGS);
    code.flags_in();
}
