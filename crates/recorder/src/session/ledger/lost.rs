//! Records that did not reach the sink.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// No room in a ring: PERF_FORMAT_LOST of every sampled event, or the
    /// LOST records where the kernel has no such count.
    pub ring: u64,
    /// Records that the CPU wrote for several events at once, so that the
    /// kernel could not tell whose they were: LOST_SAMPLES, of PEBS before
    /// Skylake (trap 27).
    pub collision: u64,
    /// Made after the count that was asked for was reached: left out on
    /// purpose, and accounted for.
    pub beyond_count: u64,
    /// The same event seen twice, by two events on one thread.
    pub duplicate: u64,
    /// Samples under the id of somebody else's event, where several of this
    /// session's may be meant: of a software event that two sessions sample,
    /// the kernel fills one record for both (Linux 6.2).
    pub foreign: u64,
    /// Times that bytes in a ring were no record; each may hide several.
    pub parse_error: u64,
    /// They showed something of the kernel to a user who may not see it.
    pub scrubbed: u64,
    /// Left out to sample less often, where the kernel could not: those that
    /// are kept stand for them.
    pub thinned: u64,
    /// The sink failed: a full disk, a closed pipe.
    pub sink: u64,
    /// Of a session of the daemon: a client took its records too slowly.
    pub queue: u64,
    /// Of a session of the daemon: delivered before a client joined.
    pub before: u64,
    /// In the moment of stopping, one a CPU at most: the kernel had counted
    /// the event, and was told to stop before it wrote the record
    /// (perf_swevent_event() looks at the event's state after counting,
    /// Linux 6.18.y). Concluded from the kernel's count.
    pub stop: u64,
    /// Counted in the kernel, where the table had no room for one more site.
    pub no_room: u64,
    /// While the CPU ran another BPF program the kernel does not run ours
    /// (`bpf_prog_active`): the event's count is all that there is of the
    /// hit. Concluded from that and from what our program has seen.
    pub kernel_busy: u64,
    /// Not made, as the kernel had stopped the event for interrupting too
    /// often: what a counter beside it counted, which is not stopped, beyond
    /// what it counted itself, in periods. Other events' are not known.
    pub throttled: u64,
}

impl Lost {
    pub const CAUSES: usize = 15;

    pub fn total(&self) -> u64 {
        self.causes().iter().map(|(_, count)| count).sum()
    }

    /// What somebody wanted and did not get: all causes but
    /// [`beyond_count`](Lost::beyond_count).
    pub fn unwanted(&self) -> u64 {
        self.total() - self.beyond_count
    }

    /// The count of a cause by its name; None: no cause is called so.
    pub(crate) fn cause_mut(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "ring" => &mut self.ring,
            "collision" => &mut self.collision,
            "count" => &mut self.beyond_count,
            "duplicate" => &mut self.duplicate,
            "foreign" => &mut self.foreign,
            "parse" => &mut self.parse_error,
            "scrubbed" => &mut self.scrubbed,
            "thinned" => &mut self.thinned,
            "sink" => &mut self.sink,
            "queue" => &mut self.queue,
            "before" => &mut self.before,
            "stop" => &mut self.stop,
            "no_room" => &mut self.no_room,
            "kernel_busy" => &mut self.kernel_busy,
            "throttled" => &mut self.throttled,
            _ => return None,
        })
    }

    /// Each cause by its name in notes, and the samples that it cost.
    pub fn causes(&self) -> [(&'static str, u64); Lost::CAUSES] {
        [
            ("ring", self.ring),
            ("collision", self.collision),
            ("count", self.beyond_count),
            ("duplicate", self.duplicate),
            ("foreign", self.foreign),
            ("parse", self.parse_error),
            ("scrubbed", self.scrubbed),
            ("thinned", self.thinned),
            ("sink", self.sink),
            ("queue", self.queue),
            ("before", self.before),
            ("no_room", self.no_room),
            ("kernel_busy", self.kernel_busy),
            ("throttled", self.throttled),
            ("stop", self.stop),
        ]
    }
}
