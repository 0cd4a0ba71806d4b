//! The code that is being made: what is in line, what is not, and which of
//! the program's registers are where.

use super::access::{Address, AddressForm, SegmentBase};
use super::assembler::{Assembler, low32};
use super::location::CodeVariant;
use super::mark::{BlockMark, ColdMark, MarkPhase, StateMark};
use super::register::{Gpr, Gprs, R11, RBX, RCX, RDX};
use super::settings::Translation;
use super::stop;
use super::stubs::Stubs;

/// By how much CLOCK is advanced for a block; it has fewer accesses, and fewer
/// lines of code.
pub(crate) const STRIDE: u32 = 64;

#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectBranch {
    /// Address of its 32 bits.
    pub(crate) place: u64,
    /// Address in the program.
    pub(crate) target: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockHead {
    /// Address in the program.
    pub(crate) pc: u64,
    /// Behind its last byte.
    pub(crate) end: u64,
    /// Where direct branches enter.
    pub(crate) host: u64,
    /// Where indirect ones do, or 0.
    pub(crate) entry: u64,
}

#[derive(Debug)]
pub(crate) struct Emitter {
    pub(crate) translation: Translation,
    pub(crate) stubs: Stubs,
    pub(crate) zone: u64,
    pub(crate) hot: Assembler,
    pub(crate) cold: Assembler,
    pub(crate) blocks: Vec<BlockMark>,
    pub(crate) marks: Vec<StateMark>,
    pub(crate) colds: Vec<ColdMark>,
    pub(crate) branches: Vec<DirectBranch>,
    pub(crate) heads: Vec<BlockHead>,
    /// Marks that the zone has before ours.
    pub(crate) marks_before: usize,
    last_mark: u64,
    /// Registers whose values are in their slots only.
    pub(crate) held: Gprs,
    /// Registers whose slots have their values.
    pub(crate) valid: Gprs,
    pub(crate) step: MarkPhase,
    /// Accesses to data of the block so far.
    pub(crate) accesses: u32,
    /// Lines of code that it has looked up.
    pub(crate) fetches: u32,
    /// The block has advanced the clock.
    pub(crate) clocked: bool,
    /// The instruction: its address and length.
    pub(crate) ip: u64,
    pub(crate) length: u8,
    /// The flags are in rax.
    pub(crate) flags_out: bool,
    /// The second scratch register of checks; rcx is the first.
    pub(crate) second: Gpr,
    /// Where the half's indirect branches find where to go.
    pub(crate) table: usize,
}

impl Emitter {
    pub(crate) fn new(translation: Translation, variant: CodeVariant) -> Emitter {
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
            step: MarkPhase::Before,
            accesses: 0,
            fetches: 0,
            clocked: false,
            ip: 0,
            length: 0,
            flags_out: false,
            second,
            table: variant.table(),
        }
    }

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
        self.step = MarkPhase::Before;
        self.accesses = 0;
        self.fetches = 0;
        self.clocked = false;
        self.ip = pc;
        let start = low32(self.hot.here() - self.zone);
        let marks = u32::try_from(self.marks_before + self.marks.len()).unwrap_or(u32::MAX);
        self.blocks.push(BlockMark { start, marks, ip: pc });
        self.last_mark = self.hot.here();
        self.push_mark(0, 0);
    }

    pub(crate) fn begin_instruction(&mut self, ip: u64, length: u8) {
        self.ip = ip;
        self.length = length;
        self.step = MarkPhase::Before;
        self.mark_here(length);
    }

    pub(crate) fn mark(&mut self) {
        self.mark_here(0);
    }

    pub(crate) fn mark_step(&mut self, step: MarkPhase) {
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
                self.marks.push(StateMark { delta: 255, length: 0, ..last });
            }
            distance -= 255;
        }
        self.last_mark = here;
        self.push_mark(u8::try_from(distance).unwrap_or(255), length);
    }

    fn push_mark(&mut self, delta: u8, length: u8) {
        self.marks.push(StateMark { delta, length, held: self.held.0, phase: self.step });
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

    pub(crate) fn wrote(&mut self, registers: Gprs) {
        self.valid = self.valid.without(registers);
        self.held = self.held.without(registers);
    }

    /// The effective address to rcx, with another register for a segment's
    /// base. Its registers must not be held.
    pub(crate) fn address(&self, code: &mut Assembler, address: &Address, other: Gpr) {
        match address.form {
            AddressForm::Registers(sum) => code.lea(RCX, &sum),
            AddressForm::Absolute(value) => code.address(RCX, value),
            AddressForm::Table => {
                code.put(&[0x0f, 0xb6, 0xc8]); // movzx ecx, al
                code.plus(RCX, RBX, 0);
            }
        }
        if address.segment != SegmentBase::Flat {
            let fs = address.segment == SegmentBase::Fs;
            code.segment_base(other, fs, self.translation.features.fsgsbase);
            code.plus(RCX, other, 0);
        }
    }

    pub(crate) fn address_in_line(&mut self, address: &Address) {
        let mut hot = std::mem::take(&mut self.hot);
        self.address(&mut hot, address, self.second);
        self.hot = hot;
    }

    pub(crate) fn resume_here(&mut self, cold: ColdPath) {
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
            phase: MarkPhase::Before,
        });
        stop::write(&mut self.cold, kind, address, number);
        start
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ColdPath {
    pub(crate) start: u64,
    /// Where in the cold code its site has the address to go on at.
    pub(crate) resume: usize,
}
