//! Samples of what the program maps itself, by mmap(2) and its kin: the tracer sees each call.

use std::time::Duration;

use record::{Attr, MappingCall, MappingChange, SampleType};

use super::engine::Engine;
use super::side::{SAMPLE, now};
use super::trouble::Trouble;
use crate::event::EmulatedEvent;
use crate::sys::ptrace::TraceeRegisters;
use crate::sys::remote;

/// cpumode of user space, and the flag of an exact address.
const USER_EXACT: u16 = 2 | 1 << 14;
/// `PERF_SAMPLE_REGS_ABI_64`.
const ABI_64: u64 = 2;
/// Bytes of a record at most: a multiple of 8 that its header can tell.
const LARGEST: usize = 65_528;
/// How long the ring's reader is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// mmap(2): of no file.
const ANONYMOUS: u64 = 0x20;
/// mremap(2): what was moved stays there, too, empty.
const DONT_UNMAP: u64 = 4;

/// What a record tells.
#[derive(Clone, Copy, Debug)]
struct MappingSample<'s> {
    id: u64,
    /// Process and thread, the process below.
    task: u64,
    time: u64,
    /// Where the range begins.
    address: u64,
    change: MappingChange,
    registers: &'s TraceeRegisters,
}

impl Engine {
    /// mmap(2) has worked.
    pub(crate) fn tell_mapped(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
        at: u64,
    ) -> Result<(), Trouble> {
        let is_file = guest.r10 & ANONYMOUS == 0;
        let call = if is_file { MappingCall::MapFile } else { MappingCall::Map };
        let change = MappingChange { call, length: guest.rsi, old: 0, old_length: 0 };
        self.tell_change(tid, guest, at, change)
    }

    /// munmap(2) has worked.
    pub(crate) fn tell_unmapped(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
    ) -> Result<(), Trouble> {
        let call = MappingCall::Unmap;
        let change = MappingChange { call, length: guest.rsi, old: 0, old_length: 0 };
        self.tell_change(tid, guest, guest.rdi, change)
    }

    /// mremap(2) has worked.
    pub(crate) fn tell_remapped(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
        at: u64,
    ) -> Result<(), Trouble> {
        let stays = guest.r10 & DONT_UNMAP != 0;
        let old_length = if stays { 0 } else { guest.rsi };
        let (call, old) = (MappingCall::Remap, guest.rdi);
        let change = MappingChange { call, length: guest.rdx, old, old_length };
        self.tell_change(tid, guest, at, change)
    }

    fn tell_change(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
        address: u64,
        change: MappingChange,
    ) -> Result<(), Trouble> {
        let pid = self.task(tid)?.pid;
        let ring = std::sync::Arc::clone(&self.plan.ring);
        let events = &self.plan.settings.events;
        let Some(event) = events.iter().find(|it| it.event == EmulatedEvent::Mapping) else {
            return Ok(());
        };
        let half = |number: i32| u64::from(number.cast_unsigned());
        let sample = MappingSample {
            id: event.id,
            task: half(pid) | half(tid) << 32,
            time: now(&ring).0,
            address,
            change,
            registers: guest,
        };
        let mut stack = vec![0; stack_bytes(&event.attr)];
        let copied = remote::read(tid, guest.rsp, &mut stack).unwrap_or(0) & !7;
        // Runs that are equal have equal records.
        stack.iter_mut().skip(copied).for_each(|byte| *byte = 0);
        let record = encode(&event.attr, &sample, &stack, copied);
        self.side.sample(&ring, &record, PATIENCE);
        Ok(())
    }

    /// Takes what became of these samples into the account.
    pub(crate) fn book_mappings(&mut self) {
        let mut events = self.plan.settings.counted();
        let place = events.position(|event| event == EmulatedEvent::Mapping);
        let counts = place.and_then(|place| self.account.by_event.get_mut(place));
        if let Some(counts) = counts {
            let of = self.side.samples;
            (counts.events, counts.records, counts.beyond) = (of.made, of.written, of.beyond);
            counts.lost = of.made.saturating_sub(of.written).saturating_sub(of.beyond);
        }
    }
}

/// How much of the stack a record has.
fn stack_bytes(attr: &Attr) -> usize {
    // More than the other fields of any record.
    const REST: usize = 1024;
    let bytes = usize::try_from(attr.sample_stack_user).unwrap_or(0);
    bytes.min(LARGEST - REST) & !7
}

