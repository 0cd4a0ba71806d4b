//! What the options of `ebs selftest` mean.

use crate::ebs::arguments::{Serving, UsageError};
use crate::ebs::selftest::SelftestArguments;
use recorder::SourceChoice;
use recorder::catalogue::{CatalogueType, all, find};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct SelftestJob {
    pub types: Vec<&'static CatalogueType>,
    pub source: SourceChoice,
    pub serving: Serving,
    /// After which no row is begun.
    pub limit: Duration,
    pub json: bool,
}

impl SelftestJob {
    pub(in crate::ebs) fn new(arguments: &SelftestArguments) -> Result<SelftestJob, UsageError> {
        let SelftestArguments { types, source, seconds, json, serving } = arguments;
        let named = |word: &String| find(word).ok_or_else(|| UsageError::Type(word.clone()));
        let source = source.as_deref().map(str::parse).transpose();
        Ok(SelftestJob {
            types: match types.is_empty() {
                true => all().collect(),
                false => types.iter().map(named).collect::<Result<_, _>>()?,
            },
            source: source
                .map_err(|unknown| UsageError::Source(format!("{unknown}")))?
                .unwrap_or_default(),
            serving: Serving::new(serving),
            limit: *seconds,
            json: *json,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_that_are_named_or_all() {
        let job = |types: &[&str]| {
            let types = types.iter().map(|&name| name.to_owned()).collect();
            SelftestJob::new(&SelftestArguments { types, ..SelftestArguments::default() })
        };
        assert_eq!(job(&[]).expect("means all").types.len(), all().count());
        let two = job(&["l1_miss", "page-faults"]).expect("are types").types;
        assert_eq!(
            two.iter().map(|entry| entry.name).collect::<Vec<_>>(),
            ["l1_cache_miss", "page_fault"]
        );
        let error = job(&["l1_cash_miss"]).expect_err("is none").to_string();
        assert!(error.contains("\"l1_cash_miss\"") && error.contains("l1_cache_miss"), "{error}");
        let arguments =
            SelftestArguments { source: Some("box".to_owned()), ..SelftestArguments::default() };
        assert!(matches!(SelftestJob::new(&arguments), Err(UsageError::Source(_))));
    }
}
