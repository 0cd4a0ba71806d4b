//! Samples to order: the same values as a [`Sample`] and as the bytes that
//! perf_event_open(2) says a kernel writes for them. The bytes are put
//! together here field by field, without the encoder under test.

use perfdata::attr::{Attr, BranchSampleType, ReadFormat, SampleType};
use perfdata::bytes::{ByteOrder, RecordWords};
use perfdata::registers::{Registers, RegsAbi};
use perfdata::sample::{
    BranchStack, ReadValue, ReadValues, Sample, SampleLayout, StackUser, Weight,
};
use perfdata::{Cpu, DataSrc, Misc, Pid, Task, Tid, Time};
use proptest::prelude::*;

/// Every sample_type bit, in the order of the manual's PERF_RECORD_SAMPLE.
pub(crate) const FIELDS: [SampleType; 25] = [
    SampleType::IDENTIFIER,
    SampleType::IP,
    SampleType::TID,
    SampleType::TIME,
    SampleType::ADDR,
    SampleType::ID,
    SampleType::STREAM_ID,
    SampleType::CPU,
    SampleType::PERIOD,
    SampleType::READ,
    SampleType::CALLCHAIN,
    SampleType::RAW,
    SampleType::BRANCH_STACK,
    SampleType::REGS_USER,
    SampleType::STACK_USER,
    SampleType::WEIGHT,
    SampleType::WEIGHT_STRUCT,
    SampleType::DATA_SRC,
    SampleType::TRANSACTION,
    SampleType::REGS_INTR,
    SampleType::PHYS_ADDR,
    SampleType::CGROUP,
    SampleType::DATA_PAGE_SIZE,
    SampleType::CODE_PAGE_SIZE,
    SampleType::AUX,
];

/// Values for every field, whichever of them a layout asks for.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// One-word fields, by position in [`FIELDS`].
    pub(crate) plain: [u64; 25],
    /// Group members: value, id, lost.
    pub(crate) members: Vec<[u64; 3]>,
    pub(crate) times: [u64; 2],
    pub(crate) chain: Vec<u64>,
    pub(crate) raw: Vec<u8>,
    pub(crate) hw_index: u64,
    pub(crate) branches: Vec<[u64; 3]>,
    pub(crate) counters: Vec<u64>,
    /// ABI and values of user and interrupt registers.
    pub(crate) abi: [u8; 2],
    pub(crate) registers: Vec<u64>,
    pub(crate) stack: Vec<u8>,
    pub(crate) aux: Vec<u8>,
}

/// Arbitrary values of arbitrary length, zero included.
pub(crate) fn values() -> impl Strategy<Value = Values> {
    let words = || prop::collection::vec(any::<u64>(), 0..5);
    let bytes = |unit: usize, less: usize| {
        prop::collection::vec(any::<u8>(), 0..40).prop_map(move |mut bytes| {
            bytes.resize(bytes.len().next_multiple_of(unit) + unit - less, 0x5a);
            bytes
        })
    };
    let variable = (
        prop::collection::vec(any::<[u64; 3]>(), 1..4),
        words(),
        bytes(8, 4),
        prop::collection::vec(any::<[u64; 3]>(), 0..3),
        prop::collection::vec(any::<u64>(), 64),
        (bytes(8, 8), bytes(8, 8)),
    );
    let fixed = (any::<[u64; 25]>(), any::<[u64; 2]>(), any::<u64>(), [0u8..3, 0u8..3]);
    (variable, fixed).prop_map(|(variable, fixed)| {
        let (members, chain, raw, branches, registers, (stack, aux)) = variable;
        let (plain, times, hw_index, abi) = fixed;
        let counters = branches.iter().map(|branch| branch[0] ^ 0x77).collect();
        Values {
            plain,
            members,
            times,
            chain,
            raw,
            hw_index,
            branches,
            counters,
            abi,
            registers,
            stack,
            aux,
        }
    })
}

pub(crate) fn attr(fields: SampleType, read_format: u64, branch: u64) -> Attr {
    Attr {
        sample_type: fields,
        read_format: ReadFormat::from_bits_retain(read_format),
        branch_sample_type: BranchSampleType::from_bits_retain(branch),
        sample_regs_user: 0xff_0fff,
        sample_regs_intr: 0xff_03ff,
        ..Attr::default()
    }
}

