//! LOST, LOST_SAMPLES, THROTTLE, UNTHROTTLE, READ: what is missing, and what
//! was counted.

use super::fields::Fields;
use super::{SideError, SideRecord};
use crate::header::RecordType;
use crate::units::Time;

pub(super) fn lost<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::Lost { id: fields.u64("id")?, lost: fields.u64("lost")? })
}

pub(super) fn lost_samples<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::LostSamples { lost: fields.u64("lost")? })
}

pub(super) fn throttle<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    let time = Time(fields.u64("time")?);
    let (id, stream_id) = (fields.u64("id")?, fields.u64("stream_id")?);
    Ok(match fields.kind() {
        RecordType::THROTTLE => SideRecord::Throttle { time, id, stream_id },
        _ => SideRecord::Unthrottle { time, id, stream_id },
    })
}

/// The values' layout depends on the attr's read_format: they stay bytes.
pub(super) fn read<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::Read { task: fields.task()?, values: fields.rest() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteOrder;
    use crate::header::{Misc, RecordHeader};
    use crate::units::{Pid, Task, Tid};

    fn decode(kind: RecordType, body: &[u8]) -> Result<SideRecord<'_>, SideError> {
        let header = RecordHeader { kind, misc: Misc(0), size: 0 };
        SideRecord::decode(header, body, ByteOrder::Big)
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn losses() {
        let expected = SideRecord::Lost { id: 5, lost: 1000 };
        assert_eq!(decode(RecordType::LOST, &words(&[5, 1000])), Ok(expected));
        let expected = SideRecord::LostSamples { lost: 3 };
        assert_eq!(decode(RecordType::LOST_SAMPLES, &words(&[3])), Ok(expected));
    }

    #[test]
    fn throttling() {
        let body = words(&[77, 5, 6]);
        let (time, id, stream_id) = (Time(77), 5, 6);
        let expected = SideRecord::Throttle { time, id, stream_id };
        assert_eq!(decode(RecordType::THROTTLE, &body), Ok(expected));
        let expected = SideRecord::Unthrottle { time, id, stream_id };
        assert_eq!(decode(RecordType::UNTHROTTLE, &body), Ok(expected));
        let Err(SideError::Short { field: "stream_id", .. }) =
            decode(RecordType::THROTTLE, &body[..16])
        else {
            panic!("decoded")
        };
    }

    #[test]
    fn counts_stay_bytes() {
        let body = words(&[1 << 32 | 2, 99]);
        let task = Task { pid: Pid(1), tid: Tid(2) };
        let expected = SideRecord::Read { task, values: &body[8..] };
        assert_eq!(decode(RecordType::READ, &body), Ok(expected));
    }
}
