//! Addresses that got no name or no line: how many, by why.

use crate::terminal::say;
use std::collections::BTreeMap;

/// Counts by reason. Who meets a reason at many addresses asks for its number
/// once.
#[derive(Debug, Default)]
pub(super) struct Shortfalls {
    numbers: BTreeMap<String, usize>,
    counts: Vec<u64>,
}

impl Shortfalls {
    pub(super) fn number(&mut self, why: &str) -> usize {
        if let Some(number) = self.numbers.get(why) {
            return *number;
        }
        self.numbers.insert(why.to_owned(), self.counts.len());
        self.counts.push(0);
        self.counts.len() - 1
    }

    pub(super) fn add(&mut self, number: usize, addresses: u64) {
        self.counts[number] += addresses;
    }

    pub(super) fn report(&self) {
        for (why, &number) in &self.numbers {
            let addresses = match self.counts[number] {
                0 => continue,
                1 => "1 address".to_owned(),
                count => format!("{count} addresses"),
            };
            say("eip2r", &format!("{addresses} {why}"));
        }
    }
}
