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
mod tests;
