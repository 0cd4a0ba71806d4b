//! Copied stacks on their way into a file: frames go there in their place.
//!
//! A stack is unwound by what was mapped at its time, which is known for sure
//! once the round after its own has ended: so long records wait. Only a chain
//! that unwind tables lead along to its outermost frame, or to the end of what
//! was copied, takes the place of a stack: whoever reads the others later may
//! have files that were not here, and says why they end.

use super::first_record;
use perfdata::bytes::RecordWords;
use perfdata::callchain::has_user;
use perfdata::sample::StackUser;
use perfdata::stream::{RoundBuffer, StreamDecoder, StreamRecord, StreamStep};
use perfdata::{ByteOrder, ChainContext, Misc, RecordHeader, Sample, SampleType};
use recorder::session::ledger::{Ledger, SampleCount};
use std::io;
use symbolizer::{
    ChainEnd, FramePoint, StackFrame, Symbolizer, SymbolizerOptions, UnwindMethod, UserStack,
};

/// Frames at most; chains of more keep their stacks.
const MOST_FRAMES: usize = 512;

/// What a sample must have for that.
const UNWOUND: SampleType = SampleType::STACK_USER
    .union(SampleType::REGS_USER)
    .union(SampleType::CALLCHAIN)
    .union(SampleType::TID)
    .union(SampleType::TIME);

/// Whole records in, the same records out two rounds later.
#[derive(Debug)]
pub(super) struct StackUnwinder {
    decoder: StreamDecoder,
    symbolizer: Symbolizer,
    rounds: RoundBuffer<Vec<HeldPiece>>,
    /// What has waited long enough, and the samples of it.
    ready: HeldPiece,
    /// Emptied, for their memory.
    free: Vec<HeldPiece>,
    frames: Vec<StackFrame>,
    chain: Vec<u8>,
    /// Samples that were taken, and of these those that were written, by event.
    taken: Vec<SampleCount>,
    written: Vec<SampleCount>,
}

/// Whole records as they came, and the samples among them.
#[derive(Debug, Default)]
struct HeldPiece {
    bytes: Vec<u8>,
    samples: Vec<HeldRecord>,
}

#[derive(Clone, Copy, Debug)]
struct HeldRecord {
    /// Where it begins in the piece that it came in.
    at: usize,
    /// Its event's number in the stream.
    event: usize,
    is_exact: bool,
    has_stack: bool,
}

