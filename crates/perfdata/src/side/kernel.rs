//! KSYMBOL, BPF_EVENT, CGROUP, TEXT_POKE: what the kernel says of its own
//! code and groups.

use super::fields::{Fields, put_string};
use super::{SideError, SideRecord};
use crate::bytes::ByteWriter;

pub(super) fn ksymbol<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::Ksymbol {
        address: fields.u64("addr")?,
        length: fields.u32("len")?,
        kind: fields.u16("ksym_type")?,
        flags: fields.u16("flags")?,
        name: fields.string(),
    })
}

pub(super) fn bpf_event<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    let (kind, flags) = (fields.u16("type")?, fields.u16("flags")?);
    let id = fields.u32("id")?;
    let mut tag = [0; 8];
    tag.copy_from_slice(fields.bytes("tag", 8)?);
    Ok(SideRecord::BpfEvent { kind, flags, id, tag })
}

pub(super) fn cgroup<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::Cgroup { id: fields.u64("id")?, path: fields.string() })
}

pub(super) fn text_poke<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    let address = fields.u64("addr")?;
    let (old, new) = (fields.u16("old_len")?, fields.u16("new_len")?);
    Ok(SideRecord::TextPoke {
        address,
        old: fields.bytes("old bytes", usize::from(old))?,
        new: fields.bytes("new bytes", usize::from(new))?,
    })
}

/// Body of the kinds in this file; nothing for the others.
pub(super) fn encode(record: &SideRecord<'_>, w: &mut ByteWriter<'_>) -> Result<(), SideError> {
    match *record {
        SideRecord::Ksymbol { address, length, kind, flags, name } => {
            w.u64(address);
            w.u32(length);
            w.u16(kind);
            w.u16(flags);
            put_string(w, record.kind(), name)?;
        }
        SideRecord::BpfEvent { kind, flags, id, tag } => {
            w.u16(kind);
            w.u16(flags);
            w.u32(id);
            w.raw(&tag);
        }
        SideRecord::Cgroup { id, path } => {
            w.u64(id);
            put_string(w, record.kind(), path)?;
        }
        SideRecord::TextPoke { address, old, new } => {
            let start = w.len();
            w.u64(address);
            for text in [old, new] {
                let too_long = |_| SideError::TooLong { kind: record.kind(), size: text.len() };
                w.u16(u16::try_from(text.len()).map_err(too_long)?);
            }
            w.raw(old);
            w.raw(new);
            w.pad(start, 8);
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
}
