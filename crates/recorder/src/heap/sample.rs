//! Records of the two events.

use perfdata::heap_log::{self, LoggedCall, REGISTERS};
use perfdata::{
    AllocatorCall, Attr, HeapChange, HeapLogRecord, MappingChange, Misc, RecordHeader, RecordType,
    SampleType,
};

/// PERF_RECORD_MISC_USER: whoever called an allocator is no kernel.
const USER: u16 = 2;
/// PERF_SAMPLE_REGS_ABI_64.
const ABI_64: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapSample<'a> {
    pub(crate) attr: &'a Attr,
    pub(crate) id: u64,
    pub(crate) record: &'a HeapLogRecord,
    pub(crate) stack: &'a [u64],
    /// Bytes for each sample.
    pub(crate) rate: u64,
}

#[derive(Debug, Default)]
pub(crate) struct HeapSampler {
    /// Of weights, what periods told so far have left out.
    carry: f64,
}

impl HeapSampler {
    /// Appends a record; false: it is too long to be one.
    pub(crate) fn append(&mut self, sample: HeapSample<'_>, out: &mut Vec<u8>) -> bool {
        let HeapSample { attr, id, record, stack, rate } = sample;
        let start = out.len();
        out.extend(RecordType::SAMPLE.0.to_ne_bytes());
        out.extend((USER | Misc::EXACT_IP.0).to_ne_bytes());
        out.extend([0; 2]);
        let mut words =
            |words: &[u64]| words.iter().for_each(|word| out.extend(word.to_ne_bytes()));
        let has = |field: SampleType| attr.sample_type.contains(field);
        let [ip, sp, bp, bx, r12, r13, r14, r15] = record.registers;
        let half = |number: i32| u64::from(number.cast_unsigned());
        let pair = |low: u64, high: u64| match cfg!(target_endian = "little") {
            true => low | high << 32,
            false => low << 32 | high,
        };
        let task = pair(half(record.task.pid.0), half(record.task.tid.0));
        words(&[id, ip, task, record.time.0, record.address, pair(record.cpu.0.into(), 0)]);
        words(&[self.period(record, rate)]);
        if has(SampleType::CALLCHAIN) {
            words(&[0]);
        }
        let raw = raw(record);
        // A length that does not fit is refused with the record's, below.
        out.extend(u32::try_from(raw.len()).unwrap_or(u32::MAX).to_ne_bytes());
        out.extend(raw);
        let mut words =
            |words: &[u64]| words.iter().for_each(|word| out.extend(word.to_ne_bytes()));
        if has(SampleType::REGS_USER) {
            // As their numbers are ordered.
            words(&[ABI_64, bx, bp, sp, ip, r12, r13, r14, r15]);
        }
        if has(SampleType::STACK_USER) {
            let bytes = size_of_val(stack) as u64;
            words(&[bytes]);
            words(stack);
            if bytes > 0 {
                words(&[bytes]);
            }
        }
        let Ok(size) = u16::try_from(out.len() - start) else {
            out.truncate(start);
            return false;
        };
        let place = start + RecordHeader::SIZE - size_of::<u16>();
        out[place..place + size_of::<u16>()].copy_from_slice(&size.to_ne_bytes());
        true
    }

    /// How many blocks it stands for, as a whole number; the sum of all of them is right to one.
    fn period(&mut self, record: &HeapLogRecord, rate: u64) -> u64 {
        match record.call {
            LoggedCall::Allocator(AllocatorCall::Release) | LoggedCall::Mapping(_) => return 1,
            LoggedCall::Allocator(_) => {}
        }
        let exact = heap_log::weight(record.size, rate) + self.carry;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "from 1 to twice the rate"
        )]
        let whole = exact.floor().max(1.0) as u64;
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53 for any rate in use")]
        let record = whole as f64;
        self.carry = exact - record;
        whole
    }
}

/// What PERF_SAMPLE_RAW says of it.
fn raw(record: &HeapLogRecord) -> [u8; HeapChange::SIZE] {
    let HeapLogRecord { call, size, old, began, .. } = *record;
    match call {
        LoggedCall::Allocator(call) => {
            HeapChange { call: Some(call), size, old, began: began.0 }.encode()
        }
        LoggedCall::Mapping(call) => {
            MappingChange { call, length: size, old, old_length: began.0 }.encode()
        }
    }
}

const _: () = assert!(HeapChange::SIZE == MappingChange::SIZE);
const _: () = assert!(REGISTERS.len() == 8);
