//! The end of an emulated session: the rest of the records, and the account.

use std::time::Duration;

use emulator::{Coverage, Emulation, EmulationAccount, EmulationState};
use perfdata::stream::write;

use super::{EVENT, EmulatedSession, status};
use crate::session::ledger::{CountReached, EventAccount, Ledger};
use crate::session::{SessionError, Sink};
use crate::sys::event::NATIVE_ORDER;

/// Between two looks at threads that are on their way out.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Processes named that ran natively.
const MAX_NAMED: usize = 3;

impl EmulatedSession {
    /// Stops, drains the ring until all threads run natively or are gone,
    /// takes the emulation's books, ends the stream with the ledger.
    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<Ledger, SessionError> {
        self.stop();
        loop {
            let state = self.emulation.as_ref().map(Emulation::state);
            // Threads may wait for room: it is made until none is left.
            self.pass();
            let _booked = self.output_buffer.flush(sink, &mut self.ledger);
            match (state, &self.emulation) {
                (Some(EmulationState::Emulated), Some(emulation)) => {
                    let _looked_at_above = emulation.wait(POLL_INTERVAL);
                }
                (Some(state), _) => {
                    self.look(state);
                    break;
                }
                (None, _) => break,
            }
        }
        if let Some(emulation) = self.emulation.take() {
            self.ended = self.ended.or(emulation.ended().map(status));
            match emulation.finish() {
                Ok(account) => self.finish_account(&account),
                Err(fault) => {
                    self.ledger.tail_known = false;
                    self.broke_off = true;
                    self.last_notes.push(fault.to_string());
                }
            }
        }
        self.pass();
        self.last_notes.extend(written_by_target(self.foreign));
        if let Some(command) = &mut self.command {
            command.untrace(self.ended);
        }
        self.ledger.wall = self.stopped.unwrap_or_default();
        let _booked = self.output_buffer.flush(sink, &mut self.ledger);
        let count = self.settings.count.filter(|count| self.accepted >= *count);
        let beyond = self.ledger.lost.beyond_count;
        self.ledger.count_reached =
            count.and_then(|count| CountReached::new(count, self.left, beyond));
        for (event, id) in (0..self.plan.events.len()).zip(EVENT..) {
            let note = self.ledger.note(event);
            write::event_unit(id, &note, NATIVE_ORDER, &mut self.output_buffer.bytes)
                .map_err(|e| SessionError::Preamble(e.to_string()))?;
        }
        write::finished_round(NATIVE_ORDER, &mut self.output_buffer.bytes);
        let _booked = self.output_buffer.flush(sink, &mut self.ledger);
        Ok(self.ledger.clone())
    }

    fn finish_account(&mut self, account: &EmulationAccount) {
        for (event, counts) in account.by_event.iter().enumerate() {
            let said = EventAccount {
                events: counts.events,
                kernel: Some(
                    counts.records.saturating_add(counts.lost).saturating_add(counts.beyond),
                ),
                bursts: counts.bursts,
                ..EventAccount::default()
            };
            self.ledger.take_event_account(event, said, Some(counts.lost));
            self.ledger.lose(event, counts.beyond, |lost| &mut lost.beyond_count);
            let name = self.plan.events.get(event).map_or("", |event| &event.name);
            let of = if account.by_event.len() > 1 { format!("{name}: ") } else { String::new() };
            let estimate = counts.bursts.map(|ran| of + &in_bursts(&ran, counts.events));
            self.last_notes.extend(estimate);
        }
        self.ledger.side_lost += account.side_lost;
        self.ledger.tail_known = true;
        self.last_notes.extend(not_followed(account));
        self.broke_off |= !account.broken.is_empty();
        self.left = account.left;
        self.last_notes.extend(broken(account));
    }
}

/// What to say of bytes in the ring that the emulation did not write.
fn written_by_target(pieces: u64) -> Option<String> {
    (pieces > 0).then(|| {
        format!(
            "the program has written into the emulator's memory: {pieces} pieces of the ring were no \
             records of the emulation and were left out, and what was recorded may be untrue"
        )
    })
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn estimate(events: u64, factor: f64) -> f64 {
    events as f64 * factor
}

fn in_bursts(ran: &Coverage, events: u64) -> String {
    let all = ran.instructions();
    let Some(factor) = ran.factor() else {
        return format!(
            "none of {all} instructions was counted: for so short a program use shorter bursts, \
             or none"
        );
    };
    let (counted, share) = (ran.counted, 100.0 / factor);
    let estimate = estimate(events, factor);
    let error = match ran.error() {
        Some(error) => format!("+-{:.1} %, two standard errors", 200.0 * error),
        None => "too few bursts to say how far off".to_owned(),
    };
    format!(
        "{events} events in the {counted} of {all} instructions that were counted ({share:.2} %): \
         about {estimate:.0} in all ({error})"
    )
}

fn not_followed(account: &EmulationAccount) -> Vec<String> {
    let (named, more) = account.not_followed.split_at(account.not_followed.len().min(MAX_NAMED));
    let named = named.iter().map(|(pid, why)| format!("process {pid} ran natively: {why}"));
    let more = (!more.is_empty()).then(|| format!("so did {} more processes", more.len()));
    named.chain(more).collect()
}

fn broken(account: &EmulationAccount) -> Vec<String> {
    let (named, more) = account.broken.split_at(account.broken.len().min(MAX_NAMED));
    let named = named.iter().map(|(pid, became)| {
        format!("the emulation of process {pid} broke off; the process {became}")
    });
    let more = (!more.is_empty()).then(|| format!("so did that of {} more processes", more.len()));
    named.chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::Pid;

    #[test]
    fn bursts_are_told_from_the_whole() {
        let ran = Coverage {
            counted: 1000,
            warmed: 1000,
            bare: 8000,
            bursts: 10,
            events: 50,
            squares: 250,
        };
        assert_eq!(
            in_bursts(&ran, 50),
            "50 events in the 1000 of 10000 instructions that were counted (10.00 %): about 500 in \
             all (+-0.0 %, two standard errors)"
        );
        let few = Coverage { bursts: 2, ..ran };
        assert!(in_bursts(&few, 50).ends_with("(too few bursts to say how far off)"));
        let none = Coverage { bare: 77, ..Coverage::default() };
        assert!(in_bursts(&none, 0).starts_with("none of 77 instructions was counted"));
    }

    #[test]
    fn of_many_processes_that_were_not_followed_a_few_are_named() {
        let mut account = EmulationAccount::default();
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

    #[test]
    fn of_many_processes_that_were_given_up_a_few_are_named() {
        let mut account = EmulationAccount::default();
        assert!(broken(&account).is_empty());
        account.broken = (1..=4).map(|pid| (Pid(pid), "runs on natively: full".into())).collect();
        let said = broken(&account);
        assert_eq!(
            said.first().unwrap(),
            "the emulation of process 1 broke off; the process runs on natively: full"
        );
        assert_eq!(said.last().unwrap(), "so did that of 1 more processes");
    }
}
