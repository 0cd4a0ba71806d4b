//! The end of an emulated session: the rest of the records, and the account.

use std::time::Duration;

use emulator::{Account, Emulation, Standing};
use record::stream::write;

use super::{EVENT, Session, status};
use crate::ledger::{EventAccount, Ledger};
use crate::session::{SessionError, Sink};
use crate::sys::event::NATIVE_ORDER;

/// Between two looks at threads that are on their way out.
const A_MOMENT: Duration = Duration::from_millis(20);
/// Processes named that ran natively.
const NAMED: usize = 3;

impl Session {
    /// Stops, drains the ring until all threads run natively or are gone,
    /// takes the emulation's books, ends the stream with the ledger.
    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<Ledger, SessionError> {
        self.stop();
        loop {
            let standing = self.emulation.as_ref().map(Emulation::standing);
            // Threads may wait for room: it is made until none is left.
            self.pass();
            let _booked = self.outbox.flush(sink, &mut self.ledger);
            match (standing, &self.emulation) {
                (Some(Standing::Emulated), Some(emulation)) => {
                    let _looked_at_above = emulation.wait(A_MOMENT);
                }
                (Some(standing), _) => {
                    self.look(standing);
                    break;
                }
                (None, _) => break,
            }
        }
        if let Some(emulation) = self.emulation.take() {
            self.ended = self.ended.or(emulation.ended().map(status));
            match emulation.finish() {
                Ok(account) => self.settle(&account),
                Err(fault) => {
                    self.ledger.tail_known = false;
                    self.last_notes.push(fault.to_string());
                }
            }
        }
        self.pass();
        if let Some(command) = &mut self.command {
            command.untrace(self.ended);
        }
        self.ledger.wall = self.stopped.unwrap_or_default();
        let _booked = self.outbox.flush(sink, &mut self.ledger);
        write::event_unit(EVENT, &self.ledger.note(0), NATIVE_ORDER, &mut self.outbox.bytes)
            .map_err(|e| SessionError::Preamble(e.to_string()))?;
        write::finished_round(NATIVE_ORDER, &mut self.outbox.bytes);
        let _booked = self.outbox.flush(sink, &mut self.ledger);
        Ok(self.ledger.clone())
    }

    fn settle(&mut self, account: &Account) {
        let said = EventAccount {
            events: account.events,
            kernel: Some(account.records + account.lost),
            ..EventAccount::default()
        };
        self.ledger.settle(0, said, Some(account.lost));
        self.ledger.tail_known = true;
        self.last_notes.extend(not_followed(account));
    }
}

/// Which processes ran without the model, and why.
fn not_followed(account: &Account) -> Vec<String> {
    let (named, more) = account.not_followed.split_at(account.not_followed.len().min(NAMED));
    let named = named.iter().map(|(pid, why)| format!("process {pid} ran natively: {why}"));
    let more = (!more.is_empty()).then(|| format!("so did {} more processes", more.len()));
    named.chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Pid;

    #[test]
    fn of_many_processes_that_were_not_followed_a_few_are_named() {
        let mut account = Account::default();
        assert!(not_followed(&account).is_empty());
        account.not_followed = (1..=5).map(|pid| (Pid(pid), "32-bit".to_owned())).collect();
        assert_eq!(
            not_followed(&account),
            [
                "process 1 ran natively: 32-bit",
                "process 2 ran natively: 32-bit",
                "process 3 ran natively: 32-bit",
                "so did 2 more processes"
            ]
        );
    }
}
