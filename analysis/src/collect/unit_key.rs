//! What accesses are told apart by: an instruction and an object.

use crate::collect::sampled::CountedSample;
use crate::name::atom::{Atom, Lack};
use crate::name::lookup::Lookup;
use symbolizer::{ObjectId, Place};

/// Instructions with their objects that are kept.
pub(crate) const MOST_UNITS: usize = 1 << 14;

/// An instruction that accesses an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnitKey {
    pub(crate) event: usize,
    pub(crate) site: Place,
    /// A variable, or why there is none.
    pub(crate) object: Atom,
    /// What is mapped there.
    pub(crate) data: Option<ObjectId>,
}

impl UnitKey {
    /// Of a sample of an event, which has a data address.
    pub(crate) fn of(
        event: usize,
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
    ) -> Result<UnitKey, Lack> {
        let site = sample.place(lookup)?;
        sample.address()?;
        let data = sample.data(lookup);
        let object = data.map_or_else(Atom::lack, |place| lookup.variable(place));
        Ok(UnitKey { event, site, object, data: data.ok().map(|place| place.object) })
    }
}
