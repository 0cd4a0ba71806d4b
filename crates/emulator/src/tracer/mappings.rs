//! Samples of what the program maps itself, by mmap(2) and its kin: the tracer sees each call.

use std::time::Duration;

use perfdata::bytes::RecordWords;
use perfdata::registers::RegsAbi;
use perfdata::sample::{StackUser, Weight};
use perfdata::{
    Attr, ByteOrder, Cpu, DataSrc, MappingChange, Misc, Registers, Sample, SampleLayout,
    SampleType, Task, Time,
};

use super::engine::Engine;
use super::sideband::{now, task};
use super::task::TaskError;
use crate::event::EmulatedEvent;
use crate::sys::ptrace::TraceeRegisters;
use crate::sys::remote;

/// cpumode of user space, and the flag of an exact address.
const USER_EXACT: u16 = 2 | 1 << 14;
/// Bytes of a record at most: a multiple of 8 that its header can tell.
const LARGEST: usize = 65_528;
/// How long the ring's reader is waited for.
const READER_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct MappingSample<'s> {
    id: u64,
    task: Task,
    time: Time,
    address: u64,
    change: MappingChange,
    registers: &'s TraceeRegisters,
}

impl Engine {
    /// mmap(2) has worked.
    pub(crate) fn record_mapped(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
        at: u64,
    ) -> Result<(), TaskError> {
        self.record_mapping_change(tid, guest, at, MappingChange::mapped(guest.rsi, guest.r10))
    }

    /// munmap(2) has worked.
    pub(crate) fn record_unmapped(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
    ) -> Result<(), TaskError> {
        self.record_mapping_change(tid, guest, guest.rdi, MappingChange::unmapped(guest.rsi))
    }

    /// mremap(2) has worked.
    pub(crate) fn record_remapped(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
        at: u64,
    ) -> Result<(), TaskError> {
        let TraceeRegisters { rdi: old, rsi: old_length, rdx: length, r10: flags, .. } = *guest;
        self.record_mapping_change(
            tid,
            guest,
            at,
            MappingChange::remapped(old, old_length, length, flags),
        )
    }

    fn record_mapping_change(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
        address: u64,
        change: MappingChange,
    ) -> Result<(), TaskError> {
        let pid = self.task(tid)?.pid;
        let ring = std::sync::Arc::clone(&self.plan.ring);
        let events = &self.plan.settings.events;
        let Some(event) = events.iter().find(|it| it.event == EmulatedEvent::Mapping) else {
            return Ok(());
        };
        let sample = MappingSample {
            id: event.id,
            task: task(pid, tid),
            time: now(&ring),
            address,
            change,
            registers: guest,
        };
        let mut stack = vec![0; stack_bytes(&event.attr)];
        let copied = remote::read(tid, guest.rsp, &mut stack).unwrap_or(0) & !7;
        // Runs that are equal have equal records.
        stack.iter_mut().skip(copied).for_each(|byte| *byte = 0);
        // What has no record is made and not written: lost.
        let record = encode(&event.attr, &sample, &stack, copied).unwrap_or_default();
        self.side.sample(&ring, &record, READER_TIMEOUT);
        Ok(())
    }

    pub(crate) fn add_mapping_counts(&mut self) {
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

fn stack_bytes(attr: &Attr) -> usize {
    // More than the other fields of any record.
    const REST: usize = 1024;
    let bytes = usize::try_from(attr.sample_stack_user).unwrap_or(0);
    bytes.min(LARGEST - REST) & !7
}

/// A record of the event with these attributes; `copied` bytes of the stack are real. None: it
/// has a field that this does not know.
fn encode(attr: &Attr, sample: &MappingSample<'_>, stack: &[u8], copied: usize) -> Option<Vec<u8>> {
    let MappingSample { id, task, time, address, change, registers: of } = *sample;
    let has = |field| attr.sample_type.contains(field);
    let raw = change.encode();
    let user = sampled(of, attr.sample_regs_user);
    let intr = sampled(of, attr.sample_regs_intr);
    let registers = |mask, words| Registers {
        abi: RegsAbi::Bits64,
        mask,
        words: RecordWords::new(words, ByteOrder::Little),
    };
    let stack = StackUser { data: stack, dyn_size: (!stack.is_empty()).then_some(copied as u64) };
    let weight = match (has(SampleType::WEIGHT), has(SampleType::WEIGHT_STRUCT)) {
        (true, _) => Some(Weight::Full(0)),
        (_, true) => Some(Weight::Struct { var1: 0, var2: 0, var3: 0 }),
        _ => None,
    };
    let sample = Sample {
        misc: Misc(USER_EXACT),
        identifier: has(SampleType::IDENTIFIER).then_some(id),
        ip: has(SampleType::IP).then_some(of.rip),
        task: has(SampleType::TID).then_some(task),
        time: has(SampleType::TIME).then_some(time),
        addr: has(SampleType::ADDR).then_some(address),
        id: has(SampleType::ID).then_some(id),
        stream_id: has(SampleType::STREAM_ID).then_some(id),
        cpu: has(SampleType::CPU).then_some(Cpu(0)),
        period: has(SampleType::PERIOD).then_some(1),
        callchain: has(SampleType::CALLCHAIN).then(RecordWords::default),
        raw: has(SampleType::RAW).then_some(&raw),
        regs_user: has(SampleType::REGS_USER).then(|| registers(attr.sample_regs_user, &user)),
        stack_user: has(SampleType::STACK_USER).then_some(stack),
        weight,
        data_src: has(SampleType::DATA_SRC).then_some(DataSrc(0)),
        regs_intr: has(SampleType::REGS_INTR).then(|| registers(attr.sample_regs_intr, &intr)),
        ..Sample::default()
    };
    let mut record = Vec::new();
    SampleLayout::new(attr, ByteOrder::Little).ok()?.encode(&sample, &mut record).ok()?;
    Some(record)
}

/// Registers of a mask, as `asm/perf_regs.h` numbers them.
fn sampled(of: &TraceeRegisters, mask: u64) -> Vec<u8> {
    let all = [
        of.rax, of.rbx, of.rcx, of.rdx, of.rsi, of.rdi, of.rbp, of.rsp, of.rip, of.eflags, of.cs,
        of.ss, 0, 0, 0, 0, of.r8, of.r9, of.r10, of.r11, of.r12, of.r13, of.r14, of.r15,
    ];
    let wanted = all.into_iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
    wanted.flat_map(|(_, value)| value.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::MappingCall;

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
            task: task(7, 8),
            time: Time(90),
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
            let record = encode(&attr, &sample, &copy, 8).unwrap();
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
