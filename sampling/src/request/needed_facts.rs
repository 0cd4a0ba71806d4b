//! What of the machine a request asks about, beside what all do.

use std::path::Path;

use super::event_spec::RequestedEvent;
use super::{Request, Target};
use crate::machine::facts::{Facts, FactsError};

impl Facts {
    /// [`Facts::read`], and what the request's event and target need on top:
    /// the tracepoint's id, the PMU's description, the process's owner and
    /// state.
    pub fn read_for(root: &Path, request: &Request) -> Result<Facts, FactsError> {
        let mut facts = Facts::read(root)?;
        match request.event.resolve() {
            Ok(RequestedEvent::Tracepoint(point)) => facts.look_up(root, &point)?,
            Ok(RequestedEvent::Pmu { pmu, .. }) => facts.describe_pmu(root, &pmu)?,
            _ => {}
        }
        if let Target::Process(pid) = request.target {
            facts.look_at(root, pid)?;
        }
        Ok(facts)
    }
}
