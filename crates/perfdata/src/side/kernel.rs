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
mod tests;
