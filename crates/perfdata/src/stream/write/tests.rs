use super::*;
use crate::attr::{AttrFlags, SampleType};

fn page_faults() -> Attr {
    Attr {
        kind: crate::attr::EventType::SOFTWARE,
        config: 2,
        sample_type: SampleType::IDENTIFIER,
        flags: AttrFlags::SAMPLE_ID_ALL,
        ..Attr::default()
    }
}

#[test]
fn the_header_says_pipe() {
    let mut out = Vec::new();
    file_header(ByteOrder::Little, &mut out);
    assert_eq!(out, *b"PERFILE2\x10\0\0\0\0\0\0\0");
    out.clear();
    file_header(ByteOrder::Big, &mut out);
    assert_eq!(out, *b"2ELIFREP\0\0\0\0\0\0\0\x10");
}

#[test]
fn an_attr_takes_128_bytes_and_more_only_when_it_must() {
    assert_eq!(attr_size(&page_faults()), 128);
    assert_eq!(attr_size(&Attr { config3: 1, ..page_faults() }), 136);
    assert_eq!(attr_size(&Attr { config4: 1, ..page_faults() }), 144);
    let mut out = Vec::new();
    attr(&page_faults(), &[7, 8], ByteOrder::Little, &mut out).unwrap();
    assert_eq!(out[..8], [64, 0, 0, 0, 0, 0, 152, 0]);
    assert_eq!(out[136..], [7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn what_does_not_fit_a_record_is_refused_and_leaves_no_trace() {
    let mut out = vec![1];
    let ids = vec![0; 8_200];
    let error = attr(&page_faults(), &ids, ByteOrder::Little, &mut out).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a HEADER_ATTR record of 65736 bytes is beyond the limit of 65,535"
    );
    let long = "x".repeat(66_000);
    event_name(1, &long, ByteOrder::Little, &mut out).unwrap_err();
    feature(&Feature::Hostname(long), ByteOrder::Little, &mut out).unwrap_err();
    assert_eq!(out, [1]);
}

#[test]
fn marks_are_headers_alone() {
    let mut out = Vec::new();
    finished_round(ByteOrder::Little, &mut out);
    finished_init(ByteOrder::Little, &mut out);
    assert_eq!(out, [68, 0, 0, 0, 0, 0, 8, 0, 82, 0, 0, 0, 0, 0, 8, 0]);
}
