//! The CPUs of an EVENT_UPDATE: `struct perf_record_cpu_map_data`
//! (tools/lib/perf/include/perf/event.h).

use crate::bytes::{Cursor, Short};
use crate::units::Cpu;

/// A list of 16-bit numbers.
const LIST: u16 = 0;
/// A bit mask of words.
const MASK: u16 = 1;
/// First and last.
const RANGE: u16 = 2;

/// The CPUs; empty for a kind of map not known here.
pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Vec<Cpu>, Short> {
    match cursor.u16()? {
        LIST => {
            let count = cursor.u16()?;
            (0..count).map(|_| Ok(Cpu(u32::from(cursor.u16()?)))).collect()
        }
        MASK => mask(cursor),
        RANGE => {
            // any_cpu and a byte of padding
            cursor.take(2)?;
            let (first, last) = (cursor.u16()?, cursor.u16()?);
            Ok((first..=last).map(|cpu| Cpu(u32::from(cpu))).collect())
        }
        _ => Ok(Vec::new()),
    }
}

fn mask(cursor: &mut Cursor<'_>) -> Result<Vec<Cpu>, Short> {
    let (count, long_size) = (cursor.u16()?, cursor.u16()?);
    let bits = if long_size == 8 { 64 } else { 32 };
    if bits == 64 {
        // Eight-byte words start at offset 8 of the map.
        cursor.take(2)?;
    }
    let mut cpus = Vec::new();
    for index in 0..u32::from(count) {
        let word = if bits == 64 { cursor.u64()? } else { u64::from(cursor.u32()?) };
        let set = (0..bits).filter(|bit| word >> bit & 1 == 1);
        cpus.extend(set.map(|bit| Cpu(index * bits + bit)));
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteOrder;

    fn cpus(bytes: &[u8]) -> Vec<u32> {
        let mut cursor = Cursor::new(bytes, ByteOrder::Little);
        decode(&mut cursor).unwrap().into_iter().map(|cpu| cpu.0).collect()
    }

    #[test]
    fn all_kinds_of_map() {
        assert_eq!(cpus(&[0, 0, 2, 0, 3, 0, 1, 1]), [3, 257]);
        assert_eq!(cpus(&[1, 0, 2, 0, 4, 0, 5, 0, 0, 0, 0, 0, 0, 128]), [0, 2, 63]);
        assert_eq!(cpus(&[1, 0, 1, 0, 8, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0]), [1, 32]);
        assert_eq!(cpus(&[2, 0, 0, 0, 4, 0, 6, 0]), [4, 5, 6]);
        assert_eq!(cpus(&[9, 0]), [0; 0]);
    }

    #[test]
    fn a_map_cut_off_is_short() {
        let mut cursor = Cursor::new(&[0, 0, 2, 0, 3, 0], ByteOrder::Little);
        assert!(decode(&mut cursor).is_err());
    }
}
