//! `PMU/TERMS/MODIFIERS`.

use super::{EventSpecError, Modifiers, RequestedEvent, generic};
use crate::machine::pmu_format::Terms;

/// Reads an event that has a slash. `typed` is the whole text.
pub(super) fn parse(typed: &str) -> Result<RequestedEvent, EventSpecError> {
    let typed_owned = || typed.to_owned();
    let form = |why: String| EventSpecError::PmuForm { typed: typed_owned(), why };
    let (pmu, rest) = typed.split_once('/').unwrap_or((typed, ""));
    // Nobody means an address below /proc or a path, and none must get far.
    let is_name = !pmu.is_empty()
        && !pmu.starts_with('.')
        && pmu.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.@".contains(&byte));
    if !is_name {
        return Err(form(format!("{pmu:?} is no name of a PMU")));
    }
    let Some((terms, letters)) = rest.rsplit_once('/') else {
        return Err(form("the slash behind the terms is missing".to_owned()));
    };
    if let Some(event) = generic(pmu) {
        let name = event.name;
        return Err(form(format!("{name} is an event, not a PMU: say -t {name} and options")));
    }
    let terms = Terms::parse(terms)
        .map_err(|source| EventSpecError::Terms { typed: typed_owned(), source })?;
    let modifiers = Modifiers::parse(letters.strip_prefix(':').unwrap_or(letters))
        .map_err(|source| EventSpecError::Letters { typed: typed_owned(), source })?;
    Ok(RequestedEvent::Pmu { pmu: pmu.to_owned(), terms, modifiers })
}
