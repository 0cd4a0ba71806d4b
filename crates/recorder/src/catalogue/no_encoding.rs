//! Why a core has no event for a type.

use super::Microarchitecture;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEncoding {
    #[error("{name} is not an event of CPUs")]
    NotHardware { name: &'static str },
    #[error("the PMU {pmu} does not belong to a core")]
    NotCore { pmu: String },
    #[error("this core ({core}) has no event for it: {because}")]
    NoEvent { core: Microarchitecture, because: &'static str },
    /// The tables do not know the CPU, and the kernel has no generic event
    /// for the type.
    #[error("this CPU is not in the tables, and the kernel has no generic event for {name}")]
    Generic { name: &'static str },
}

impl NoEncoding {
    pub(super) fn of(core: Microarchitecture, name: &str) -> NoEncoding {
        NoEncoding::NoEvent { core, because: because(core, name) }
    }
}

fn because(core: Microarchitecture, name: &str) -> &'static str {
    match name {
        "remote_dram" if !core.is_amd() => {
            "no event of it tells memory of another socket from its own"
        }
        "store_latency" if core.is_amd() => "IBS measures the latency of loads only",
        "store_latency" => "stores are not timed before Sapphire Rapids and Alder Lake",
        "load_latency" => "it has no load latency facility",
        "fb_alloc"
            if ["lioncove", "cougarcove", "coyotecove"].iter().any(|big| core.0.ends_with(big)) =>
        {
            "its event 48 counts misses under way and nothing else (L1D_PENDING.LOAD); fb_full \
             counts full fill buffers"
        }
        "fb_full" | "fb_alloc" => "fill buffers are counted by big cores of Intel only",
        "l2_rqsts" => "requests to its second-level cache are not counted by origin and result",
        "mob_load_replay_retired" => "blocked store forwarding is not counted",
        _ if core.0 == "silvermont" => {
            "it is not counted, and retired instructions are not sampled precisely, from which \
             to choose"
        }
        _ if core.0 == "novalake_arcticwolf" => "its maker has not published its memory events yet",
        _ => "its maker lists none",
    }
}
