//! What can be measured, each on its own.

pub mod chains;
pub mod cores;
pub mod curves;
pub mod forwarding;
pub mod load;
pub mod nodes;
pub mod strides;
pub mod tlbs;

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyPart {
    /// Curves over sizes, and the levels that they have.
    Levels,
    /// TLBs: how many pages each has, and what a miss takes.
    Tlbs,
    Strides,
    /// Chains of loads at once.
    Chains,
    /// Loads of what was stored just before.
    Forwarding,
    /// Lines on their way from core to core.
    Cores,
    Nodes,
    /// Loads while other cores read.
    Load,
}

impl LatencyPart {
    /// Each, in the order in which they are measured.
    pub const ALL: [LatencyPart; 8] = [
        LatencyPart::Levels,
        LatencyPart::Tlbs,
        LatencyPart::Strides,
        LatencyPart::Chains,
        LatencyPart::Forwarding,
        LatencyPart::Cores,
        LatencyPart::Nodes,
        LatencyPart::Load,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LatencyPart::Levels => "levels",
            LatencyPart::Tlbs => "tlbs",
            LatencyPart::Strides => "strides",
            LatencyPart::Chains => "chains",
            LatencyPart::Forwarding => "forwarding",
            LatencyPart::Cores => "cores",
            LatencyPart::Nodes => "nodes",
            LatencyPart::Load => "load",
        }
    }
}
