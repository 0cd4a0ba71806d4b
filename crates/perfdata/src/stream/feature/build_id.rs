//! BUILD_ID: what objects were built as.

use super::field::{FeatureField, STRING_ALIGNMENT};
use crate::bytes::{ByteWriter, Cursor, Short, text_before_nul};
use crate::header::{Misc, RecordHeader, RecordType};

/// On build ids: byte 20 says how long the id is
/// (PERF_RECORD_MISC_BUILD_ID_SIZE).
const BUILD_ID_SIZE: u16 = 1 << 15;
/// Bytes of a build id's place, the byte that may say its length included.
const BUILD_ID_PLACE: usize = 24;

/// An object and what it was built as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildId {
    /// Privilege level of its code, and bits of perf's own.
    pub misc: Misc,
    /// Guest it belongs to; -1 is the host.
    pub pid: i32,
    /// Up to 20 bytes.
    pub id: Vec<u8>,
    /// Its path, or a name in brackets.
    pub path: String,
}

impl BuildId {
    /// Reads what follows the header of a HEADER_BUILD_ID record.
    pub(crate) fn decode(misc: Misc, c: &mut Cursor<'_>) -> Result<BuildId, Short> {
        let pid = c.i32()?;
        let place = c.take(BUILD_ID_PLACE)?;
        let length = match misc.0 & BUILD_ID_SIZE {
            0 => 20,
            _ => place.get(20).map_or(20, |&length| usize::from(length).min(20)),
        };
        let id = place.iter().copied().take(length).collect();
        Ok(BuildId { misc, pid, id, path: text_before_nul(c.rest()) })
    }

    /// Bytes of memory that it takes, about.
    pub(crate) fn memory(&self) -> usize {
        2 * size_of::<BuildId>() + 32 + self.path.len()
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        let path = (self.path.len() + 1).next_multiple_of(STRING_ALIGNMENT);
        let size = u16::try_from(RecordHeader::SIZE + 4 + BUILD_ID_PLACE + path);
        let misc = Misc(self.misc.0 | BUILD_ID_SIZE);
        // A path that no record holds is left out.
        let Ok(size) = size else { return };
        RecordHeader { kind: RecordType::HEADER_BUILD_ID, misc, size }.encode(w);
        w.u32(self.pid.cast_unsigned());
        let mut place = [0; BUILD_ID_PLACE];
        let length = self.id.len().min(20);
        place[..length].copy_from_slice(&self.id[..length]);
        place[20] = u8::try_from(length).unwrap_or(20);
        w.raw(&place);
        let start = w.len();
        w.raw(self.path.as_bytes());
        w.u8(0);
        w.pad(start, STRING_ALIGNMENT);
    }
}

impl FeatureField for Vec<BuildId> {
    fn decode(c: &mut Cursor<'_>) -> Result<Vec<BuildId>, Short> {
        let mut ids = Vec::new();
        while c.left() >= RecordHeader::SIZE {
            let header = RecordHeader::decode(c)?;
            let Some(body) = usize::from(header.size).checked_sub(RecordHeader::SIZE) else {
                break;
            };
            ids.push(BuildId::decode(header.misc, &mut Cursor::new(c.take(body)?, c.order()))?);
        }
        Ok(ids)
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        self.iter().for_each(|id| id.encode(w));
    }

    fn memory(&self) -> usize {
        self.iter().map(BuildId::memory).sum()
    }
}
