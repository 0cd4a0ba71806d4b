use super::*;
use perfdata::{Attr, SampleFilter};
use proptest::prelude::*;

use crate::catalogue::promises::{
    AddressPromise, IpPromise, Promises, RegistersPromise, SampleSource, WeightPromise,
};
use crate::machine::process_identity::ProcessIdentity;
use crate::{Modes, PlannedEvent, Request};

fn framed(kind: FrameKind, payload: &[u8]) -> Vec<u8> {
    [&frame(kind, payload.len()).unwrap()[..], payload].concat()
}

#[test]
fn a_frame_has_the_layout_that_the_specification_gives() {
    let bytes = framed(FrameKind::Data, &[7; 0x102]);
    assert_eq!(bytes[..10], [2, 1, 0, 0, 2, 0, 3, 0, 7, 7]);
    let parsed = parse(&bytes, MAX_DAEMON_PAYLOAD).unwrap();
    let expected = ProtocolFrame { kind: FrameKind::Data, version: 3, payload: &[7; 0x102] };
    assert_eq!(parsed, Parsed::Frame(expected, 0x10a));
}

#[test]
fn headers_are_refused_before_the_payload_is_waited_for() {
    let too_long = FrameError::TooLong { length: u32::MAX, most: 65536 };
    assert_eq!(parse(&[255, 255, 255, 255, 1, 0, 1, 0], MAX_CLIENT_PAYLOAD), Err(too_long));
    assert_eq!(parse(&[0, 0, 0, 0, 1, 0, 1, 0], 9), Err(FrameError::Empty));
    assert_eq!(parse(&[1, 0, 0, 0, 9, 0, 1, 0], 9), Err(FrameError::Kind { kind: 9 }));
    assert_eq!(parse(&[1, 0, 0, 0, 1, 4, 1, 0], 9), Err(FrameError::Flags { flags: 4 }));
    assert_eq!(parse(&[1, 0, 0], 9), Ok(Parsed::NeedMore(8)));
    assert_eq!(parse(&[5, 0, 0, 0, 1, 0, 1, 0, 1], 9), Ok(Parsed::NeedMore(13)));
}

#[test]
fn no_frame_is_empty_or_longer_than_any_side_may_send() {
    assert_eq!(frame(FrameKind::Control, 0), Err(FrameError::Empty));
    let most = usize::try_from(MAX_DAEMON_PAYLOAD).unwrap();
    assert!(frame(FrameKind::Data, most).is_ok());
    assert!(matches!(frame(FrameKind::Data, most + 1), Err(FrameError::TooLong { .. })));
    assert!(matches!(frame(FrameKind::Data, usize::MAX), Err(FrameError::TooLong { .. })));
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..9),
        cut in 0usize..4000,
    ) {
        let all: Vec<u8> =
            payloads.iter().flat_map(|payload| framed(FrameKind::Control, payload)).collect();
        let mut rest = &all[..cut.min(all.len())];
        let mut seen = 0;
        while let Parsed::Frame(frame, taken) = parse(rest, MAX_CLIENT_PAYLOAD).unwrap() {
            prop_assert_eq!(frame.payload, &payloads[seen][..]);
            rest = &rest[taken..];
            seen += 1;
        }
        if cut >= all.len() {
            prop_assert_eq!((seen, rest.len()), (payloads.len(), 0));
        }
    }

    #[test]
    fn any_bytes_are_a_frame_an_error_or_too_few(
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        most in 1u32..100,
    ) {
        match parse(&bytes, most) {
            Ok(Parsed::Frame(frame, taken)) => {
                prop_assert_eq!(frame.payload.len() + FRAME_HEADER, taken);
                prop_assert!(taken <= bytes.len());
            }
            Ok(Parsed::NeedMore(needed)) => prop_assert!(needed > bytes.len()),
            Err(_) => {}
        }
    }
}

#[test]
fn versions_agree_on_the_newest_that_both_speak() {
    assert_eq!(common(3, 3), Some(3));
    assert_eq!(common(0, 9), Some(3), "a newer client that still speaks ours");
    assert_eq!(common(4, 9), None, "one that does not");
    assert_eq!(common(2, 2), None, "an older client");
    assert_eq!(common(4, 3), None, "nonsense");
}

#[test]
fn messages_read_what_newer_clients_add() {
    let text = r#"{"verb":"start","job":{"event":"page_fault","user":true,"shiny":[1]},
        "target":{"process":{"pid":7,"start_time":9,"cgroup":"x"}},"when_slow":"disconnect","colour":"red"}"#;
    let verb: Verb = serde_json::from_str(text).unwrap();
    let Verb::Start { job, target, when_slow } = verb else { panic!("{verb:?}") };
    let Request { interval, modes, .. } = job.request;
    assert_eq!((when_slow, interval, modes), (WhenSlow::Disconnect, None, Modes::USER));
    assert_eq!(target, NamedTarget::Process(ProcessIdentity { pid: 7, start_time: 9 }));
    let complaint: ErrorReply =
        serde_json::from_str(r#"{"code":"of_the_future","text":"later"}"#).unwrap();
    assert_eq!(complaint.code, ErrorCode::Other);
}

#[test]
fn clients_are_told_the_plan() {
    let mut attr = Attr { size: 112, config: 7, ..Attr::default() };
    attr.set_precise_ip(3);
    let of_ibs = PlannedEvent {
        name: "loads".into(),
        pmu: "cpu".into(),
        attr,
        cpus: None,
        leader: Some(0),
        carrier: false,
        least_precise: 1,
        promises: Promises {
            source: SampleSource::Pebs,
            ip: IpPromise::Exact,
            address: AddressPromise::Data,
            registers: RegistersPromise::AfterRetirement,
            weight: WeightPromise::LoadLatency,
        },
        filter: "ibs:ld_op+ibs:dc_miss".parse().unwrap(),
    };
    let mut of_all = PlannedEvent { filter: SampleFilter::ALL, ..of_ibs.clone() };
    of_all.attr.size = Attr::MAX_SIZE;
    of_all.attr.config3 = 8;
    for event in [of_ibs, of_all] {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<PlannedEvent>(&text).unwrap(), event, "{text}");
    }
}

#[test]
fn nonsense_is_an_error() {
    for text in [
        "",
        "{}",
        "null",
        r#"{"verb":"explode"}"#,
        r#"{"verb":"start"}"#,
        r#"{"verb":"stop","session":-1}"#,
        r#"{"verb":"stop","session":1e300}"#,
        r#"{"verb":"start","job":{"event":"x"},"target":"everything"}"#,
        r#"{"verb":"start","job":{"event":"x"},"target":{"process":{"pid":7}}}"#,
        r#"{"verb":"start","job":{"event":"x"},"target":{"held":{}}}"#,
    ] {
        assert!(serde_json::from_str::<Verb>(text).is_err(), "{text}");
    }
}
