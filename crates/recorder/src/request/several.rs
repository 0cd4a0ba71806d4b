//! Several events in one session.

use serde::{Deserialize, Serialize};

use super::Request;
use crate::EventSpec;

/// An event beside the first of a request: what of a request is an event's
/// own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRequest {
    /// As [`Request::event`].
    pub event: EventSpec,
    /// As [`Request::interval`].
    #[serde(default)]
    pub interval: Option<u64>,
    /// As [`Request::seed`].
    #[serde(default)]
    pub seed: Option<u64>,
}

impl Request {
    /// Events of one session at most: more would take turns on the counters
    /// of any CPU.
    pub const MOST_EVENTS: usize = 8;

    /// A request for each event, alone.
    pub fn each(&self) -> impl Iterator<Item = Request> + '_ {
        let first = Request { also: Vec::new(), ..self.clone() };
        let others = self.also.iter().map(|other| Request {
            event: other.event.clone(),
            masks: Vec::new(),
            interval: other.interval,
            seed: other.seed,
            also: Vec::new(),
            ..self.clone()
        });
        std::iter::once(first).chain(others)
    }
}
