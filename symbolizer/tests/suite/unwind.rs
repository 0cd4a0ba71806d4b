//! Frames of stopped programs against those of gdb.

mod inlined;
mod programs;

use crate::toolchain::{command, has};
use inlined::{CallTally, GdbCall};
use perfdata::bytes::RecordWords;
use perfdata::registers::{RegsAbi, general};
use perfdata::sample::StackUser;
use perfdata::stream::{Feature, StreamDecoder, StreamStep, write};
use perfdata::{Arch, ByteOrder, Pid, Registers, Time};
use programs::{PROGRAMS, TestProgram};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use symbolizer::{ChainEnd, StackFrame, Symbolizer, SymbolizerOptions, UserStack, parse_maps};

const SCRIPT: &str = include_str!("unwind/stops.py");
const PID: Pid = Pid(77);
const STOPS: usize = 36;
/// The registers that gdb tells, in perf's order.
const SAMPLED: u64 = 0x00ff_01ff;

/// What gdb saw at one stop.
#[derive(Debug, Default)]
struct Stop {
    registers: Vec<u8>,
    is_whole: bool,
    stack: Vec<u8>,
    frames: Vec<u64>,
    /// Of each frame, what was inlined there and the routine itself.
    calls: Vec<Vec<GdbCall>>,
    /// Of the process, where they changed.
    maps: Option<String>,
}

fn stops(text: &str) -> Vec<Stop> {
    let (mut stops, mut stop, mut calls) = (Vec::new(), Stop::default(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
        match word {
            "maps" => {
                let of: Vec<&str> = lines.by_ref().take_while(|line| *line != "end").collect();
                stop.maps = Some(of.join("\n") + "\n");
            }
            "registers" => {
                stop.registers = rest.split(' ').flat_map(|it| hex(it).to_le_bytes()).collect();
            }
            "stack" => {
                let (whole, bytes) = rest.split_once(' ').unwrap();
                stop.is_whole = whole == "1";
                let byte =
                    |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
                stop.stack = bytes.as_bytes().chunks(2).map(byte).collect();
            }
            "call" => calls.push(GdbCall::of(rest)),
            "frame" => {
                stop.frames.push(hex(rest));
                stop.calls.push(std::mem::take(&mut calls));
            }
            "stop" => stops.push(std::mem::take(&mut stop)),
            other => panic!("{other:?}"),
        }
    }
    stops
}

/// Runs a program under gdb. None: it cannot be built, or run, here.
fn run(program: &TestProgram, folder: &Path) -> Option<Vec<Stop>> {
    let source = folder.join(program.source);
    std::fs::write(&source, program.text).unwrap();
    if !has(program.build[0]) && program.build[0] != "go" || !command(folder, program.build) {
        eprintln!("{} skipped: it cannot be built here", program.name);
        return None;
    }
    std::fs::write(folder.join("stops.py"), SCRIPT).unwrap();
    let output = Command::new("gdb")
        .args(["-q", "-nx", "-batch", "-x", "stops.py", "./p"])
        .current_dir(folder)
        .env("STOPS", "stops")
        .env("STOP_AT", program.stop_at)
        .env("STOP_COUNT", STOPS.to_string())
        .output()
        .unwrap();
    let text = std::fs::read_to_string(folder.join("stops")).unwrap_or_default();
    let stops = stops(&text);
    if stops.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("Traceback"), "{}: {said}", program.name);
        eprintln!("{} skipped: gdb cannot run it here: {said}", program.name);
        return None;
    }
    Some(stops)
}

/// The frames that we find at a stop, of so many bytes of the stack.
fn unwound(symbolizer: &mut Symbolizer, stop: &Stop, most: usize) -> (Vec<StackFrame>, ChainEnd) {
    let words = RecordWords::new(&stop.registers, ByteOrder::Little);
    let registers = Registers { abi: RegsAbi::Bits64, mask: SAMPLED, words };
    let valid = stop.stack.len().min(most);
    let mut data = stop.stack[..valid].to_vec();
    let is_whole = stop.is_whole && valid == stop.stack.len();
    data.resize(valid + if is_whole { 8 } else { 0 }, 0);
    let stack = StackUser { data: &data, dyn_size: Some(valid as u64) };
    let mut frames = Vec::new();
    let of = UserStack { pid: PID, time: Time(1), registers, stack, most: 2000 };
    let end = symbolizer.unwind(&of, &mut frames);
    (frames, end)
}

