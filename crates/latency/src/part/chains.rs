//! How many loads of memory are on their way at once.

use crate::field::{FieldPages, MemoryField};
use crate::figure::LatencyFigure;
use crate::meter::Meter;
use crate::order::VisitOrder;
use crate::sys::Circle;
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
    pub pages: FieldPages,
    /// By chains, ascending.
    pub chains: Vec<ChainFigure>,
}

pub(crate) fn study(meter: &mut Meter<'_>, field: &mut MemoryField, size: u64) -> ChainStudy {
    let offsets = VisitOrder::CrossPage.offsets(usize::try_from(size).unwrap_or(0));
    let circle = Circle::new(&mut field.region, offsets.iter().copied());
    let mut walks = Walks { circle, offsets: &offsets };
    let figures = [
        walks.figure::<1>(meter),
        walks.figure::<2>(meter),
        walks.figure::<3>(meter),
        walks.figure::<4>(meter),
        walks.figure::<5>(meter),
        walks.figure::<6>(meter),
        walks.figure::<7>(meter),
        walks.figure::<8>(meter),
        walks.figure::<9>(meter),
        walks.figure::<10>(meter),
        walks.figure::<11>(meter),
        walks.figure::<12>(meter),
        walks.figure::<13>(meter),
        walks.figure::<14>(meter),
        walks.figure::<15>(meter),
        walks.figure::<16>(meter),
    ];
    let one = figures.first().map_or(0.0, |load| load.nanoseconds.minimum);
    let chain = |(index, load): (usize, LatencyFigure)| ChainFigure {
        chains: index + 1,
        load,
        parallel: one / load.nanoseconds.minimum.max(1e-9),
    };
    let all = figures.into_iter().enumerate().filter(|(_, load)| load.runs > 0);
    ChainStudy { size, pages: field.pages, chains: all.map(chain).collect() }
}

struct Walks<'a> {
    circle: Circle<'a>,
    offsets: &'a [usize],
}

impl Walks<'_> {
    fn figure<const N: usize>(&mut self, meter: &mut Meter<'_>) -> LatencyFigure {
        let part = self.offsets.len() / N;
        let mut walkers = [0; N];
        for (number, walker) in walkers.iter_mut().enumerate() {
            *walker = self.offsets.get(number * part).copied().unwrap_or(0);
        }
        let together = N as u64;
        meter.figure(|loads| {
            let each = loads.div_ceil(together);
            self.circle.chase_together(&mut walkers, each);
            each * together
        })
    }
}
