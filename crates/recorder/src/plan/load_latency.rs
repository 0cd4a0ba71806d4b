//! The helper event that load latency needs on some cores (trap 9).

use perfdata::SampleType;

use super::opening::{Opening, Precision};
use crate::Refusal;
use crate::machine::facts::Pmu;

/// Load latency, event and umask.
const LOAD_LATENCY: u64 = 0x1cd;
/// The kernel's name of the helper, there on the cores that need it.
const HELPER: &str = "mem-loads-aux";

/// The leader that an event needs before it, if it needs one.
pub(super) fn leader(opening: &Opening, pmu: &Pmu) -> Result<Option<Opening>, Refusal> {
    let Some(description) = &pmu.description else { return Ok(None) };
    let is_load_latency = opening.words[0] & 0xffff == LOAD_LATENCY
        && opening.precision.wanted > 0
        && opening.fields.contains(SampleType::DATA_SRC);
    if !is_load_latency {
        return Ok(None);
    }
    let Some(packed) = description.alias_config(HELPER) else { return Ok(None) };
    let packed = packed.map_err(|error| Refusal::Terms {
        event: HELPER.to_owned(),
        pmu: pmu.name.clone(),
        error: error.to_string(),
    })?;
    Ok(Some(Opening {
        name: HELPER.to_owned(),
        event: HELPER.to_owned(),
        words: packed.words,
        interval: 0,
        fields: SampleType::empty(),
        precision: Precision::default(),
        carrier: true,
        ..opening.clone()
    }))
}
