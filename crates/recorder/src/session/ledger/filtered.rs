//! Hits that nobody wanted: a program in the kernel left them out.

/// How many, by what the program looked at (`pid`, `comm`, `one_in`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filtered(Vec<(String, u64)>);

impl Filtered {
    /// Adds hits that were left out for this reason.
    pub(crate) fn add(&mut self, reason: &str, count: u64) {
        match self.0.iter_mut().find(|(known, _)| known == reason) {
            Some((_, sum)) => *sum += count,
            None if count > 0 => self.0.push((reason.to_owned(), count)),
            None => {}
        }
    }

    /// Each reason that left out any, and how many.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(reason, count)| (reason.as_str(), *count))
    }

    /// All reasons together.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }
}
