//! EVENT_UPDATE: what a recorder says of an event after its HEADER_ATTR.

use super::description::EventDescription;
use super::{cpu_map, note};
use crate::bytes::{Cursor, Short};

/// `PERF_EVENT_UPDATE__*`.
pub(super) const UNIT: u64 = 0;
const SCALE: u64 = 1;
pub(super) const NAME: u64 = 2;
const CPUS: u64 = 3;

/// Applies the bytes after type and id. Kinds not known here change nothing.
pub(super) fn apply(
    event: &mut EventDescription,
    kind: u64,
    cursor: &mut Cursor<'_>,
) -> Result<(), Short> {
    match kind {
        UNIT => {
            let text = text(cursor.rest());
            if note::is_note(&text) {
                event.notes.push(text);
            } else {
                event.unit = Some(text);
            }
        }
        SCALE => event.scale = Some(f64::from_bits(cursor.u64()?)),
        NAME => event.name = Some(text(cursor.rest())),
        CPUS => event.cpus = Some(cpu_map::decode(cursor)?),
        _ => {}
    }
    Ok(())
}

/// Up to the first NUL; what is no UTF-8 shows as U+FFFD.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
