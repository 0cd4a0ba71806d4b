//! AUX, ITRACE_START, AUX_OUTPUT_HW_ID: marks of hardware tracing.

use super::fields::Fields;
use super::{SideError, SideRecord};

pub(super) fn aux<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::Aux {
        offset: fields.u64("aux_offset")?,
        size: fields.u64("aux_size")?,
        flags: fields.u64("flags")?,
    })
}

pub(super) fn itrace_start<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::ItraceStart { task: fields.task()? })
}

pub(super) fn aux_output_hw_id<'a>(fields: &mut Fields<'a>) -> Result<SideRecord<'a>, SideError> {
    Ok(SideRecord::AuxOutputHwId { hw_id: fields.u64("hw_id")? })
}

#[cfg(test)]
mod tests {
    use crate::bytes::ByteOrder;
    use crate::header::{Misc, RecordHeader, RecordType};
    use crate::side::SideRecord;
    use crate::units::{Pid, Task, Tid};

    fn decode(kind: RecordType, words: &[u64]) -> SideRecord<'static> {
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let header = RecordHeader { kind, misc: Misc(0), size: 0 };
        SideRecord::decode(header, body.leak(), ByteOrder::Little).unwrap()
    }

    #[test]
    fn marks_of_tracing() {
        let expected = SideRecord::Aux { offset: 4096, size: 64, flags: 9 };
        assert_eq!(decode(RecordType::AUX, &[4096, 64, 9]), expected);
        let task = Task { pid: Pid(1), tid: Tid(2) };
        assert_eq!(
            decode(RecordType::ITRACE_START, &[2 << 32 | 1]),
            SideRecord::ItraceStart { task }
        );
        let expected = SideRecord::AuxOutputHwId { hw_id: 7 };
        assert_eq!(decode(RecordType::AUX_OUTPUT_HW_ID, &[7]), expected);
    }
}
