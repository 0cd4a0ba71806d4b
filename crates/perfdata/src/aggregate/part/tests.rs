use super::super::{Aggregate, AggregateAssembler, Bits};
use super::*;
use crate::stream::{StreamDecoder, StreamRecord, StreamStep, write};
use crate::{ChainContext, CpuMode};
use proptest::prelude::*;

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

/// A site that nothing is left out of.
fn full(ip: u64) -> Site {
    let registers =
        (0..64).map(|number| RegisterBits { number, bits: Bits { all: ip, any: ip | 0xff } });
    let hit = Taken {
        time: Time(5),
        pid: Pid(-1),
        tid: Tid(8),
        cpu: Cpu(1),
        address: 0x7000,
        period: 3,
        weight: 9,
        data_src: 0x11,
        registers: (100..164).collect(),
    };
    let mut strides = Strides::default();
    strides.0.fill(1);
    Site {
        process: Some(Pid(-1)),
        pids: Bits::of(u32::MAX.into()),
        ip,
        mode: CpuMode::Kernel,
        count: 1000,
        period: 3000,
        first: Time(5),
        last: Time(6),
        address: Some(Range { min: 1, max: 7, bits: Bits { all: 1, any: 7 } }),
        registers: registers.collect(),
        taken: vec![hit; RESERVOIR],
        strides: Some(Box::new(strides)),
        chain: Some([ChainContext::KERNEL.0, ip, 0x99, ChainContext::USER.0, 7].into()),
    }
}

/// A site that all is left out of.
fn bare(ip: u64) -> Site {
    Site {
        process: None,
        mode: CpuMode::User,
        count: 1,
        address: None,
        registers: Vec::new(),
        taken: Vec::new(),
        strides: None,
        chain: None,
        ..full(ip)
    }
}

fn bytes(part: &AggregatePart, order: ByteOrder) -> Vec<u8> {
    let mut bytes = Vec::new();
    part.encode(order, &mut bytes).unwrap();
    bytes
}

fn part(sites: Vec<Site>) -> AggregatePart {
    let lost = vec![("no_room".to_owned(), 7), ("kernel_busy".to_owned(), u64::MAX)];
    AggregatePart { from: Time(1), to: Time(9), number: 0, is_last: true, lost, sites }
}

#[test]
fn what_is_written_is_read_in_both_orders() {
    let part = part(vec![full(0xffff_ffff_8100_0000), bare(0x40_1000)]);
    for order in ORDERS {
        let bytes = bytes(&part, order);
        assert_eq!(AggregatePart::decode(&bytes, order).as_ref(), Ok(&part));
        assert_eq!(bytes.len() % 8, 0);
        let head = 32 + 32 + (16 + 8) + (16 + 16);
        assert_eq!(bytes.len(), head + part.sites.iter().map(size).sum::<usize>());
    }
}

#[test]
fn the_largest_site_fits_a_record_twice() {
    assert!(size(&full(1)) * 2 < ROOM);
    assert!(ROOM + 64 + CAUSES * (16 + CAUSE) < usize::from(u16::MAX) - 24);
}

#[test]
fn bytes_cut_anywhere_are_refused() {
    let whole = bytes(&part(vec![full(1), bare(2)]), ByteOrder::Little);
    for end in 0..whole.len() {
        AggregatePart::decode(&whole[..end], ByteOrder::Little).unwrap_err();
    }
    let longer = [whole.as_slice(), &[0; 8]].concat();
    let error = AggregatePart::decode(&longer, ByteOrder::Little).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an aggregate whose number of bytes left over is 8, which cannot be"
    );
}

#[test]
fn impossible_values_are_neither_written_nor_read() {
    let refused = |site: Site, text: &str| {
        let error = part(vec![site]).encode(ByteOrder::Little, &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), format!("an aggregate whose {text}, which cannot be"));
    };
    let pids = Bits { all: 2, any: 1 };
    refused(Site { pids, ..bare(1) }, "bits of a process is 2");
    refused(Site { count: 0, ..bare(1) }, "count of a site is 0");
    refused(Site { first: Time(7), ..bare(1) }, "first hit is 7");
    let range = Range { min: 8, max: 7, bits: Bits::of(7) };
    refused(Site { address: Some(range), ..bare(1) }, "lowest address is 8");
    refused(Site { count: 64, ..full(1) }, "number of distances is 65");
    refused(Site { count: 3, strides: None, ..full(1) }, "number of hits taken is 4");
    let bits = RegisterBits { number: 3, bits: Bits { all: 6, any: 3 } };
    refused(Site { registers: vec![bits], ..bare(1) }, "bits of a register is 4");
    refused(
        Site { registers: vec![RegisterBits { number: 64, bits: Bits::of(0) }], ..bare(1) },
        "register is 64",
    );
    let twice = full(1).registers.into_iter().rev().collect();
    refused(Site { registers: twice, ..full(1) }, "register is 62");
    let endless = Some(vec![0; MOST_CHAIN_WORDS + 1].into());
    refused(Site { chain: endless, ..bare(1) }, "number of words of a chain is 161");
    let cause = AggregatePart { lost: vec![("No Room".to_owned(), 1)], ..part(Vec::new()) };
    cause.encode(ByteOrder::Little, &mut Vec::new()).unwrap_err();

    // The same in bytes: offsets of a bare site behind a head without causes.
    let plain =
        bytes(&AggregatePart { lost: Vec::new(), ..part(vec![bare(1)]) }, ByteOrder::Little);
    for (offset, value) in [(4, 6u8), (5, 8), (6, 5), (6, 2), (7, 1), (0, 1), (16, 0), (32, 7)] {
        let mut bytes = plain.clone();
        bytes[56 + offset] = value;
        AggregatePart::decode(&bytes, ByteOrder::Little)
            .expect_err(&format!("{value} at {offset}"));
    }
}

