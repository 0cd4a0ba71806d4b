//! AMD's instruction-based sampling of ops (trap 7).

use perfdata::SampleFilter;
use perfdata::SampleType;
use perfdata::sample_filter::{Condition, PrivilegeMode};

use super::event_draft::{EventDraft, ExcludedModes};
use crate::catalogue::CatalogueType;
use crate::catalogue::promises::WeightPromise;
use crate::machine::facts::{Pmu, Version};
use crate::machine::pmu_format::Terms;
use crate::{Modes, Refusal, Request};

/// The counter's lowest bits do not exist.
const STEP: u64 = 16;
/// What the CPU takes at least (IbsOpMaxCnt below 0x90 is undefined).
const MIN_INTERVAL: u64 = 0x90;
/// The greatest multiple that fits a sample period.
const MAX_INTERVAL: u64 = i64::MAX.cast_unsigned() / STEP * STEP;
/// The first Linux whose IBS fills in latencies and sources of data.
const MEMORY_FIELDS: Version = Version(6, 1, 0);
/// Thresholds that the kernel takes, cycles.
const LATENCIES: std::ops::RangeInclusive<u16> = 128..=2048;

#[derive(Clone, Copy)]
pub(super) struct IbsRequest<'a> {
    pub(super) entry: &'static CatalogueType,
    pub(super) request: &'a Request,
    pub(super) pmu: &'a Pmu,
    pub(super) ldlat: Option<u16>,
    pub(super) version: Option<Version>,
}

pub(super) fn fill(
    draft: &mut EventDraft,
    asked: &IbsRequest<'_>,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    if draft.filter.asks(|condition| matches!(condition, Condition::Ibs(_))) {
        draft.fields |= SampleType::RAW;
    }
    if draft.filter.asks(|condition| matches!(condition, Condition::Source(_))) {
        draft.fields |= SampleType::DATA_SRC;
    }
    fit_memory_fields(draft, asked.version, notes)?;
    choose_modes(draft, asked.pmu, asked.request.modes, notes)?;
    if asked.entry.name == "l3_cache_miss" && has(asked.pmu, "l3missonly") {
        set(draft, asked.pmu, "l3missonly=1")?;
        notes.push(
            "the CPU leaves out ops that miss no L3 (l3missonly) and restarts its count at each of \
             them: samples stand for more ops than the interval says"
                .to_owned(),
        );
    }
    if let Some(ldlat) = asked.ldlat {
        choose_latency(draft, asked, ldlat)?;
        notes.push(
            "with a threshold Zen 5 leaves out loads that miss no L3, and restarts its count at \
             each of those it leaves out: samples stand for more ops than the interval says"
                .to_owned(),
        );
    }
    round_interval(draft, notes);
    Ok(())
}

/// Takes out the fields that kernels before 6.1 leave empty: latencies and
/// where data came from. [perf_ibs_parse_ld_st_data(), arch/x86/events/amd/ibs.c]
pub(super) fn fit_memory_fields(
    draft: &mut EventDraft,
    version: Option<Version>,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    let memory = SampleType::DATA_SRC | SampleType::WEIGHT_STRUCT;
    let Some(version) = version.filter(|version| *version < MEMORY_FIELDS) else { return Ok(()) };
    let is_source = |condition| matches!(condition, Condition::Source(_));
    if draft.filter.asks(is_source) || draft.name == "load_latency" {
        return Err(Refusal::IbsMemory { event: draft.name.clone(), version });
    }
    if draft.fields.intersects(memory) {
        draft.fields.remove(memory);
        draft.promises.weight = WeightPromise::None;
        notes.push(format!(
            "IBS tells latencies and where data came from since Linux 6.1 (this is {version}): left \
             out"
        ));
    }
    Ok(())
}

fn has(pmu: &Pmu, term: &str) -> bool {
    pmu.description.as_ref().is_some_and(|pmu| pmu.formats.bits(term).is_some())
}

fn set(draft: &mut EventDraft, pmu: &Pmu, terms: &str) -> Result<(), Refusal> {
    let refuse =
        |error: String| Refusal::Terms { event: terms.to_owned(), pmu: pmu.name.clone(), error };
    let parsed = Terms::parse(terms).map_err(|error| refuse(error.to_string()))?;
    let Some(description) = &pmu.description else { return Ok(()) };
    let packed = description.formats.pack(&parsed).map_err(|error| refuse(error.to_string()))?;
    for (word, bits) in draft.words.iter_mut().zip(packed.words) {
        *word |= bits;
    }
    Ok(())
}

/// Kernels without `swfilt` refuse every `exclude_*`: then all is sampled
/// and the reader keeps what was asked for.
pub(super) fn choose_modes(
    draft: &mut EventDraft,
    pmu: &Pmu,
    modes: Modes,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    if has(pmu, "swfilt") && modes != Modes::BOTH {
        draft.excludes = ExcludedModes { hypervisor: false, ..ExcludedModes::outside(modes) };
        return set(draft, pmu, "swfilt=1");
    }
    keep_modes(draft, modes, notes)
}

/// Samples every mode; the reader keeps those asked for.
pub(super) fn keep_modes(
    draft: &mut EventDraft,
    modes: Modes,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    draft.excludes = ExcludedModes::default();
    let mode = match modes {
        Modes { user: true, kernel: true } => return Ok(()),
        Modes { user: true, .. } => PrivilegeMode::User,
        Modes { .. } => PrivilegeMode::Kernel,
    };
    let both = draft.filter.and(SampleFilter::mode(mode));
    draft.filter = both.ok_or_else(|| Refusal::Terms {
        event: draft.event.clone(),
        pmu: draft.pmu.clone(),
        error: "too many conditions".to_owned(),
    })?;
    notes.push(
        "this kernel's IBS cannot leave out a mode (swfilt, about Linux 6.14): both are sampled, \
         the other one is dropped when read"
            .to_owned(),
    );
    Ok(())
}

fn choose_latency(
    draft: &mut EventDraft,
    asked: &IbsRequest<'_>,
    ldlat: u16,
) -> Result<(), Refusal> {
    let refuse = |error: &str| Refusal::Terms {
        event: format!("ldlat={ldlat}"),
        pmu: asked.pmu.name.clone(),
        error: error.to_owned(),
    };
    if !has(asked.pmu, "ldlat") {
        return Err(refuse(
            "only Zen 5 has a latency threshold in IBS, from about Linux 6.15 on: leave ldlat out, \
             every load comes with its latency",
        ));
    }
    if !LATENCIES.contains(&ldlat) {
        return Err(refuse("IBS takes thresholds from 128 to 2048 cycles"));
    }
    set(draft, asked.pmu, &format!("ldlat={ldlat}"))
}

pub(super) fn round_interval(draft: &mut EventDraft, notes: &mut Vec<String>) {
    let asked = draft.interval;
    let steps = asked.saturating_add(STEP / 2) / STEP;
    draft.interval = steps.saturating_mul(STEP).clamp(MIN_INTERVAL, MAX_INTERVAL);
    if draft.interval != asked {
        notes.push(format!(
            "IBS counts in steps of {STEP}, {MIN_INTERVAL} at least: interval {} instead of {asked}",
            draft.interval
        ));
    }
}
