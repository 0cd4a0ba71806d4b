//! What a sample costs: hardmeter's own layout with 17 registers, decoded,
//! peeked at and encoded.

#![allow(clippy::unwrap_used, reason = "a benchmark, not a library")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfdata::attr::{Attr, SampleType};
use perfdata::bytes::{ByteOrder, RecordWords};
use perfdata::registers::{Registers, RegsAbi};
use perfdata::{Cpu, Misc, Pid, Sample, SampleLayout, Task, Tid, Time};
use std::hint::black_box;

const REGISTERS: u64 = 0x00ff_03ff;

fn attr() -> Attr {
    Attr {
        sample_type: SampleType::IDENTIFIER
            | SampleType::IP
            | SampleType::TID
            | SampleType::TIME
            | SampleType::ADDR
            | SampleType::CPU
            | SampleType::PERIOD
            | SampleType::REGS_INTR,
        sample_regs_intr: REGISTERS,
        ..Attr::default()
    }
}

fn sample(registers: &[u8]) -> Sample<'_> {
    Sample {
        misc: Misc(0x4002),
        identifier: Some(77),
        ip: Some(0x40_1136),
        task: Some(Task { pid: Pid(4000), tid: Tid(4001) }),
        time: Some(Time(123_456_789)),
        addr: Some(0x7fff_0000_1000),
        cpu: Some(Cpu(3)),
        period: Some(1),
        regs_intr: Some(Registers {
            abi: RegsAbi::Bits64,
            mask: REGISTERS,
            words: RecordWords::new(registers, ByteOrder::Little),
        }),
        ..Sample::default()
    }
}

fn samples(criterion: &mut Criterion) {
    let layout = SampleLayout::new(&attr(), ByteOrder::Little).unwrap();
    let registers: Vec<u8> = (0u64..18).flat_map(u64::to_le_bytes).collect();
    let sample = sample(&registers);
    let mut record = Vec::new();
    layout.encode(&sample, &mut record).unwrap();
    let payload = &record[8..];

    let mut group = criterion.benchmark_group("sample");
    group.throughput(Throughput::Elements(1));
    group.bench_function("decode", |b| {
        b.iter(|| {
            let sample = layout.decode(Misc(0x4002), black_box(payload)).unwrap();
            black_box((sample.ip, sample.regs_intr.and_then(|regs| regs.get(2))))
        });
    });
    group.bench_function("peek_ip", |b| b.iter(|| layout.peek_ip(black_box(payload))));
    let mut out = Vec::with_capacity(1024);
    group.bench_function("encode", |b| {
        b.iter(|| {
            out.clear();
            layout.encode(black_box(&sample), &mut out).unwrap();
            black_box(out.len())
        });
    });
    group.finish();
}

criterion_group!(benches, samples);
criterion_main!(benches);
