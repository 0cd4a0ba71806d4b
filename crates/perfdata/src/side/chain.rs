//! CALLCHAIN_DEFERRED (Linux 6.18): user space's part of chains that samples
//! left out, found when the thread went back there.

use super::fields::Fields;
use super::{SideError, SideRecord};
use crate::bytes::{ByteWriter, RecordWords};

pub(super) fn deferred<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    let (cookie, count) = (fields.u64("cookie")?, fields.u64("nr")?);
    Ok(SideRecord::CallchainDeferred { cookie, chain: fields.words("ips", count)? })
}

pub(super) fn encode(w: &mut ByteWriter<'_>, cookie: u64, chain: RecordWords<'_>) {
    w.u64(cookie);
    w.u64(chain.len() as u64);
    w.words(chain);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteOrder;
    use crate::header::{Misc, RecordHeader, RecordType};

    #[test]
    fn deferred_chains_are_as_long_as_they_say() {
        let body: Vec<u8> = [77_u64, 2, 512_u64.wrapping_neg(), 0x40_1000, 99]
            .iter()
            .flat_map(|word| word.to_be_bytes())
            .collect();
        let header = RecordHeader { kind: RecordType::CALLCHAIN_DEFERRED, misc: Misc(2), size: 0 };
        let decode = |body| SideRecord::decode(header, body, ByteOrder::Big);
        let Ok(SideRecord::CallchainDeferred { cookie: 77, chain }) = decode(&body) else {
            panic!("not decoded")
        };
        assert!(chain.iter().eq([512_u64.wrapping_neg(), 0x40_1000]));
        let short = decode(&body[..24]);
        assert!(matches!(short, Err(SideError::Short { field: "ips", .. })), "{short:?}");
    }
}
