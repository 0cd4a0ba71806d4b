//! Which programs an address of user space was in, of several processes over
//! a stretch of time: for who counts hits without keeping whose they were.

use crate::{Place, Symbolizer};
use perfdata::{CpuMode, Pid, Time};
use std::ops::RangeInclusive;

impl Symbolizer {
    /// Processes that records told of and that had not ended before a span of
    /// time, or began within it.
    pub fn alive(&mut self, span: &RangeInclusive<Time>) -> Vec<Pid> {
        self.timelines.alive(span)
    }

    /// The distinct places that `ip` was, as code, in some of the processes at
    /// some time of the span; empty when nothing was mapped there. None: what was told of one of them is more than is
    /// followed.
    pub fn places(
        &mut self,
        pids: &[Pid],
        ip: u64,
        span: &RangeInclusive<Time>,
    ) -> Option<Vec<Place>> {
        // What is not kept may have been it, too.
        if self.timelines.hides_others(*span.end()) {
            return None;
        }
        let mut places = Vec::new();
        for pid in pids {
            for (mapping, time) in self.timelines.during(*pid, ip, span)? {
                let place = self.place(CpuMode::User, *pid, ip, time);
                if mapping.executable && !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        Some(places)
    }
}
