//! What of the machine a request asks about, beside what all do.

use std::path::Path;

use super::event_spec::RequestedEvent;
use super::{Request, Target};
use crate::machine::facts::{Facts, FactsError};

impl Facts {
    /// [`Facts::read`], and what the request's events and target need on top:
    /// ids of tracepoints, descriptions of PMUs, the process's owner and
    /// state.
    pub fn read_for(root: &Path, request: &Request) -> Result<Facts, FactsError> {
        let mut facts = Facts::read(root)?;
        for one in request.each() {
            match one.event.resolve() {
                Ok(RequestedEvent::Tracepoint(point)) => facts.look_up(root, &point)?,
                Ok(RequestedEvent::Pmu { pmu, .. }) => facts.describe_pmu(root, &pmu)?,
                _ => {}
            }
        }
        if let Target::Process(pid) = request.target {
            facts.look_at(root, pid)?;
        }
        Ok(facts)
    }
}
