use perfdata::{
    AllocatorCall, Attr, Cpu, HeapChange, MappingCall, MappingChange, Misc, Pid, RecordHeader,
    SampleLayout, SampleType, Task, Tid, Time,
};

use super::*;
use crate::heap::{HeapSample, HeapSampler};
use crate::request::StackBytes;
use crate::sys::event::NATIVE_ORDER;
use perfdata::heap_log::{FEW_SLOTS, LoggedCall, SLOTS};

fn settings() -> HeapSettings {
    HeapSettings { rate: 1000, stack: StackBytes::new(160).unwrap(), libraries: Vec::new() }
}

fn told(call: AllocatorCall, stack: usize) -> HeapLogRecord {
    told_of(LoggedCall::Allocator(call), stack)
}

fn told_of(call: LoggedCall, stack: usize) -> HeapLogRecord {
    HeapLogRecord {
        time: Time(70),
        task: Task { pid: Pid(5), tid: Tid(6) },
        cpu: Cpu(1),
        call,
        slots: 1 + stack.div_ceil(SLOT),
        stack,
        address: 0x7000,
        size: 100,
        old: 0,
        began: Time(69),
        registers: [1, 2, 3, 4, 5, 6, 7, 8],
    }
}

/// As a program writes it; the stack's words are their numbers.
fn write(words: &SharedWords, number: u64, record: &HeapLogRecord) {
    let words = words.words();
    let room = usize::try_from(words[ROOM].load(Ordering::Relaxed)).unwrap();
    let slot = |number| slot(number, room);
    for (index, value) in record.encode().into_iter().enumerate() {
        words[slot(number) + index].store(value, Ordering::Relaxed);
    }
    for index in 0..record.stack {
        let at = slot(number + 1 + (index / SLOT) as u64) + index % SLOT;
        words[at].store(index as u64, Ordering::Relaxed);
    }
    words[slot(number) + NUMBER].store(number + 1, Ordering::Release);
    words[BEGUN].store(number + record.slots as u64, Ordering::Release);
    words[MADE + record.call.event()].fetch_add(1, Ordering::Relaxed);
}

fn drained(log: &mut HeapLog) -> Vec<(HeapLogRecord, Vec<u64>)> {
    let mut all = Vec::new();
    log.drain(Instant::now(), |record, stack| all.push((*record, stack.to_vec())));
    all
}

#[test]
fn what_programs_write_is_read_in_order_round_the_end() {
    for rate in [1, 1 << 16] {
        is_read_in_order(HeapSettings { rate, ..settings() });
    }
}

fn is_read_in_order(settings: HeapSettings) {
    let rate = settings.rate;
    let mut log = HeapLog::create(settings, Path::new("/nowhere")).unwrap();
    assert_eq!(log.room, if rate == 1 { SLOTS } else { FEW_SLOTS });
    let mut number = 0;
    let (block, end) = (told(AllocatorCall::Allocate, 20), told(AllocatorCall::Release, 0));
    let gone = told_of(LoggedCall::Mapping(MappingCall::Unmap), 0);
    let mut read = 0;
    while number < log.room as u64 + 100 {
        write(&log.words, number, &block);
        write(&log.words, number + 3, &end);
        write(&log.words, number + 4, &gone);
        number += 5;
        read += 1;
        let all = drained(&mut log);
        let stack: Vec<u64> = (0..20).collect();
        assert_eq!(all, [(block, stack), (end, Vec::new()), (gone, Vec::new())]);
        assert_eq!(log.words.words()[READ].load(Ordering::Relaxed), number);
    }
    let account = log.account();
    assert_eq!(account.read, [read; 3]);
    assert_eq!(account.lost(), [0; 3]);
}

#[test]
fn what_was_begun_and_not_finished_is_given_up() {
    let mut log = HeapLog::create(settings(), Path::new("/nowhere")).unwrap();
    let block = told(AllocatorCall::Allocate, 20);
    write(&log.words, 0, &block);
    write(&log.words, 3, &block);
    log.words.words()[slot(0, log.room) + NUMBER].store(0, Ordering::Relaxed);
    let mut behind = 0;
    let start = Instant::now();
    for later in [0, 100, 199] {
        assert!(!log.drain(start + Duration::from_millis(later), |_, _| behind += 1));
        assert_eq!(behind, 0, "it may yet come");
    }
    assert!(log.drain(start + Duration::from_millis(200), |_, _| behind += 1));
    assert_eq!(behind, 1, "the one behind it");
    assert_eq!(log.account().lost(), [1, 0, 0]);
}

