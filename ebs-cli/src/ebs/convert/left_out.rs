//! What a recording had and its conversion has not.

use std::collections::BTreeMap;
use std::fmt;

/// Reasons, and how often each.
#[derive(Debug, Default)]
pub(super) struct LeftOut(BTreeMap<String, u64>);

impl LeftOut {
    pub(super) fn note(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (what, count)) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "; left out: " } else { ", " })?;
            match count {
                1 => f.write_str(what)?,
                count => write!(f, "{what} ({count} times)")?,
            }
        }
        Ok(())
    }
}
