//! A filter as text: `ibs:ld_op|st_op+class:x87`, as streams carry it.

use super::condition::{self, Condition};
use super::{FilterError, SampleFilter};
use std::fmt;
use std::str::FromStr;

const EVERYTHING: &str = "all";

impl fmt::Display for SampleFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all() {
            return f.write_str(EVERYTHING);
        }
        for (index, clause) in self.clauses().enumerate() {
            let mut before = if index == 0 { "" } else { "+" };
            for (place, condition) in clause.enumerate() {
                if place == 0 {
                    write!(f, "{before}{}:", condition.kind())?;
                    before = "";
                }
                write!(f, "{before}{}", condition.name())?;
                before = "|";
            }
        }
        Ok(())
    }
}

impl FromStr for SampleFilter {
    type Err = FilterError;

    /// Terms joined with `+`, all of which must hold; a term is a kind, a
    /// colon, and names joined with `|`, one of which must hold. Empty text
    /// and `all` keep everything.
    ///
    /// # Errors
    /// A kind or name that is not known: whoever reads on would count wrongly.
    fn from_str(text: &str) -> Result<SampleFilter, FilterError> {
        let text = text.trim();
        if text.is_empty() || text == EVERYTHING {
            return Ok(SampleFilter::ALL);
        }
        let mut filter = SampleFilter::ALL;
        for term in text.split('+') {
            filter = filter.with(clause(term.trim())?).ok_or_else(|| FilterError::TooMany {
                text: text.to_owned(),
                limit: SampleFilter::CLAUSES,
            })?;
        }
        Ok(filter)
    }
}

fn clause(term: &str) -> Result<u64, FilterError> {
    let (kind, names) = term.split_once(':').unwrap_or((term, ""));
    let of_kind = || condition::all().filter(|condition| condition.kind() == kind);
    if of_kind().next().is_none() {
        return Err(FilterError::Kind { kind: kind.to_owned(), term: term.to_owned() });
    }
    let mut bits = 0;
    for name in names.split('|') {
        let name = name.trim();
        let found = of_kind().find(|condition| condition.name() == name);
        bits |= found.map(Condition::bit).ok_or_else(|| FilterError::Name {
            kind: kind.to_owned(),
            name: name.to_owned(),
            known: of_kind().map(Condition::name).collect::<Vec<_>>().join(", "),
        })?;
    }
    Ok(bits)
}
