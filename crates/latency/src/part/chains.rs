//! How many loads of memory are on their way at once.

use crate::buffer::{MeasuredBuffer, PageBacking};
use crate::figure::LatencyFigure;
use crate::meter::Meter;
use crate::order::VisitOrder;
use crate::sys::PointerChase;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChainFigure {
    /// Chains that do not wait for each other.
    pub chains: usize,
    /// Time by loads of all chains together.
    pub load: LatencyFigure,
    /// Loads that are on their way at once: the time of one chain by this.
    pub parallel: f64,
}

/// All of them, at random through memory that no cache holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChainStudy {
    /// Bytes that are visited.
    pub size: u64,
    pub pages: PageBacking,
    /// By chains, ascending.
    pub chains: Vec<ChainFigure>,
}

pub(crate) fn study(meter: &mut Meter<'_>, buffer: &mut MeasuredBuffer, size: u64) -> ChainStudy {
    let offsets = VisitOrder::CrossPage.offsets(usize::try_from(size).unwrap_or(0));
    let pointers = PointerChase::new(&mut buffer.region, offsets.iter().copied());
    let mut chase = ParallelChase { pointers, offsets: &offsets };
    let figures = [
        chase.figure::<1>(meter),
        chase.figure::<2>(meter),
        chase.figure::<3>(meter),
        chase.figure::<4>(meter),
        chase.figure::<5>(meter),
        chase.figure::<6>(meter),
        chase.figure::<7>(meter),
        chase.figure::<8>(meter),
        chase.figure::<9>(meter),
        chase.figure::<10>(meter),
        chase.figure::<11>(meter),
        chase.figure::<12>(meter),
        chase.figure::<13>(meter),
        chase.figure::<14>(meter),
        chase.figure::<15>(meter),
        chase.figure::<16>(meter),
    ];
    let one = figures.first().map_or(0.0, |load| load.nanoseconds.minimum);
    let chain = |(index, load): (usize, LatencyFigure)| ChainFigure {
        chains: index + 1,
        load,
        parallel: one / load.nanoseconds.minimum.max(1e-9),
    };
    let all = figures.into_iter().enumerate().filter(|(_, load)| load.runs > 0);
    ChainStudy { size, pages: buffer.pages, chains: all.map(chain).collect() }
}

struct ParallelChase<'a> {
    pointers: PointerChase<'a>,
    offsets: &'a [usize],
}

impl ParallelChase<'_> {
    fn figure<const N: usize>(&mut self, meter: &mut Meter<'_>) -> LatencyFigure {
        let part = self.offsets.len() / N;
        let mut walkers = [0; N];
        for (number, walker) in walkers.iter_mut().enumerate() {
            *walker = self.offsets.get(number * part).copied().unwrap_or(0);
        }
        let together = N as u64;
        meter.figure(|loads| {
            let each = loads.div_ceil(together);
            self.pointers.chase_together(&mut walkers, each);
            each * together
        })
    }
}
