//! Looks accesses up: the check in line, the way to the runtime out of line.

use iced_x86::Register;
use perfdata::AllocatorCall;

use super::access::{Address, AddressForm, InstructionAccess, SegmentBase, Vectors};
use super::assembler::{AddressSum, Assembler, low32};
use super::emitter::{ColdPath, Emitter, STRIDE};
use super::mark::{ColdMark, MarkPhase};
use super::register::{Gpr, Gprs, RAX, RCX, RDX, RSP};
use crate::block::{self, AccessKind};

impl Emitter {
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

    /// Lines of code have stamps of their own, so that data have the same
    /// whether code is looked up or not.
    fn next_fetch(&mut self) -> u32 {
        let offset = self.fetches;
        self.fetches += 1;
        offset
    }

    /// rcx (or rcx and rdx) free and the clock advanced: before the first
    /// check, so that what a cold stub of a counted instruction sees is the
    /// same.
    pub(crate) fn prepare(&mut self, access: &InstructionAccess) {
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
    pub(crate) fn check(&mut self, access: &InstructionAccess) {
        self.prepare(access);
        let offset = self.next_offset();
        if self.translation.features.bmi2 {
            self.check_bmi2(access, offset);
        } else {
            self.check_flags(access, offset);
        }
    }

    fn check_bmi2(&mut self, access: &InstructionAccess, offset: u32) {
        let second = self.second;
        let keys = if access.kind == AccessKind::Store { block::STORES } else { block::LOADS };
        self.address_in_line(&access.address);
        let known = match access.address {
            Address { form: AddressForm::Absolute(at), segment: SegmentBase::Flat } => {
                Some(block::index(at))
            }
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
        self.mark_step(MarkPhase::Checked);
    }

    /// The same with shifts that change flags, which wait in rax meanwhile.
    fn check_flags(&mut self, access: &InstructionAccess, offset: u32) {
        let keys = if access.kind == AccessKind::Store { block::STORES } else { block::LOADS };
        self.address_in_line(&access.address);
        self.spill(RAX);
        self.hot.flags_out();
        self.mark_step(MarkPhase::Checked);
        self.hot.copy32(RDX, RCX);
        self.hot.shr32(RDX, 6);
        self.hot.movzx16(RDX, RDX);
        self.hot.load_indexed(RDX, RDX, keys);
        self.hot.plus(RCX, RDX, i32::from(access.size) - 7);
        self.hot.shr64(RCX, 6);
        self.hot.jrcxz(5);
        self.flags_out = true;
        let cold = self.cold_access(access, offset, MarkPhase::Checked);
        self.flags_out = false;
        self.hot.jump(cold.start);
        self.hot.shr32(RDX, 6);
        self.hot.movzx16(RDX, RDX);
        self.hot.load(RCX, block::CLOCK);
        self.hot.add(RCX, offset.cast_signed());
        self.hot.store_indexed(RDX, block::LOAD_STAMPS, RCX);
        self.hot.flags_in();
        self.resume_here(cold);
        self.mark_step(MarkPhase::Checked);
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
    pub(crate) fn check_slow(&mut self, access: &InstructionAccess) {
        self.prepare_slow();
        let offset = self.next_offset();
        // A bit offset changes flags on the way.
        let step = if access.bits.is_some() { MarkPhase::Checked } else { self.step };
        let cold = self.cold_access(access, offset, step);
        self.hot.jump(cold.start);
        self.resume_here(cold);
        self.mark_step(MarkPhase::Checked);
    }

    /// Takes one from the countdown of each event that is marked; at 0 the slow
    /// path is taken with the access, or with none, and counts for the events
    /// that come behind. Gives what is to be told where to go on.
    pub(crate) fn count_down(
        &mut self,
        access: Option<&InstructionAccess>,
        marks: u32,
    ) -> Vec<ColdPath> {
        if let Some(access) = access {
            if access.is_slow() {
                self.prepare_slow();
            } else {
                self.prepare(access);
            }
        }
        self.spill(RCX);
        let mut counted = access.copied().unwrap_or(InstructionAccess {
            address: Address { form: AddressForm::Absolute(0), segment: SegmentBase::Flat },
            size: 0,
            kind: AccessKind::None,
            marks: 0,
            elements: 0,
            vectors: None,
            bits: None,
        });
        let other_marks = counted.marks;
        let mut colds = Vec::new();
        let mut left = marks & block::COUNTED;
        while left != 0 {
            let event = left.trailing_zeros() - block::COUNTED_FROM;
            let place = block::countdown(usize::try_from(event).unwrap_or(block::EVENTS));
            self.hot.load(RCX, place);
            self.hot.add(RCX, -1);
            self.hot.store(place, RCX);
            self.mark_step(MarkPhase::Checked);
            self.hot.put(&[0xe3, 2, 0xeb, 5]); // jrcxz due; jmp over; due:
            counted.marks = other_marks | left;
            let offset = self.accesses;
            let cold = self.cold_access(&counted, offset, MarkPhase::Checked);
            self.hot.jump(cold.start);
            colds.push(cold);
            left &= left - 1;
        }
        if access.is_some() {
            self.restore(Gprs::of(RCX));
        }
        colds
    }

    pub(crate) fn call_runtime(&mut self, kind: AccessKind) {
        let cold = self.call_runtime_cold(kind, 0);
        self.hot.jump(cold.start);
        self.resume_here(cold);
        self.mark();
    }

    /// Tells it that a function of an allocator begins, once: who is stopped
    /// behind that is taken on to the next instruction.
    pub(crate) fn allocator_entry(&mut self, call: AllocatorCall) {
        let cold = self.call_runtime_cold(AccessKind::AllocatorEntry, u32::from(call as u8));
        self.hot.jump(cold.start);
        self.resume_here(cold);
        self.mark_step(MarkPhase::Checked);
    }

    /// Tells it that one returns, if that is awaited here; takes rcx.
    pub(crate) fn allocator_return(&mut self) {
        self.spill(RCX);
        self.hot.load(RCX, block::AWAITED);
        let index = Some((RCX, 0));
        self.hot.lea(RCX, &AddressSum { base: Some(RSP), index, ..AddressSum::default() });
        self.hot.put(&[0xe3, 2, 0xeb, 5]); // jrcxz awaited; jmp over; awaited:
        let cold = self.call_runtime_cold(AccessKind::AllocatorReturn, 0);
        self.hot.jump(cold.start);
        self.resume_here(cold);
        self.mark();
    }

    fn call_runtime_cold(&mut self, kind: AccessKind, elements: u32) -> ColdPath {
        let access = InstructionAccess {
            address: Address { form: AddressForm::Absolute(0), segment: SegmentBase::Flat },
            size: 0,
            kind,
            marks: 0,
            elements,
            vectors: None,
            bits: None,
        };
        self.cold_access(&access, self.accesses, self.step)
    }

    pub(crate) fn check_fetch(&mut self, line: u64) {
        let second = self.second;
        self.spill(RCX);
        self.spill(second);
        self.advance_clock();
        let offset = self.next_fetch();
        let index = block::index(line);
        self.hot.address(RCX, line);
        self.hot.load(second, block::FETCHES + 8 * index);
        self.hot.plus(RCX, second, -6);
        self.hot.jrcxz(5);
        let access = InstructionAccess {
            address: Address { form: AddressForm::Absolute(line), segment: SegmentBase::Flat },
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
        self.mark_step(MarkPhase::Checked);
    }

    fn cold_access(
        &mut self,
        access: &InstructionAccess,
        offset: u32,
        step: MarkPhase,
    ) -> ColdPath {
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
        ColdPath { start, resume: site + 8 }
    }

    /// Index and mask vectors to where the runtime finds them.
    fn store_vectors(&self, code: &mut Assembler, vectors: &Vectors) {
        store_vector(code, vectors.index, block::VECTORS, false);
        let wide = self.translation.features.avx512bw;
        store_vector(code, vectors.mask, block::VECTORS + 64, wide);
    }
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
    code.lea(RCX, &AddressSum { base: Some(RCX), index, ..AddressSum::default() });
    code.load(RAX, block::FLAGS);
    code.flags_in();
}

/// Stores a register at an offset; mask registers whole when `wide`.
pub(crate) fn store_vector(code: &mut Assembler, register: Register, offset: usize, wide: bool) {
    let number = u8::try_from(register.number()).unwrap_or(0);
    let (low, r, r2) = (number & 7, number >> 3 & 1, number >> 4 & 1);
    let modrm = 0x04 | low << 3;
    code.byte(0x65);
    if register.is_k() {
        if wide {
            code.put(&[0xc4, 0xe1, 0xf8, 0x91, modrm, 0x25]); // kmovq
        } else {
            code.put(&[0xc5, 0xf8, 0x91, modrm, 0x25]); // kmovw
        }
    } else if register.is_zmm() || number >= 16 {
        let length = if register.is_zmm() { 2 } else { u8::from(register.is_ymm()) };
        // vmovdqu64
        let p0 = (r ^ 1) << 7 | 0x60 | (r2 ^ 1) << 4 | 1;
        code.put(&[0x62, p0, 0xfe, length << 5 | 0x08, 0x7f, modrm, 0x25]);
    } else if register.is_mm() {
        code.put(&[0x0f, 0x7f, modrm, 0x25]); // movq
    } else if register.is_ymm() {
        code.put(&[0xc5, (r ^ 1) << 7 | 0x7e, 0x7f, modrm, 0x25]); // vmovdqu
    } else if register.is_xmm() {
        code.put(&[0x40 | r << 2, 0x0f, 0x11, modrm, 0x25]); // movups
    } else {
        code.bytes.pop();
        return;
    }
    code.u32(low32(offset as u64));
}
