//! How the instructions of samples access memory, by their code.

use crate::bounded::Bounded;
use crate::code::access_shape::{AccessShape, access_shape};
use symbolizer::{Place, SampledAddress, Symbolizer};

/// Bytes of code that are looked at, from the instruction on.
const LOOKED_AT: u64 = 96;
const MOST_SHAPES: usize = 1 << 19;

#[derive(Debug, Default)]
pub(crate) struct AccessShapes(Bounded<Place, Option<AccessShape>, MOST_SHAPES>);

impl AccessShapes {
    pub(crate) fn of(
        &mut self,
        site: Place,
        at: SampledAddress,
        symbolizer: &mut Symbolizer,
    ) -> Option<AccessShape> {
        *self.0.or_insert_with(site, || shape_at(site, at, symbolizer))
    }
}

/// What the instruction at a place accesses, where its code can be had.
pub(crate) fn shape_at(
    site: Place,
    at: SampledAddress,
    symbolizer: &mut Symbolizer,
) -> Option<AccessShape> {
    let stretch = site.address..site.address.saturating_add(LOOKED_AT);
    let text = symbolizer.text(at, &stretch).ok()?;
    access_shape(&text.bytes, text.bits?, at.address)
}
