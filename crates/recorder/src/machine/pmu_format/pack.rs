//! Terms to config words.

use super::{ConfigWord, ConfigWords, Formats, Term, TermFormat, TermValue, Terms};
use crate::spelling::{best_three, likeness, suggestion};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermError {
    #[error("this PMU has no term {name}{}", suggestion(nearest))]
    Unknown { name: String, nearest: Vec<String> },
    #[error("{name}={value:#x} is too wide: {field} has {width} bits, at most {max:#x}", max = u64::MAX >> (64 - width))]
    TooWide { name: String, value: u64, width: u32, field: String },
    #[error(
        "term {name}: its format on this kernel, {text:?}, is not known here; say config=N instead"
    )]
    UnknownFormat { name: String, text: String },
    #[error("term {name}: {reason}")]
    Unusable { name: String, reason: String },
    #[error("{name}={text}: a number belongs here, decimal or hexadecimal with 0x")]
    NotANumber { name: String, text: String },
    #[error("{name} wants a value: {name}=VALUE")]
    NoValue { name: String },
    #[error("{name} is given twice; say it once")]
    Twice { name: String },
    #[error("{first} and {second} are two events; name one")]
    TwoEvents { first: String, second: String },
    #[error("{name} and {word}={value:#x} disagree about the bits {field}; say one of them")]
    Conflict { name: String, word: ConfigWord, value: u64, field: String },
    #[error("{alias} wants a value for {name}; add {name}=VALUE to the terms")]
    Required { alias: String, name: String },
    #[error(
        "{name} is a setting of perf record, not of the event; leave it out (ebs -h shows the options there are)"
    )]
    PerfSetting { name: String },
}

/// Settings that perf takes among the terms of an event.
const PERF_SETTINGS: [&str; 18] = [
    "freq",
    "branch_type",
    "time",
    "call-graph",
    "stack-size",
    "inherit",
    "no-inherit",
    "max-stack",
    "nr",
    "overwrite",
    "no-overwrite",
    "driver-config",
    "percore",
    "aux-output",
    "aux-action",
    "aux-sample-size",
    "metric-id",
    "ratio-to-prev",
];

impl Formats {
    /// The config words of terms that are all formats, `config=N` to
    /// `config4=N`, or `rN`. `period=N` and `name=TEXT` are left to
    /// [`Terms::period`] and [`Terms::label`].
    pub fn pack(&self, terms: &Terms) -> Result<ConfigWords, TermError> {
        self.pack_over(ConfigWords::default(), terms.0.iter())
    }

    /// [`Formats::pack`] into `base`: a term replaces its own bits there, a
    /// whole word all of them.
    pub(crate) fn pack_over<'t>(
        &self,
        base: ConfigWords,
        terms: impl Iterator<Item = &'t Term>,
    ) -> Result<ConfigWords, TermError> {
        let mut words = [None; 5];
        let mut fields = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for term in terms {
            let name = term.name.as_str();
            if seen.contains(&name) {
                return Err(TermError::Twice { name: name.to_owned() });
            }
            seen.push(name);
            if let Some(word) = ConfigWord::from_name(name) {
                words[word.index()] = Some(number(term)?);
            } else if !is_setting(name) {
                match (self.0.get(name), raw(term)) {
                    (None, Some(config)) if words[0].is_none() => words[0] = Some(config),
                    (None, Some(_)) => return Err(TermError::Twice { name: "config".to_owned() }),
                    (format, _) => fields.push((name, self.field(term, format)?)),
                }
            }
        }
        let mut config = base;
        for (word, given) in ConfigWord::ALL.into_iter().zip(words) {
            *config.get_mut(word) = given.unwrap_or(config.get(word));
        }
        for (name, (bits, field)) in &fields {
            let (word, mask) = (field.word(), field.mask());
            if let Some(value) = words[word.index()]
                && value & mask != 0
                && value & mask != *bits
            {
                let (name, field) = ((*name).to_owned(), field.to_string());
                return Err(TermError::Conflict { name, word, value, field });
            }
            *config.get_mut(word) &= !mask;
        }
        // Some kernels publish fields that overlap: every bit that a term
        // sets stays set, in whatever order the terms come.
        for (_, (bits, field)) in &fields {
            *config.get_mut(field.word()) |= bits;
        }
        Ok(config)
    }

    fn field(
        &self,
        term: &Term,
        format: Option<&TermFormat>,
    ) -> Result<(u64, super::BitField), TermError> {
        let name = term.name.clone();
        match format {
            Some(TermFormat::Bits(field)) => {
                let value = number(term)?;
                let bits = field.deposit(value).ok_or_else(|| {
                    let (width, field) = (field.width(), field.to_string());
                    TermError::TooWide { name, value, width, field }
                })?;
                Ok((bits, *field))
            }
            Some(TermFormat::Unknown(text)) => {
                Err(TermError::UnknownFormat { name, text: text.clone() })
            }
            Some(TermFormat::Unreadable(reason)) => {
                Err(TermError::Unusable { name, reason: reason.clone() })
            }
            None if PERF_SETTINGS.contains(&name.as_str()) => Err(TermError::PerfSetting { name }),
            None => Err(unknown(name, self.0.keys().map(String::as_str))),
        }
    }
}

impl Terms {
    /// `period=N`: events between samples.
    pub fn period(&self) -> Result<Option<u64>, TermError> {
        self.0.iter().find(|term| term.name == "period").map(number_given).transpose()
    }

    /// `name=TEXT`: what to call the event.
    pub fn label(&self) -> Result<Option<&str>, TermError> {
        let term = self.0.iter().find(|term| term.name == "name");
        term.map(|term| match &term.value {
            TermValue::Text(text) => Ok(text.as_str()),
            _ => Err(TermError::NoValue { name: term.name.clone() }),
        })
        .transpose()
    }
}

pub(crate) fn unknown<'a>(name: String, names: impl Iterator<Item = &'a str>) -> TermError {
    let names = names.chain(ConfigWord::ALL.map(ConfigWord::name));
    let scored = names.map(|have| (likeness(&name, have), have));
    let nearest = best_three(scored).into_iter().map(str::to_owned).collect();
    TermError::Unknown { name, nearest }
}

/// Terms that mean the same on every PMU and touch no config word.
fn is_setting(name: &str) -> bool {
    matches!(name, "period" | "name")
}

/// `r1a8` among the terms: the whole of `config`.
fn raw(term: &Term) -> Option<u64> {
    let digits = term.name.strip_prefix('r').filter(|_| term.value == TermValue::Bare)?;
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let all_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// The term's number; a bare term is 1.
fn number(term: &Term) -> Result<u64, TermError> {
    match &term.value {
        TermValue::Bare if ConfigWord::from_name(&term.name).is_none() => Ok(1),
        _ => number_given(term),
    }
}

fn number_given(term: &Term) -> Result<u64, TermError> {
    let name = term.name.clone();
    match &term.value {
        TermValue::Number(number) => Ok(*number),
        TermValue::Bare | TermValue::Required => Err(TermError::NoValue { name }),
        TermValue::Text(text) => Err(TermError::NotANumber { name, text: text.clone() }),
    }
}
