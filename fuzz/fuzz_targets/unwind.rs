//! Any bytes as the unwind tables of an object, as registers and as a copied
//! stack: a chain has no more frames than were asked for, all but the first in
//! what was mapped, the same again when its rules are remembered, and with
//! fewer frames it is the start of itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::bytes::RecordWords;
use perfdata::registers::{RegsAbi, general};
use perfdata::sample::StackUser;
use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::stream::{Feature, StreamDecoder, StreamRecord, StreamStep, write};
use perfdata::{Arch, ByteOrder, Misc, Pid, Registers, SampleId, SidebandRecord, Task, Tid, Time};
use std::cell::RefCell;
use std::path::PathBuf;
use symbolizer::{ChainEnd, UnwindMethod, StackFrame, Symbolizer, SymbolizerOptions, UserStack};

/// Where the object is mapped, from its first byte on, and how much of it.
const OBJECT: u64 = 0x5555_5555_0000;
const SIZE: u64 = 0x4000;
/// Executable memory without a file.
const GENERATED: u64 = 0x7000_0000_0000;
const STACK: u64 = 0x7fff_0000_0000;
/// Where its sections lie, in the file and in memory: so linkers can be told to lay them out
/// for the corpus.
const TEXT: u64 = 0x1000;
const HEADER: u64 = 0x2000;
const TABLE: u64 = 0x3000;
const DEBUG_FRAME: u64 = 0x5000;
const MOST_FRAMES: usize = 64;

/// Inputs that one symbolizer gets, each as a process and an object of its own: to set one up
/// takes longer than to unwind.
const MOST_INPUTS: i32 = 1 << 10;

/// What unwinds the stacks of one machine.
struct Machine {
    symbolizer: Symbolizer,
    inputs: i32,
}

thread_local! {
    static MACHINES: RefCell<[Option<Machine>; 2]> = const { RefCell::new([None, None]) };
}

/// A section's name, address, bytes.
struct Section<'a> {
    name: &'static str,
    address: u64,
    bytes: &'a [u8],
}

/// An object of these sections, each where its address is.
fn object(machine: u16, sections: &[Section<'_>]) -> Vec<u8> {
    let mut file = vec![0; usize::try_from(DEBUG_FRAME).unwrap()];
    file[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let mut names = vec![0];
    let mut table = vec![0_u64; 8];
    for Section { name, address, bytes } in sections {
        let at = usize::try_from(*address).unwrap();
        file.resize(file.len().max(at + bytes.len()), 0);
        file[at..at + bytes.len()].copy_from_slice(bytes);
        // SHT_PROGBITS, SHF_ALLOC.
        table.extend([names.len() as u64 | 1 << 32, 2, *address, *address, bytes.len() as u64]);
        table.extend([0, 1, 0]);
        names.extend(name.bytes().chain([0]));
    }
    // SHT_STRTAB.
    table.extend([names.len() as u64 | 3 << 32, 0, 0, file.len() as u64]);
    names.extend(*b".shstrtab\0");
    table.extend([names.len() as u64, 0, 1, 0]);
    file.extend(names);
    file.resize(file.len().next_multiple_of(8), 0);
    let head = [3 | u64::from(machine) << 16 | 1 << 32, TEXT, 64, file.len() as u64];
    let counts: [u16; 8] =
        [0, 0, 64, 56, 1, 64, sections.len() as u16 + 2, sections.len() as u16 + 1];
    let head = head.into_iter().flat_map(u64::to_le_bytes);
    let head = head.chain(counts.into_iter().flat_map(u16::to_le_bytes));
    // PT_LOAD, readable and executable.
    let load = [1 | 5 << 32, 0, 0, 0, SIZE, SIZE, 0x1000].into_iter().flat_map(u64::to_le_bytes);
    for (place, byte) in file[16..].iter_mut().zip(head.chain(load)) {
        *place = byte;
    }
    file.extend(table.into_iter().flat_map(u64::to_le_bytes));
    file
}

/// What a byte stands for: mostly what leads on.
fn word(code: u8) -> u64 {
    let low = u64::from(code & 0x3f);
    match code >> 6 {
        0 => STACK + 8 * low,
        1 => OBJECT + TEXT + 4 * low,
        2 => GENERATED + 16 * low,
        _ => low.wrapping_sub(8),
    }
}

/// The next bytes of an input, as many as its next byte says, in units.
fn part<'a>(input: &mut &'a [u8], unit: usize) -> &'a [u8] {
    let Some((count, rest)) = input.split_first() else { return &[] };
    let (part, rest) = rest.split_at((usize::from(*count) * unit).min(rest.len()));
    *input = rest;
    part
}