/// The values of one layout as bytes, with the variable ones kept apart so
/// that a sample can borrow them.
#[derive(Debug, Default)]
pub(crate) struct Bytes {
    pub(crate) payload: Vec<u8>,
    chain: Vec<u8>,
    entries: Vec<u8>,
    counters: Vec<u8>,
    regs: [Vec<u8>; 2],
}

struct Out<'v> {
    values: &'v Values,
    attr: &'v Attr,
    order: ByteOrder,
    bytes: Bytes,
}

impl Out<'_> {
    fn word(&mut self, word: u64) {
        self.bytes.payload.extend(in_order(self.order, word));
    }

    fn words(&mut self, words: &[u64]) -> Vec<u8> {
        let bytes: Vec<u8> = words.iter().flat_map(|&w| in_order(self.order, w)).collect();
        self.bytes.payload.extend(&bytes);
        bytes
    }

    /// Two 32-bit values, each in the byte order by itself.
    fn half(&mut self, half: u32) {
        self.bytes.payload.extend(match self.order {
            ByteOrder::Little => half.to_le_bytes(),
            ByteOrder::Big => half.to_be_bytes(),
        });
    }

    fn read(&mut self) {
        let (v, format) = (self.values, self.attr.read_format);
        let group = format.contains(ReadFormat::GROUP);
        self.word(if group { v.members.len() as u64 } else { v.members[0][0] });
        for (at, bit) in
            [ReadFormat::TOTAL_TIME_ENABLED, ReadFormat::TOTAL_TIME_RUNNING].into_iter().enumerate()
        {
            if format.contains(bit) {
                self.word(v.times[at]);
            }
        }
        for member in if group { &v.members[..] } else { &v.members[..1] } {
            if group {
                self.word(member[0]);
            }
            if format.contains(ReadFormat::ID) {
                self.word(member[1]);
            }
            if format.contains(ReadFormat::LOST) {
                self.word(member[2]);
            }
        }
    }

    fn branches(&mut self) {
        let (v, branch) = (self.values, self.attr.branch_sample_type);
        self.word(v.branches.len() as u64);
        if branch.contains(BranchSampleType::HW_INDEX) {
            self.word(v.hw_index);
        }
        self.bytes.entries = self.words(&v.branches.concat());
        if branch.contains(BranchSampleType::COUNTERS) {
            self.bytes.counters = self.words(&v.counters);
        }
    }

    fn registers(&mut self, which: usize, mask: u64) {
        let abi = self.values.abi[which];
        self.word(abi.into());
        if abi != 0 {
            let words = self.values.registers[..mask.count_ones() as usize].to_vec();
            self.bytes.regs[which] = self.words(&words);
        }
    }

    fn stack(&mut self) {
        let stack = &self.values.stack;
        self.word(stack.len() as u64);
        self.bytes.payload.extend(stack);
        if !stack.is_empty() {
            self.word(self.values.plain[14]);
        }
    }

    fn field(&mut self, at: usize) {
        let v = self.values;
        let word = v.plain[at];
        match FIELDS[at] {
            SampleType::TID => {
                self.half(word as u32);
                self.half((word >> 32) as u32);
            }
            SampleType::CPU => {
                self.half(word as u32);
                self.half(0);
            }
            SampleType::READ => self.read(),
            SampleType::CALLCHAIN => {
                self.word(v.chain.len() as u64);
                self.bytes.chain = self.words(&v.chain);
            }
            SampleType::RAW => {
                self.half(v.raw.len() as u32);
                self.bytes.payload.extend(&v.raw);
            }
            SampleType::BRANCH_STACK => self.branches(),
            SampleType::REGS_USER => self.registers(0, self.attr.sample_regs_user),
            SampleType::STACK_USER => self.stack(),
            SampleType::REGS_INTR => self.registers(1, self.attr.sample_regs_intr),
            SampleType::AUX => {
                self.word(v.aux.len() as u64);
                self.bytes.payload.extend(&v.aux);
            }
            _ => self.word(word),
        }
    }
}

fn in_order(order: ByteOrder, word: u64) -> [u8; 8] {
    match order {
        ByteOrder::Little => word.to_le_bytes(),
        ByteOrder::Big => word.to_be_bytes(),
    }
}

impl Values {
    /// The payload that a kernel of this byte order writes.
    pub(crate) fn bytes(&self, attr: &Attr, order: ByteOrder) -> Bytes {
        let mut out = Out { values: self, attr, order, bytes: Bytes::default() };
        for (at, bit) in FIELDS.into_iter().enumerate() {
            if attr.sample_type.contains(bit) {
                out.field(at);
            }
        }
        out.bytes
    }

