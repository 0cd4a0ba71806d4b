//! One pass over the ring that the emulation fills.

use perfdata::stream::{ModelClock, write};
use perfdata::{Misc, Time};
use rustix::time::{ClockId, clock_gettime};

use super::form::WrittenRecord;
use super::{EVENT, EmulatedSession};
use crate::ring::drain;
use crate::session::Pass;
use crate::sys::event::NATIVE_ORDER;

impl EmulatedSession {
    pub(super) fn tell_clock(&mut self) {
        let note = ModelClock { began: self.began, now: now() }.to_string();
        let bytes = &mut self.outbox.bytes;
        // Only a text that is far longer is refused.
        let _short = write::event_unit(EVENT, &note, NATIVE_ORDER, bytes);
    }

    /// Takes what the ring holds now into the outbox, marks the round, and
    /// stops once the count is reached.
    pub(super) fn pass(&mut self) -> Pass {
        let mut pass = Pass::default();
        let limit = self.settings.count.unwrap_or(u64::MAX);
        let (ledger, outbox, accepted) = (&mut self.ledger, &mut self.outbox, &mut self.accepted);
        let (form, foreign) = (&self.form, &mut self.foreign);
        // Of several events nobody knows whose such bytes were.
        let blamed = if outbox.samples.len() > 1 { usize::MAX } else { 0 };
        let drained = drain(&mut self.ring, |lent| {
            // The target can write there at any time, also now: what is looked
            // at is what goes into the stream.
            let start = outbox.bytes.len();
            outbox.bytes.extend_from_slice(lent.first);
            outbox.bytes.extend_from_slice(lent.second);
            let copy = outbox.bytes.get(start..).unwrap_or_default();
            let Some(written) = form.written(lent.header, copy) else {
                outbox.bytes.truncate(start);
                *foreign += 1;
                return ledger.lose(blamed, 1, |lost| &mut lost.parse_error);
            };
            if let WrittenRecord::Sample { event } = written {
                if *accepted >= limit {
                    outbox.bytes.truncate(start);
                    return ledger.lose(event, 1, |lost| &mut lost.beyond_count);
                }
                *accepted += 1;
                pass.samples += 1;
                if let Some(buffered) = outbox.samples.get_mut(event) {
                    buffered.samples += 1;
                    buffered.exact_ip += u64::from(lent.header.misc.contains(Misc::EXACT_IP));
                }
            } else {
                pass.side += 1;
                outbox.side += 1;
            }
        });
        if drained.damaged {
            self.foreign += 1;
            ledger.lose(blamed, 1, |lost| &mut lost.parse_error);
        }
        if pass.samples + pass.side > 0 {
            self.tell_clock();
            write::finished_round(NATIVE_ORDER, &mut self.outbox.bytes);
        }
        pass.limit_reached = self.accepted >= limit;
        if pass.limit_reached {
            self.stop();
        }
        pass
    }
}

/// CLOCK_MONOTONIC, as samples of the kernel have it but for some drift.
pub(super) fn now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let rest = u64::try_from(now.tv_nsec).unwrap_or(0);
    Time(seconds.saturating_mul(1_000_000_000).saturating_add(rest))
}
