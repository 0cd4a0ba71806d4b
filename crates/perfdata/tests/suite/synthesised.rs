//! Recordings that no public file is like, synthesised from the layouts of
//! the kernel and perf: read here and by the perf of this machine.

use crate::synthesiser::elf::Program;
use crate::synthesiser::{attr, flood, scenes};
use perfdata::data_src::Level;
use perfdata::recording::{RecordingDecoder, RecordingSource, RecordingStep};
use perfdata::registers::RegsAbi;
use perfdata::sample::Weight;
use perfdata::stream::StreamRecord;
use perfdata::{IbsOp, Misc, RecordType, Sample, SidebandRecord, stream};
use std::collections::BTreeMap;
use std::io::Cursor;
use std::process::{Command, Output};

/// Reads a file that must be sound; `see` sees every record.
fn read(
    bytes: &[u8],
    mut see: impl FnMut(&stream::StreamDecoder, &StreamRecord<'_>),
) -> RecordingDecoder {
    let mut decoder = RecordingDecoder::new(RecordingSource::File { length: bytes.len() as u64 });
    let mut start = 0;
    loop {
        match decoder.step(&bytes[start..]).unwrap() {
            RecordingStep::Record { consumed, stream, record, .. } => {
                start += consumed;
                see(stream, &record);
            }
            RecordingStep::Seek(offset) => start = usize::try_from(offset).unwrap(),
            RecordingStep::NeedMore(_) | RecordingStep::End => break,
        }
    }
    decoder.finish(0).unwrap();
    assert_eq!(decoder.stream().tally().unreadable(), None);
    decoder
}

/// None, and the reason told, where perf is not installed.
fn perf(words: &[&str], bytes: &[u8], name: &str) -> Option<Output> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let mut command = Command::new("perf");
    command.arg(words[0]).args(["--force", "-i"]).arg(&path).args(&words[1..]);
    let output = command.env("PAGER", "cat").output();
    output.inspect_err(|error| eprintln!("skipped: perf cannot be started: {error}")).ok()
}

#[test]
fn a_flood_has_as_many_samples_as_asked_for() {
    const SAMPLES: u64 = 100_000;
    let program = Program::read(&std::env::current_exe().unwrap()).unwrap();
    let bytes = flood::write(SAMPLES, &program, Cursor::new(Vec::new())).unwrap().into_inner();
    let mut of_event = [0; 3];
    let decoder = read(&bytes, |stream, record| {
        if let StreamRecord::Sample(sample) = record {
            sample.decode(stream).unwrap();
            of_event[sample.event] += 1;
        }
    });
    let tally = decoder.stream().tally();
    assert_eq!(of_event.iter().sum::<u64>(), SAMPLES);
    assert!(of_event[0] > SAMPLES / 2 && of_event[1] > SAMPLES / 10, "{of_event:?}");
    assert_eq!(tally.of(RecordType::FINISHED_ROUND), 4);

    let words = ["script", "-F", "comm,tid,cpu,time,event,addr,weight,data_src,ip,sym"];
    let Some(output) = perf(&words, &bytes, "flood.data") else { return };
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(text.lines().count() as u64, SAMPLES);
    let nameless = text.lines().filter(|line| line.contains("[unknown]")).count();
    assert!(nameless < text.lines().count() / 100, "{nameless} without a name");
}