#[test]
fn what_a_program_scribbles_as_counts_can_be_added_up() {
    let log = HeapLog::create(settings(), Path::new("/nowhere")).unwrap();
    log.words
        .words()
        .iter()
        .skip(MADE)
        .take(3)
        .for_each(|it| it.store(u64::MAX, Ordering::Relaxed));
    let lost = log.account().lost();
    assert_eq!(lost.iter().try_fold(0u64, |sum, lost| sum.checked_add(*lost)), Some(3 << 60));
}

#[test]
fn the_log_leaves_most_of_a_small_group_to_the_program() {
    assert_eq!(fitting(SLOTS, None), SLOTS);
    assert_eq!(fitting(SLOTS, Some(1 << 40)), SLOTS);
    for mib in [30, 60, 64, 100, 500, 513] {
        let slots = fitting(SLOTS, Some(mib << 20));
        let bytes = (slots * SLOT * size_of::<u64>()) as u64;
        assert!(slots.is_power_of_two() && bytes * SHARE <= mib << 20, "{mib} MiB: {bytes}");
        assert!(bytes * SHARE * 2 > mib << 20, "{mib} MiB: {bytes}");
    }
    // A record fits, whatever the limit.
    assert!(fitting(SLOTS, Some(0)) * 7 / 8 > LONGEST);
}

#[test]
fn whatever_a_program_scribbles_ends() {
    let mut log = HeapLog::create(settings(), Path::new("/nowhere")).unwrap();
    let mut random = fastrand_like(7);
    for _ in 0..30 {
        for word in log.words.words().iter().skip(8).take(60_000) {
            word.store(random(), Ordering::Relaxed);
        }
        let words = log.words.words();
        let next = log.next;
        for number in (next..next + 2000).step_by(3) {
            words[slot(number, log.room) + NUMBER].store(number + 1, Ordering::Relaxed);
        }
        let account = log.account();
        assert!(account.made[0] >= account.read[0]);
        let _some = drained(&mut log);
    }
}

fn fastrand_like(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

#[test]
fn samples_are_laid_out_as_their_attr_says() {
    let base = SampleType::IDENTIFIER
        | SampleType::IP
        | SampleType::TID
        | SampleType::TIME
        | SampleType::ADDR
        | SampleType::CPU
        | SampleType::PERIOD
        | SampleType::RAW;
    let chains = SampleType::CALLCHAIN | SampleType::REGS_USER | SampleType::STACK_USER;
    let mask = perfdata::heap_log::REGISTERS.iter().fold(0, |mask, bit| mask | 1 << bit);
    let allocation = Attr {
        sample_type: base | chains,
        sample_regs_user: mask,
        sample_stack_user: 160,
        ..Attr::default()
    };
    let mut sampler = HeapSampler::default();
    let (record, stack) = (told(AllocatorCall::Allocate, 20), (0..20).collect::<Vec<u64>>());
    let mut periods = 0;
    for _ in 0..1000 {
        let mut out = Vec::new();
        let (attr, told, stack) = (&allocation, &record, &stack[..]);
        let sample = HeapSample { attr, id: 9, told, stack, rate: 1000 };
        assert!(sampler.append(sample, &mut out));
        assert_eq!(out.len() % 8, 0);
        let layout = SampleLayout::new(&allocation, NATIVE_ORDER).unwrap();
        let sample = layout.decode(Misc(0x4002), &out[RecordHeader::SIZE..]).unwrap();
        assert_eq!((sample.ip, sample.addr), (Some(1), Some(0x7000)));
        let change = HeapChange::decode(sample.raw.unwrap()).unwrap();
        assert_eq!((change.size, change.call), (100, Some(AllocatorCall::Allocate)));
        periods += sample.period.unwrap();
    }
    // A block of 100 bytes, at one sample each 1000.
    let right = 1000.0 / (1.0 - (-0.1f64).exp());
    assert!((periods as f64 - right).abs() <= 1.0, "{periods}, {right}");
}

#[test]
fn a_mapping_is_laid_out_as_one() {
    let attr = Attr {
        sample_type: SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU
            | SampleType::PERIOD
            | SampleType::RAW,
        ..Attr::default()
    };
    let told = told_of(LoggedCall::Mapping(MappingCall::Remap), 0);
    let told = HeapLogRecord { old: 0x5000, began: Time(4096), ..told };
    let mut out = Vec::new();
    let sample = HeapSample { attr: &attr, id: 9, told: &told, stack: &[], rate: 1000 };
    assert!(HeapSampler::default().append(sample, &mut out));
    let layout = SampleLayout::new(&attr, NATIVE_ORDER).unwrap();
    let sample = layout.decode(Misc(0x4002), &out[RecordHeader::SIZE..]).unwrap();
    let change = MappingChange::decode(sample.raw.unwrap()).unwrap();
    let right =
        MappingChange { call: MappingCall::Remap, length: 100, old: 0x5000, old_length: 4096 };
    assert_eq!((sample.addr, sample.period, change), (Some(0x7000), Some(1), right));
}
