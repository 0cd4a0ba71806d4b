//! MMAP and MMAP2: what a process has mapped.

use super::SidebandError;
use super::fields::{Fields, SidebandField, put_task, put_words};
use crate::bytes::ByteWriter;
use crate::header::Misc;
use crate::units::Task;

/// Bytes that MMAP2's union has for a build id.
const BUILD_ID_ROOM: usize = 20;
/// PROT_* bits that there are (asm-generic/mman-common.h and arm64's); records
/// have the lowest three at most.
const PROTECTION: u32 = 0x0300_003f;

/// Which file a mapping shows, as MMAP2's union has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileIdentity<'a> {
    /// PERF_RECORD_MMAP: none.
    Unknown,
    Inode {
        /// Major device number.
        major: u32,
        /// Minor device number.
        minor: u32,
        inode: u64,
        generation: u64,
    },
    /// Under [`Misc::MMAP_BUILD_ID`]: at most 20 bytes, usually 20.
    BuildId(&'a [u8]),
}

/// MMAP or MMAP2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping<'a> {
    /// Whose address space; pid -1 and tid 0 for the kernel's own.
    pub task: Task,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Offset in the file, bytes.
    pub page_offset: u64,
    pub file: FileIdentity<'a>,
    /// PROT_* bits; MMAP2 only, and not of RHEL 7's first kernels, whose
    /// MMAP2 is that of Linux 3.12: the path stands where Linux 3.16 put
    /// these two.
    pub protection: Option<u32>,
    /// MAP_* bits; there with `protection`.
    pub flags: Option<u32>,
    /// Path, or a name in brackets; bytes as the target chose them.
    pub path: &'a [u8],
}

impl<'a> Mapping<'a> {
    pub(super) fn decode_mmap(fields: &mut Fields<'a>) -> Result<Mapping<'a>, SidebandError> {
        Ok(Mapping {
            task: fields.get("pid")?,
            start: fields.get("addr")?,
            length: fields.get("len")?,
            page_offset: fields.get("pgoff")?,
            file: FileIdentity::Unknown,
            protection: None,
            flags: None,
            path: fields.get("filename")?,
        })
    }

    pub(super) fn decode_mmap2(
        fields: &mut Fields<'a>,
        misc: Misc,
    ) -> Result<Mapping<'a>, SidebandError> {
        let task = fields.get("pid")?;
        let (start, length) = (fields.get("addr")?, fields.get("len")?);
        let page_offset = fields.get("pgoff")?;
        let file = match misc.contains(Misc::MMAP_BUILD_ID) {
            true => build_id(fields)?,
            false => FileIdentity::Inode {
                major: fields.get("maj")?,
                minor: fields.get("min")?,
                inode: fields.get("ino")?,
                generation: fields.get("ino_generation")?,
            },
        };
        let (protection, flags) = match starts_path(fields.ahead()) {
            true => (None, None),
            false => (Some(fields.get("prot")?), Some(fields.get("flags")?)),
        };
        let path = fields.get("filename")?;
        Ok(Mapping { task, start, length, page_offset, file, protection, flags, path })
    }

    pub(super) fn encode_mmap(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
        if self.file != FileIdentity::Unknown || self.protection.is_some() || self.flags.is_some() {
            return Err("it has no place for a file's identity, protection or flags; use MMAP2");
        }
        put_task(w, self.task);
        put_words(w, &[self.start, self.length, self.page_offset]);
        self.path.encode(w)
    }

    pub(super) fn encode_mmap2(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
        let bits = match (self.protection, self.flags) {
            (Some(protection), Some(flags)) => Some((protection, flags)),
            (None, None) if starts_path(self.path) => None,
            _ => return Err("it needs protection and flags; use MMAP"),
        };
        put_task(w, self.task);
        put_words(w, &[self.start, self.length, self.page_offset]);
        match self.file {
            FileIdentity::Unknown => put_words(w, &[0, 0, 0]),
            FileIdentity::Inode { major, minor, inode, generation } => {
                w.u32(major);
                w.u32(minor);
                put_words(w, &[inode, generation]);
            }
            FileIdentity::BuildId(id) => put_build_id(w, id)?,
        }
        if let Some((protection, flags)) = bits {
            w.u32(protection);
            w.u32(flags);
        }
        self.path.encode(w)
    }

    /// `misc` with the build id bit as the union needs it.
    pub(super) fn misc(&self, misc: Misc) -> Misc {
        match self.file {
            FileIdentity::BuildId(_) => Misc(misc.0 | Misc::MMAP_BUILD_ID.0),
            _ => Misc(misc.0 & !Misc::MMAP_BUILD_ID.0),
        }
    }
}