#[test]
fn another_version_is_named() {
    let mut bytes = bytes(&part(Vec::new()), ByteOrder::Little);
    bytes[10] = b'3';
    let error = AggregatePart::decode(&bytes, ByteOrder::Little).unwrap_err().to_string();
    assert!(error.contains("\"aggregate=3;samples=0\""), "{error}");
}

#[test]
fn who_knows_no_callers_is_not_given_them() {
    let text = |site: Site| {
        let bytes = bytes(&part(vec![site]), ByteOrder::Little);
        (bytes[..11].to_vec(), bytes)
    };
    let (first, _) = text(Site { chain: None, ..full(1) });
    assert_eq!(first, b"aggregate=1");
    let (second, mut bytes) = text(full(1));
    assert_eq!(second, b"aggregate=2");
    bytes[10] = b'1';
    let error = AggregatePart::decode(&bytes, ByteOrder::Little).unwrap_err().to_string();
    assert!(error.contains("version"), "{error}");
}

/// A stream of one event, with what `fill` appends.
fn stream(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write::file_header(ByteOrder::Little, &mut bytes);
    write::attr(&crate::Attr::default(), &[7], ByteOrder::Little, &mut bytes).unwrap();
    fill(&mut bytes);
    bytes
}

/// All aggregates of a stream, and what was torn.
fn read(stream: &[u8]) -> (Vec<Aggregate>, Vec<String>, StreamDecoder) {
    let (mut decoder, mut at) = (StreamDecoder::new(), 0);
    let (mut assembler, mut whole, mut torn) =
        (AggregateAssembler::default(), Vec::new(), Vec::new());
    while let StreamStep::Record { consumed, record } = decoder.step(&stream[at..]).unwrap() {
        at += consumed;
        if let StreamRecord::Aggregate { event, part } = record {
            assert_eq!(event, 0);
            let assembled = assembler.add(part);
            whole.extend(assembled.whole);
            torn.extend(assembled.torn.map(|torn| torn.to_string()));
        }
    }
    torn.extend(assembler.finish().map(|torn| torn.to_string()));
    decoder.finish(stream.len() - at).unwrap();
    (whole, torn, decoder)
}

fn long() -> Aggregate {
    let sites = (0..100).map(full).chain((100..2000).map(bare)).collect();
    Aggregate {
        from: Time(1_500_000_000),
        to: Time(9_000_000_000),
        sites,
        lost: vec![("no_room".to_owned(), 3)],
    }
}

#[test]
fn aggregates_go_through_a_stream() {
    let empty = Aggregate { from: Time(2), to: Time(2), ..Aggregate::default() };
    let bytes = stream(|bytes| {
        write::aggregate(7, long(), ByteOrder::Little, bytes).unwrap();
        write::event_unit(7, "kernel=1;delivered=1", ByteOrder::Little, bytes).unwrap();
        write::aggregate(7, empty.clone(), ByteOrder::Little, bytes).unwrap();
    });
    assert!(bytes.len() > 65_535);
    let (whole, torn, decoder) = read(&bytes);
    assert_eq!(whole, [long(), empty]);
    assert_eq!(torn, Vec::<String>::new());
    assert_eq!(decoder.events()[0].notes, ["kernel=1;delivered=1"]);
    assert_eq!(decoder.tally().unreadable(), None);
}

#[test]
fn the_text_says_how_many_hits_a_record_has() {
    for order in ORDERS {
        let (mut sum, mut records) = (0, 0);
        for part in long().into_parts() {
            let mut record = Vec::new();
            write::aggregate_part(7, &part, order, &mut record).unwrap();
            sum += samples_of(&record, order).unwrap();
            records += 1;
        }
        assert_eq!((sum, records > 1), (100 * 1000 + 1900, true));
        let mut note = Vec::new();
        write::event_unit(7, "kernel=1;delivered=1", order, &mut note).unwrap();
        assert_eq!(samples_of(&note, order), None);
        assert_eq!(samples_of(&note[..20], order), None);
    }
    let mut wrong = bytes(&part(vec![bare(1)]), ByteOrder::Little);
    wrong[20] = b'2';
    let error = AggregatePart::decode(&wrong, ByteOrder::Little).unwrap_err().to_string();
    assert!(error.contains("number of samples in its text is 2"), "{error}");
}

