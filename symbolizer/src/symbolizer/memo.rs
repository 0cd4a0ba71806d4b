//! Answers that are remembered, each with where and when it holds.

use super::KERNEL_PID;
use crate::process::timeline::FoundMapping;
use crate::{ObjectId, Place};
use perfdata::{Pid, Time};

/// Answers remembered; a power of two.
pub(crate) const MEMOS: usize = 4096;

/// An answer of [`Symbolizer::place`](crate::Symbolizer::place) and where it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memo {
    /// None: the kernel.
    pub(crate) pid: Option<Pid>,
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) from: Time,
    pub(crate) until: Time,
    pub(crate) told: u64,
    pub(crate) object: ObjectId,
    /// Added to an address, modulo 2^64.
    pub(crate) delta: u64,
}

impl Memo {
    /// Holds nowhere.
    pub(crate) const VOID: Memo = Memo {
        pid: None,
        first: 1,
        last: 0,
        from: Time(0),
        until: Time(0),
        told: 0,
        object: ObjectId::UNMAPPED,
        delta: 0,
    };

    /// The same for the times only at which what was found beside it holds.
    pub(crate) fn within(self, beside: &FoundMapping) -> Memo {
        Memo { from: self.from.max(beside.from), until: self.until.min(beside.until), ..self }
    }

    #[inline]
    pub(crate) fn place(
        &self,
        told: u64,
        pid: Option<Pid>,
        address: u64,
        time: Time,
    ) -> Option<Place> {
        let holds = self.told == told
            && self.pid == pid
            && (self.first..=self.last).contains(&address)
            && (self.from..=self.until).contains(&time);
        holds.then(|| Place { object: self.object, address: address.wrapping_add(self.delta) })
    }
}

/// Bits above the page number mix in the process.
pub(crate) fn memo_slot(pid: Option<Pid>, ip: u64) -> usize {
    let pid = pid.unwrap_or(KERNEL_PID).0.cast_unsigned();
    let mixed = (ip >> 12 ^ u64::from(pid) << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 52).unwrap_or(0) & (MEMOS - 1)
}
