//! How many pages the TLBs have, and what a miss takes.

use super::curves::{MeasuredCurve, SizeFigure};
use crate::buffer::{MeasuredBuffer, PageBacking};
use crate::error::LatencyError;
use crate::figure::LatencyFigure;
use crate::levels::{CurvePoint, FoundLevel, levels};
use crate::meter::Meter;
use crate::order::{LINE, PAGE, VisitOrder};
use crate::sizes::sizes;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PageFigure {
    /// Pages of 4 KiB that are visited.
    pub pages: u64,
    /// A load, on pages of 4 KiB.
    pub small: LatencyFigure,
    /// A load of the same lines on pages of 2 MiB. Where this rises with the
    /// other, the host has them in pieces of 4 KiB, and so have the TLBs.
    pub huge: LatencyFigure,
    /// A load of as many lines side by side, on pages of 2 MiB.
    pub dense: LatencyFigure,
    /// Core cycles of the translation: what `small` has more than `dense` by
    /// the minima; below zero where noise is more than it.
    pub cycles: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TlbStudy {
    pub huge_pages: PageBacking,
    /// By pages, ascending.
    pub points: Vec<PageFigure>,
    /// Pages that each TLB has, and cycles more than the first one takes; the
    /// last one is a walk of the page tables, of twice the pages before.
    pub levels: Vec<FoundLevel>,
}

/// Pages at most: several times what any second level has.
const MAX_PAGES: u64 = 16_384;

/// The study; `largest` bounds the memory.
pub(crate) fn study(
    meter: &mut Meter<'_>,
    largest: u64,
    progress: &dyn Fn(&str),
) -> Result<TlbStudy, LatencyError> {
    let (page, line) = (PAGE as u64, LINE as u64);
    let bytes = largest.min(MAX_PAGES * page);
    let sizes = sizes(8 * page, bytes, meter.effort.steps);
    let lines: Vec<u64> = sizes.iter().map(|size| size / page * line).collect();
    let mut small = MeasuredCurve::new(VisitOrder::LinePerPage, false, &sizes);
    let mut huge = MeasuredCurve::new(VisitOrder::LinePerPage, true, &sizes);
    let mut dense = MeasuredCurve::new(VisitOrder::CrossPage, true, &lines);
    for _ in 0..meter.effort.rounds {
        small.measure(meter, &mut MeasuredBuffer::new(bytes, false, None)?, progress);
        let mut buffer = MeasuredBuffer::new(bytes, true, None)?;
        huge.measure(meter, &mut buffer, progress);
        dense.measure(meter, &mut buffer, progress);
    }
    let huge = huge.curve();
    let points = points(&small.curve().points, &huge.points, &dense.curve().points);
    let levels = tlbs(&points);
    Ok(TlbStudy { huge_pages: huge.pages, points, levels })
}

fn points(small: &[SizeFigure], huge: &[SizeFigure], dense: &[SizeFigure]) -> Vec<PageFigure> {
    let point = |((small, huge), dense): ((&SizeFigure, &SizeFigure), &SizeFigure)| PageFigure {
        pages: small.size / PAGE as u64,
        small: small.load,
        huge: huge.load,
        dense: dense.load,
        cycles: small.load.cycles.minimum - dense.load.cycles.minimum,
    };
    small.iter().zip(huge).zip(dense).map(point).collect()
}

/// The TLBs that the costs of translation tell of. Levels are told apart by
/// their ratio, so a hit in the first TLB is not nothing here, but as long as
/// a load that hits.
fn tlbs(points: &[PageFigure]) -> Vec<FoundLevel> {
    let hit = points.first().map_or(1.0, |point| point.dense.cycles.minimum.max(1.0));
    let point =
        |point: &PageFigure| CurvePoint { size: point.pages, latency: point.cycles.max(0.0) + hit };
    let mut found = levels(&points.iter().map(point).collect::<Vec<_>>());
    for level in &mut found {
        level.latency = (level.latency - hit).max(0.0);
    }
    // A walk whose tables are in the caches: of more pages those miss, too.
    if let [.., before, walk] = &mut found[..] {
        let beyond = |point: &&PageFigure| point.pages >= 2 * before.size;
        if let Some(point) = points.iter().find(beyond) {
            walk.latency = point.cycles.max(before.latency);
        }
    }
    found
}
