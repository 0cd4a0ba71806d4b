//! Puts samples, and the names of their threads, in order of time.

use super::comms::Comms;
use super::{About, Printer, Sifter};
use record::stream::{Decoder, Rounds};
use record::{AttrFlags, Misc, SideRecord, Task, Tid, Time};

/// A record on its way to its place in time.
#[derive(Debug)]
enum Held {
    Sample { event: usize, misc: Misc, payload: Box<[u8]> },
    Comm { tid: Tid, name: Box<[u8]> },
    Fork { tid: Tid, parent: Task },
}

/// Records on their way.
#[derive(Debug, Default)]
pub(super) struct Order {
    rounds: Rounds<Held>,
    comms: Comms,
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
    pub(super) fn sample(&mut self, decoder: &Decoder, event: usize, misc: Misc, payload: &[u8]) {
        let layout = decoder.events().get(event).map(|event| &event.layout);
        let time = layout.and_then(|layout| layout.peek_time(payload)).unwrap_or_default();
        self.rounds.push(time, Held::Sample { event, misc, payload: Box::from(payload) });
    }

    /// Takes a side record, of which names count.
    pub(super) fn side(&mut self, record: &SideRecord<'_>, time: Option<Time>) {
        let held = match record {
            SideRecord::Comm { task, name } => Held::Comm { tid: task.tid, name: Box::from(*name) },
            SideRecord::Fork { task, parent, .. } => Held::Fork { tid: task.tid, parent: *parent },
            _ => return,
        };
        self.rounds.push(time.unwrap_or_default(), held);
    }

    /// Prints what nothing older can come before.
    pub(super) fn print(
        &mut self,
        decoder: &Decoder,
        (printer, mut sifter): (&mut impl Printer, Option<&mut Sifter>),
        text: &mut Vec<u8>,
    ) {
        while let Some(held) = self.rounds.pop() {
            match held {
                Held::Comm { tid, name } => self.comms.named(tid, name),
                Held::Fork { tid, parent } => self.comms.forked(tid, parent),
                Held::Sample { event, misc, payload } => {
                    let description = decoder.events().get(event);
                    let sample = description.map(|it| it.layout.decode(misc, &payload));
                    let Some((Ok(mut sample), description)) = sample.zip(description) else {
                        self.bad += 1;
                        continue;
                    };
                    let attr = &description.attr;
                    if !attr.flags.contains(AttrFlags::FREQ) {
                        // Software events with an interval leave it to the attr.
                        sample.period = sample.period.or(Some(attr.sample_period));
                    }
                    if sifter.as_mut().is_some_and(|it| !it.keeps(decoder, event, &sample)) {
                        continue;
                    }
                    let comm = sample.task.and_then(|task| self.comms.of(task.tid));
                    printer.print(&sample, &About { decoder, event, comm }, text);
                    self.printed += 1;
                }
            }
        }
    }
}
