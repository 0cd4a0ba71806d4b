use super::*;
use perfdata::registers::{Registers, RegsAbi};
use perfdata::stream::write;
use perfdata::{Arch, Attr, EventType, Pid, SampleLayout, Task, Tid, Time};
use recorder::session::ledger::EventAccount;

use super::super::NATIVE_ORDER as ORDER;

fn attr() -> Attr {
    Attr {
        kind: EventType::SOFTWARE,
        config: 2,
        sample_type: SampleType::IDENTIFIER
            | SampleType::TID
            | SampleType::TIME
            | SampleType::CALLCHAIN
            | SampleType::REGS_USER
            | SampleType::STACK_USER,
        sample_regs_user: perfdata::registers::general(Arch::X86_64),
        sample_stack_user: 64,
        ..Attr::default()
    }
}

fn front() -> Vec<u8> {
    let mut out = Vec::new();
    write::file_header(ORDER, &mut out);
    write::attr(&attr(), &[1], ORDER, &mut out).unwrap();
    write::event_name(1, "first", ORDER, &mut out).unwrap();
    out
}

/// Samples of a process that nothing is known of, and the end of their round.
fn round(times: std::ops::Range<u64>) -> Vec<u8> {
    let attr = attr();
    let layout = SampleLayout::new(&attr, ORDER).unwrap();
    let mask = attr.sample_regs_user;
    let registers: Vec<u8> = (0..u64::from(mask.count_ones())).flat_map(u64::to_ne_bytes).collect();
    let mut out = Vec::new();
    for time in times {
        let sample = Sample {
            misc: Misc(2 | Misc::EXACT_IP.0),
            identifier: Some(1),
            task: Some(Task { pid: Pid(7), tid: Tid(7) }),
            time: Some(Time(time)),
            callchain: Some(RecordWords::new(&[], ORDER)),
            regs_user: Some(Registers {
                abi: RegsAbi::Bits64,
                mask,
                words: RecordWords::new(&registers, ORDER),
            }),
            stack_user: Some(StackUser { data: &[0; 64], dyn_size: Some(64) }),
            ..Sample::default()
        };
        layout.encode(&sample, &mut out).unwrap();
    }
    write::finished_round(ORDER, &mut out);
    out
}

#[test]
fn a_round_waits_for_the_end_of_the_next() {
    let mut unwinder = StackUnwinder::new();
    let mut written = Vec::new();
    let mut take = |unwinder: &mut StackUnwinder, bytes: &[u8]| {
        let write = |bytes: &[u8]| {
            written.extend_from_slice(bytes);
            (0, Ok(()))
        };
        unwinder.take(&mut bytes.to_vec(), write).unwrap();
        written.len()
    };
    let first = [front(), round(0..3)].concat();
    let second = round(3..4);
    assert_eq!(take(&mut unwinder, &first), 0);
    // A round may come in pieces.
    let (piece, mark) = second.split_at(second.len() - 8);
    assert_eq!(take(&mut unwinder, piece), 0);
    assert_eq!(take(&mut unwinder, mark), first.len());
    let third = round(4..6);
    let unfinished = &third[..third.len() - 8];
    assert_eq!(take(&mut unwinder, unfinished), first.len());
    unwinder
        .finish(|bytes| {
            written.extend_from_slice(bytes);
            (0, Ok(()))
        })
        .unwrap();
    // What cannot be unwound is as it was.
    assert_eq!(written, [&first[..], &second[..], unfinished].concat());
}

/// One that has taken two rounds of three samples and written the first.
fn with_two_rounds() -> StackUnwinder {
    let mut unwinder = StackUnwinder::new();
    let all = |_: &[u8]| (0, Ok(()));
    unwinder.take(&mut [front(), round(0..3)].concat(), all).unwrap();
    unwinder.take(&mut round(3..6), all).unwrap();
    unwinder
}

#[test]
fn the_last_rounds_may_not_fit_either() {
    let mut unwinder = with_two_rounds();
    let of_one = EventAccount { name: "first".to_owned(), delivered: 6, ..EventAccount::default() };
    let mut ledger = Ledger { delivered: 6, by_event: vec![of_one], ..Ledger::default() };
    unwinder.finish(|_| (2, Err(io::ErrorKind::StorageFull.into()))).unwrap_err();
    unwinder.settle(&mut ledger);
    assert_eq!((ledger.delivered, ledger.lost.sink), (5, 1));
}

#[test]
fn what_was_taken_and_could_not_be_written_is_lost() {
    let mut unwinder = with_two_rounds();
    let full = |_: &[u8]| (1, Err(io::ErrorKind::StorageFull.into()));
    unwinder.take(&mut round(6..10), full).unwrap_err();
    // As the session has it: two pieces were taken, the third was not.
    let of_one = EventAccount {
        name: "first".to_owned(),
        delivered: 6,
        exact_ip: 6,
        ..EventAccount::default()
    };
    let mut ledger =
        Ledger { delivered: 6, exact_ip: 6, by_event: vec![of_one], ..Ledger::default() };
    ledger.lost.sink = 4;
    ledger.by_event[0].lost.sink = 4;
    unwinder.finish(|_| panic!("after a failure nothing is written")).unwrap();
    unwinder.settle(&mut ledger);
    // The first three and one of the next were written.
    assert_eq!((ledger.delivered, ledger.exact_ip, ledger.lost.sink), (4, 4, 6));
    let of_one = &ledger.by_event[0];
    assert_eq!((of_one.delivered, of_one.exact_ip, of_one.lost.sink), (4, 4, 6));
    unwinder.settle(&mut ledger);
    assert_eq!(ledger.delivered, 4, "once");
}