/// Of a recording that says on which machine it was made.
fn observe_machine(symbolizer: &mut Symbolizer) {
    let mut bytes = Vec::new();
    write::file_header(ByteOrder::Little, &mut bytes);
    write::feature(&Feature::Arch("x86_64".into()), ByteOrder::Little, &mut bytes).unwrap();
    let (mut decoder, mut rest) = (StreamDecoder::new(), bytes.as_slice());
    while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
        rest = &rest[consumed..];
        symbolizer.observe(&decoder, &record);
    }
}

#[test]
fn frames_are_those_of_gdb_or_end_with_a_reason() {
    assert_eq!(SAMPLED | 0x200, general(Arch::X86_64), "but for the flags");
    if !cfg!(target_arch = "x86_64") || !has("gdb") {
        return eprintln!("skipped: no gdb on x86-64");
    }
    let (mut compared, mut differences) = (0, Vec::new());
    let mut calls = CallTally::default();
    for program in PROGRAMS {
        let folder = tempfile::tempdir().unwrap();
        let Some(stops) = run(program, folder.path()) else { continue };
        let mut symbolizer = Symbolizer::new(SymbolizerOptions::default());
        observe_machine(&mut symbolizer);
        let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut whole, mut deepest) = (0, 0);
        for (number, stop) in stops.iter().enumerate() {
            if let Some(maps) = &stop.maps {
                symbolizer.maps(PID, &parse_maps(maps.as_bytes()).unwrap(), Time(0));
            }
            let (frames, end) = unwound(&mut symbolizer, stop, usize::MAX);
            let ours: Vec<u64> = frames.iter().map(|it| it.address).collect();
            for (number, (frame, gdb)) in frames.iter().zip(&stop.calls).enumerate() {
                if stop.frames.get(number) == Some(&frame.address) {
                    calls.compare(&mut symbolizer, program.name, *frame, gdb);
                }
            }
            let is_cut = end != ChainEnd::Root && stop.frames.starts_with(&ours);
            whole += usize::from(ours == stop.frames);
            deepest = deepest.max(ours.len());
            *ends.entry(end.tag()).or_default() += 1;
            if ours != stop.frames && !(is_cut && program.may_end(end)) {
                differences.push(format!(
                    "{} stop {number} ({}): {}",
                    program.name,
                    end.tag(),
                    apart(&ours, &stop.frames)
                ));
            }
            let (short, why) = unwound(&mut symbolizer, stop, 256);
            let is_start = frames.iter().zip(&short).all(|(a, b)| a.address == b.address);
            if !is_start || short.len() > frames.len() {
                differences.push(format!(
                    "{} stop {number}: a short copy tells other frames",
                    program.name
                ));
            }
            // All of what is on this stack, and not to its end.
            let (as_many, why_then) = unwound(&mut symbolizer, stop, 8192);
            let is_told = as_many.len() < frames.len() || why_then == end;
            if end == ChainEnd::OtherStack && !is_told {
                differences.push(format!(
                    "{} stop {number}: {} where no longer copy helps",
                    program.name,
                    why_then.tag()
                ));
            }
            if short.len() < frames.len() && matches!(why, ChainEnd::Root) {
                differences
                    .push(format!("{} stop {number}: a short copy ends at a root", program.name));
            }
        }
        compared += stops.len();
        eprintln!(
            "{}: {} stops, {whole} equal, up to {deepest} frames, {ends:?}",
            program.name,
            stops.len()
        );
    }
    eprintln!("{compared} stops compared; of their frames {calls}");
    differences.append(&mut calls.differences);
    assert!(compared == 0 || calls.are_mostly_alike(), "{calls:?}");
    assert!(
        differences.is_empty(),
        "{} of {compared}:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

fn apart(ours: &[u64], gdb: &[u64]) -> String {
    let same = ours.iter().zip(gdb).take_while(|(a, b)| a == b).count();
    let from = |list: &[u64]| {
        list.iter().skip(same).take(3).map(|it| format!("{it:x}")).collect::<Vec<_>>()
    };
    format!(
        "{same} of {} and {} are equal, then {:?} and {:?}",
        ours.len(),
        gdb.len(),
        from(ours),
        from(gdb)
    )
}
