//! What a record of a stream costs to find, and a line of text to write.
//! Ten million samples of 200 bytes must step at 15 ns or less each.

#![allow(clippy::unwrap_used, reason = "a benchmark, not a library")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfdata::attr::{Attr, AttrFlags, SampleType};
use perfdata::bytes::RecordWords;
use perfdata::registers::{Registers, RegsAbi, general};
use perfdata::stream::{StreamDecoder, StreamRecord, StreamStep, write};
use perfdata::text::Columns;
use perfdata::{Arch, ByteOrder, Cpu, Misc, Pid, Sample, SampleLayout, Task, Tid, Time};
use std::hint::black_box;

const ORDER: ByteOrder = ByteOrder::Little;
const SAMPLES: u64 = 100_000;

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
        sample_regs_intr: general(Arch::X86_64),
        flags: AttrFlags::SAMPLE_ID_ALL,
        ..Attr::default()
    }
}

/// Runs of one CPU's ring, as a recorder writes them.
const RUN: u64 = 500;

fn sample(number: u64, registers: &[u8], run: u64) -> Sample<'_> {
    Sample {
        misc: Misc(2),
        identifier: Some(1 + number / run * 37 % 64),
        ip: Some(0x40_1136 + number),
        task: Some(Task { pid: Pid(4000), tid: Tid(4001) }),
        time: Some(Time(123_456_789_000 + number)),
        addr: Some(0x7fff_0000_1000),
        cpu: Some(Cpu(3)),
        period: Some(1),
        regs_intr: Some(Registers {
            abi: RegsAbi::Bits64,
            mask: general(Arch::X86_64),
            words: RecordWords::new(registers, ORDER),
        }),
        ..Sample::default()
    }
}

fn stream(run: u64) -> Vec<u8> {
    let ids: Vec<u64> = (1..=64).collect();
    let mut out = Vec::new();
    write::file_header(ORDER, &mut out);
    write::attr(&attr(), &ids, ORDER, &mut out).unwrap();
    let side = Attr { config: 9, sample_type: SampleType::IDENTIFIER, ..attr() };
    write::attr(&side, &[100], ORDER, &mut out).unwrap();
    let layout = SampleLayout::new(&attr(), ORDER).unwrap();
    let registers = [0x5a; 144];
    for number in 0..SAMPLES {
        layout.encode(&sample(number, &registers, run), &mut out).unwrap();
    }
    out
}

fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stream");
    group.throughput(Throughput::Elements(SAMPLES));
    // Sorted by time, every sample may be of another CPU than the last.
    for (name, run) in [("step", RUN), ("step, ids mixed", 1)] {
        let bytes = stream(run);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let (mut decoder, mut at, mut found) = (StreamDecoder::new(), 0, 0u64);
                while let StreamStep::Record { consumed, record } =
                    decoder.step(&bytes[at..]).unwrap()
                {
                    at += consumed;
                    if let StreamRecord::Sample(sample) = record {
                        found += u64::from(!black_box(sample.payload).is_empty());
                    }
                }
                assert_eq!(found, SAMPLES);
            });
        });
    }
    group.finish();
}

fn lines(criterion: &mut Criterion) {
    let registers: Vec<u8> = (0..144).collect();
    let sample = sample(1, &registers, RUN);
    let columns = Columns::of(&attr(), Arch::X86_64);
    let mut out = Vec::new();
    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Elements(1));
    group.bench_function("line", |bencher| {
        bencher.iter(|| {
            out.clear();
            columns.line(black_box(&sample), &mut out);
            black_box(&out);
        });
    });
    group.finish();
}

criterion_group!(benches, steps, lines);
criterion_main!(benches);
