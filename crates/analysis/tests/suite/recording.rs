//! Streams made by hand, with the encoder of `record`.

use std::ops::Range;

use perfdata::aggregate::Aggregate;
use perfdata::attr::EventType;
use perfdata::bytes::RecordWords;
use perfdata::registers::{Registers, RegsAbi};
use perfdata::sample::{ReadValue, ReadValues, Weight};
use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::stream::Feature;
use perfdata::stream::write::{
    aggregate as write_aggregate, attr, event_name, event_unit, feature, file_header,
    finished_round,
};
use perfdata::{
    Attr, AttrFlags, ByteOrder, Cpu, DataSrc, Misc, Pid, Sample, SampleId, SampleLayout,
    SampleType, SidebandRecord, Task, Tid, Time,
};

/// What hardmeter asks for on x86-64.
pub(crate) const REGISTERS: u64 = 0x00ff_03ff;
/// Registers of that mask.
pub(crate) const REGISTER_COUNT: usize = 18;
pub(crate) const KERNEL: Misc = Misc(1);
pub(crate) const USER: Misc = Misc(2);
const ORDER: ByteOrder = ByteOrder::Little;

pub(crate) fn usual_fields() -> SampleType {
    SampleType::IDENTIFIER
        | SampleType::IP
        | SampleType::TID
        | SampleType::TIME
        | SampleType::ADDR
        | SampleType::CPU
        | SampleType::PERIOD
        | SampleType::REGS_INTR
}

/// An attr of every page fault, with these fields.
pub(crate) fn page_faults(fields: SampleType) -> Attr {
    Attr {
        kind: EventType::SOFTWARE,
        config: 2,
        sample_period: 1,
        sample_type: fields,
        sample_regs_intr: if fields.contains(SampleType::REGS_INTR) { REGISTERS } else { 0 },
        flags: AttrFlags::SAMPLE_ID_ALL | AttrFlags::MMAP2 | AttrFlags::COMM,
        ..Attr::default()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) event: usize,
    pub(crate) misc: Misc,
    pub(crate) ip: u64,
    pub(crate) task: Task,
    pub(crate) time: u64,
    pub(crate) addr: u64,
    pub(crate) cpu: u32,
    pub(crate) period: u64,
    /// Register words; empty for a task without registers.
    pub(crate) registers: Vec<u64>,
    /// Raw data, of 8 * n + 4 bytes.
    pub(crate) raw: Vec<u8>,
    pub(crate) data_src: u64,
    pub(crate) weight: u64,
    /// Counts of a group, by id, of events with READ.
    pub(crate) counts: Vec<(u64, u64)>,
    /// The call chain as the kernel writes it.
    pub(crate) chain: Vec<u64>,
}

impl Hit {
    pub(crate) fn new(misc: Misc, ip: u64, task: Task, time: u64) -> Hit {
        let registers = vec![0; REGISTER_COUNT];
        Hit {
            event: 0,
            misc,
            ip,
            task,
            time,
            addr: 0,
            cpu: 0,
            period: 1,
            registers,
            raw: Vec::new(),
            data_src: 0,
            weight: 0,
            counts: Vec::new(),
            chain: Vec::new(),
        }
    }
}

pub(crate) fn task(pid: i32, tid: i32) -> Task {
    Task { pid: Pid(pid), tid: Tid(tid) }
}

#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) bytes: Vec<u8>,
    events: Vec<(Attr, SampleLayout)>,
}

impl Recording {
    /// Events by attr and name; ids count from 1.
    pub(crate) fn new(events: &[(Attr, &str)]) -> Recording {
        let mut bytes = Vec::new();
        file_header(ORDER, &mut bytes);
        let mut described = Vec::new();
        for (id, (event, name)) in (1..).zip(events) {
            attr(event, &[id], ORDER, &mut bytes).unwrap();
            event_name(id, name, ORDER, &mut bytes).unwrap();
            described.push((event.clone(), SampleLayout::new(event, ORDER).unwrap()));
        }
        feature(&Feature::Arch("x86_64".into()), ORDER, &mut bytes).unwrap();
        Recording { bytes, events: described }
    }

    pub(crate) fn feature(&mut self, what: &Feature) {
        feature(what, ORDER, &mut self.bytes).unwrap();
    }

