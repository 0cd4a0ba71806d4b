//! Recordings whose records are packed with zstd.

use super::*;

#[test]
fn packed_records_come_out_wherever_they_are_cut() {
    for order in ORDERS {
        for kind in [RecordType::COMPRESSED, RecordType::COMPRESSED2] {
            for cut in [13, 32, 5_000, 60_000] {
                let count = if cut < 100 { 50 } else { 10_000 };
                let mut data = packed(&samples(count, order), cut, kind, order);
                put_sample(21, 9, order, &mut data);
                let file = file(order, 128, &data, &features(order));
                let (seen, decoder, done) = read(&file.bytes, 1 << 16);
                done.unwrap();
                let samples = seen.iter().filter(|it| *it == "Sample").count() as u64;
                assert_eq!(samples, count + 1, "{kind} cut at {cut}");
                assert_eq!(decoder.stream().tally().unreadable(), None);
            }
        }
    }
}

#[test]
fn what_cannot_be_unpacked_is_left_out_and_the_rest_is_read() {
    let order = ByteOrder::Little;
    let mut data = packed(&samples(100, order), 1_000, RecordType::COMPRESSED, order);
    let first = usize::from(u16::from_le_bytes([data[6], data[7]]));
    data[first + 8..first + 20].fill(0xff);
    put_sample(21, 9, order, &mut data);
    let file = file(order, 128, &data, &features(order));
    let (seen, decoder, done) = read(&file.bytes, 1 << 16);
    assert_eq!(done, Ok(()));
    let samples = seen.iter().filter(|it| *it == "Sample").count();
    assert_eq!(samples, 1_000 / 32 + 1, "those of the first record, and the one after");
    let unreadable = decoder.stream().tally().unreadable().unwrap();
    let offset = (file.data + first) as u64;
    assert!(matches!(unreadable.first, StreamError::Zstd { offset: at, .. } if at == offset));
    assert!(unreadable.count > 1, "and all that were packed after it");
}

#[test]
fn a_record_of_no_size_is_passed_over_where_it_is_packed() {
    let order = ByteOrder::Little;
    let mut inside = samples(3, order);
    inside.extend([9, 0, 0, 0, 0, 0, 0, 0]);
    inside.extend(samples(3, order));
    let mut data = packed(&inside, 10_000, RecordType::COMPRESSED, order);
    put_sample(21, 9, order, &mut data);
    let (seen, decoder, done) = read(&file(order, 128, &data, &[]).bytes, 1 << 16);
    assert_eq!(done, Ok(()));
    assert_eq!(seen.iter().filter(|it| *it == "Sample").count(), 7);
    assert_eq!(decoder.stream().tally().unreadable().unwrap().count, 1);
}

#[test]
fn packed_records_may_not_pack_others() {
    let order = ByteOrder::Little;
    let inner = packed(&samples(3, order), 10_000, RecordType::COMPRESSED, order);
    let data = packed(&inner, 10_000, RecordType::COMPRESSED, order);
    let (_, decoder, _) = read(&file(order, 128, &data, &[]).bytes, 1 << 16);
    let said = decoder.stream().tally().unreadable().unwrap().to_string();
    assert!(said.contains("within the compressed record"), "{said}");
}

#[test]
fn a_packed_stream_that_ends_within_a_record_is_cut() {
    let order = ByteOrder::Little;
    let inside = samples(3, order);
    let data = packed(&inside[..inside.len() - 4], 10_000, RecordType::COMPRESSED2, order);
    let (_, _, done) = read(&file(order, 128, &data, &[]).bytes, 1 << 16);
    assert_eq!(done, Err(StreamError::ZstdTruncated { left: 28 }));
}
