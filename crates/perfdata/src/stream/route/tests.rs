use super::*;

const LITTLE: ByteOrder = ByteOrder::Little;

fn attr(fields: SampleType, id_all: bool) -> Attr {
    let flags = if id_all { AttrFlags::SAMPLE_ID_ALL } else { AttrFlags::empty() };
    Attr { sample_type: fields, flags, ..Attr::default() }
}

/// A route over events with these attrs; event n has ids 10 n and 10 n + 1.
fn events(attrs: &[Attr]) -> Route {
    let mut route = Route::new();
    for (number, attr) in (0u64..).zip(attrs) {
        route.add(attr, &[number * 10, number * 10 + 1], &attrs[0]);
    }
    route
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn no_event_no_place() {
    let mut route = events(&[]);
    assert_eq!(route.sample(&words(&[1]), LITTLE), Routed::NoPlace);
    assert_eq!(route.side(&words(&[1]), LITTLE), Routed::NoPlace);
    assert_eq!(route.update(0), None);
}

#[test]
fn one_event_needs_no_id() {
    let mut route = events(&[attr(SampleType::IP, false)]);
    assert_eq!(route.sample(&[], LITTLE), Routed::Event(0));
    assert_eq!(route.side(&[], LITTLE), Routed::Event(0));
    assert_eq!(route.update(999), Some(0));
}

#[test]
fn the_identifier_leads_samples_and_ends_others() {
    let fields = SampleType::IDENTIFIER | SampleType::IP;
    let other = SampleType::IDENTIFIER | SampleType::TID | SampleType::TIME;
    let mut route = events(&[attr(fields, true), attr(other, true)]);
    assert_eq!(route.sample(&words(&[11, 0]), LITTLE), Routed::Event(1));
    assert_eq!(route.sample(&words(&[1, 11]), LITTLE), Routed::Event(0));
    assert_eq!(route.side(&words(&[1, 11]), LITTLE), Routed::Event(1));
    assert_eq!(route.side(&words(&[11, 0]), LITTLE), Routed::Event(0));
    assert_eq!(route.sample(&words(&[5]), LITTLE), Routed::UnknownId);
    assert_eq!(route.side(&words(&[5]), LITTLE), Routed::UnknownId);
    assert_eq!(route.sample(&[1], LITTLE), Routed::NoPlace);
    assert_eq!((route.update(11), route.update(5)), (Some(1), None));
}

#[test]
fn the_id_stands_after_ip_tid_time_addr_and_before_stream_id_cpu() {
    let fields = SampleType::IP | SampleType::TIME | SampleType::ID | SampleType::CPU;
    let mut route = events(&[attr(fields, true), attr(fields, true)]);
    assert_eq!(route.sample(&words(&[1, 2, 10, 4]), LITTLE), Routed::Event(1));
    assert_eq!(route.side(&words(&[2, 11, 4]), LITTLE), Routed::Event(1));
}

#[test]
fn events_that_look_the_same_go_to_the_first() {
    let fields = SampleType::IP | SampleType::TID;
    let mut route = events(&[attr(fields, true), attr(fields, true), attr(fields, true)]);
    assert_eq!(route.sample(&words(&[1, 2]), LITTLE), Routed::Event(0));
    assert_eq!(route.side(&words(&[2]), LITTLE), Routed::Event(0));
}

#[test]
fn events_that_differ_without_an_id_have_no_place() {
    let ip = attr(SampleType::IP, true);
    let task = attr(SampleType::TID, true);
    let id = attr(SampleType::ID, true);
    let identifier = attr(SampleType::IDENTIFIER, true);
    let pairs = [[ip.clone(), task.clone()], [id, identifier.clone()], [ip.clone(), identifier]];
    for [first, second] in &pairs[..1] {
        let mut route = events(&[first.clone(), second.clone()]);
        assert_eq!(route.sample(&words(&[1, 2]), LITTLE), Routed::NoPlace);
        assert_eq!(route.side(&words(&[1, 2]), LITTLE), Routed::NoPlace);
    }
    // ID alone and IDENTIFIER happen to stand at the same place.
    let mut route = events(&pairs[1]);
    assert_eq!(route.sample(&words(&[10]), LITTLE), Routed::Event(1));
    let mut route = events(&pairs[2]);
    assert_eq!(route.sample(&words(&[10]), LITTLE), Routed::NoPlace);
}

#[test]
fn without_trailers_other_records_need_no_id() {
    let mut route = events(&[attr(SampleType::IP, false), attr(SampleType::TID, false)]);
    assert_eq!(route.sample(&words(&[1]), LITTLE), Routed::NoPlace);
    assert_eq!(route.side(&words(&[1]), LITTLE), Routed::Event(0));
}

#[test]
fn the_first_to_claim_an_id_has_it() {
    let attr = attr(SampleType::IDENTIFIER, true);
    let mut route = Route::new();
    route.add(&attr, &[7, 8], &attr);
    route.add(&attr, &[9, 7], &attr);
    assert_eq!(route.by_id(7), Some(0));
    assert_eq!(route.by_id(9), Some(1));
    route.add(&attr, &[6], &attr);
    assert_eq!((route.by_id(6), route.by_id(8)), (Some(2), Some(0)));
}
