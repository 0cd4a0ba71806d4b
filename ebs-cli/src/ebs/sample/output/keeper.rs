//! Which files are kept open while records come, for the names of the table or
//! of the recording.

use super::{NATIVE_ORDER, first_record};
use perfdata::{RecordHeader, RecordType, SidebandRecord};
use symbolizer::KeptFiles;

/// Shows it the mappings among whole records of a stream. Others are passed
/// over by their size.
pub(super) fn keep(kept: &mut KeptFiles, mut records: &[u8]) {
    while let Some((header, record)) = first_record(records) {
        records = &records[record.len()..];
        let is_mapping = matches!(header.kind, RecordType::MMAP | RecordType::MMAP2);
        // A path ends with a NUL, so what follows it does not matter here.
        let body = &record[RecordHeader::SIZE..];
        if is_mapping && let Ok(side) = SidebandRecord::decode(header, body, NATIVE_ORDER) {
            kept.record(header.misc, &side);
        }
    }
    kept.look_again();
}

pub(super) fn notes(kept: &KeptFiles) -> Vec<String> {
    match kept.left_out() {
        0 => Vec::new(),
        files => vec![format!(
            "{files} files of containers, or maps of generated code, were not kept open beyond \
             256 and 64: their code has names only while its processes live"
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::sideband::{FileIdentity, Mapping};
    use perfdata::{Misc, Pid, Task, Tid};

    #[test]
    fn only_whole_records_are_looked_at() {
        let mapping = Mapping {
            task: Task { pid: Pid(7), tid: Tid(7) },
            start: 0x1000,
            length: 0x1000,
            page_offset: 0,
            file: FileIdentity::Inode { major: 1, minor: 1, inode: 1, generation: 0 },
            protection: Some(5),
            flags: Some(2),
            path: b"/program",
        };
        let mut bytes = Vec::new();
        let trailer = [0xff; 16];
        SidebandRecord::Mmap2(mapping).encode(Misc(2), &trailer, NATIVE_ORDER, &mut bytes).unwrap();
        for end in 0..bytes.len() {
            assert!(first_record(&bytes[..end]).is_none(), "{end}");
        }
        let (header, record) = first_record(&bytes).unwrap();
        assert_eq!((header.kind, record.len()), (RecordType::MMAP2, bytes.len()));
        let whole = SidebandRecord::decode(header, &record[RecordHeader::SIZE..], NATIVE_ORDER);
        assert!(matches!(whole, Ok(SidebandRecord::Mmap2(Mapping { path: b"/program", .. }))));
        // A size that no record has ends the look.
        assert!(first_record(&[0; 8]).is_none());
    }
}
