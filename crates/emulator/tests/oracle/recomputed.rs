use std::fs;

use emulator::{Burst, EmulatedEvent};
use iced_x86::{Decoder, DecoderOptions, Instruction, Register};

use crate::accesses::{accesses, is_masked};
use crate::run::Recording;
use crate::steps::State;
use crate::workload::Workload;

const GEOMETRY: &str = "l1d=4k,2,64 l1i=off l2=64k,8,64 l3=off dtlb=64,4 stlb=off";

/// The instructions of a program at fixed addresses, from its file.
struct Code {
    /// Address and bytes of each part that is loaded.
    parts: Vec<(u64, Vec<u8>)>,
}

impl Code {
    fn of(program: &Workload) -> Code {
        let file = fs::read(program.path()).unwrap();
        let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        let place = |at: usize| usize::try_from(word(at)).unwrap();
        let headers = place(32);
        let count = usize::from(u16::from_le_bytes(file[56..58].try_into().unwrap()));
        let parts = (0..count)
            .map(|number| headers + number * 56)
            .filter(|&at| file[at..at + 4] == [1, 0, 0, 0])
            .map(|at| (word(at + 16), file[place(at + 8)..][..place(at + 32)].to_vec()))
            .collect();
        Code { parts }
    }

    fn at(&self, ip: u64) -> Option<Instruction> {
        let (start, bytes) = self.parts.iter().find(|(start, bytes)| {
            ip >= *start && ip - start < u64::try_from(bytes.len()).unwrap()
        })?;
        let rest = &bytes[usize::try_from(ip - start).unwrap()..];
        let mut decoder = Decoder::with_ip(64, rest, ip, DecoderOptions::NONE);
        Some(decoder.decode())
    }
}

/// Whether a record's registers do not tell the address: they lack vectors
/// and segment bases.
fn is_unknowable(instruction: &Instruction) -> bool {
    is_masked(instruction) || matches!(instruction.segment_prefix(), Register::FS | Register::GS)
}

/// Fails where a record's address is none that its instruction accesses with
/// the record's registers.
#[track_caller]
fn assert_addresses(name: &'static str, event: EmulatedEvent, arguments: &[&str]) {
    assert_addresses_in(None, name, event, arguments);
}

#[track_caller]
pub(crate) fn assert_addresses_in(
    burst: Option<Burst>,
    name: &'static str,
    event: EmulatedEvent,
    arguments: &[&str],
) {
    let program = Workload::fixed(name);
    let code = Code::of(&program);
    // Those with millions of misses take too long else.
    let interval = if matches!(name, "crowd.c" | "churn.c") { 97 } else { 7 };
    let recording = Recording { interval, burst, ..Recording::every(event, GEOMETRY) };
    let recorded = recording.of(&program.path(), arguments);
    let mut compared = 0;
    for record in &recorded.records {
        let Some(instruction) = code.at(record.ip) else { continue };
        if is_unknowable(&instruction) {
            continue;
        }
        compared += 1;
        let state = State::of(record.registers, record.flags);
        let all = accesses(&instruction, &state);
        assert!(
            all.iter().any(|access| access.address == record.address),
            "{name}: {record:x?}\naccesses {all:x?}\n{instruction:?}"
        );
    }
    let all = recorded.records.len();
    assert!(compared > 50 && compared * 10 > all * 9, "{name}: {compared} of {all} compared");
}

#[test]
fn each_recorded_address_is_what_the_registers_say() {
    for (name, arguments) in [
        ("jumps.c", [].as_slice()),
        ("crowd.c", &[]),
        ("frames.c", &[]),
        ("churn.c", &["80"]),
        ("thrown.cc", &[]),
        ("waits.c", &[]),
    ] {
        assert_addresses(name, EmulatedEvent::L1DataMiss, arguments);
    }
}

#[test]
fn so_is_each_address_of_programs_that_walk_memory() {
    assert_addresses("chase.c", EmulatedEvent::L1DataMiss, &["20000"]);
    assert_addresses("matrix.c", EmulatedEvent::L1DataMiss, &["row", "1"]);
    assert_addresses("surroundings.c", EmulatedEvent::L1DataMiss, &[]);
}

/// A record's registers are those of its own instruction, whatever the event.
#[test]
fn so_are_those_of_tlb_and_split_events() {
    assert_addresses("thrown.cc", EmulatedEvent::DtlbMiss, &[]);
    assert_addresses("churn.c", EmulatedEvent::L2Miss, &["80"]);
}