fn samples(bytes: &[u8], mut see: impl FnMut(Sample<'_>)) {
    read(bytes, |stream, record| {
        if let StreamRecord::Sample(record) = record {
            let layout = &record.description(stream).unwrap().layout;
            let sample = record.decode(stream).unwrap();
            let mut again = Vec::new();
            layout.encode(&sample, &mut again).unwrap();
            assert_eq!(&again[8..], record.payload, "and back");
            see(sample);
        }
    });
}

#[test]
fn vector_registers_stand_behind_the_general_ones() {
    let mut abis = Vec::new();
    samples(&scenes::registers(), |sample| {
        let number = abis.len() as u64;
        let intr = sample.regs_intr.unwrap();
        abis.push(intr.abi);
        if intr.abi != RegsAbi::None {
            assert_eq!(intr.mask, attr::GENERAL | attr::XMM);
            let bits = (0..64).filter(|bit| intr.mask >> bit & 1 == 1);
            let expected: Vec<u64> = bits.map(|bit| scenes::register(number, bit)).collect();
            assert_eq!(intr.words.iter().collect::<Vec<_>>(), expected);
            assert_eq!(sample.regs_user.unwrap().words.len(), 20);
        }
    });
    assert_eq!(abis, [RegsAbi::Bits64, RegsAbi::Bits32, RegsAbi::None]);
}

#[test]
fn a_place_is_told_whole() {
    let mut sizes = Vec::new();
    samples(&scenes::places(), |sample| {
        let number = sizes.len() as u64;
        assert_eq!(sample.addr, Some(0x7f00_0000_1000 + 64 * number));
        assert_eq!(sample.phys_addr, Some(0x1_2345_6000 + 64 * number));
        assert_eq!(sample.cgroup, Some(4242));
        assert_eq!(sample.code_page_size, Some(4096));
        assert_eq!(sample.transaction, Some(number << 1));
        let Some(Weight::Struct { var1, var2, var3 }) = sample.weight else {
            panic!("{:?}", sample.weight)
        };
        let parts = (u64::from(var1), u64::from(var2), u64::from(var3));
        assert_eq!(parts, (100 + number, 200 + number, 300 + number));
        sizes.push(sample.data_page_size.unwrap());
    });
    assert_eq!(sizes, [4096, 2 << 20, 1 << 30, 0]);
}

#[test]
fn chains_and_branches_have_lengths_of_their_own() {
    let mut lengths = Vec::new();
    samples(&scenes::chains(), |sample| {
        let branches = sample.branch_stack.unwrap();
        assert_eq!(branches.hw_index, Some(7));
        lengths.push((sample.callchain.unwrap().len(), branches.branches().count()));
    });
    assert_eq!(lengths, [(6, 2), (3, 1), (0, 0)]);
}

#[test]
fn levels_are_what_their_newer_fields_say() {
    let mut found = BTreeMap::new();
    samples(&scenes::levels(), |sample| {
        let source = sample.data_src.unwrap();
        *found.entry((source.level(), source.distance())).or_insert(0u64) += 1;
    });
    let total = scenes::LEVELS.len() as u64 * (scenes::LEVELS.len() as u64 + 1) / 2;
    assert_eq!(found.values().sum::<u64>(), total);
    let of = |level| {
        let all = found.iter().filter(|((found, _), _)| *found == level);
        all.map(|(_, count)| count).sum::<u64>()
    };
    // Numbers of LEVELS, which come as often as their place there says.
    assert_eq!(of(Level::L1), 1);
    assert_eq!(of(Level::LineFillBuffer), 2);
    assert_eq!(of(Level::L2), 3 + 14);
    assert_eq!(of(Level::L3), 4 + 5 + 6 + 13);
    assert_eq!(of(Level::L4), 7);
    assert_eq!(of(Level::Ram), 8 + 9 + 10);
    assert_eq!(of(Level::AnyCache), 11 + 12 + 15);
    assert_eq!(of(Level::PersistentMemory), 16 + 17);
    assert_eq!(of(Level::Cxl), 18);
    assert_eq!(of(Level::Io), 19);
    assert_eq!(of(Level::Uncached), 20);
    let far = found.keys().filter(|(_, distance)| distance.is_some()).count();
    assert!(far >= 5, "{found:?}");
}

#[test]
fn losses_of_every_kind_are_told_apart() {
    let mut losses = Vec::new();
    let bytes = scenes::losses();
    read(&bytes, |stream, record| match record {
        StreamRecord::Sideband { record: SidebandRecord::Lost { lost, .. }, misc, .. }
        | StreamRecord::Sideband { record: SidebandRecord::LostSamples { lost }, misc, .. } => {
            losses.push((*lost, misc.contains(Misc::LOST_SAMPLES_BPF)));
        }
        StreamRecord::Sample(record) => {
            let sample = record.decode(stream).unwrap();
            let values = sample.read.unwrap();
            let lost: Vec<_> = values.values.iter().map(|value| value.lost).collect();
            assert_eq!(lost, [Some(scenes::LOSSES[3])]);
        }
        _ => {}
    });
    let [ring, samples, filter, _] = scenes::LOSSES;
    assert_eq!(losses, [(ring, false), (samples, false), (filter, true)]);
}

#[test]
fn ibs_registers_are_as_many_as_their_caps_say() {
    let mut seen = 0;
    samples(&scenes::ibs(), |sample| {
        let caps = scenes::IBS_CAPS[seen];
        let op = IbsOp::decode(sample.raw.unwrap(), perfdata::ByteOrder::Little).unwrap();
        assert_eq!((op.caps.0, op.unknown), (caps, 0));
        assert_eq!(op.lin_addr, sample.addr.unwrap());
        assert_eq!(op.rip, sample.ip.unwrap());
        assert_eq!(op.branch_target.is_some(), caps >> 5 & 1 == 1);
        assert_eq!(op.data4.is_some(), caps >> 10 & 1 == 1);
        assert!(op.ld_op() && op.dc_miss() && !op.st_op());
        seen += 1;
    });
    assert_eq!(seen, scenes::IBS_CAPS.len());
}

#[test]
fn every_field_at_once_stands_where_the_kernel_puts_it() {
    let mut stacks = Vec::new();
    samples(&scenes::everything(), |sample| {
        assert_eq!((sample.id, sample.stream_id), (Some(77), Some(78)));
        assert_eq!(&sample.raw.unwrap()[..7], b"payload");
        assert_eq!(sample.aux, Some(&b"aux data"[..]));
        assert_eq!((sample.transaction, sample.phys_addr), (Some(8), Some(9)));
        assert_eq!((sample.cgroup, sample.data_page_size), (Some(10), Some(4096)));
        assert_eq!(sample.code_page_size, Some(2 << 20));
        assert_eq!(sample.regs_intr.unwrap().words.len(), 33);
        let stack = sample.stack_user.unwrap();
        stacks.push((stack.data.len(), stack.dyn_size));
    });
    assert_eq!(stacks, [(16, Some(8)), (0, None)]);
}

/// How often perf says each number of samples.
fn perf_counts(text: &str) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(count) = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()) {
            *counts.entry(count).or_insert(0) += 1;
        }
    }
    counts
}

