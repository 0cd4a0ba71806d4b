//! Memory of each node, from the CPUs of each node.

use super::curves::MeasuredCurve;
use crate::affinity::pin_to_cpu;
use crate::buffer::MeasuredBuffer;
use crate::error::LatencyError;
use crate::figure::LatencyFigure;
use crate::machine::MemoryNode;
use crate::meter::{DisturbedRuns, MeasuringEffort, Meter};
use crate::order::VisitOrder;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NodeFigure {
    /// Whose CPU loads.
    pub from: u32,
    pub cpu: u32,
    /// Whose memory it is.
    pub to: u32,
    pub load: LatencyFigure,
}

/// Each node with CPUs against each with memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeStudy {
    /// Bytes that are visited.
    pub size: u64,
    /// By node that loads, then by node that is loaded from.
    pub figures: Vec<NodeFigure>,
}

/// The study. This thread is on the CPU of the last node afterwards.
pub(crate) fn study(
    effort: MeasuringEffort,
    nodes: &[MemoryNode],
    size: u64,
    allowed: &[u32],
    stop: &AtomicBool,
) -> Result<(NodeStudy, DisturbedRuns), LatencyError> {
    let mut disturbed = DisturbedRuns::default();
    let mut study = NodeStudy { size, figures: Vec::new() };
    for from in nodes {
        let Some(&cpu) = from.cpus.iter().find(|cpu| allowed.contains(cpu)) else { continue };
        pin_to_cpu(cpu)?;
        for to in nodes.iter().filter(|node| node.has_memory) {
            if stop.load(Ordering::Relaxed) {
                return Ok((study, disturbed));
            }
            let mut meter = Meter::new(effort, cpu, stop);
            let mut buffer = MeasuredBuffer::new(size, true, Some(to.node))?;
            let mut curve = MeasuredCurve::new(VisitOrder::CrossPage, true, &[size]);
            for _ in 0..effort.rounds {
                curve.measure(&mut meter, &mut buffer, &|_| {});
            }
            disturbed.add(meter.disturbed);
            if let [point] = curve.curve().points[..] {
                let figure = NodeFigure { from: from.node, cpu, to: to.node, load: point.load };
                study.figures.push(figure);
            }
        }
    }
    Ok((study, disturbed))
}
