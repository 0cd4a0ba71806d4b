//! Rows of call chains as rows of the routines on them.

use crate::collect::sum::Sum;
use crate::collect::tally::{CountedRows, RowTally};
use crate::error::Error;
use crate::name::key_value::KeyValue;
use crate::name::lookup::Lookup;
use perfdata::aggregate::SeededRandom;
use rustc_hash::FxHashMap;

#[derive(Debug)]
pub(crate) struct InclusiveRows {
    /// With all samples that the routine is on the chain of.
    pub(crate) rows: CountedRows,
    /// By event and routine: those taken in itself.
    pub(crate) own: FxHashMap<usize, OwnSums>,
}

pub(crate) type OwnSums = FxHashMap<KeyValue, Sum>;

/// Counts each chain for each routine on it, once. What has no chain stays a
/// row, all of it its own.
///
/// # Errors
/// More rows than there are numbers.
pub(crate) fn inclusive(
    chains: &CountedRows,
    lookup: &Lookup,
    chance: &mut SeededRandom,
) -> Result<InclusiveRows, Error> {
    let mut tally = RowTally::new(1);
    let mut own: FxHashMap<usize, OwnSums> = FxHashMap::default();
    let mut routines: Vec<KeyValue> = Vec::new();
    for (event, values, count) in chains.each() {
        let Some(value) = values.first() else { continue };
        routines.clear();
        match value.as_name() {
            Ok(chain) => {
                let names = lookup.chains.tree.names(chain);
                routines.extend(names.map(|name| KeyValue::number(u64::from(name))));
            }
            Err(_) => routines.push(*value),
        }
        let Some(innermost) = routines.first() else { continue };
        own.entry(event).or_default().entry(*innermost).or_default().join(count.sum);
        routines.sort_unstable();
        routines.dedup();
        for routine in &routines {
            let number = u32::try_from(event).unwrap_or(u32::MAX);
            tally.row(number, &[*routine])?.join(count.clone(), chance);
        }
    }
    Ok(InclusiveRows { rows: tally.into_rows(), own })
}
