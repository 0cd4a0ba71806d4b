//! One pass over the ring that the emulation fills.

use record::stream::write;
use record::{Misc, RecordType};

use super::Session;
use crate::ring::drain;
use crate::session::Pass;
use crate::sys::event::NATIVE_ORDER;

impl Session {
    /// Takes what the ring holds now into the outbox, marks the round, and
    /// stops once the count is reached.
    pub(super) fn pass(&mut self) -> Pass {
        let mut pass = Pass::default();
        let limit = self.settings.count.unwrap_or(u64::MAX);
        let (ledger, outbox, accepted) = (&mut self.ledger, &mut self.outbox, &mut self.accepted);
        let drained = drain(&mut self.ring, |lent| {
            if lent.header.kind == RecordType::SAMPLE {
                if *accepted >= limit {
                    return ledger.lose(0, 1, |lost| &mut lost.beyond_count);
                }
                *accepted += 1;
                pass.samples += 1;
                if let Some(buffered) = outbox.samples.first_mut() {
                    buffered.samples += 1;
                    buffered.exact_ip += u64::from(lent.header.misc.contains(Misc::EXACT_IP));
                }
            } else {
                pass.side += 1;
                outbox.side += 1;
            }
            outbox.bytes.extend_from_slice(lent.first);
            outbox.bytes.extend_from_slice(lent.second);
        });
        if drained.damaged {
            ledger.lose(0, 1, |lost| &mut lost.parse_error);
        }
        if pass.samples + pass.side > 0 {
            write::finished_round(NATIVE_ORDER, &mut self.outbox.bytes);
        }
        pass.limit_reached = self.accepted >= limit;
        if pass.limit_reached {
            self.stop();
        }
        pass
    }
}
