//! What a recorder says of its machine, without what names it.

use super::files;
use super::tokens::Tokens;
use perfdata::ByteOrder;
use perfdata::recording::file_form;
use perfdata::stream::{Feature, FeatureId};

/// Of these nothing names the machine or its user; EVENT_DESC has what was
/// typed as events.
const KEPT: [FeatureId; 20] = [
    FeatureId::OSRELEASE,
    FeatureId::VERSION,
    FeatureId::ARCH,
    FeatureId::NRCPUS,
    FeatureId::CPUDESC,
    FeatureId::CPUID,
    FeatureId::TOTAL_MEM,
    FeatureId::EVENT_DESC,
    FeatureId::CPU_TOPOLOGY,
    FeatureId::NUMA_TOPOLOGY,
    FeatureId::BRANCH_STACK,
    FeatureId::PMU_MAPPINGS,
    FeatureId::GROUP_DESC,
    FeatureId::CACHE,
    FeatureId::SAMPLE_TIME,
    FeatureId::MEM_TOPOLOGY,
    FeatureId::CLOCKID,
    FeatureId::CPU_PMU_CAPS,
    FeatureId::HYBRID_TOPOLOGY,
    FeatureId::PMU_CAPS,
];

#[derive(Debug, PartialEq, Eq)]
pub(in crate::ebs::convert) enum Anonymous {
    AsItIs,
    Bytes(Vec<u8>),
    LeftOut,
}

/// Decides by the number alone; build ids that are kept go through
/// [`build_ids`].
pub(super) fn feature(id: FeatureId, order: ByteOrder) -> Anonymous {
    match id {
        // perf tells the word size of some recorders by its being there.
        FeatureId::HOSTNAME => {
            let name = Feature::Hostname("anonymous".to_owned());
            Anonymous::Bytes(file_form::feature(&name, order))
        }
        id if KEPT.contains(&id) => Anonymous::AsItIs,
        _ => Anonymous::LeftOut,
    }
}

/// Build ids with other paths; None for bytes that hold none.
pub(super) fn build_ids(bytes: &[u8], order: ByteOrder, tokens: &mut Tokens) -> Option<Vec<u8>> {
    let ids = Feature::decode(FeatureId::BUILD_ID, bytes, order).ok()?;
    let Feature::BuildIds(mut ids) = ids else { return None };
    for id in &mut ids {
        if let Some((_, path)) = files::replaced(id.path.as_bytes(), tokens) {
            id.path = String::from_utf8_lossy(&path).into_owned();
        }
    }
    Some(file_form::feature(&Feature::BuildIds(ids), order))
}