fn mapping(pid: i32, start: u64, path: &[u8]) -> Mapping<'_> {
    let task = Task { pid: Pid(pid), tid: Tid(pid) };
    let (file, protection, flags) = (FileIdentity::Unknown, Some(5), Some(2));
    Mapping { task, start, length: SIZE, page_offset: 0, file, protection, flags, path }
}

fuzz_target!(|input: &[u8]| {
    let Some((flags, mut rest)) = input.split_first() else { return };
    let (machine, arch, name) = match flags & 1 {
        0 => (62, Arch::X86_64, "x86_64"),
        _ => (183, Arch::Aarch64, "aarch64"),
    };
    let registers = part(&mut rest, 1);
    let stack = part(&mut rest, 2);
    let header = part(&mut rest, 4);
    let table = part(&mut rest, 16);
    let debug = rest.get(..rest.len().min(0x1000)).unwrap();
    let mut sections = vec![Section { name: ".text", address: TEXT, bytes: &[0; 0x400] }];
    for (name, address, bytes) in [
        (".eh_frame_hdr", HEADER, header),
        (".eh_frame", TABLE, table),
        (".debug_frame", DEBUG_FRAME, debug),
    ] {
        sections.extend((!bytes.is_empty()).then_some(Section { name, address, bytes }));
    }
    let bytes = object(machine, &sections);
    let mut kept = MACHINES.with_borrow_mut(|machines| machines[usize::from(flags & 1)].take());
    kept = kept.filter(|machine| machine.inputs < MOST_INPUTS);
    let mut machine = kept.unwrap_or_else(|| {
        let options = SymbolizerOptions { debug_directories: Vec::new(), ..Default::default() };
        let mut symbolizer = Symbolizer::new(options);
        let mut bytes = Vec::new();
        write::file_header(ByteOrder::Little, &mut bytes);
        write::feature(&Feature::Arch(name.into()), ByteOrder::Little, &mut bytes).unwrap();
        let (mut decoder, mut rest) = (StreamDecoder::new(), bytes.as_slice());
        while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
            rest = &rest[consumed..];
            symbolizer.observe(&decoder, &record);
        }
        Machine { symbolizer, inputs: 0 }
    });
    machine.inputs += 1;
    let (symbolizer, pid) = (&mut machine.symbolizer, machine.inputs);
    let name = format!("unwind-{}-{pid}", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).unwrap();
    let file = path.as_os_str().as_encoded_bytes();
    for mapping in [mapping(pid, OBJECT, file), mapping(pid, GENERATED, b"//anon")] {
        let (record, id) = (SidebandRecord::Mmap2(mapping), SampleId::default());
        let side = StreamRecord::Sideband { event: 0, misc: Misc(2), record, id };
        symbolizer.observe(&StreamDecoder::new(), &side);
    }

    let mask = general(arch);
    let codes = registers.iter().copied().chain(std::iter::repeat(0));
    let values = codes.take(mask.count_ones() as usize).flat_map(|code| word(code).to_le_bytes());
    let values: Vec<u8> = values.collect();
    let words = RecordWords::new(&values, ByteOrder::Little);
    let registers = Registers { abi: RegsAbi::Bits64, mask, words };
    let copied: Vec<u8> = match flags & 2 {
        0 => stack.iter().flat_map(|code| word(*code).to_le_bytes()).collect(),
        _ => stack.to_vec(),
    };
    let valid = copied.len() as u64 / (1 + u64::from(flags >> 2 & 1));
    let stack = StackUser { data: &copied, dyn_size: Some(valid) };
    let mut unwind = |most| {
        let mut frames: Vec<StackFrame> = Vec::new();
        let of = UserStack { pid: Pid(pid), time: Time(1), registers, stack, most };
        let end = symbolizer.unwind(&of, &mut frames);
        assert!(frames.len() <= most);
        assert!(end != ChainEnd::FrameLimit || frames.len() == most);
        (frames, end)
    };
    let chain = unwind(MOST_FRAMES);
    assert_eq!(unwind(MOST_FRAMES), chain, "with its rules remembered");
    let (frames, _) = &chain;
    let short = unwind(frames.len() / 2).0;
    assert!(frames.starts_with(&short));
    for frame in frames.iter().skip(1) {
        let is_in = |start| (start..start + SIZE).contains(&frame.code());
        assert!(frame.way != UnwindMethod::Registers, "{frame:x?}");
        assert!(is_in(OBJECT) || is_in(GENERATED), "{frame:x?}");
    }
    std::fs::remove_file(&path).unwrap();
    MACHINES.with_borrow_mut(|machines| machines[usize::from(flags & 1)] = Some(machine));
});
