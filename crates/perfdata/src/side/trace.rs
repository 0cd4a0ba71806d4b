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
mod tests;
