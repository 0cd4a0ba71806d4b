//! What a PMU says of itself: terms, events and abilities.

use std::collections::BTreeMap;

use super::tree::{FactsError, Tree};
use crate::machine::pmu_format::{
    Alias, Companion, ConfigWords, Formats, Term, TermError, TermFormat, TermValue, Terms,
    TermsError, companion, unknown,
};

/// The directories `format`, `events` and `caps` of a PMU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PmuDescription {
    /// The terms it takes.
    pub formats: Formats,
    /// The events it names.
    pub aliases: BTreeMap<String, Alias>,
    /// Its abilities, each as the kernel writes it. One that cannot be read
    /// is not there.
    pub caps: BTreeMap<String, String>,
}

/// The event that stands among some terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedTerm {
    /// The PMU's own alias.
    Alias(String),
    /// A maker's name, as typed.
    Event(String),
}

/// Terms on one PMU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedTerms {
    /// The config words.
    pub config: ConfigWords,
    /// The alias or the maker's event among the terms.
    pub event: Option<NamedTerm>,
    /// `period=N`.
    pub period: Option<u64>,
    /// `name=TEXT`.
    pub label: Option<String>,
}

impl PmuDescription {
    /// Packs terms, among which one alias may stand, or one name that
    /// `named` knows. Terms replace what alias or event say of the same
    /// bits.
    pub fn pack(
        &self,
        terms: &Terms,
        named: impl Fn(&str) -> Option<ConfigWords>,
    ) -> Result<PackedTerms, TermError> {
        let mut base = ConfigWords::default();
        let mut event: Option<NamedTerm> = None;
        let mut own = Vec::new();
        for term in &terms.0 {
            let Some((name, config)) = self.event_of(term, terms, &named)? else {
                own.push(term);
                continue;
            };
            if let Some(NamedTerm::Alias(first) | NamedTerm::Event(first)) = event {
                return Err(TermError::TwoEvents { first, second: term.name.clone() });
            }
            (base, event) = (config, Some(name));
        }
        let config =
            self.formats.pack_over(base, own.into_iter()).map_err(|error| match error {
                TermError::Unknown { name, .. } => {
                    let formats = self.formats.iter().map(|(name, _)| name);
                    unknown(name, formats.chain(self.aliases.keys().map(String::as_str)))
                }
                other => other,
            })?;
        let (period, label) = (terms.period()?, terms.label()?.map(str::to_owned));
        Ok(PackedTerms { config, event, period, label })
    }

    /// The alias of that name, letter case aside when no other has it.
    pub fn alias(&self, name: &str) -> Option<(&str, &Alias)> {
        let same = |have: &&String| have.eq_ignore_ascii_case(name);
        let found = self.aliases.get_key_value(name);
        let found = found.or_else(|| self.aliases.iter().find(|(have, _)| same(have)));
        found.map(|(name, alias)| (name.as_str(), alias))
    }

    /// The config words of an alias alone.
    pub fn alias_config(&self, name: &str) -> Option<Result<ConfigWords, TermError>> {
        self.alias(name).map(|(name, alias)| self.expand(name, alias, &Terms::default()))
    }

    fn event_of(
        &self,
        term: &Term,
        terms: &Terms,
        named: &impl Fn(&str) -> Option<ConfigWords>,
    ) -> Result<Option<(NamedTerm, ConfigWords)>, TermError> {
        let name = term.name.as_str();
        if term.value != TermValue::Bare || self.formats.get(name).is_some() {
            return Ok(None);
        }
        if let Some((name, alias)) = self.alias(name) {
            let config = self.expand(name, alias, terms)?;
            return Ok(Some((NamedTerm::Alias(name.to_owned()), config)));
        }
        Ok(named(name).map(|config| (NamedTerm::Event(name.to_owned()), config)))
    }

    /// An alias's terms, but for those that `typed` says otherwise.
    fn expand(&self, name: &str, alias: &Alias, typed: &Terms) -> Result<ConfigWords, TermError> {
        let terms = alias.terms.as_ref().map_err(|error| TermError::Unusable {
            name: name.to_owned(),
            reason: format!("the kernel's description of it makes no sense: {error}"),
        })?;
        let left = terms.0.iter().filter(|term| typed.get(&term.name).is_none());
        if let Some(open) = left.clone().find(|term| term.value == TermValue::Required) {
            let (alias, name) = (name.to_owned(), open.name.clone());
            return Err(TermError::Required { alias, name });
        }
        self.formats.pack_over(ConfigWords::default(), left)
    }

    /// Reads the directories below `pmu`. A single file that cannot be read
    /// costs that term or event only, and says why when it is used.
    pub(super) fn read(tree: &Tree<'_>, pmu: &str) -> Result<PmuDescription, FactsError> {
        let mut description = PmuDescription::default();
        let list = |dir: &str| tree.names(format!("{pmu}/{dir}")).map(Option::unwrap_or_default);
        let read = |dir: &str, name: &str| {
            tree.attribute(format!("{pmu}/{dir}/{name}")).map(Option::unwrap_or_default)
        };
        let mut formats = Vec::new();
        for name in list("format")? {
            let format = match read("format", &name) {
                Ok(text) => TermFormat::parse(&text),
                Err(error) => TermFormat::Unreadable(error.to_string()),
            };
            formats.push((name, format));
        }
        description.formats = formats.into_iter().collect();
        let files = list("events")?;
        for file in files.iter().filter(|file| companion(file).is_none()) {
            let alias = match read("events", file) {
                Ok(text) => Alias::parse(&text),
                Err(error) => Alias {
                    terms: Err(TermsError::Unreadable { reason: error.to_string() }),
                    ..Alias::parse("")
                },
            };
            description.aliases.insert(file.clone(), alias);
        }
        for file in &files {
            let Some((name, which)) = companion(file) else { continue };
            let Some(alias) = description.aliases.get_mut(name) else { continue };
            let text = read("events", file).ok().map(|text| text.trim().to_owned());
            match which {
                Companion::Scale => alias.scale = text,
                Companion::Unit => alias.unit = text,
                Companion::PerPackage => alias.per_package = text.as_deref() == Some("1"),
                Companion::Snapshot => alias.snapshot = text.as_deref() == Some("1"),
            }
        }
        for name in list("caps")? {
            if let Ok(text) = read("caps", &name) {
                description.caps.insert(name, text.trim().to_owned());
            }
        }
        Ok(description)
    }
}

#[cfg(test)]
mod tests;
