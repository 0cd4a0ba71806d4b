//! Time over size, and the levels that it tells of.

use crate::buffer::{MeasuredBuffer, PageBacking};
use crate::error::LatencyError;
use crate::figure::{LatencyFigure, TimedRun};
use crate::levels::{CurvePoint, FoundLevel, levels};
use crate::meter::Meter;
use crate::order::VisitOrder;
use crate::sizes::sizes;
use crate::sys::PointerChase;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SizeFigure {
    /// Bytes that are visited.
    pub size: u64,
    pub load: LatencyFigure,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyCurve {
    pub order: VisitOrder,
    pub pages: PageBacking,
    /// By size, ascending.
    pub points: Vec<SizeFigure>,
}

/// What a page of 4 KiB costs beyond one of 2 MiB, of one size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TranslationCost {
    /// Bytes that are visited.
    pub size: u64,
    /// Nanoseconds of a load, by the minima of both; below zero where noise
    /// is more than the cost.
    pub nanoseconds: f64,
    /// The same in core cycles.
    pub cycles: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LevelStudy {
    /// Pages of 2 MiB at random, pages of 4 KiB at random and page by page.
    pub curves: Vec<LatencyCurve>,
    /// The levels, in core cycles: of pages of 2 MiB, which the TLBs have no
    /// part in, unless there are none.
    pub levels: Vec<FoundLevel>,
    /// What the TLBs add to each size: the difference of both random curves.
    pub translation: Vec<TranslationCost>,
}

/// Loads before a figure begins: all lines of what a cache may hold. Of more,
/// none is where it will be from the start.
const MAX_WARM_LOADS: u64 = 2 << 20;

pub(crate) struct MeasuredCurve {
    order: VisitOrder,
    sizes: Vec<u64>,
    /// What its pages were in the last round.
    pages: PageBacking,
    /// By size.
    runs: Vec<Vec<TimedRun>>,
}

impl MeasuredCurve {
    /// Nothing measured yet; sizes ascend.
    pub(crate) fn new(order: VisitOrder, huge: bool, sizes: &[u64]) -> MeasuredCurve {
        let pages = PageBacking { huge, huge_bytes: 0, bytes: 0 };
        MeasuredCurve { order, sizes: sizes.to_vec(), pages, runs: vec![Vec::new(); sizes.len()] }
    }

    /// One round in a buffer; ends early when the meter is stopped.
    pub(crate) fn measure(
        &mut self,
        meter: &mut Meter<'_>,
        buffer: &mut MeasuredBuffer,
        progress: &dyn Fn(&str),
    ) {
        self.pages = buffer.pages;
        let kind = if buffer.pages.huge { "2 MiB" } else { "4 KiB" };
        let wanted = meter.effort.runs.div_ceil(meter.effort.rounds);
        for (&size, runs) in self.sizes.iter().zip(&mut self.runs) {
            if meter.is_stopped() {
                break;
            }
            progress(&format!("{} KiB on pages of {kind}", size / 1024));
            let offsets = self.order.offsets(usize::try_from(size).unwrap_or(0));
            let lines = offsets.len() as u64;
            let mut pointers = PointerChase::new(&mut buffer.region, offsets);
            pointers.chase(lines.min(MAX_WARM_LOADS));
            runs.extend(meter.runs(wanted, |loads| pointers.chase(loads)));
        }
    }

    /// All rounds together: of sizes that were measured at all.
    pub(crate) fn curve(&self) -> LatencyCurve {
        let all = self.sizes.iter().zip(&self.runs).filter(|(_, runs)| !runs.is_empty());
        let point = |(&size, runs): (&u64, &Vec<TimedRun>)| SizeFigure {
            size,
            load: LatencyFigure::of(runs),
        };
        LatencyCurve { order: self.order, pages: self.pages, points: all.map(point).collect() }
    }
}

/// The three curves up to a size, and what they tell. Buffers are new in each
/// round: which physical pages one has decides on what its lines collide with.
pub(crate) fn study(
    meter: &mut Meter<'_>,
    largest: u64,
    progress: &dyn Fn(&str),
) -> Result<LevelStudy, LatencyError> {
    let sizes = sizes(4096, largest, meter.effort.steps);
    let mut huge = MeasuredCurve::new(VisitOrder::CrossPage, true, &sizes);
    let mut small = MeasuredCurve::new(VisitOrder::CrossPage, false, &sizes);
    let mut local = MeasuredCurve::new(VisitOrder::PageLocal, false, &sizes);
    for _ in 0..meter.effort.rounds {
        if !meter.is_stopped() {
            huge.measure(meter, &mut MeasuredBuffer::new(largest, true, None)?, progress);
        }
        if !meter.is_stopped() {
            let mut buffer = MeasuredBuffer::new(largest, false, None)?;
            small.measure(meter, &mut buffer, progress);
            local.measure(meter, &mut buffer, progress);
        }
    }
    let (huge, small, local) = (huge.curve(), small.curve(), local.curve());
    let levels = levels_of(&huge.points);
    let translation = match huge.pages.are_as_asked() {
        true => costs(&huge.points, &small.points),
        false => Vec::new(),
    };
    Ok(LevelStudy { curves: vec![huge, small, local], levels, translation })
}

/// The levels of a curve, in core cycles.
#[must_use]
pub fn levels_of(points: &[SizeFigure]) -> Vec<FoundLevel> {
    let point =
        |point: &SizeFigure| CurvePoint { size: point.size, latency: point.load.cycles.minimum };
    levels(&points.iter().map(point).collect::<Vec<_>>())
}

/// Of sizes that both have.
fn costs(huge: &[SizeFigure], small: &[SizeFigure]) -> Vec<TranslationCost> {
    let pairs = huge.iter().zip(small).take_while(|(huge, small)| huge.size == small.size);
    let cost = |(huge, small): (&SizeFigure, &SizeFigure)| TranslationCost {
        size: huge.size,
        nanoseconds: small.load.nanoseconds.minimum - huge.load.nanoseconds.minimum,
        cycles: small.load.cycles.minimum - huge.load.cycles.minimum,
    };
    pairs.map(cost).collect()
}
