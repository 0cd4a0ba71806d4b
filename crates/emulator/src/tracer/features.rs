//! What this processor and kernel let translated code use.

use raw_cpuid::CpuId;

use crate::translate::CpuFeatures;

/// Bit of AT_HWCAP2: user space may use rdfsbase.
const FSGSBASE: usize = 2;
/// What fxsave writes.
const LEGACY_STATE: u16 = 512;

/// Asks the processor.
pub(crate) fn features() -> CpuFeatures {
    let cpu = CpuId::new();
    let extended = cpu.get_extended_feature_info();
    let has = |test: fn(&raw_cpuid::ExtendedFeatures) -> bool| extended.as_ref().is_some_and(test);
    let state = cpu.get_extended_state_info();
    let xsave = state.map_or(0, |state| state.xsave_area_size_enabled_features());
    let (_, hwcap2) = rustix::param::linux_hwcap();
    CpuFeatures {
        bmi2: has(raw_cpuid::ExtendedFeatures::has_bmi2),
        fsgsbase: hwcap2 & FSGSBASE != 0,
        avx512bw: has(raw_cpuid::ExtendedFeatures::has_avx512bw),
        xsave_bytes: u16::try_from(xsave).unwrap_or(u16::MAX).max(LEGACY_STATE),
    }
}