    pub(crate) fn sample<'a>(
        &'a self,
        attr: &Attr,
        order: ByteOrder,
        bytes: &'a Bytes,
    ) -> Sample<'a> {
        let has = |bit| attr.sample_type.contains(bit);
        let at = |bit| FIELDS.iter().position(|&field| field == bit).unwrap();
        let word = |bit| has(bit).then(|| self.plain[at(bit)]);
        let branch = |bit| attr.branch_sample_type.contains(bit);
        let regs = |bit, which: usize, mask| {
            has(bit).then(|| match self.abi[which] {
                0 => Registers::default(),
                abi => Registers {
                    abi: if abi == 1 { RegsAbi::Bits32 } else { RegsAbi::Bits64 },
                    mask,
                    words: RecordWords::new(&bytes.regs[which], order),
                },
            })
        };
        let signed = |word: u64| (word as u32).cast_signed();
        let task = |word: u64| Task { pid: Pid(signed(word)), tid: Tid(signed(word >> 32)) };
        Sample {
            misc: Misc(2),
            identifier: word(SampleType::IDENTIFIER),
            ip: word(SampleType::IP),
            task: word(SampleType::TID).map(task),
            time: word(SampleType::TIME).map(Time),
            addr: word(SampleType::ADDR),
            id: word(SampleType::ID),
            stream_id: word(SampleType::STREAM_ID),
            cpu: word(SampleType::CPU).map(|word| Cpu(word as u32)),
            period: word(SampleType::PERIOD),
            read: has(SampleType::READ).then(|| self.read_values(attr.read_format)),
            callchain: has(SampleType::CALLCHAIN).then(|| RecordWords::new(&bytes.chain, order)),
            raw: has(SampleType::RAW).then_some(&self.raw[..]),
            branch_stack: has(SampleType::BRANCH_STACK).then(|| BranchStack {
                hw_index: branch(BranchSampleType::HW_INDEX).then_some(self.hw_index),
                entries: RecordWords::new(&bytes.entries, order),
                counters: branch(BranchSampleType::COUNTERS)
                    .then(|| RecordWords::new(&bytes.counters, order)),
            }),
            regs_user: regs(SampleType::REGS_USER, 0, attr.sample_regs_user),
            stack_user: has(SampleType::STACK_USER).then(|| StackUser {
                data: &self.stack,
                dyn_size: (!self.stack.is_empty()).then(|| self.plain[14]),
            }),
            weight: word(SampleType::WEIGHT).map(Weight::Full).or(word(SampleType::WEIGHT_STRUCT)
                .map(|word| Weight::Struct {
                    var1: word as u32,
                    var2: (word >> 32) as u16,
                    var3: (word >> 48) as u16,
                })),
            data_src: word(SampleType::DATA_SRC).map(DataSrc),
            transaction: word(SampleType::TRANSACTION),
            regs_intr: regs(SampleType::REGS_INTR, 1, attr.sample_regs_intr),
            phys_addr: word(SampleType::PHYS_ADDR),
            cgroup: word(SampleType::CGROUP),
            data_page_size: word(SampleType::DATA_PAGE_SIZE),
            code_page_size: word(SampleType::CODE_PAGE_SIZE),
            aux: has(SampleType::AUX).then_some(&self.aux[..]),
        }
    }

    fn read_values(&self, format: ReadFormat) -> ReadValues {
        let has = |bit| format.contains(bit);
        let count = if has(ReadFormat::GROUP) { self.members.len() } else { 1 };
        let member = |m: &[u64; 3]| ReadValue {
            value: m[0],
            id: has(ReadFormat::ID).then_some(m[1]),
            lost: has(ReadFormat::LOST).then_some(m[2]),
        };
        ReadValues {
            time_enabled: has(ReadFormat::TOTAL_TIME_ENABLED).then_some(self.times[0]),
            time_running: has(ReadFormat::TOTAL_TIME_RUNNING).then_some(self.times[1]),
            values: self.members[..count].iter().map(member).collect(),
        }
    }
}

/// The layout of an attr that must have one.
pub(crate) fn layout(attr: &Attr, order: ByteOrder) -> SampleLayout {
    SampleLayout::new(attr, order).unwrap()
}
