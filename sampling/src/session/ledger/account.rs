//! A ledger in the protocol's words: sent by the daemon, read by its clients.

use super::{EventAccount, Ledger};
use crate::remote::protocol::Account;

impl Ledger {
    /// What is sent of it.
    pub fn account(&self) -> Account {
        let lost = self.lost.causes().into_iter().filter(|(_, count)| *count > 0);
        let filtered = self.filtered.reasons();
        Account {
            kernel: self.kernel,
            delivered: self.delivered,
            exact_ip: self.exact_ip,
            lost: lost.map(|(cause, count)| (cause.to_owned(), count)).collect(),
            filtered: filtered.map(|(reason, count)| (reason.to_owned(), count)).collect(),
            uncovered: self.uncovered,
            aggregates: self.aggregates,
            side: self.side_delivered,
            side_lost: self.side_lost,
            throttled: self.throttled,
            rate_lowered: self.rate_lowered,
            tail_unknown: !self.tail_known,
            times: self.by_event.iter().map(EventAccount::times).collect(),
        }
    }

    /// Takes over what a daemon says of a client's stream. A cause that is
    /// not known here is of a newer daemon, and booked with the queue's.
    pub(crate) fn take_over(&mut self, account: &Account) {
        self.kernel = account.kernel;
        (self.delivered, self.exact_ip) = (account.delivered, account.exact_ip);
        (self.side_delivered, self.side_lost) = (account.side, account.side_lost);
        (self.throttled, self.rate_lowered) = (account.throttled, account.rate_lowered);
        self.tail_known = !account.tail_unknown;
        for (cause, count) in &account.lost {
            match self.lost.cause_mut(cause) {
                Some(known) => *known += count,
                None => self.lost.queue += count,
            }
        }
        for (reason, count) in &account.filtered {
            self.filtered.add(reason, *count);
        }
        (self.uncovered, self.aggregates) = (account.uncovered, account.aggregates);
        for (event, times) in self.by_event.iter_mut().zip(&account.times) {
            event.take_over(times);
            self.enabled += event.enabled;
            self.running += event.running;
        }
        if let [only] = &mut self.by_event[..] {
            (only.filtered, only.uncovered) = (self.filtered.clone(), self.uncovered);
            (only.kernel, only.delivered, only.lost) = (self.kernel, self.delivered, self.lost);
            only.exact_ip = self.exact_ip;
        }
    }
}
