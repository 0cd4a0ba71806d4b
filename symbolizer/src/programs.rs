//! Which programs an address of user space was in, of several processes over
//! a stretch of time: for who counts hits without keeping whose they were.

use crate::{Place, Symbolizer};
use record::{CpuMode, Pid, Time};

impl Symbolizer {
    /// Processes that records told of and that had not ended before the first
    /// time, or began up to the second.
    pub fn alive(&mut self, span: (Time, Time)) -> Vec<Pid> {
        self.timelines.alive(span)
    }

    /// The distinct places that `ip` was, as code, in some of the processes at
    /// some time of the span, both ends included; empty when nothing was
    /// mapped there. None: what was told of one of them is more than is
    /// followed.
    pub fn places(&mut self, pids: &[Pid], ip: u64, span: (Time, Time)) -> Option<Vec<Place>> {
        // What is not kept may have been it, too.
        if self.timelines.hides_others(span.1) {
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