/// Whether a path stands where MMAP2 has protection and flags: text is no
/// PROT_* bits, in either order.
fn starts_path(bytes: &[u8]) -> bool {
    let mut front = [0; 4];
    front.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
    let is_protection = |bits: u32| bits & !PROTECTION == 0;
    front[0].is_ascii_graphic()
        && !is_protection(u32::from_le_bytes(front))
        && !is_protection(u32::from_be_bytes(front))
}

fn build_id<'a>(fields: &mut Fields<'a>) -> Result<FileIdentity<'a>, SidebandError> {
    let size: u8 = fields.get("build_id_size")?;
    fields.bytes("__reserved_1", 1)?;
    fields.bytes("__reserved_2", 2)?;
    let room = fields.bytes("build_id", BUILD_ID_ROOM)?;
    let id = room.get(..usize::from(size)).ok_or(SidebandError::BuildIdSize { size })?;
    Ok(FileIdentity::BuildId(id))
}

fn put_build_id(w: &mut ByteWriter<'_>, id: &[u8]) -> Result<(), &'static str> {
    let size = u8::try_from(id.len()).unwrap_or(u8::MAX);
    if id.len() > BUILD_ID_ROOM {
        return Err("a build id has at most 20 bytes");
    }
    let start = w.len();
    w.raw(&[size, 0, 0, 0]);
    w.raw(id);
    // 4 bytes of size and 20 of room: the 24 bytes of the union.
    w.pad(start, 24);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteOrder;
    use crate::header::{RecordHeader, RecordType};
    use crate::sideband::SidebandRecord;
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

    fn decode(
        kind: RecordType,
        misc: Misc,
        body: &[u8],
    ) -> Result<SidebandRecord<'_>, SidebandError> {
        SidebandRecord::decode(RecordHeader { kind, misc, size: 0 }, body, ByteOrder::Little)
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
        let expected = SidebandRecord::Mmap2(Mapping { file, ..mapping() });
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
                SidebandRecord::Mmap2(old).encode(Misc(2), &[], order, &mut bytes).unwrap();
                assert_eq!(&bytes[8 + 56..][..path.len()], path, "behind the inode");
                let header = RecordHeader { kind: RecordType::MMAP2, misc: Misc(2), size: 0 };
                let decoded = SidebandRecord::decode(header, &bytes[8..], order);
                assert_eq!(decoded, Ok(SidebandRecord::Mmap2(old)));
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
        let expected = SidebandRecord::Mmap2(Mapping { file, ..mapping() });
        assert_eq!(decode(RecordType::MMAP2, Misc::MMAP_BUILD_ID, &body), Ok(expected));
    }

    #[test]
    fn a_build_id_of_21_bytes_is_refused() {
        let mut union = [0; 24];
        union[0] = 21;
        let mut body = mmap2_front(union);
        body.extend([0; 16]);
        let error = decode(RecordType::MMAP2, Misc::MMAP_BUILD_ID, &body);
        assert_eq!(error, Err(SidebandError::BuildIdSize { size: 21 }));
    }

    #[test]
    fn mmap_of_the_kernel_has_no_identity() {
        let mut body = vec![0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        for word in [0xffff_ffff_8100_0000u64, 0x100_0000, 0] {
            body.extend(word.to_le_bytes());
        }
        body.extend(b"[kernel.kallsyms]_text\0\0");
        let Ok(SidebandRecord::Mmap(map)) = decode(RecordType::MMAP, Misc(1), &body) else {
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
        let Err(SidebandError::Short { field, short, .. }) =
            decode(RecordType::MMAP2, Misc(2), &body)
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
        let mut refused = |record: SidebandRecord<'_>| {
            let error = record.encode(Misc(2), &[], ByteOrder::Little, &mut out).unwrap_err();
            assert!(matches!(error, SidebandError::Unencodable { .. }), "{error}");
            assert_eq!(out, [7]);
        };
        refused(SidebandRecord::Mmap(mapping()));
        refused(SidebandRecord::Mmap2(Mapping { flags: None, ..mapping() }));
        let none = Mapping { protection: None, flags: None, ..mapping() };
        refused(SidebandRecord::Mmap2(Mapping { path: b"", ..none }));
        refused(SidebandRecord::Mmap2(Mapping {
            file: FileIdentity::BuildId(&[0; 21]),
            ..mapping()
        }));
        refused(SidebandRecord::Mmap2(Mapping { path: b"a\0b", ..mapping() }));
        let error = SidebandRecord::Mmap2(Mapping { path: &[b'x'; 70_000], ..mapping() })
            .encode(Misc(2), &[], ByteOrder::Little, &mut out)
            .unwrap_err();
        assert!(matches!(error, SidebandError::TooLong { size: 70_080, .. }), "{error}");
    }
}