#[test]
fn perf_mem_counts_every_source_apart() {
    let words = ["mem", "report", "--stdio", "--sort", "mem,snoop,tlb,locked"];
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("levels.data");
    std::fs::write(&path, scenes::levels()).unwrap();
    let mut command = Command::new("perf");
    command.args(words).arg("-i").arg(&path).env("PAGER", "cat");
    let Ok(output) = command.output() else {
        eprintln!("skipped: perf cannot be started");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let counts = perf_counts(&String::from_utf8_lossy(&output.stdout));
    let total: u64 = counts.iter().map(|(count, rows)| count * rows).sum();
    assert_eq!(total, 20 * 21 / 2, "{counts:?}");
    // perf 6.1 has no word for PMEM afar, CXL, hops or forwarded lines.
    for apart in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 19, 20] {
        assert_eq!(counts.get(&apart), Some(&1), "{apart} in {counts:?}");
    }
}

#[test]
fn perf_c2c_finds_the_shared_line() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("sharing.data");
    std::fs::write(&path, scenes::sharing()).unwrap();
    let mut command = Command::new("perf");
    command.args(["c2c", "report", "--stats", "-i"]).arg(&path).env("PAGER", "cat");
    let Ok(output) = command.output() else {
        eprintln!("skipped: perf cannot be started");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |name: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(name));
        let word = line.and_then(|line| line.rsplit(' ').next());
        word.and_then(|word| word.parse::<u64>().ok())
    };
    for (name, expected) in [
        ("Load Local HITM", scenes::LOCAL_HITM),
        ("Load Remote HITM", scenes::REMOTE_HITM),
        ("Store Operations", scenes::STORES),
        ("Total Shared Cache Lines", 1),
    ] {
        assert_eq!(number(name), Some(expected), "{name} in\n{text}");
    }
}
