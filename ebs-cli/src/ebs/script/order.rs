//! Puts samples, and the names of their threads, in order of time.

use super::{About, Press, Printer};
use analysis::Comms;
use record::stream::{Rounds, StreamDecoder};
use record::{AttrFlags, Misc, SideRecord, Tid, Time};

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

/// Records on their way.
#[derive(Debug, Default)]
pub(super) struct Order {
    rounds: Rounds<Held>,
    comms: Comms,
    /// Records that went, which is the time by which threads have names:
    /// records may have none, and late ones count from now on.
    gone: u64,
    printed: u64,
    /// Samples that could not be decoded.
    bad: u64,
}

impl Order {
    /// A round is complete.
    pub(super) fn finish_round(&mut self) {
        self.rounds.finish_round();
    }

    /// No more records come.
    pub(super) fn finish(&mut self) {
        self.rounds.finish();
    }

    /// Samples printed, and samples too short for their event's fields.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.printed, self.bad)
    }

    /// Takes a sample.
    #[inline]
    pub(super) fn sample(
        &mut self,
        decoder: &StreamDecoder,
        event: usize,
        misc: Misc,
        payload: &[u8],
    ) {
        let time = decoder.events().get(event).and_then(|it| it.layout.peek_time(payload));
        let event = u32::try_from(event).unwrap_or(u32::MAX);
        self.hold(decoder, time, Held::Sample { event, misc }, payload);
    }

    /// Takes a side record, of which names count.
    pub(super) fn side(
        &mut self,
        decoder: &StreamDecoder,
        record: &SideRecord<'_>,
        time: Option<Time>,
    ) {
        match record {
            SideRecord::Comm { task, name } => {
                self.hold(decoder, time, Held::Comm { tid: task.tid }, name);
            }
            SideRecord::Fork { task, parent, .. } => {
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
        let Press { printer, sifter, symbolizer } = press;
        while let Some((held, bytes)) = self.rounds.pop() {
            self.gone += 1;
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
                    if !attr.flags.contains(AttrFlags::FREQ) {
                        // Software events with an interval leave it to the attr.
                        sample.period = sample.period.or(Some(attr.sample_period));
                    }
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
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::TextPrinter;
    use super::*;
    use record::Task;
    use symbolizer::SymbolizerOptions;

    #[test]
    fn births_alone_take_no_more_room_than_samples() {
        let decoder = StreamDecoder::new();
        let mut order = Order::default();
        let mut press = Press::new(TextPrinter::default(), None, SymbolizerOptions::default());
        let task = Task::default();
        for at in (0..1_000_000).map(Time) {
            let birth = SideRecord::Fork { task, parent: task, time: at };
            order.side(&decoder, &birth, Some(at));
            while order.print(&decoder, &mut press, &mut Vec::new(), 1) {}
        }
        assert!(order.rounds.size() as u64 <= ROOM, "{} bytes", order.rounds.size());
        assert_eq!(order.late(), 0);
    }
}
