use super::*;
use crate::bytes::ByteOrder;
use crate::header::RecordHeader;
use crate::side::SideRecord;
use crate::units::{Pid, Tid};

const TASK: Task = Task { pid: Pid(42), tid: Tid(43) };

/// The body of an MMAP2 record up to `prot`, little-endian.
fn mmap2_front(union: [u8; 24]) -> Vec<u8> {
    let mut body = vec![42, 0, 0, 0, 43, 0, 0, 0];
    for word in [0x40_0000u64, 0x1000, 0x2000] {
        body.extend(word.to_le_bytes());
    }
    body.extend(union);
    body
}

fn decode(kind: RecordType, misc: Misc, body: &[u8]) -> Result<SideRecord<'_>, SideError> {
    SideRecord::decode(RecordHeader { kind, misc, size: 0 }, body, ByteOrder::Little)
}

fn mapping() -> Mapping<'static> {
    Mapping {
        task: TASK,
        start: 0x40_0000,
        length: 0x1000,
        page_offset: 0x2000,
        file: FileIdentity::Unknown,
        protection: Some(5),
        flags: Some(2),
        path: b"/bin/true",
    }
}

#[test]
fn mmap2_with_an_inode() {
    let mut union = [0; 24];
    union[..4].copy_from_slice(&8u32.to_le_bytes());
    union[4..8].copy_from_slice(&1u32.to_le_bytes());
    union[8..16].copy_from_slice(&777u64.to_le_bytes());
    union[16..].copy_from_slice(&9u64.to_le_bytes());
    let mut body = mmap2_front(union);
    body.extend([5, 0, 0, 0, 2, 0, 0, 0]);
    body.extend(b"/bin/true\0\0\0\0\0\0\0");
    let file = FileIdentity::Inode { major: 8, minor: 1, inode: 777, generation: 9 };
    let expected = SideRecord::Mmap2(Mapping { file, ..mapping() });
    assert_eq!(decode(RecordType::MMAP2, Misc(2), &body), Ok(expected));
}

/// As Linux 3.12 wrote it, and RHEL 7 long after.
#[test]
fn mmap2_without_protection_and_flags() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for path in [&b"/usr/lib64/ld-2.17.so"[..], b"[stack]", b"//anon", b"/a", b"x"] {
            let file = FileIdentity::Inode { major: 8, minor: 1, inode: 777, generation: 9 };
            let old = Mapping { file, protection: None, flags: None, path, ..mapping() };
            let mut bytes = Vec::new();
            SideRecord::Mmap2(old).encode(Misc(2), &[], order, &mut bytes).unwrap();
            assert_eq!(&bytes[8 + 56..][..path.len()], path, "behind the inode");
            let header = RecordHeader { kind: RecordType::MMAP2, misc: Misc(2), size: 0 };
            let decoded = SideRecord::decode(header, &bytes[8..], order);
            assert_eq!(decoded, Ok(SideRecord::Mmap2(old)));
        }
    }
}

#[test]
fn mmap2_with_a_build_id() {
    let mut union = [0xab; 24];
    union[..4].copy_from_slice(&[20, 0, 0, 0]);
    let mut body = mmap2_front(union);
    body.extend([5, 0, 0, 0, 2, 0, 0, 0]);
    body.extend(b"/bin/true\0\0\0\0\0\0\0");
    let file = FileIdentity::BuildId(&[0xab; 20]);
    let expected = SideRecord::Mmap2(Mapping { file, ..mapping() });
    assert_eq!(decode(RecordType::MMAP2, Misc::MMAP_BUILD_ID, &body), Ok(expected));
}

#[test]
fn a_build_id_of_21_bytes_is_refused() {
    let mut union = [0; 24];
    union[0] = 21;
    let mut body = mmap2_front(union);
    body.extend([0; 16]);
    let error = decode(RecordType::MMAP2, Misc::MMAP_BUILD_ID, &body);
    assert_eq!(error, Err(SideError::BuildIdSize { size: 21 }));
}

#[test]
fn mmap_of_the_kernel_has_no_identity() {
    let mut body = vec![0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    for word in [0xffff_ffff_8100_0000u64, 0x100_0000, 0] {
        body.extend(word.to_le_bytes());
    }
    body.extend(b"[kernel.kallsyms]_text\0\0");
    let Ok(SideRecord::Mmap(map)) = decode(RecordType::MMAP, Misc(1), &body) else {
        panic!("no MMAP")
    };
    assert_eq!(map.task, Task { pid: Pid(-1), tid: Tid(0) });
    assert_eq!(map.start, 0xffff_ffff_8100_0000);
    assert_eq!((map.file, map.protection), (FileIdentity::Unknown, None));
    assert_eq!(map.path, b"[kernel.kallsyms]_text");
}

#[test]
fn a_record_cut_off_names_the_field() {
    let body = mmap2_front([0; 24]);
    let Err(SideError::Short { field, short, .. }) = decode(RecordType::MMAP2, Misc(2), &body)
    else {
        panic!("decoded")
    };
    assert_eq!((field, short.offset, short.wanted, short.left), ("prot", 56, 4, 0));
}

#[test]
fn the_build_id_bit_follows_the_identity() {
    let bit = Misc::MMAP_BUILD_ID;
    let with = Mapping { file: FileIdentity::BuildId(&[1]), ..mapping() };
    assert_eq!(with.misc(Misc(2)), Misc(2 | bit.0));
    assert_eq!(mapping().misc(Misc(2 | bit.0)), Misc(2));
}

#[test]
fn what_a_record_has_no_place_for_is_refused() {
    let mut out = vec![7];
    let mut refused = |record: SideRecord<'_>| {
        let error = record.encode(Misc(2), &[], ByteOrder::Little, &mut out).unwrap_err();
        assert!(matches!(error, SideError::Unencodable { .. }), "{error}");
        assert_eq!(out, [7]);
    };
    refused(SideRecord::Mmap(mapping()));
    refused(SideRecord::Mmap2(Mapping { flags: None, ..mapping() }));
    let none = Mapping { protection: None, flags: None, ..mapping() };
    refused(SideRecord::Mmap2(Mapping { path: b"", ..none }));
    refused(SideRecord::Mmap2(Mapping { file: FileIdentity::BuildId(&[0; 21]), ..mapping() }));
    refused(SideRecord::Mmap2(Mapping { path: b"a\0b", ..mapping() }));
    let error = SideRecord::Mmap2(Mapping { path: &[b'x'; 70_000], ..mapping() })
        .encode(Misc(2), &[], ByteOrder::Little, &mut out)
        .unwrap_err();
    assert!(matches!(error, SideError::TooLong { size: 70_080, .. }), "{error}");
}
