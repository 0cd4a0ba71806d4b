//! Whole records in a piece of a session's stream.

use super::NATIVE_ORDER;
use perfdata::RecordHeader;
use perfdata::bytes::Cursor;

/// The record that `records` begins with, its header included; None where
/// none is whole.
pub(super) fn first(records: &[u8]) -> Option<(RecordHeader, &[u8])> {
    let header = RecordHeader::decode(&mut Cursor::new(records, NATIVE_ORDER)).ok()?;
    let size = usize::from(header.size);
    let record = records.get(..size).filter(|_| size >= RecordHeader::SIZE)?;
    Some((header, record))
}
