//! What the answer of each view is made of, besides what was collected for it.

use crate::name::lookup::Lookup;
use crate::report::{EventReport, Report};

#[derive(Debug)]
pub(crate) struct Counted<'c> {
    pub(crate) report: Report,
    /// The numbers that the report's events are counted under.
    pub(crate) leaders: &'c [usize],
    pub(crate) lookup: &'c mut Lookup,
}

impl Counted<'_> {
    /// The report's events, each with its number.
    pub(crate) fn events(&self) -> impl Iterator<Item = (&EventReport, usize)> {
        self.report.events.iter().zip(self.leaders.iter().copied())
    }
}