impl StackUnwinder {
    pub(super) fn new() -> StackUnwinder {
        StackUnwinder {
            decoder: StreamDecoder::new(),
            symbolizer: Symbolizer::new(SymbolizerOptions::default()),
            rounds: RoundBuffer::default(),
            ready: HeldPiece::default(),
            free: Vec::new(),
            frames: Vec::new(),
            chain: Vec::new(),
            taken: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Takes whole records, leaves another buffer for them, and passes what waited to
    /// `write`, which returns how many samples it wrote of a piece that did not fit.
    ///
    /// # Errors
    ///
    /// That of `write`; a stream that is none. The samples of these records are
    /// then those of the session to book.
    pub(super) fn take(
        &mut self,
        bytes: &mut Vec<u8>,
        write: impl FnMut(&[u8]) -> (u64, io::Result<()>),
    ) -> io::Result<()> {
        let taken = self.taken.clone();
        let mut piece = self.free.pop().unwrap_or_default();
        std::mem::swap(&mut piece.bytes, bytes);
        let written = self.hold(piece).and_then(|()| self.write_ready(write));
        if written.is_err() {
            // As the session does, which drops what comes from now on.
            self.rounds = RoundBuffer::default();
            self.taken = taken;
        }
        written
    }

    /// Lets a piece wait, and the others by one round less where one ends with it.
    fn hold(&mut self, mut piece: HeldPiece) -> io::Result<()> {
        let ends_round = self.look_through(&mut piece)?;
        self.rounds.now().push(piece);
        if ends_round {
            self.end_round();
        }
        Ok(())
    }

    /// Nothing follows: passes all that waits to `write`, as [`StackUnwinder::take`] does.
    ///
    /// # Errors
    ///
    /// That of `write`.
    pub(super) fn finish(
        &mut self,
        write: impl FnMut(&[u8]) -> (u64, io::Result<()>),
    ) -> io::Result<()> {
        self.end_round();
        self.end_round();
        self.write_ready(write)
    }

    /// Books samples as lost that were taken and never written.
    pub(super) fn settle(&mut self, ledger: &mut Ledger) {
        for (event, taken) in std::mem::take(&mut self.taken).into_iter().enumerate() {
            let written = self.written.get(event).copied().unwrap_or_default();
            let lost = SampleCount {
                all: taken.all.saturating_sub(written.all),
                exact_ip: taken.exact_ip.saturating_sub(written.exact_ip),
            };
            if lost.all > 0 {
                let name = self.decoder.events().get(event).map(|of| of.title().into_owned());
                let place = ledger.by_event.iter().position(|of| Some(&of.name) == name.as_ref());
                ledger.withhold(place.unwrap_or(usize::MAX), lost, |lost| &mut lost.sink);
            }
        }
        self.written.clear();
    }

    /// Notes the samples of a piece and what was mapped; whether a round ends with
    /// it. One that ends within it ends before it: its records wait the longer.
    fn look_through(&mut self, piece: &mut HeldPiece) -> io::Result<bool> {
        let (mut at, mut ends_round) = (0, false);
        while at < piece.bytes.len() {
            if std::mem::take(&mut ends_round) {
                self.end_round();
            }
            let step = self.decoder.step(&piece.bytes[at..]).map_err(io::Error::other)?;
            let StreamStep::Record { consumed, record } = step else {
                return Err(io::Error::other("a record that is cut in two"));
            };
            match record {
                StreamRecord::Sample(sample) => {
                    let fields = sample.description(&self.decoder).map(|of| of.layout.fields());
                    let has_stack = fields.is_some_and(|fields| fields.contains(UNWOUND));
                    let is_exact = sample.misc.contains(Misc::EXACT_IP);
                    let held = HeldRecord { at, event: sample.event, is_exact, has_stack };
                    add(&mut self.taken, sample.event, held.count());
                    piece.samples.push(held);
                }
                StreamRecord::FinishedRound => ends_round = true,
                record => self.symbolizer.observe(&self.decoder, &record),
            }
            at += consumed;
        }
        Ok(ends_round)
    }

    fn end_round(&mut self) {
        for mut piece in self.rounds.end_round() {
            self.unwind_piece(&piece);
            piece.bytes.clear();
            piece.samples.clear();
            self.free.push(piece);
        }
    }

    fn unwind_piece(&mut self, piece: &HeldPiece) {
        let mut copied = 0;
        for held in &piece.samples {
            let Some((header, record)) = first_record(&piece.bytes[held.at..]) else { continue };
            self.ready.bytes.extend_from_slice(&piece.bytes[copied..held.at]);
            copied = held.at;
            self.ready.samples.push(*held);
            if held.has_stack && self.unwind(held.event, header, record).is_some() {
                copied += record.len();
            }
        }
        self.ready.bytes.extend_from_slice(&piece.bytes[copied..]);
    }

    /// Appends the sample to those that are ready, with frames for its stack;
    /// None: it must keep it, and nothing was appended.
    fn unwind(&mut self, event: usize, header: RecordHeader, record: &[u8]) -> Option<()> {
        let layout = &self.decoder.events().get(event)?.layout;
        let sample = layout.decode(header.misc, record.get(RecordHeader::SIZE..)?).ok()?;
        let (kernel, registers, stack) = (sample.callchain?, sample.regs_user?, sample.stack_user?);
        if has_user(kernel.iter()) {
            return None;
        }
        let (pid, time) = (sample.task?.pid, sample.time?);
        self.frames.clear();
        let of = UserStack { pid, time, registers, stack, most: MOST_FRAMES };
        let end = self.symbolizer.unwind(&of, &mut self.frames);
        let is_sure = self.frames.iter().all(|frame| frame.way != UnwindMethod::FramePointer);
        // Of a copy without a byte nothing is known that frames could stand for.
        let has_copy = stack.dyn_size.is_some_and(|copied| copied > 0);
        let is_cut = end == ChainEnd::CopyTooShort && has_copy;
        if !(end == ChainEnd::Root || is_cut) || !is_sure || self.frames.is_empty() {
            return None;
        }
        self.chain.clear();
        let order = layout.order();
        let addresses =
            self.frames.iter().enumerate().map(|(number, frame)| address(number, frame));
        let user = ChainContext::USER.0;
        // Says that there are more: `perfdata::callchain::is_cut`.
        let mark = is_cut.then_some(user);
        for word in kernel.iter().chain([user]).chain(addresses).chain(mark) {
            self.chain.extend_from_slice(&match order {
                ByteOrder::Little => word.to_le_bytes(),
                ByteOrder::Big => word.to_be_bytes(),
            });
        }
        let chain = Some(RecordWords::new(&self.chain, order));
        let none = Some(StackUser { data: &[], dyn_size: None });
        let sample = Sample { callchain: chain, stack_user: none, ..sample };
        layout.encode(&sample, &mut self.ready.bytes).ok()
    }

    fn write_ready(
        &mut self,
        mut write: impl FnMut(&[u8]) -> (u64, io::Result<()>),
    ) -> io::Result<()> {
        if self.ready.bytes.is_empty() {
            return Ok(());
        }
        let (kept, written) = write(&self.ready.bytes);
        let kept = match written {
            Ok(()) => usize::MAX,
            Err(_) => usize::try_from(kept).unwrap_or(usize::MAX),
        };
        for held in self.ready.samples.iter().take(kept) {
            add(&mut self.written, held.event, held.count());
        }
        self.ready.bytes.clear();
        self.ready.samples.clear();
        written
    }
}

impl HeldRecord {
    fn count(&self) -> SampleCount {
        SampleCount { all: 1, exact_ip: self.is_exact.into() }
    }
}

/// A frame as chains have it: all but the first return, and are looked up one
/// byte before.
fn address(number: usize, frame: &StackFrame) -> u64 {
    let is_interrupted = number > 0 && frame.point == FramePoint::Instruction;
    frame.address.wrapping_add(is_interrupted.into())
}

fn add(counts: &mut Vec<SampleCount>, event: usize, more: SampleCount) {
    if counts.len() <= event {
        counts.resize(event + 1, SampleCount::default());
    }
    let SampleCount { all, exact_ip } = &mut counts[event];
    *all += more.all;
    *exact_ip += more.exact_ip;
}

#[cfg(test)]
mod tests {
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
        let registers: Vec<u8> =
            (0..u64::from(mask.count_ones())).flat_map(u64::to_ne_bytes).collect();
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
        let of_one =
            EventAccount { name: "first".to_owned(), delivered: 6, ..EventAccount::default() };
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
}