    pub(crate) fn note(&mut self, event: u64, text: &str) {
        event_unit(event + 1, text, ORDER, &mut self.bytes).unwrap();
    }

    pub(crate) fn aggregate(&mut self, event: u64, aggregate: Aggregate) {
        write_aggregate(event + 1, aggregate, ORDER, &mut self.bytes).unwrap();
    }

    pub(crate) fn round(&mut self) {
        finished_round(ORDER, &mut self.bytes);
    }

    pub(crate) fn hit(&mut self, hit: &Hit) {
        let (attr, layout) = &self.events[hit.event];
        let has = |field| attr.sample_type.contains(field);
        let id = hit.event as u64 + 1;
        let words: Vec<u8> = hit.registers.iter().flat_map(|word| word.to_le_bytes()).collect();
        let registers = if hit.registers.is_empty() {
            Registers::default()
        } else {
            Registers {
                abi: RegsAbi::Bits64,
                mask: REGISTERS,
                words: RecordWords::new(&words, ORDER),
            }
        };
        let chain: Vec<u8> = hit.chain.iter().flat_map(|word| word.to_le_bytes()).collect();
        let values = hit.counts.iter();
        let values = values.map(|&(id, value)| ReadValue { value, id: Some(id), lost: None });
        let read = ReadValues { values: values.collect(), ..ReadValues::default() };
        let sample = Sample {
            misc: hit.misc,
            read: has(SampleType::READ).then_some(read),
            identifier: has(SampleType::IDENTIFIER).then_some(id),
            ip: has(SampleType::IP).then_some(hit.ip),
            task: has(SampleType::TID).then_some(hit.task),
            time: has(SampleType::TIME).then_some(Time(hit.time)),
            addr: has(SampleType::ADDR).then_some(hit.addr),
            cpu: has(SampleType::CPU).then_some(Cpu(hit.cpu)),
            period: has(SampleType::PERIOD).then_some(hit.period),
            regs_intr: has(SampleType::REGS_INTR).then_some(registers),
            callchain: has(SampleType::CALLCHAIN).then(|| RecordWords::new(&chain, ORDER)),
            raw: has(SampleType::RAW).then_some(hit.raw.as_slice()),
            weight: if has(SampleType::WEIGHT) {
                Some(Weight::Full(hit.weight))
            } else {
                has(SampleType::WEIGHT_STRUCT).then_some(Weight::from_word(hit.weight))
            },
            data_src: has(SampleType::DATA_SRC).then_some(DataSrc(hit.data_src)),
            ..Sample::default()
        };
        layout.encode(&sample, &mut self.bytes).unwrap();
    }

    pub(crate) fn side(&mut self, misc: Misc, record: &SidebandRecord<'_>, task: Task, time: u64) {
        let (attr, layout) = &self.events[0];
        let has = |field| attr.sample_type.contains(field);
        let id = SampleId {
            task: has(SampleType::TID).then_some(task),
            time: has(SampleType::TIME).then_some(Time(time)),
            cpu: has(SampleType::CPU).then_some(Cpu(0)),
            identifier: has(SampleType::IDENTIFIER).then_some(1),
            ..SampleId::default()
        };
        let mut trailer = Vec::new();
        layout.encode_trailer(&id, &mut trailer).unwrap();
        record.encode(misc, &trailer, ORDER, &mut self.bytes).unwrap();
    }

    pub(crate) fn map(&mut self, task: Task, time: u64, addresses: Range<u64>, path: &str) {
        let mapping = Mapping {
            task,
            start: addresses.start,
            length: addresses.end - addresses.start,
            page_offset: 0,
            file: FileIdentity::Inode { major: 0, minor: 0, inode: 0, generation: 0 },
            protection: Some(5),
            flags: Some(2),
            path: path.as_bytes(),
        };
        self.side(USER, &SidebandRecord::Mmap2(mapping), task, time);
    }

    pub(crate) fn comm(&mut self, task: Task, time: u64, name: &str, exec: bool) {
        let misc = if exec { Misc::COMM_EXEC } else { Misc(0) };
        self.side(misc, &SidebandRecord::Comm { task, name: name.as_bytes() }, task, time);
    }

    pub(crate) fn fork(&mut self, child: Task, parent: Task, time: u64) {
        let record = SidebandRecord::Fork { task: child, parent, time: Time(time) };
        self.side(Misc(0), &record, parent, time);
    }
}
