//! What counts samples for a view.

use crate::collect::event::{Event, says};
use crate::collect::sampled::CountedSample;
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::query::needs::Needs;
use perfdata::Arch;
use perfdata::aggregate::Site;
use perfdata::stream::EventDescription;
use std::any::Any;
use std::fmt::Debug;

/// Counts the samples of a recording for one view. A function of the view makes the answer of it.
pub(crate) trait Collector: Any + Debug + Send {
    /// What of samples it looks at.
    fn needs(&self) -> Needs;

    /// The stream describes an event, before its first sample.
    fn learn(&mut self, _event: &NewEvent<'_>) {}

    /// Takes a sample that the sieve and all filters let pass.
    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error>;

    /// Takes hits of one place that the kernel counted, as `sample`. Most views need more of each
    /// than the kernel keeps.
    fn take_site(
        &mut self,
        _site: &Site,
        _sample: &mut CountedSample<'_>,
        _lookup: &mut Lookup,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// The recording has ended.
    fn end(&mut self, _lookup: &mut Lookup) -> Result<(), Error> {
        Ok(())
    }
}

/// An event as it becomes known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewEvent<'e> {
    pub(crate) event: &'e Event,
    /// Those that are known, in the stream's order; it is the last one.
    pub(crate) events: &'e [Event],
    pub(crate) description: &'e EventDescription,
    pub(crate) arch: Arch,
    /// Bytes of a cache line.
    pub(crate) line: u64,
}

impl NewEvent<'_> {
    /// The caches of the model that made its samples, in the words of its notes.
    pub(crate) fn model(&self) -> Option<&str> {
        says(self.description, "model")
    }
}

/// Takes the collector of a type out of a list; None: there is none.
pub(crate) fn take_out<C: Collector>(list: &mut Vec<Box<dyn Collector>>) -> Option<C> {
    let at = list.iter().position(|it| (&**it as &dyn Any).is::<C>())?;
    let it: Box<dyn Any> = list.remove(at);
    it.downcast().ok().map(|it| *it)
}