#[test]
fn a_missing_part_is_told_once_and_nothing_of_it_counts() {
    let parts = long().into_parts().collect::<Vec<_>>();
    assert!(parts.len() > 5, "{}", parts.len());
    let next = Aggregate {
        from: Time(9_000_000_000),
        to: Time(10_000_000_000),
        sites: vec![full(1)],
        lost: Vec::new(),
    };
    for missing in 0..parts.len() {
        let bytes = stream(|bytes| {
            for part in parts.iter().filter(|part| part.number as usize != missing) {
                write::aggregate_part(7, part, ByteOrder::Little, bytes).unwrap();
            }
            write::aggregate(7, next.clone(), ByteOrder::Little, bytes).unwrap();
        });
        let (whole, torn, _) = read(&bytes);
        assert_eq!(whole, std::slice::from_ref(&next));
        let told = format!(
            "what the kernel counted from 1.500 s to 9.000 s was left out: part {missing} of it is missing"
        );
        assert_eq!(torn, [told]);
    }
    let cut =
        stream(|bytes| write::aggregate_part(7, &parts[0], ByteOrder::Little, bytes).unwrap());
    assert_eq!(read(&cut).1.len(), 1);
}

#[test]
fn a_part_that_cannot_be_read_costs_itself_and_is_counted() {
    let bytes = stream(|bytes| {
        let start = bytes.len();
        write::aggregate(7, long(), ByteOrder::Little, bytes).unwrap();
        bytes[start + 8 + 16 + 10] = b'9';
        write::aggregate(7, Aggregate::default(), ByteOrder::Little, bytes).unwrap();
    });
    let (whole, torn, decoder) = read(&bytes);
    assert_eq!((whole.len(), torn.len()), (1, 1));
    let unreadable = decoder.tally().unreadable().unwrap().to_string();
    assert!(unreadable.contains("aggregate=9"), "{unreadable}");
}

proptest! {
    #[test]
    fn any_bytes_decode_or_say_why(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for order in ORDERS {
            for version in [b"aggregate=1;samples=9\0\0\0", b"aggregate=2;samples=9\0\0\0"] {
                let bytes = [version.as_slice(), &bytes].concat();
                if let Err(error) = AggregatePart::decode(&bytes, order) {
                    prop_assert!(!error.to_string().is_empty());
                }
            }
        }
    }

    #[test]
    fn a_changed_byte_is_refused_or_means_what_is_written_for_it(at in 56usize..3000, value: u8) {
        let mut bytes = bytes(&AggregatePart { lost: Vec::new(), ..part(vec![full(1), bare(2)]) }, ByteOrder::Little);
        let at = at % bytes.len();
        bytes[at] = value;
        if let Ok(part) = AggregatePart::decode(&bytes, ByteOrder::Little) {
            prop_assert_eq!(super::tests::bytes(&part, ByteOrder::Little), bytes);
        }
    }
}

#[test]
fn what_is_taken_off_fits_and_adds_up() {
    let lost = vec![("no_room".to_owned(), 7)];
    let sites: Vec<Site> =
        (0..200).map(|ip| if ip % 3 == 0 { full(ip) } else { bare(ip) }).collect();
    let whole = Aggregate { from: Time(1), to: Time(9), sites, lost: lost.clone() };
    let records = |aggregate: &Aggregate| {
        let mut bytes = Vec::new();
        write::aggregate(1, aggregate.clone(), ByteOrder::Little, &mut bytes).unwrap();
        bytes.len()
    };
    assert!(records(&whole) <= whole.record_bytes());
    for most in [0, 1000, 48 * 1024, 100_000, usize::MAX] {
        let (mut rest, mut pieces) = (whole.clone(), Vec::new());
        while !rest.sites.is_empty() {
            pieces.push(rest.take_bytes(most));
        }
        for piece in &pieces {
            let fits = records(piece) <= most && piece.record_bytes() <= most;
            assert!(fits || piece.sites.len() == 1, "{} of {most}", records(piece));
            assert_eq!((piece.from, piece.to), (whole.from, whole.to));
        }
        let lost_of = |piece: &Aggregate| piece.lost.clone();
        assert_eq!(pieces.iter().flat_map(lost_of).collect::<Vec<_>>(), lost, "told once");
        let mut ips: Vec<u64> =
            pieces.iter().flat_map(|piece| piece.sites.iter().map(|site| site.ip)).collect();
        ips.sort_unstable();
        assert_eq!(ips, (0..200).collect::<Vec<_>>(), "each site is in one");
    }
    let mut empty = Aggregate { sites: Vec::new(), ..whole };
    assert_eq!(empty.take_bytes(0).lost, lost);
}
