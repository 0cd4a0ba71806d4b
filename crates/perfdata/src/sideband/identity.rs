//! Property: what is written is read, every kind, both byte orders, any
//! trailer.

use super::{FileIdentity, Mapping, NamespaceLink, SidebandRecord};
use crate::bytes::{ByteOrder, Cursor, RecordWords};
use crate::header::{Misc, RecordHeader, RecordType};
use crate::units::{Pid, Task, Tid, Time};
use proptest::prelude::*;

/// What records borrow from.
#[derive(Clone, Debug)]
struct Pool {
    words: [u64; 6],
    short: u32,
    kind: u16,
    flags: u16,
    tag: [u8; 8],
    text: Vec<u8>,
    bytes: Vec<u8>,
    build_id: Vec<u8>,
    links: Vec<(u64, u64)>,
}

fn pool() -> impl Strategy<Value = Pool> {
    let numbers = any::<([u64; 6], u32, u16, u16, [u8; 8])>();
    let bytes = |size| prop::collection::vec(any::<u8>(), size);
    let text = prop::collection::vec(1u8.., 0..300);
    let links = prop::collection::vec(any::<(u64, u64)>(), 0..9);
    (numbers, text, bytes(0..300), bytes(0..21), links).prop_map(
        |((words, short, kind, flags, tag), text, bytes, build_id, links)| Pool {
            words,
            short,
            kind,
            flags,
            tag,
            text,
            bytes,
            build_id,
            links,
        },
    )
}

fn task(word: u64) -> Task {
    let half = |word: u64| u32::try_from(word & 0xffff_ffff).unwrap().cast_signed();
    Task { pid: Pid(half(word)), tid: Tid(half(word >> 32)) }
}

/// A record of every kind that can be written.
fn records(p: &Pool) -> Vec<SidebandRecord<'_>> {
    let [a, b, c, d, e, f] = p.words;
    let (time, parent) = (Time(c), task(b));
    let mapping = Mapping {
        task: task(a),
        start: b,
        length: c,
        page_offset: d,
        file: FileIdentity::Unknown,
        protection: None,
        flags: None,
        path: &p.text,
    };
    let second = |file| {
        let (protection, flags) = (Some(p.short & 7), Some(u32::from(p.flags)));
        SidebandRecord::Mmap2(Mapping { file, protection, flags, ..mapping })
    };
    let links = p.links.iter().map(|&(device, inode)| NamespaceLink { device, inode });
    vec![
        SidebandRecord::Mmap(mapping),
        second(FileIdentity::Inode {
            major: p.short,
            minor: u32::from(p.kind),
            inode: e,
            generation: f,
        }),
        second(FileIdentity::BuildId(&p.build_id)),
        SidebandRecord::Comm { task: task(a), name: &p.text },
        SidebandRecord::Fork { task: task(a), parent, time },
        SidebandRecord::Exit { task: task(a), parent, time },
        SidebandRecord::Lost { id: a, lost: b },
        SidebandRecord::LostSamples { lost: a },
        SidebandRecord::Throttle { time, id: a, stream_id: b },
        SidebandRecord::Unthrottle { time, id: a, stream_id: b },
        SidebandRecord::Read { task: task(a), values: &p.bytes },
        SidebandRecord::Switch,
        SidebandRecord::SwitchCpuWide { next_prev_pid: parent.pid, next_prev_tid: parent.tid },
        SidebandRecord::Namespaces { task: task(a), links: links.collect() },
        SidebandRecord::Ksymbol {
            address: a,
            length: p.short,
            kind: p.kind,
            flags: p.flags,
            name: &p.text,
        },
        SidebandRecord::BpfEvent { kind: p.kind, flags: p.flags, id: p.short, tag: p.tag },
        SidebandRecord::Cgroup { id: a, path: &p.text },
        SidebandRecord::TextPoke { address: a, old: &p.build_id, new: &p.bytes },
        SidebandRecord::Aux { offset: a, size: b, flags: c },
        SidebandRecord::ItraceStart { task: task(a) },
        SidebandRecord::AuxOutputHwId { hw_id: a },
        SidebandRecord::CallchainDeferred {
            cookie: a,
            chain: RecordWords::new(&p.bytes, ByteOrder::Little),
        },
        SidebandRecord::Unknown { kind: RecordType(63), body: &p.bytes },
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        p in pool(),
        misc in any::<u16>(),
        trailer in prop::collection::vec(any::<u8>(), 0..48),
    ) {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            for record in records(&p) {
                let mut out = vec![0xee];
                record.encode(Misc(misc), &trailer, order, &mut out).unwrap();
                prop_assert_eq!(out[0], 0xee);
                let header = RecordHeader::decode(&mut Cursor::new(&out[1..], order)).unwrap();
                prop_assert_eq!(header.kind, record.kind());
                prop_assert_eq!(usize::from(header.size), out.len() - 1);
                let body = &out[9..out.len() - trailer.len()];
                prop_assert_eq!(SidebandRecord::decode(header, body, order), Ok(record));
                prop_assert!(out.ends_with(&trailer));
            }
        }
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(
        kind in 0u32..30,
        misc in any::<u16>(),
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let header = RecordHeader { kind: RecordType(kind), misc: Misc(misc), size: 0 };
        for order in [ByteOrder::Little, ByteOrder::Big] {
            if let Ok(record) = SidebandRecord::decode(header, &body, order) {
                prop_assert_eq!(record.kind(), header.kind);
            }
        }
    }
}
