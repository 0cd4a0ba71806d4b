//! CPUs whose registers do not always mean what they say.

use super::{IbsCaps, IbsOp};

/// What to distrust on the CPU that recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IbsErrata {
    /// L2 miss, open requests and data source are not valid for software
    /// prefetches and for misses without a buffer of their own (erratum 1293
    /// of family 19h, models 0h to Fh).
    pub prefetch_source: bool,
    /// Whether a line was modified elsewhere is not told
    /// (perf_ibs_cache_hit_st_valid(), arch/x86/events/amd/ibs.c).
    pub cache_state: bool,
}

impl IbsErrata {
    /// Of a CPU by its identity as recorders write it:
    /// `AuthenticAMD,family,model,stepping`, decimal. Of a CPU that is not
    /// known, all that its capabilities do not rule out is assumed: Zen 4's
    /// extensions are later than both.
    pub fn of(cpu_id: Option<&str>, caps: IbsCaps) -> IbsErrata {
        if caps.contains(IbsCaps::ZEN4) {
            return IbsErrata::default();
        }
        match cpu_id.and_then(family_and_model) {
            Some((0x19, model)) => IbsErrata {
                prefetch_source: model <= 0x0f,
                cache_state: model <= 0x0f || (0x20..=0x5f).contains(&model),
            },
            Some(_) => IbsErrata::default(),
            None => IbsErrata { prefetch_source: true, cache_state: true },
        }
    }

    /// Whether L2 miss and data source of this op cannot be trusted.
    pub(crate) fn spoil_source(self, op: &IbsOp) -> bool {
        self.prefetch_source && (op.sw_pf() || op.dc_miss_no_mab_alloc())
    }
}

fn family_and_model(cpu_id: &str) -> Option<(u32, u32)> {
    let mut parts = cpu_id.split(',').skip(1);
    let mut number = || parts.next()?.trim().parse().ok();
    Some((number()?, number()?))
}
