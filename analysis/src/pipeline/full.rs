//! Counting goes on when there are more rows than are kept.

use super::{Counters, aggregated};
use crate::collect::room::follow;
use crate::error::Error;

/// Rows without what the kernel counted at a site that take as much as one
/// with it.
const SITE: usize = 16;

impl Counters {
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.room.is_short(self.tally.len())
            || self.accesses.as_ref().is_some_and(|accesses| self.room.is_short_of(accesses))
            || self.room.is_short(self.facts.len().saturating_mul(SITE))
    }

    /// Joins the least rows, in all tables alike.
    #[cold]
    pub(super) fn make_room(&mut self) -> Result<(), Error> {
        while self.is_full() && self.tally.len() > 1 {
            let before = self.tally.len();
            self.room.make(&mut self.tally, &self.events)?;
            if let Some(accesses) = &mut self.accesses {
                accesses.follow(&self.tally)?;
            }
            let chance = &mut self.chance;
            follow(&mut self.facts, &self.tally, 0, |row, facts| {
                if let Some(site) = facts {
                    aggregated::join(row, &site, chance);
                }
            })?;
            if self.tally.len() == before {
                break;
            }
        }
        Ok(())
    }
}
