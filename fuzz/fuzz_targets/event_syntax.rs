//! Any text as an event, and its terms on a PMU of any formats and aliases:
//! a reason or config words whose bits a slow packer finds in the same
//! places.
//!
//! Input: the event as typed; then lines of `NAME<tab>FORMAT`, or
//! `@NAME<tab>TERMS` for aliases.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use recorder::EventSpec;
use recorder::machine::facts::PmuDescription;
use recorder::machine::pmu_format::{
    Alias, BitField, ConfigWord, ConfigWords, Formats, TermFormat, TermValue, Terms,
};
use recorder::request::event_spec::{Modifiers, Precise, RequestedEvent};

/// The bits of a format file, one after the other; None when it is of no
/// form that a kernel writes.
fn slow_bits(text: &str) -> Option<(usize, Vec<u32>)> {
    let (word, ranges) = text.trim().split_once(':')?;
    let word = ["config", "config1", "config2", "config3", "config4"]
        .into_iter()
        .position(|name| name == word.trim())?;
    let mut bits = Vec::new();
    for range in ranges.split(',') {
        let ends: Vec<&str> = range.splitn(2, '-').map(str::trim).collect();
        if ends.iter().any(|end| end.is_empty() || !end.bytes().all(|b| b.is_ascii_digit())) {
            return None;
        }
        let ends: Vec<u32> = ends.iter().map(|end| end.parse().ok()).collect::<Option<_>>()?;
        let (first, last) = (ends[0], ends[ends.len() - 1]);
        if first > last || last > 63 {
            return None;
        }
        bits.extend(first..=last);
    }
    bits.sort_unstable();
    bits.dedup();
    Some((word, bits))
}

/// Field terms alone, each bit by itself.
fn slow_pack(terms: &Terms, formats: &BTreeMap<String, (usize, Vec<u32>)>) -> Option<ConfigWords> {
    let mut config = ConfigWords::default();
    for term in &terms.0 {
        let value = match term.value {
            TermValue::Bare => 1,
            TermValue::Number(value) => value,
            _ => return None,
        };
        let (word, bits) = formats.get(&term.name)?;
        for place in 0..64 {
            let one = value >> place & 1 == 1;
            match bits.get(place) {
                Some(bit) => config.words[*word] |= u64::from(one) << bit,
                None if one => return None,
                None => {}
            }
        }
    }
    Some(config)
}

fn check_format(text: &str) {
    let fast = match TermFormat::parse(text) {
        TermFormat::Bits(field) => Some(field),
        _ => None,
    };
    let slow = slow_bits(text);
    assert_eq!(fast.is_some(), slow.is_some(), "{text:?}");
    let Some((field, (word, bits))) = fast.zip(slow) else { return };
    assert_eq!(field.word(), ConfigWord::ALL[word], "{text:?}");
    assert_eq!(field.mask(), bits.iter().map(|bit| 1 << bit).sum::<u64>(), "{text:?}");
    assert_eq!(TermFormat::parse(&field.to_string()), TermFormat::Bits(field));
    for value in [1, field.max(), 0x5555_5555_5555_5555 & field.max()] {
        let deposited = field.deposit(value).expect("it fits");
        assert_eq!(BitField::extract(&field, deposited), value);
    }
}

fn check_pack(terms: &Terms, description: &PmuDescription, texts: &[(&str, &str)]) {
    let packed = description.pack(terms, |name| {
        (name == "TABLE.EVENT").then_some(ConfigWords { words: [0x1cd, 3, 0, 0, 0] })
    });
    let packed = match packed {
        Ok(packed) => packed,
        Err(error) => return assert!(error.to_string().len() > 10),
    };
    assert!(!terms.0.iter().any(|term| term.value == TermValue::Required));
    let settings = |name: &str| name.starts_with("config") || matches!(name, "period" | "name");
    let plain = terms
        .0
        .iter()
        .all(|term| !settings(&term.name) && description.formats.bits(&term.name).is_some());
    if plain {
        let slow = texts
            .iter()
            .filter_map(|(name, text)| slow_bits(text).map(|bits| ((*name).to_owned(), bits)));
        assert_eq!(Some(packed.config), slow_pack(terms, &slow.collect()), "{terms}");
        assert!(description.formats.uncovered(&packed.config).is_zero());
    }
}

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut lines = text.lines();
    let typed = lines.next().unwrap_or_default();
    let texts: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once('\t')).collect();
    let is_alias = |name: &&str| name.starts_with('@');
    let (aliases, formats): (Vec<_>, Vec<_>) = texts.iter().partition(|(name, _)| is_alias(name));
    formats.iter().for_each(|(_, text)| check_format(text));
    let description = PmuDescription {
        formats: formats
            .iter()
            .map(|(name, text)| (*name, TermFormat::parse(text)))
            .collect::<Formats>(),
        aliases: aliases
            .iter()
            .map(|(name, text)| (name[1..].to_owned(), Alias::parse(text)))
            .collect(),
        ..PmuDescription::default()
    };
    for name in description.aliases.keys() {
        if let Some(Err(error)) = description.alias_config(name) {
            assert!(error.to_string().len() > 10);
        }
    }

    let event = match EventSpec::from(typed).event() {
        Ok(event) => event.clone(),
        Err(error) => return assert!(error.to_string().len() > 10),
    };
    if let Some(modifiers) = event.modifiers() {
        assert_eq!(modifiers.any_level, modifiers.user || modifiers.kernel || modifiers.hypervisor);
        if let Some(Precise::Level(level)) = modifiers.precise {
            assert!((1..=3).contains(&level));
        }
    }
    match event {
        RequestedEvent::Pmu { pmu, terms, modifiers } => {
            assert!(!pmu.contains('/') && !pmu.starts_with('.'));
            assert_eq!(Terms::parse(&terms.to_string()).as_ref(), Ok(&terms));
            let again = EventSpec::from(format!("{pmu}/{terms}/{modifiers}")).event().cloned();
            // A slash in a text is the one thing that does not come back.
            if !terms.to_string().contains('/') {
                assert_eq!(again, Ok(RequestedEvent::Pmu { pmu, terms: terms.clone(), modifiers }));
            }
            check_pack(&terms, &description, &formats);
        }
        RequestedEvent::Raw { config, modifiers, stripped } => {
            assert_eq!((config & 0x53_0000, stripped & !0x53_0000), (0, 0));
            let colon = if modifiers == Modifiers::default() { "" } else { ":" };
            let again = EventSpec::from(format!("r{config:x}{colon}{modifiers}")).event().cloned();
            assert_eq!(again, Ok(RequestedEvent::Raw { config, modifiers, stripped: 0 }));
        }
        RequestedEvent::Generic { kind, config, name, .. } => {
            let again = EventSpec::from(name.clone()).event().cloned();
            let modifiers = Modifiers::default();
            assert_eq!(again, Ok(RequestedEvent::Generic { kind, config, name, modifiers }));
        }
        RequestedEvent::Named { name, .. } => {
            assert!(!name.is_empty() && !name.contains([':', '/']))
        }
        RequestedEvent::Type(_)
        | RequestedEvent::Breakpoint(_)
        | RequestedEvent::NamedBreakpoint(_)
        | RequestedEvent::Tracepoint(_) => {}
    }
});
