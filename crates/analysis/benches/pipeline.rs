//! Stream to per-site table: nanoseconds a sample, decoding included.
//!
//! The stream is as hardmeter writes it: samples of 210 bytes with all
//! registers, from 64 processes, a round mark every 4096 samples.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "benchmark"
)]

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/suite/recording.rs"]
mod recording;

use analysis::{Filter, Key, Pipeline, Query, RegisterQuery, Report};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use perfdata::stream::{StreamDecoder, StreamStep};
use recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use std::hint::black_box;
use std::path::Path;
use symbolizer::{KernelOffset, KernelSource, Symbolizer, SymbolizerOptions};

const SAMPLES: u64 = 200_000;

fn stream() -> Vec<u8> {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for pid in 1..65 {
        stream.comm(task(pid, pid), 0, "cc1", true);
        stream.map(task(pid, pid), 0, 0x40_0000..0x140_0000, "/usr/bin/cc1");
        stream.map(task(pid, pid), 0, 0x7f00_0000_0000..0x7f00_0010_0000, "/usr/lib/libc.so.6");
    }
    let mut random = 88_172_645_463_325_252u64;
    for time in 1..=SAMPLES {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Few hot sites and a long tail, as in real programs.
        let site = (random >> 8 & 0x3fff) >> (random & 7) << 4;
        let pid = (random >> 32 & 63) as i32 + 1;
        let (misc, ip) = match random >> 40 & 3 {
            0 => (KERNEL, 0xffff_ffff_8100_1000 + site),
            1 => (USER, 0x7f00_0000_0000 + site),
            _ => (USER, 0x40_0000 + site * 16),
        };
        let mut hit = Hit::new(misc, ip, task(pid, pid), time);
        hit.addr = random >> 16 & !0xfff;
        hit.registers[2] = random & !0x1fff;
        stream.hit(&hit);
        if time % 4096 == 0 {
            stream.round();
        }
    }
    stream.bytes
}

fn report(query: Query, stream: &[u8]) -> Report {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let kernel =
        KernelSource::File { path: data.join("System.map"), offset: KernelOffset::Given(0) };
    let symbolizer =
        Symbolizer::new(SymbolizerOptions { root: data, kernel, ..SymbolizerOptions::default() });
    let mut pipeline = Pipeline::new(query, symbolizer).unwrap();
    let (mut decoder, mut rest) = (StreamDecoder::new(), stream);
    while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
        pipeline.record(&decoder, &record).unwrap();
        rest = &rest[consumed..];
    }
    let report = pipeline.finish(&decoder).unwrap();
    assert_eq!(report.events[0].totals.samples, SAMPLES);
    report
}

fn pipeline(criterion: &mut Criterion) {
    let stream = stream();
    let mut group = criterion.benchmark_group("pipeline");
    group.throughput(Throughput::Elements(SAMPLES)).sample_size(10);
    group.bench_function("decode_only", |bencher| {
        bencher.iter(|| {
            let (mut decoder, mut rest) = (StreamDecoder::new(), stream.as_slice());
            while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
                black_box(record);
                rest = &rest[consumed..];
            }
        });
    });
    let top = Some(20);
    let by = |keys: &str| Query { keys: Key::parse_list(keys).unwrap(), top, ..Query::default() };
    let registers = Some(RegisterQuery { site: "copy_page".parse().ok(), ..Default::default() });
    for (name, query) in [
        ("by_site", by("site")),
        ("by_routine_line", by("routine,line")),
        ("by_comm", by("comm")),
        ("by_register", by("reg:rcx")),
        ("registers_of_a_site", Query { keys: vec![], registers, ..Query::default() }),
        (
            "by_site_filtered",
            Query { filters: Filter::parse_all("comm=cc*").unwrap(), ..by("site") },
        ),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| report(query.clone(), &stream)));
    }
    group.finish();
}

criterion_group!(benches, pipeline);
criterion_main!(benches);
