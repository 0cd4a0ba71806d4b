//! What a PMU says of itself: terms, events and abilities.

use std::collections::BTreeMap;

use super::tree::{FactsError, Tree};
use crate::machine::pmu_format::{
    Alias, AliasAttribute, ConfigWords, Formats, Term, TermError, TermFormat, TermValue, Terms,
    TermsError, companion, unknown,
};

/// The directories `format`, `events` and `caps` of a PMU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PmuDescription {
    pub formats: Formats,
    pub aliases: BTreeMap<String, Alias>,
    /// Its abilities, each as the kernel writes it. One that cannot be read
    /// is not there.
    pub caps: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedTerm {
    Alias(String),
    /// A maker's name, as typed.
    Event(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedTerms {
    pub config: ConfigWords,
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
                AliasAttribute::Scale => alias.scale = text,
                AliasAttribute::Unit => alias.unit = text,
                AliasAttribute::PerPackage => alias.per_package = text.as_deref() == Some("1"),
                AliasAttribute::Snapshot => alias.snapshot = text.as_deref() == Some("1"),
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
mod tests {
    //! An event among terms, on the PMUs of the fixture trees.

    use super::*;
    use crate::machine::facts::FixtureTrees;

    fn description(machine: &str, pmu: &str) -> PmuDescription {
        let facts = FixtureTrees::of(&[machine]).facts(machine);
        facts.pmu(pmu).unwrap().description.clone().unwrap()
    }

    fn pack(description: &PmuDescription, text: &str) -> Result<PackedTerms, String> {
        let known = ConfigWords { words: [0x20d1, 7, 0, 0, 0] };
        let named = |name: &str| name.eq_ignore_ascii_case("L3_MISS").then_some(known);
        description.pack(&Terms::parse(text).unwrap(), named).map_err(|error| error.to_string())
    }

    #[test]
    fn an_alias_stands_among_terms() {
        let core = description("alderlake-hybrid", "cpu_core");
        let words = |text| pack(&core, text).unwrap().config.words;
        assert_eq!(words("mem-loads"), [0x1cd, 3, 0, 0, 0]);
        assert_eq!(
            words("mem-loads,ldlat=30"),
            [0x1cd, 30, 0, 0, 0],
            "typed goes before the alias"
        );
        assert_eq!(words("ldlat=30,mem-loads"), [0x1cd, 30, 0, 0, 0]);
        assert_eq!(words("Mem-Loads-Aux,inv"), [0x80_8203, 0, 0, 0, 0]);
        assert_eq!(words("mem-loads,config1=9"), [0x1cd, 9, 0, 0, 0]);
        let packed = pack(&core, "slots,period=0x100,name=s").unwrap();
        assert_eq!(packed.event, Some(NamedTerm::Alias("slots".to_owned())));
        assert_eq!((packed.period, packed.label.as_deref()), (Some(256), Some("s")));
        assert_eq!(pack(&core, "inv,event=2").unwrap().event, None);
    }

    #[test]
    fn a_makers_event_stands_among_terms() {
        let cpu = description("skylake-client", "cpu");
        let packed = pack(&cpu, "l3_miss,cmask=2,ldlat=4").unwrap();
        assert_eq!(packed.event, Some(NamedTerm::Event("l3_miss".to_owned())));
        assert_eq!(packed.config.words, [0x0200_20d1, 4, 0, 0, 0]);
        for (text, part) in [
            ("l3_miss,mem-loads", "l3_miss and mem-loads are two events"),
            ("l3_mis", "this PMU has no term l3_mis"),
            ("mem-load", "did you mean mem-loads"),
            ("mem-loads=1", "this PMU has no term mem-loads; did you mean mem-loads"),
            ("mem-loads,umsk=1", "no term umsk; did you mean umask"),
        ] {
            let error = pack(&cpu, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn an_alias_may_leave_a_value_open_or_make_no_sense() {
        let mut odd = description("skylake-client", "cpu");
        odd.aliases.insert("open".to_owned(), Alias::parse("event=0x3,umask=?"));
        odd.aliases.insert("broken".to_owned(), Alias::parse("event=,"));
        odd.aliases.insert("strange".to_owned(), Alias::parse("evnt=1"));
        assert_eq!(pack(&odd, "open,umask=2").unwrap().config.words[0], 0x203);
        for (text, part) in [
            ("open", "open wants a value for umask; add umask=VALUE"),
            ("broken", "term broken: the kernel's description of it makes no sense"),
            ("strange", "no term evnt"),
        ] {
            let error = pack(&odd, text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn config_words_of_well_known_aliases() {
        let cases = [
            ("nehalem-ep", "cpu", "mem-loads", 0x100b, 3),
            ("sandybridge", "cpu", "mem-stores", 0x2cd, 0),
            ("skylake-x-rtm", "cpu", "mem-stores", 0x82d0, 0),
            ("skylake-x-rtm", "cpu", "cycles-ct", 0x3_0000_003c, 0),
            ("sapphirerapids-rtm", "cpu", "mem-loads-aux", 0x8203, 0),
            ("alderlake-hybrid", "cpu_atom", "mem-loads", 0x5d0, 3),
            ("zen4", "cpu", "ref-cycles", 0x1_0000_0020, 0),
            ("zen1", "cpu", "cpu-cycles", 0x76, 0),
            ("neoverse-n1-spe", "armv8_pmuv3_0", "l1d_cache_refill", 3, 0),
            ("sandybridge-ep-real-2013", "cpu", "stalled-cycles-frontend", 0x0180_010e, 0),
            ("sandybridge-ep-real-2013", "uncore_imc_2", "cas_count_write", 0xc04, 0),
        ];
        let trees = FixtureTrees::of(&cases.map(|case| case.0));
        for (machine, pmu, alias, config, config1) in cases {
            let facts = trees.facts(machine);
            let description = facts.pmu(pmu).unwrap().description.as_ref().unwrap();
            let found = description.alias_config(alias);
            let found = found.unwrap_or_else(|| panic!("{machine}/{pmu}: no {alias}")).unwrap();
            assert_eq!(found.words, [config, config1, 0, 0, 0], "{machine}/{pmu}/{alias}");
        }
    }

    #[test]
    fn scales_belong_to_their_alias() {
        let trees = FixtureTrees::of(&["cascadelake-x-noht", "skylake-x-rtm"]);
        for (machine, scale) in [("cascadelake-x-noht", "4"), ("skylake-x-rtm", "2")] {
            let facts = trees.facts(machine);
            let cpu = facts.pmu("cpu").unwrap().description.as_ref().unwrap();
            let scaled = |name: &str| cpu.aliases[name].scale.as_deref();
            assert_eq!(scaled("topdown-total-slots"), Some(scale), "{machine}");
            assert_eq!(scaled("cpu-cycles"), None, "{machine}");
            assert!(cpu.aliases.keys().all(|name| !name.contains('.')), "{machine}");
        }
    }
}
