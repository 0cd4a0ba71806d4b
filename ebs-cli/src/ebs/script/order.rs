//! Puts samples, and the names of their threads, in order of time.

use super::joined_chain::ChainJoiner;
use super::{About, Press, Printer};
use analysis::Comms;
use perfdata::callchain::DeferredKey;
use perfdata::stream::{OrderedRoundBuffer, SampleRecord, StreamDecoder};
use perfdata::{AttrFlags, Misc, SampleId, SidebandRecord, Tid, Time};

/// Bytes of memory that records on their way may take, besides
/// half of what was read of the recording.
const ROOM: u64 = 24 << 20;
/// Bytes they may take of the largest recording. A round of a machine with
/// hundreds of CPUs has tens of megabytes.
const MOST_ROOM: u64 = 256 << 20;

/// A record on its way to its place in time; its bytes travel beside it.
#[derive(Clone, Copy, Debug)]
enum Held {
    /// The payload.
    Sample { event: u32, misc: Misc },
    /// The name.
    Comm { tid: Tid },
    /// No bytes.
    Fork { tid: Tid, parent: Tid },
}

/// The next record to be printed, whose chain its thread has yet to send.
#[derive(Debug)]
struct Waiting {
    held: Held,
    bytes: Box<[u8]>,
    chain: DeferredKey,
}

#[derive(Debug, Default)]
pub(super) struct Order {
    rounds: OrderedRoundBuffer<Held>,
    chains: ChainJoiner,
    /// Nothing is printed before it.
    waiting: Option<Waiting>,
    /// There is no room to wait for chains, or nothing comes any more.
    is_urgent: bool,
    comms: Comms,
    /// Records that went, which is the time by which threads have names:
    /// records may have none, and late ones count from now on.
    gone: u64,
    printed: u64,
    /// Samples that could not be decoded.
    bad: u64,
}

impl Order {
    pub(super) fn finish_round(&mut self) {
        self.rounds.finish_round();
    }

    pub(super) fn finish(&mut self) {
        self.is_urgent = true;
        self.rounds.finish();
    }

