//! Whether anybody took this CPU from us.

use crate::machine::spent;
use crate::sys::involuntary_switches;
use std::fs;

/// Looks at the accounts before and after.
#[derive(Debug)]
pub(super) struct Stillness {
    /// Ours, and that of the thread that we measure with.
    cpus: Vec<u32>,
    /// The number of that thread.
    partner: Option<u32>,
    stolen: u64,
    switches: u64,
}

/// Who took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Disturbance {
    /// The host.
    pub(super) stolen: bool,
    /// Another thread.
    pub(super) switched: bool,
}

impl Stillness {
    pub(super) fn new(cpu: u32) -> Stillness {
        Stillness { cpus: vec![cpu], partner: None, stolen: 0, switches: 0 }
    }

    /// The same, of a thread on another CPU, too.
    pub(super) fn and(mut self, cpu: u32, thread: u32) -> Stillness {
        self.cpus.push(cpu);
        self.partner = Some(thread);
        self
    }

    pub(super) fn begin(&mut self) {
        self.stolen = self.stolen_ticks();
        self.switches = self.switches();
    }

    pub(super) fn end(&self) -> Disturbance {
        let switched = self.switches() != self.switches;
        Disturbance { stolen: self.stolen_ticks() != self.stolen, switched }
    }

    /// 0 where the kernel does not say.
    fn stolen_ticks(&self) -> u64 {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        self.cpus.iter().map(|cpu| spent(&stat, *cpu).unwrap_or_default().stolen).sum()
    }

    fn switches(&self) -> u64 {
        let of_partner = self.partner.map_or(0, |thread| {
            let path = format!("/proc/self/task/{thread}/status");
            switches_of(&fs::read_to_string(path).unwrap_or_default())
        });
        involuntary_switches() + of_partner
    }
}

/// Of the text of a thread's status.
fn switches_of(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_the_involuntary_ones() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t12\n";
        assert_eq!((switches_of(status), switches_of("")), (12, 0));
    }
}
