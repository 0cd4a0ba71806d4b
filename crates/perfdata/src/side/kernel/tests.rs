use super::*;
use crate::bytes::ByteOrder;
use crate::header::{Misc, RecordHeader, RecordType};

fn decode(kind: RecordType, body: &[u8]) -> Result<SideRecord<'_>, SideError> {
    let header = RecordHeader { kind, misc: Misc(0), size: 0 };
    SideRecord::decode(header, body, ByteOrder::Little)
}

#[test]
fn ksymbol_of_a_bpf_program() {
    let mut body = 0xffff_ffff_c000_1000u64.to_le_bytes().to_vec();
    body.extend([0x80, 0, 0, 0, 1, 0, 1, 0]);
    body.extend(b"bpf_prog_1\0\0\0\0\0\0");
    let (address, name) = (0xffff_ffff_c000_1000, b"bpf_prog_1".as_slice());
    let expected = SideRecord::Ksymbol { address, length: 0x80, kind: 1, flags: 1, name };
    assert_eq!(decode(RecordType::KSYMBOL, &body), Ok(expected));
}

#[test]
fn bpf_event() {
    let body = [1, 0, 0, 0, 33, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    let expected =
        SideRecord::BpfEvent { kind: 1, flags: 0, id: 33, tag: [1, 2, 3, 4, 5, 6, 7, 8] };
    assert_eq!(decode(RecordType::BPF_EVENT, &body), Ok(expected));
}

#[test]
fn cgroup() {
    let mut body = 1234u64.to_le_bytes().to_vec();
    body.extend(b"/a/b\0\0\0\0");
    let expected = SideRecord::Cgroup { id: 1234, path: b"/a/b" };
    assert_eq!(decode(RecordType::CGROUP, &body), Ok(expected));
}

#[test]
fn text_poke_is_padded() {
    let mut body = 0x1000u64.to_le_bytes().to_vec();
    body.extend([5, 0, 5, 0]);
    body.extend([0x0f, 0x1f, 0x44, 0, 0, 0xe9, 1, 2, 3, 4]);
    body.extend([0; 2]);
    let (old, new) = (&[0x0f, 0x1f, 0x44, 0, 0][..], &[0xe9, 1, 2, 3, 4][..]);
    let expected = SideRecord::TextPoke { address: 0x1000, old, new };
    assert_eq!(decode(RecordType::TEXT_POKE, &body), Ok(expected.clone()));
    let mut out = Vec::new();
    expected.encode(Misc(0), &[], ByteOrder::Little, &mut out).unwrap();
    assert_eq!(out[8..], body);
    let Err(SideError::Short { field: "new bytes", .. }) =
        decode(RecordType::TEXT_POKE, &body[..20])
    else {
        panic!("decoded")
    };
}
