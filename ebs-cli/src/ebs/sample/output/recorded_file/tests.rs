use super::*;
use crate::ebs::invocation::OutputPlace;
use perfdata::recording::{self, RecordingForm, RecordingSource};
use perfdata::stream::{Feature, StreamRecord, write};
use perfdata::{Attr, Sample, SampleLayout, SampleType, Time};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

use super::super::NATIVE_ORDER as ORDER;

const SAMPLED: SampleType = SampleType::IDENTIFIER.union(SampleType::IP).union(SampleType::TIME);

fn attr(kind: EventType) -> Attr {
    Attr { kind, config: 2, sample_type: SAMPLED, ..Attr::default() }
}

/// Events with the ids 1 and so on, a name for the first, a feature.
fn front_of(kinds: &[EventType]) -> Vec<u8> {
    let mut out = Vec::new();
    write::file_header(ORDER, &mut out);
    for (kind, id) in kinds.iter().zip(1..) {
        write::attr(&attr(*kind), &[id], ORDER, &mut out).unwrap();
    }
    write::event_name(1, "first", ORDER, &mut out).unwrap();
    write::feature(&Feature::Hostname("here".into()), ORDER, &mut out).unwrap();
    out
}

fn samples(id: u64, times: std::ops::Range<u64>) -> Vec<u8> {
    let layout = SampleLayout::new(&attr(EventType::SOFTWARE), ORDER).unwrap();
    let mut out = Vec::new();
    for time in times {
        let (identifier, ip, time) = (Some(id), Some(time), Some(Time(time)));
        let sample = Sample { identifier, ip, time, ..Sample::default() };
        layout.encode(&sample, &mut out).unwrap();
    }
    write::finished_round(ORDER, &mut out);
    out
}

struct Scene {
    _directory: TempDir,
    path: PathBuf,
    file: RecordedFile,
}

impl Scene {
    fn new() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f.data");
        let destination =
            Destination::create(&OutputPlace::File(path.clone()), &mut || false).unwrap();
        let file = RecordedFile::new(destination, Facts::default(), RecordedExtras::default());
        Scene { _directory: directory, path, file }
    }

    fn write(&mut self, bytes: &[u8]) {
        let (_, result) = self.file.write_records(&mut bytes.to_vec());
        result.unwrap();
    }

    /// What is in the file now: its decoder, and how many samples of each
    /// event.
    fn read(&self) -> (recording::RecordingDecoder, Vec<usize>) {
        let bytes = fs::read(&self.path).unwrap();
        let length = bytes.len() as u64;
        let mut decoder = recording::RecordingDecoder::new(RecordingSource::File { length });
        let mut found = Vec::new();
        let mut at = 0;
        loop {
            match decoder.step(&bytes[at..]).unwrap() {
                recording::RecordingStep::Record { consumed, record, .. } => {
                    at += consumed;
                    if let StreamRecord::Sample { event, .. } = record {
                        found.resize(found.len().max(event + 1), 0);
                        found[event] += 1;
                    }
                }
                recording::RecordingStep::Seek(offset) => at = usize::try_from(offset).unwrap(),
                recording::RecordingStep::NeedMore(_) | recording::RecordingStep::End => break,
            }
        }
        assert_eq!(decoder.finish(0), Ok(()), "readable at any time");
        (decoder, found)
    }
}

#[test]
fn a_file_can_be_read_while_it_is_written() {
    let mut scene = Scene::new();
    let front = front_of(&[EventType::SOFTWARE, EventType::SOFTWARE]);
    // As a daemon sends it: cut between any two records.
    let (begun, rest) = front.split_at(STREAM_HEADER);
    scene.write(begun);
    scene.write(rest);
    assert_eq!(fs::metadata(&scene.path).unwrap().len(), 0, "events stand before all else");
    for passes in 1..4 {
        scene.write(&[samples(1, 0..3), samples(2, 0..2)].concat());
        let (decoder, found) = scene.read();
        assert_eq!((decoder.form(), found), (RecordingForm::File, vec![3 * passes, 2 * passes]));
        let stream = decoder.stream();
        assert_eq!(stream.events()[0].name.as_deref(), Some("first"), "the name is in the data");
        assert_eq!(stream.features().hostname.as_deref(), Some("here"));
        assert!(stream.features().sections.is_empty(), "not at the end yet");
    }
    scene.file.finish().unwrap();
    let (decoder, found) = scene.read();
    assert_eq!(found, [9, 6]);
    let stream = decoder.stream();
    assert_eq!(stream.events().len(), 2);
    assert_eq!(stream.features().hostname.as_deref(), Some("here"));
    assert!(scene.file.notes().is_empty());
}

#[test]
fn what_is_told_late_stands_at_the_end() {
    let mut scene = Scene::new();
    scene.write(&[front_of(&[EventType::SOFTWARE]), samples(1, 0..3)].concat());
    let mut late = samples(1, 3..5);
    write::attr(&attr(EventType::SOFTWARE), &[2, 3], ORDER, &mut late).unwrap();
    write::feature(&Feature::OsRelease("6.18".into()), ORDER, &mut late).unwrap();
    late.extend(samples(3, 0..7));
    scene.write(&late);
    scene.file.finish().unwrap();
    let (decoder, found) = scene.read();
    assert_eq!(found, [5, 7]);
    let stream = decoder.stream();
    assert_eq!(stream.events()[1].ids, [2, 3]);
    assert_eq!(stream.features().os_release.as_deref(), Some("6.18"));
    assert_eq!(stream.tally().unreadable(), None);
}

#[test]
fn without_any_record_there_is_still_a_file() {
    let mut scene = Scene::new();
    scene.write(&front_of(&[EventType::SOFTWARE]));
    scene.file.finish().unwrap();
    let (decoder, found) = scene.read();
    assert_eq!((decoder.stream().events().len(), found.len()), (1, 0));
    let mut nothing = Scene::new();
    nothing.file.finish().unwrap();
    assert_eq!(fs::metadata(&nothing.path).unwrap().len(), 0);
}

#[test]
fn tracepoints_without_their_formats_stay_in_pipe_form() {
    let mut scene = Scene::new();
    let stream = [front_of(&[EventType::TRACEPOINT]), samples(1, 0..3)].concat();
    scene.write(&stream);
    scene.file.finish().unwrap();
    assert_eq!(fs::read(&scene.path).unwrap(), stream);
    let notes = scene.file.notes();
    assert!(notes.len() == 1 && notes[0].contains("tracefs is not mounted"), "{notes:?}");
}