/// A record, laid out as perf_output_sample() (kernel/events/core.c) does.
fn encode(attr: &Attr, sample: &MappingSample<'_>, stack: &[u8], copied: usize) -> Vec<u8> {
    let MappingSample { id, task, time, address, change, registers } = *sample;
    let has = |field| attr.sample_type.contains(field);
    let mut body = Vec::new();
    for (field, word) in [
        (SampleType::IDENTIFIER, id),
        (SampleType::IP, registers.rip),
        (SampleType::TID, task),
        (SampleType::TIME, time),
        (SampleType::ADDR, address),
        (SampleType::ID, id),
        (SampleType::STREAM_ID, id),
        (SampleType::CPU, 0),
        (SampleType::PERIOD, 1),
        (SampleType::CALLCHAIN, 0),
    ] {
        if has(field) {
            put(&mut body, word);
        }
    }
    if has(SampleType::RAW) {
        let raw = change.encode();
        body.extend(u32::try_from(raw.len()).unwrap_or(0).to_le_bytes());
        body.extend(raw);
    }
    if has(SampleType::REGS_USER) {
        put_registers(&mut body, registers, attr.sample_regs_user);
    }
    if has(SampleType::STACK_USER) {
        put(&mut body, stack.len() as u64);
        if !stack.is_empty() {
            body.extend(stack);
            put(&mut body, copied as u64);
        }
    }
    for field in [SampleType::WEIGHT, SampleType::WEIGHT_STRUCT, SampleType::DATA_SRC] {
        if has(field) {
            put(&mut body, 0);
        }
    }
    if has(SampleType::REGS_INTR) {
        put_registers(&mut body, registers, attr.sample_regs_intr);
    }
    let size = u16::try_from(body.len() + 8).unwrap_or(u16::MAX);
    let mut record = Vec::with_capacity(body.len() + 8);
    record.extend(SAMPLE.to_le_bytes());
    record.extend(USER_EXACT.to_le_bytes());
    record.extend(size.to_le_bytes());
    record.extend(body);
    record
}

fn put(body: &mut Vec<u8>, word: u64) {
    body.extend(word.to_le_bytes());
}

/// Registers as `asm/perf_regs.h` numbers them.
fn put_registers(body: &mut Vec<u8>, of: &TraceeRegisters, mask: u64) {
    put(body, ABI_64);
    let all = [
        of.rax, of.rbx, of.rcx, of.rdx, of.rsi, of.rdi, of.rbp, of.rsp, of.rip, of.eflags, of.cs,
        of.ss, 0, 0, 0, 0, of.r8, of.r9, of.r10, of.r11, of.r12, of.r13, of.r14, of.r15,
    ];
    for (bit, value) in all.into_iter().enumerate() {
        if mask >> bit & 1 == 1 {
            put(body, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{ByteOrder, Misc, SampleLayout};

    fn registers() -> TraceeRegisters {
        TraceeRegisters {
            r15: 15,
            r14: 14,
            r13: 13,
            r12: 12,
            rbp: 6,
            rbx: 1,
            r11: 11,
            r10: 10,
            r9: 9,
            r8: 8,
            rax: 9,
            rcx: 2,
            rdx: 3,
            rsi: 4,
            rdi: 5,
            orig_rax: 9,
            rip: 0x4000,
            cs: 0x33,
            eflags: 0x202,
            rsp: 0x7000,
            ss: 0x2b,
            fs_base: 0,
            gs_base: 0,
            ds: 0,
            es: 0,
            fs: 0,
            gs: 0,
        }
    }

    #[test]
    fn a_record_is_laid_out_as_its_attr_says() {
        let of = registers();
        let change =
            MappingChange { call: MappingCall::Remap, length: 4096, old: 0x1000, old_length: 8192 };
        let sample = MappingSample {
            id: 3,
            task: 7 | 8 << 32,
            time: 90,
            address: 0x5000,
            change,
            registers: &of,
        };
        let base = SampleType::IDENTIFIER | SampleType::IP | SampleType::TID | SampleType::TIME;
        let more = SampleType::ADDR | SampleType::PERIOD | SampleType::RAW | SampleType::REGS_INTR;
        let callers = SampleType::CALLCHAIN | SampleType::REGS_USER | SampleType::STACK_USER;
        for (fields, stack) in [(base | more, 0), (base | more | callers, 16)] {
            let attr = Attr {
                sample_type: fields,
                sample_regs_intr: 0xff_0fff,
                sample_regs_user: 0x1ff,
                sample_stack_user: stack,
                ..Attr::default()
            };
            let copy = vec![1; stack_bytes(&attr)];
            let record = encode(&attr, &sample, &copy, 8);
            assert_eq!(record.len() % 8, 0);
            assert_eq!(record[6..8], u16::try_from(record.len()).unwrap().to_le_bytes());
            let layout = SampleLayout::new(&attr, ByteOrder::Little).unwrap();
            let read = layout.decode(Misc(USER_EXACT), &record[8..]).unwrap();
            assert_eq!((read.ip, read.addr, read.period), (Some(0x4000), Some(0x5000), Some(1)));
            assert_eq!(read.raw.and_then(MappingChange::decode), Some(change));
            let registers = read.regs_intr.unwrap();
            let told = [0, 7, 8, 23].map(|bit| registers.get(bit));
            assert_eq!(told, [Some(9), Some(0x7000), Some(0x4000), Some(15)]);
        }
    }
}
