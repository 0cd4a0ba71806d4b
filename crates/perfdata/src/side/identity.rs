//! Property: what is written is read, every kind, both byte orders, any
//! trailer.

use super::{FileIdentity, Mapping, NamespaceLink, SideRecord};
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
fn records(p: &Pool) -> Vec<SideRecord<'_>> {
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
        SideRecord::Mmap2(Mapping { file, protection, flags, ..mapping })
    };
    let links = p.links.iter().map(|&(device, inode)| NamespaceLink { device, inode });
    vec![
        SideRecord::Mmap(mapping),
        second(FileIdentity::Inode {
            major: p.short,
            minor: u32::from(p.kind),
            inode: e,
            generation: f,
        }),
        second(FileIdentity::BuildId(&p.build_id)),
        SideRecord::Comm { task: task(a), name: &p.text },
        SideRecord::Fork { task: task(a), parent, time },
        SideRecord::Exit { task: task(a), parent, time },
        SideRecord::Lost { id: a, lost: b },
        SideRecord::LostSamples { lost: a },
        SideRecord::Throttle { time, id: a, stream_id: b },
        SideRecord::Unthrottle { time, id: a, stream_id: b },
        SideRecord::Read { task: task(a), values: &p.bytes },
        SideRecord::Switch,
        SideRecord::SwitchCpuWide { next_prev_pid: parent.pid, next_prev_tid: parent.tid },
        SideRecord::Namespaces { task: task(a), links: links.collect() },
        SideRecord::Ksymbol {
            address: a,
            length: p.short,
            kind: p.kind,
            flags: p.flags,
            name: &p.text,
        },
        SideRecord::BpfEvent { kind: p.kind, flags: p.flags, id: p.short, tag: p.tag },
        SideRecord::Cgroup { id: a, path: &p.text },
        SideRecord::TextPoke { address: a, old: &p.build_id, new: &p.bytes },
        SideRecord::Aux { offset: a, size: b, flags: c },
        SideRecord::ItraceStart { task: task(a) },
        SideRecord::AuxOutputHwId { hw_id: a },
        SideRecord::CallchainDeferred {
            cookie: a,
            chain: RecordWords::new(&p.bytes, ByteOrder::Little),
        },
        SideRecord::Unknown { kind: RecordType(63), body: &p.bytes },
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
                prop_assert_eq!(SideRecord::decode(header, body, order), Ok(record));
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
            if let Ok(record) = SideRecord::decode(header, &body, order) {
                prop_assert_eq!(record.kind(), header.kind);
            }
        }
    }
}
