//! A session's stream as its samples in order of time, with names.

use crate::{NamedSample, SamplerError};
use analysis::{RegionPath, Regions, Sieve, SieveVerdict};
use perfdata::Misc;
use perfdata::stream::{Rounds, StreamDecoder, StreamRecord, StreamStep};
use std::sync::Arc;
use symbolizer::{Resolution, Symbolizer, SymbolizerOptions};

#[derive(Clone, Copy, Debug)]
struct HeldTag {
    event: usize,
    misc: Misc,
}

/// Takes the stream's bytes, gives its samples. Each waits until nothing
/// older, and no mapping of its time, can come.
#[derive(Debug)]
pub(crate) struct NamedStream {
    pub(crate) bytes: Vec<u8>,
    decoder: StreamDecoder,
    rounds: Rounds<HeldTag>,
    symbolizer: Symbolizer,
    regions: Regions,
    sieve: Sieve,
    left_out: u64,
}

impl NamedStream {
    pub(crate) fn new() -> NamedStream {
        NamedStream {
            bytes: Vec::new(),
            decoder: StreamDecoder::new(),
            rounds: Rounds::default(),
            symbolizer: Symbolizer::new(SymbolizerOptions::default()),
            regions: Regions::default(),
            sieve: Sieve::new(None),
            left_out: 0,
        }
    }

    /// Takes in what the session has written.
    ///
    /// # Errors
    /// Bytes that are no stream; a filter that is not known.
    pub(crate) fn take_in(&mut self) -> Result<(), SamplerError> {
        let bytes = std::mem::take(&mut self.bytes);
        let mut rest = bytes.as_slice();
        while let StreamStep::Record { consumed, record } = self.decoder.step(rest)? {
            rest = &rest[consumed..];
            match record {
                StreamRecord::Sample { event, misc, payload } => {
                    self.sieve.learn(&self.decoder)?;
                    let layout = self.decoder.events().get(event).map(|event| &event.layout);
                    let time = layout.and_then(|layout| layout.peek_time(payload));
                    self.rounds.push(time, HeldTag { event, misc }, payload);
                }
                StreamRecord::Side { misc, record, id, .. } => {
                    self.regions.side(misc, &record, &id);
                    self.symbolizer.side(misc, &record, &id);
                }
                StreamRecord::Region(mark) => self.regions.mark(&mark),
                StreamRecord::Feature | StreamRecord::KernelList { is_whole: true } => {
                    self.symbolizer.recorded(self.decoder.features());
                }
                StreamRecord::EventUpdate(event) => {
                    let of = self.decoder.events().get(event);
                    if let Some(clock) = of.and_then(|event| event.clock) {
                        self.symbolizer.timed_by(clock);
                    }
                }
                StreamRecord::FinishedRound => self.rounds.finish_round(),
                _ => {}
            }
        }
        self.bytes.extend_from_slice(rest);
        Ok(())
    }

    /// Nothing follows: all that is held may go.
    pub(crate) fn finish(&mut self) {
        self.rounds.finish();
    }

    /// Samples that the event's type does not mean, or that nobody can tell
    /// of.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The next one, if nothing older can come.
    pub(crate) fn next(&mut self) -> Option<NamedSample> {
        loop {
            let (tag, payload) = self.rounds.pop()?;
            let decoder = &self.decoder;
            let of = decoder.events().get(tag.event);
            let decoded = of.and_then(|of| of.layout.decode(tag.misc, payload).ok());
            let (Some(of), Some(sample)) = (of, decoded) else {
                self.left_out += 1;
                continue;
            };
            if !self.sieve.filter(tag.event).is_all() {
                let sieve = &mut self.sieve;
                let verdict = sieve.judge(&mut self.symbolizer, decoder, tag.event, &sample);
                if verdict != SieveVerdict::Kept {
                    self.left_out += 1;
                    continue;
                }
            }
            let mut named = NamedSample::of(&sample, of.attr.means_address_zero());
            name(&mut named, &mut self.symbolizer);
            named.regions = match self.regions.at(named.task.tid, named.time) {
                RegionPath::NONE => None,
                path => Some(self.regions.text(path)),
            };
            return Some(named);
        }
    }
}

fn name(of: &mut NamedSample, symbolizer: &mut Symbolizer) {
    let (mode, pid, time) = (of.mode, of.task.pid, of.time);
    let place = symbolizer.place(mode, pid, of.ip, time);
    of.object = symbolizer.object_name(place.object).into();
    match symbolizer.resolve(place) {
        Resolution::Routine(routine) => {
            of.offset = Some(routine.offset);
            of.routine = Arc::from(&*routine.name);
        }
        Resolution::Unknown(reason) => of.routine = Arc::from(reason.tag()),
    }
    of.variable = of.address.map(|address| {
        let place = symbolizer.data_place(mode, pid, address, time);
        match symbolizer.resolve_data(place) {
            Resolution::Routine(variable) => Arc::from(&*variable.name),
            Resolution::Unknown(reason) => Arc::from(reason.tag()),
        }
    });
}
