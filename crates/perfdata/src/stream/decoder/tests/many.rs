//! Many of what a recording may have many of.

use super::*;
use crate::stream::{MOST_EVENTS, ModelClock};

/// Many of these, read without a clock: what took a time that grows with
/// their square would take hours.
const MANY: u64 = 400_000;

#[test]
fn many_notes_take_no_longer_each() {
    let order = ByteOrder::Little;
    let mut bytes = start(order);
    for time in 0..MANY / 2 {
        write::event_unit(1, &format!("n={time}"), order, &mut bytes).unwrap();
        let clock = ModelClock { began: Time(0), now: Time(time) };
        write::event_unit(1, &clock.to_string(), order, &mut bytes).unwrap();
    }
    let more = "clock=model;clock.began=0;clock.now=9;more=1";
    write::event_unit(2, more, order, &mut bytes).unwrap();
    let mut decoder = StreamDecoder::new();
    let (mut at, mut clocks) = (0, 0);
    while let StreamStep::Record { consumed, record } = decoder.step(&bytes[at..]).unwrap() {
        at += consumed;
        if let StreamRecord::EventUpdate(event) = record {
            clocks += u64::from(decoder.events()[event].clock.is_some());
        }
    }
    let event = &decoder.events()[0];
    assert_eq!(clocks, MANY);
    assert_eq!(event.notes.len() as u64, MANY / 2 + 1);
    assert_eq!(event.notes.last().unwrap(), more, "what else a note says stays");
    assert_eq!(event.clock, Some(ModelClock { began: Time(0), now: Time(9) }));
}

#[test]
fn many_formats_name_many_events_once() {
    let order = ByteOrder::Little;
    let mut bytes = start(order);
    let tracepoint = Attr { kind: EventType::TRACEPOINT, config: 317, ..sampling() };
    let events = u64::from(MOST_EVENTS) - 2;
    for id in 0..events {
        // Software events of the same config are not to be walked, either.
        let kind = if id % 2 == 0 { EventType::TRACEPOINT } else { EventType::SOFTWARE };
        write::attr(&Attr { kind, ..tracepoint.clone() }, &[10 + id], order, &mut bytes).unwrap();
    }
    let mut decoder = StreamDecoder::new();
    while let StreamStep::Record { consumed, .. } = decoder.step(&bytes).unwrap() {
        bytes.drain(..consumed);
    }
    decoder.name_tracepoints(&formats(MANY));
    let name = |at: usize| decoder.events()[at].name.as_deref();
    assert_eq!(name(2), Some("sched:first"));
    assert_eq!(name(3), None);
    let named = decoder.events().iter().filter(|event| event.name.is_some());
    assert_eq!(named.count() as u64, events / 2);
    let mut body = Vec::new();
    let w = &mut ByteWriter::new(&mut body, order);
    w.u64(317);
    w.raw(b"software\0");
    let taken = decoder.event_type(&mut crate::bytes::Cursor::new(&body, order)).unwrap();
    assert_eq!(taken, StreamRecord::EventUpdate(3));
}

/// Tracing data with so many formats, all of tracepoint 317.
fn formats(count: u64) -> Vec<u8> {
    let mut out = b"\x17\x08\x44tracing0.6\0\0\x08".to_vec();
    let w = &mut ByteWriter::new(&mut out, ByteOrder::Little);
    w.u32(4096);
    w.raw(b"header_page\0");
    w.u64(0);
    w.raw(b"header_event\0");
    w.u64(0);
    w.u32(0);
    w.u32(1);
    w.raw(b"sched\0");
    w.u32(u32::try_from(count).unwrap());
    for format in 0..count {
        let text = if format == 0 { "name: first\nID: 317\n" } else { "name: other\nID: 317\n" };
        w.u64(text.len() as u64);
        w.raw(text.as_bytes());
    }
    out
}
