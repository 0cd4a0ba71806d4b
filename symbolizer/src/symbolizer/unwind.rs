//! The callers of a sample, by its registers and its copy of the stack.

use crate::process::locate::locate;
use crate::process::objects::ObjectKind;
use crate::unwind::frame_pointer;
use crate::unwind::frame_rule::{CalleeFrame, FrameRule};
use crate::unwind::register_file::{RegisterFile, UnwindMachine};
use crate::unwind::rule_memo::RuleMemo;
use crate::unwind::stack_copy::StackCopy;
use crate::unwind::unwind_tables::UnwindTables;
use crate::{
    ChainEnd, FramePoint, FrameStart, ObjectId, Place, SampledAddress, StackFrame, Symbolizer,
    UnwindMethod,
};
use gimli::UnwindContext;
use perfdata::registers::RegsAbi;
use perfdata::sample::StackUser;
use perfdata::{CpuMode, Pid, Registers, Time};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Objects whose tables are kept open, and bytes that they may take in memory;
/// beyond, all are closed and those needed opened again.
const MOST_OPEN: usize = 128;
const MOST_BYTES: usize = 128 << 20;
/// Sampled instructions of which is known whether they return.
const MOST_RETURNS: usize = 1 << 16;

/// What a sample has of a stack of user space.
#[derive(Clone, Copy, Debug)]
pub struct UserStack<'a> {
    pub pid: Pid,
    /// When it was sampled: its mappings of that time are gone by.
    pub time: Time,
    /// Registers of user space at the sample, or when it entered the kernel.
    pub registers: Registers<'a>,
    /// The stack from its pointer on.
    pub stack: StackUser<'a>,
    pub most: usize,
}

#[derive(Debug)]
pub(crate) struct Unwinder {
    tables: FxHashMap<ObjectId, Result<UnwindTables, ChainEnd>>,
    /// Bytes that they take.
    size: usize,
    memo: RuleMemo,
    /// Whether sampled instructions that no table has return.
    returns: FxHashMap<Place, bool>,
    context: UnwindContext<usize>,
}

impl Default for Unwinder {
    fn default() -> Unwinder {
        Unwinder {
            tables: FxHashMap::default(),
            size: 0,
            memo: RuleMemo::default(),
            returns: FxHashMap::default(),
            context: UnwindContext::new(),
        }
    }
}

impl Symbolizer {
    /// Appends the frames of a stack, innermost first, and says why there are
    /// no more. Each caller is found by the unwind table of what was mapped at
    /// that time; in code without one, by the frame pointer, which the frame
    /// then says.
    pub fn unwind(&mut self, of: &UserStack<'_>, frames: &mut Vec<StackFrame>) -> ChainEnd {
        let Some(machine) = UnwindMachine::of(self.arch.unwrap_or_default()) else {
            return ChainEnd::UnsupportedMachine;
        };
        // Of the frame at hand and of its caller, in turn: none is copied but by
        // the rule that changes it.
        let sampled = machine.sampled(&of.registers);
        let mut files = [sampled, sampled];
        let [mut registers, mut caller] = files.each_mut();
        let pointer = machine.instruction_pointer();
        let start = registers.get(machine.stack_pointer());
        let (RegsAbi::Bits64, Some(start), Some(address)) =
            (of.registers.abi, start, registers.get(pointer))
        else {
            return ChainEnd::UnsupportedAbi;
        };
        let mut stack = copied(start, of.stack);
        let mut unwinder = self.unwinder.take().unwrap_or_default();
        let point = FramePoint::Instruction;
        let mut frame = StackFrame { address, point, way: UnwindMethod::Registers };
        let first = frames.len();
        let end = loop {
            if frames.len() - first >= of.most {
                break ChainEnd::FrameLimit;
            }
            let place = self.place(CpuMode::User, of.pid, frame.code(), of.time);
            let is_mapped = !matches!(place.object, ObjectId::UNMAPPED | ObjectId::UNKNOWN_PROCESS);
            if !is_mapped && frame.way != UnwindMethod::Registers {
                break ChainEnd::NotMapped;
            }
            if unwinder.memo.get(place).is_none() {
                self.learn_rule(&mut unwinder, place);
            }
            let rule = unwinder.memo.get(place).unwrap_or(Err(ChainEnd::NoTable));
            let is_signal = rule.is_ok_and(|rule| rule.is_signal);
            if is_signal {
                // It is no return address: nothing called this code.
                frame.point = FramePoint::Instruction;
            }
            frames.push(frame);
            let is_interrupted = frame.point == FramePoint::Instruction;
            // So does a table that was followed up to here, in a file that has
            // one: code that keeps it in no order, as compilers at run time
            // make, is in none.
            let is_start = frame.way == UnwindMethod::Table
                && rule == Err(ChainEnd::NoTable)
                && matches!(self.objects.kind(place.object), ObjectKind::File(_));
            let keeps_pointer = frame.way == UnwindMethod::FramePointer || is_start;
            let callee =
                CalleeFrame { machine, registers, stack: &stack, is_interrupted, keeps_pointer };
            let at = SampledAddress { mode: CpuMode::User, pid: of.pid, address, time: of.time };
            let found = match rule {
                Ok(rule) => rule.caller(callee, caller).map(|()| UnwindMethod::Table),
                Err(ChainEnd::NoTable)
                    if frame.way == UnwindMethod::Registers
                        && self.returns(&mut unwinder.returns, at, place) =>
                {
                    let rule = FrameRule::of_return(machine);
                    rule.caller(callee, caller).map(|()| UnwindMethod::Registers)
                }
                Err(why) => match frame_pointer::caller(callee, caller) {
                    Ok(()) if self.is_code(of, caller.get(pointer)) => {
                        Ok(UnwindMethod::FramePointer)
                    }
                    Err(Some(end)) => Err(end),
                    Ok(()) | Err(None) => Err(why),
                },
            };
            let way = match found {
                Ok(way) => way,
                Err(end) => break end,
            };
            std::mem::swap(&mut registers, &mut caller);
            if is_signal {
                let pointer = |of: &RegisterFile| of.get(machine.stack_pointer());
                if let Some((handler, interrupted)) = pointer(caller).zip(pointer(registers)) {
                    stack.leave(handler, interrupted, machine.largest_signal_frame());
                }
            }
            let Some(address) = registers.get(pointer) else { break ChainEnd::CopyTooShort };
            let point = if is_signal { FramePoint::Instruction } else { FramePoint::Return };
            frame = StackFrame { address, point, way };
        };
        self.unwinder = Some(unwinder);
        end
    }

