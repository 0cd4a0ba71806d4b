//! Loads at even distances, which prefetchers know.

use crate::buffer::{MeasuredBuffer, PageBacking};
use crate::figure::LatencyFigure;
use crate::meter::Meter;
use crate::order::VisitOrder;
use crate::sys::PointerChase;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StrideFigure {
    /// Bytes from one load to the next, upwards.
    pub stride: u64,
    pub load: LatencyFigure,
}

/// All of them, through memory that no cache holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrideStudy {
    /// Bytes that are visited.
    pub size: u64,
    pub pages: PageBacking,
    /// By stride, ascending.
    pub strides: Vec<StrideFigure>,
}

const STRIDES: [usize; 9] = [8, 64, 128, 256, 512, 1024, 2048, 4096, 8192];

pub(crate) fn study(meter: &mut Meter<'_>, buffer: &mut MeasuredBuffer, size: u64) -> StrideStudy {
    let mut strides = Vec::new();
    for stride in STRIDES {
        let offsets = VisitOrder::Stride(stride).offsets(usize::try_from(size).unwrap_or(0));
        let mut pointers = PointerChase::new(&mut buffer.region, offsets);
        let load = meter.figure(|loads| pointers.chase(loads));
        if load.runs > 0 {
            strides.push(StrideFigure { stride: stride as u64, load });
        }
    }
    StrideStudy { size, pages: buffer.pages, strides }
}
