//! One pass over the ring that the emulation fills.

use perfdata::stream::{ModelClock, write};
use perfdata::{Misc, Time};
use rustix::time::{ClockId, clock_gettime};

use super::record_format::WrittenRecord;
use super::{EVENT, EmulatedSession};
use crate::ring::drain;
use crate::session::DrainPass;
use crate::sys::event::NATIVE_ORDER;

impl EmulatedSession {
    pub(super) fn sync_clock(&mut self) {
        let note = ModelClock { began: self.began, now: now() }.to_string();
        let bytes = &mut self.output_buffer.bytes;
        // Only a text that is far longer is refused.
        let _short = write::event_unit(EVENT, &note, NATIVE_ORDER, bytes);
    }

    /// Takes what the ring holds now into the output buffer, marks the round, and
    /// stops once the count is reached.
    pub(super) fn pass(&mut self) -> DrainPass {
        let mut pass = DrainPass::default();
        let limit = self.settings.count.unwrap_or(u64::MAX);
        let (ledger, output_buffer, accepted) =
            (&mut self.ledger, &mut self.output_buffer, &mut self.accepted);
        let (record_format, foreign) = (&self.record_format, &mut self.foreign);
        // Of several events nobody knows whose such bytes were.
        let blamed = if output_buffer.samples.len() > 1 { usize::MAX } else { 0 };
        let drained = drain(&mut self.ring, |record| {
            // The target can write there at any time, also now: what is looked
            // at is what goes into the stream.
            let start = output_buffer.bytes.len();
            output_buffer.bytes.extend_from_slice(record.first);
            output_buffer.bytes.extend_from_slice(record.second);
            let copy = output_buffer.bytes.get(start..).unwrap_or_default();
            let Some(written) = record_format.written(record.header, copy) else {
                output_buffer.bytes.truncate(start);
                *foreign += 1;
                return ledger.lose(blamed, 1, |lost| &mut lost.parse_error);
            };
            if let WrittenRecord::Sample { event } = written {
                if *accepted >= limit {
                    output_buffer.bytes.truncate(start);
                    return ledger.lose(event, 1, |lost| &mut lost.beyond_count);
                }
                *accepted += 1;
                pass.samples += 1;
                if let Some(buffered) = output_buffer.samples.get_mut(event) {
                    buffered.samples += 1;
                    buffered.exact_ip += u64::from(record.header.misc.contains(Misc::EXACT_IP));
                }
            } else {
                pass.side += 1;
                output_buffer.side += 1;
            }
        });
        if drained.damaged {
            self.foreign += 1;
            ledger.lose(blamed, 1, |lost| &mut lost.parse_error);
        }
        if pass.samples + pass.side > 0 {
            self.sync_clock();
            write::finished_round(NATIVE_ORDER, &mut self.output_buffer.bytes);
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