    /// Samples printed, and samples too short for their event's fields.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.printed, self.bad)
    }

    #[inline]
    pub(super) fn sample(&mut self, decoder: &StreamDecoder, sample: SampleRecord<'_>) {
        let time = sample.time(decoder);
        let SampleRecord { event, misc, payload } = sample;
        let event = u32::try_from(event).unwrap_or(u32::MAX);
        self.hold(decoder, time, Held::Sample { event, misc }, payload);
    }

    /// Takes a sideband record, of which names and deferred chains count.
    pub(super) fn side(
        &mut self,
        decoder: &StreamDecoder,
        record: &SidebandRecord<'_>,
        id: &SampleId,
    ) {
        let time = id.time;
        match record {
            SidebandRecord::CallchainDeferred { cookie, chain } => {
                self.chains.sent(*cookie, *chain, id);
            }
            SidebandRecord::Comm { task, name } => {
                self.hold(decoder, time, Held::Comm { tid: task.tid }, name);
            }
            SidebandRecord::Fork { task, parent, .. } => {
                self.hold(decoder, time, Held::Fork { tid: task.tid, parent: parent.tid }, &[]);
            }
            _ => {}
        }
    }

    /// Keeps a record. Where there is no more room, older ones may go.
    #[inline]
    fn hold(&mut self, decoder: &StreamDecoder, time: Option<Time>, held: Held, bytes: &[u8]) {
        self.rounds.push(time, held, bytes);
        let room = (ROOM + decoder.offset() / 2).min(MOST_ROOM);
        if self.rounds.size() as u64 > room {
            self.is_urgent = true;
            self.rounds.make_room();
        }
    }

    /// What a reader must know of names of threads that are not kept.
    pub(super) fn unnamed(&self) -> Option<String> {
        self.comms.note()
    }

    /// Samples and names that came after younger samples had been printed.
    pub(super) fn late(&self) -> u64 {
        self.rounds.late()
    }

    /// Prints what nothing older can come before, until `text` has `until`
    /// bytes. False: nothing is left that may go.
    pub(super) fn print(
        &mut self,
        decoder: &StreamDecoder,
        press: &mut Press<impl Printer>,
        text: &mut Vec<u8>,
        until: usize,
    ) -> bool {
        loop {
            let waiting = match self.waiting.take() {
                Some(waiting) if !self.is_urgent && !self.chains.has(waiting.chain) => {
                    self.waiting = Some(waiting);
                    return false;
                }
                waiting => waiting,
            };
            let has_waited = waiting.is_some();
            let (held, bytes) = match &waiting {
                Some(Waiting { held, bytes, .. }) => (*held, &**bytes),
                None => match self.rounds.pop() {
                    Some(next) => next,
                    None => {
                        self.is_urgent = false;
                        return false;
                    }
                },
            };
            self.gone += u64::from(!has_waited);
            let now = Time(self.gone);
            match held {
                Held::Comm { tid } => self.comms.named(tid, now, bytes),
                Held::Fork { tid, parent } => self.comms.forked(tid, now, parent),
                Held::Sample { event, misc } => {
                    let event = usize::try_from(event).unwrap_or(usize::MAX);
                    let Some(description) = decoder.events().get(event) else { continue };
                    // Left where it is: a sample is large.
                    let mut decoded = description.layout.decode(misc, bytes);
                    let Ok(sample) = &mut decoded else {
                        self.bad += 1;
                        continue;
                    };
                    let attr = &description.attr;
                    if let Err(chain) = self.chains.join(attr, sample)
                        && !self.is_urgent
                    {
                        self.waiting = Some(Waiting { held, bytes: bytes.into(), chain });
                        return false;
                    }
                    if !attr.flags.contains(AttrFlags::FREQ) {
                        // Software events with an interval leave it to the attr.
                        sample.period = sample.period.or(Some(attr.sample_period));
                    }
                    if press.leaves_out(sample) {
                        continue;
                    }
                    let Press { printer, sifter, symbolizer, .. } = &mut *press;
                    if sifter
                        .as_mut()
                        .is_some_and(|it| !it.keeps(symbolizer, decoder, event, sample))
                    {
                        continue;
                    }
                    let comm = sample.task.map(|task| self.comms.at(task.tid, now));
                    let comm = comm.and_then(|comm| self.comms.name(comm));
                    printer.print(sample, &mut About { decoder, event, comm, symbolizer }, text);
                    self.printed += 1;
                    if text.len() >= until {
                        return true;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TextPrinter;
    use super::*;
    use perfdata::bytes::RecordWords;
    use perfdata::stream::StreamStep;
    use perfdata::stream::write::{attr, file_header};
    use perfdata::{Attr, ByteOrder, ChainContext, Sample, SampleType, Task};
    use symbolizer::SymbolizerOptions;

    #[test]
    fn births_alone_take_no_more_room_than_samples() {
        let decoder = StreamDecoder::new();
        let mut order = Order::default();
        let mut press = Press::new(TextPrinter::default(), None, SymbolizerOptions::default());
        let task = Task::default();
        for at in (0..1_000_000).map(Time) {
            let birth = SidebandRecord::Fork { task, parent: task, time: at };
            order.side(&decoder, &birth, &SampleId { time: Some(at), ..SampleId::default() });
            while order.print(&decoder, &mut press, &mut Vec::new(), 1) {}
        }
        assert!(order.rounds.size() as u64 <= ROOM, "{} bytes", order.rounds.size());
        assert_eq!(order.late(), 0);
    }

    #[test]
    fn a_chain_that_never_comes_holds_back_so_much_and_no_more() {
        const ORDER: ByteOrder = ByteOrder::Little;
        let event = Attr {
            sample_type: SampleType::IP | SampleType::CALLCHAIN | SampleType::RAW,
            flags: AttrFlags::DEFER_CALLCHAIN,
            ..Attr::default()
        };
        let mut bytes = Vec::new();
        file_header(ORDER, &mut bytes);
        attr(&event, &[1], ORDER, &mut bytes).unwrap();
        let (mut decoder, mut rest) = (StreamDecoder::new(), bytes.as_slice());
        while let StreamStep::Record { consumed, .. } = decoder.step(rest).unwrap() {
            rest = &rest[consumed..];
        }
        let sample = |cookie: u64| {
            let words = [ChainContext::USER_DEFERRED.0, cookie];
            let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let callchain = Some(RecordWords::new(&words, ORDER));
            let mut payload = Vec::new();
            let raw = Some(&[0; 8004][..]);
            let sample = Sample { ip: Some(1), callchain, raw, ..Sample::default() };
            decoder.events()[0].layout.encode(&sample, &mut payload).unwrap();
            payload.split_off(8)
        };
        let (usual, waiting) = (sample(70), sample(71));
        let mut order = Order::default();
        let words = [ChainContext::USER.0, 1].map(u64::to_le_bytes).concat();
        let chain = RecordWords::new(&words, ORDER);
        let sent = SidebandRecord::CallchainDeferred { cookie: 70, chain };
        order.side(&decoder, &sent, &SampleId::default());
        let mut press = Press::new(TextPrinter::default(), None, SymbolizerOptions::default());
        let mut text = Vec::new();
        order.sample(&decoder, SampleRecord { event: 0, misc: Misc(2), payload: &waiting });
        order.finish_round();
        order.finish_round();
        assert!(!order.print(&decoder, &mut press, &mut text, 1));
        assert_eq!(order.counts().0, 0, "it waits");
        let each = u64::try_from(usual.len()).unwrap();
        let most = 2 * ROOM / each;
        for _ in 0..most {
            order.sample(&decoder, SampleRecord { event: 0, misc: Misc(2), payload: &usual });
            assert!(order.rounds.size() as u64 <= ROOM + (1 << 20), "{}", order.rounds.size());
            while order.print(&decoder, &mut press, &mut text, 1) {
                text.clear();
            }
        }
        assert!(order.counts().0 > 1, "there was no more room to wait");
        order.finish();
        while order.print(&decoder, &mut press, &mut text, 1) {
            text.clear();
        }
        assert_eq!(order.counts(), (most + 1, 0), "each once");
        assert_eq!(order.late(), 0);
    }
}
