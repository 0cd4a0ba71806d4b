//! A session's stream as its samples in order of time, with names.

use crate::{NamedSample, SamplerError};
use analysis::{RegionPath, Regions, Sieve, SieveVerdict};
use perfdata::Misc;
use perfdata::stream::{OrderedRoundBuffer, SampleRecord, StreamDecoder, StreamRecord, StreamStep};
use symbolizer::{SampledAddress, Symbolizer, SymbolizerOptions};

/// Takes the stream's bytes, gives its samples. Each waits until nothing
/// older, and no mapping of its time, can come.
#[derive(Debug)]
pub(crate) struct NamedStream {
    pub(crate) bytes: Vec<u8>,
    decoder: StreamDecoder,
    rounds: OrderedRoundBuffer<(usize, Misc)>,
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
            rounds: OrderedRoundBuffer::default(),
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
            self.symbolizer.observe(&self.decoder, &record);
            match record {
                StreamRecord::Sample(sample) => {
                    self.sieve.learn(&self.decoder)?;
                    let SampleRecord { event, misc, payload } = sample;
                    self.rounds.push(sample.time(&self.decoder), (event, misc), payload);
                }
                StreamRecord::Sideband { misc, record, id, .. } => {
                    self.regions.side(misc, &record, &id);
                }
                StreamRecord::Region(mark) => self.regions.mark(&mark),
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
            let ((event, misc), payload) = self.rounds.pop()?;
            let (decoder, record) = (&self.decoder, SampleRecord { event, misc, payload });
            let (of, decoded) = (record.description(decoder), record.decode(decoder));
            let (Some(of), Some(sample)) = (of, decoded) else {
                self.left_out += 1;
                continue;
            };
            if !self.sieve.filter(event).is_all() {
                let sieve = &mut self.sieve;
                let verdict = sieve.judge(&mut self.symbolizer, decoder, event, &sample);
                if verdict != SieveVerdict::Kept {
                    self.left_out += 1;
                    continue;
                }
            }
            let mut named = NamedSample::of(&sample, of.attr.means_address_zero());
            name(&mut named, SampledAddress::of(&sample), &mut self.symbolizer);
            named.regions = match self.regions.at(named.task.tid, named.time) {
                RegionPath::NONE => None,
                path => Some(self.regions.text(path)),
            };
            return Some(named);
        }
    }
}

fn name(of: &mut NamedSample, at: SampledAddress, symbolizer: &mut Symbolizer) {
    let place = at.place(symbolizer);
    of.object = symbolizer.object_name(place.object).into();
    let routine = symbolizer.resolve(place);
    (of.routine, of.offset) = (routine.text().into(), routine.offset());
    of.variable = of.address.map(|address| {
        let place = SampledAddress { address, ..at }.data_place(symbolizer);
        symbolizer.resolve_data(place).text().into()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::sideband::{FileIdentity, Mapping, SampleId, SidebandRecord};
    use perfdata::stream::write;
    use perfdata::{
        Attr, AttrFlags, ByteOrder, Pid, Sample, SampleLayout, SampleType, Task, Tid, Time,
    };
    use std::fs;

    const ORDER: ByteOrder = ByteOrder::Little;
    /// Of no process.
    const PID: i32 = i32::MAX;
    const TASK: Task = Task { pid: Pid(PID), tid: Tid(PID) };
    const MONOTONIC: i32 = 1;
    const CODE: u64 = 0x1000;

    /// A jitdump file of version 1 with routines of 64 bytes at one address, by the time from which
    /// they lie there.
    fn jitdump(routines: &[(u64, &str)]) -> Vec<u8> {
        let code = [0_u8; 64];
        let length = code.len() as u64;
        let mut out = Vec::new();
        let [magic, version, header, machine] = [0x4a69_5444_u32, 1, 40, 62];
        for word in [magic, version, header, machine, 0, PID.cast_unsigned()] {
            out.extend(word.to_le_bytes());
        }
        out.extend([0; 16]);
        for (index, (time, name)) in (0_u64..).zip(routines) {
            let size = 16 + 40 + name.len() as u64 + 1 + length;
            // Kind 0, a routine that was loaded, is the low half of the first word.
            for word in [size << 32, *time, 0, CODE, CODE, length, index] {
                out.extend(word.to_le_bytes());
            }
            out.extend(name.as_bytes());
            out.push(0);
            out.extend(code);
        }
        out
    }

    /// A process maps its jitdump file and memory, in which samples hit the same address.
    fn session(dump: &str, times: &[u64]) -> Vec<u8> {
        let attr = Attr {
            sample_type: SampleType::IDENTIFIER
                | SampleType::IP
                | SampleType::TID
                | SampleType::TIME,
            flags: AttrFlags::SAMPLE_ID_ALL | AttrFlags::USE_CLOCKID,
            clockid: MONOTONIC,
            ..Attr::default()
        };
        let layout = SampleLayout::new(&attr, ORDER).unwrap();
        let mut out = Vec::new();
        write::file_header(ORDER, &mut out);
        write::attr(&attr, &[1], ORDER, &mut out).unwrap();
        write::event_name(1, "cycle", ORDER, &mut out).unwrap();
        for (start, path) in [(CODE, "//anon"), (0x9000, dump)] {
            let mapping = Mapping {
                task: TASK,
                start,
                length: 0x1000,
                page_offset: 0,
                file: FileIdentity::Unknown,
                protection: Some(7),
                flags: Some(0x22),
                path: path.as_bytes(),
            };
            let mut trailer = Vec::new();
            let id = SampleId {
                task: Some(TASK),
                time: Some(Time(10)),
                identifier: Some(1),
                ..SampleId::default()
            };
            layout.encode_trailer(&id, &mut trailer).unwrap();
            SidebandRecord::Mmap2(mapping).encode(Misc(2), &trailer, ORDER, &mut out).unwrap();
        }
        for time in times {
            let sample = Sample {
                misc: Misc(2),
                identifier: Some(1),
                ip: Some(CODE + 0x10),
                task: Some(TASK),
                time: Some(Time(*time)),
                ..Sample::default()
            };
            layout.encode(&sample, &mut out).unwrap();
        }
        out
    }

    #[test]
    fn generated_code_is_named_by_what_lay_there_at_the_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("jit-{PID}.dump"));
        fs::write(&path, jitdump(&[(20, "fill"), (30, "drain")])).unwrap();
        let mut stream = NamedStream::new();
        stream.bytes = session(path.to_str().unwrap(), &[25, 31]);
        stream.take_in().unwrap();
        stream.finish();
        let mut named = || stream.next().map(|sample| sample.routine.to_string());
        assert_eq!(named().as_deref(), Some("fill"));
        assert_eq!(named().as_deref(), Some("drain"));
        assert_eq!(named(), None);
    }
}