    /// Where the frame of the code at a place begins, by its unwind table; None: it has none, or
    /// one that takes more than a register to say it.
    pub fn frame_start(&mut self, place: Place) -> Option<FrameStart> {
        let mut unwinder = self.unwinder.take().unwrap_or_default();
        if unwinder.memo.get(place).is_none() {
            self.learn_rule(&mut unwinder, place);
        }
        let rule = unwinder.memo.get(place).and_then(Result::ok);
        let start = rule.and_then(FrameRule::start);
        self.unwinder = Some(unwinder);
        start
    }

    /// Whether a return address is one of memory that may be executed.
    fn is_code(&mut self, of: &UserStack<'_>, address: Option<u64>) -> bool {
        let address = address.and_then(|it| it.checked_sub(1));
        address.is_some_and(|address| {
            self.timelines.find(of.pid, address, of.time).what.is_ok_and(|it| it.executable)
        })
    }

    /// Whether the sampled instruction is one of x86-64 that returns, as where a call of an
    /// allocator is sampled: musl's has no table.
    fn returns(
        &mut self,
        known: &mut FxHashMap<Place, bool>,
        at: SampledAddress,
        place: Place,
    ) -> bool {
        if let Some(known) = known.get(&place) {
            return *known;
        }
        let is_file = matches!(self.objects.kind(place.object), ObjectKind::File(_));
        let stretch = place.address..place.address.saturating_add(1);
        let text = is_file.then(|| self.text(at, &stretch).ok()).flatten();
        let returns =
            text.is_some_and(|it| it.bits == Some(64) && matches!(it.bytes[..], [0xc2 | 0xc3]));
        if known.len() >= MOST_RETURNS {
            known.clear();
        }
        known.insert(place, returns);
        returns
    }

    /// Reads how the caller of the code at a place is found, or why no table
    /// says it.
    fn learn_rule(&mut self, unwinder: &mut Unwinder, place: Place) {
        let Unwinder { tables, size, memo, context, .. } = unwinder;
        if *size >= MOST_BYTES || (tables.len() >= MOST_OPEN && !tables.contains_key(&place.object))
        {
            tables.clear();
            *size = 0;
        }
        let tables = match tables.entry(place.object) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let tables = self.tables(place.object);
                *size += tables.as_ref().map_or(0, UnwindTables::size);
                free.insert(tables)
            }
        };
        let rule = match tables {
            Ok(tables) => {
                let before = tables.size();
                let rule = tables.rule(place.address, context);
                *size += tables.size().saturating_sub(before);
                rule.and_then(|rule| rule.ok_or(ChainEnd::NoTable))
            }
            Err(why) => Err(*why),
        };
        memo.put(place, rule);
    }

    fn tables(&mut self, object: ObjectId) -> Result<UnwindTables, ChainEnd> {
        match self.objects.kind(object).clone() {
            ObjectKind::File(file) => {
                let mapped = self.objects.file(file);
                let located = locate(mapped, &self.options).map_err(|_| ChainEnd::NoObject)?;
                UnwindTables::of(located, &mapped.path, &self.options)
                    .map_err(|_| ChainEnd::DamagedTable)
            }
            ObjectKind::Vdso(vdso) => {
                let own = self.own_vdso(&vdso).map_err(|_| ChainEnd::NoObject)?;
                UnwindTables::of_bytes(own.bytes()).map_err(|_| ChainEnd::DamagedTable)
            }
            _ => Err(ChainEnd::NoTable),
        }
    }
}

/// The stack as far as it is valid.
fn copied(start: u64, stack: StackUser<'_>) -> StackCopy<'_> {
    let StackUser { data, dyn_size } = stack;
    let valid = dyn_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(data.len());
    let bytes = data.get(..valid).unwrap_or(data);
    StackCopy { start, bytes, is_whole: bytes.len() < data.len() }
}
