//! The grammar of filters, with errors that point at the token.

use super::{AddressRange, Filter, FilterCondition};
use crate::query::glob::Glob;
use crate::query::key::Key;
use crate::query::nearest::nearest;
use perfdata::CpuMode;
use perfdata::miss_class::UnknownMissClass;
use std::str::FromStr;

/// Why a text is no filter; `position` is in bytes from the text's start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("filter {text:?}, at byte {position}: {token:?} {problem}")]
pub struct QueryFilterError {
    /// The whole text.
    pub text: String,
    /// The part that does not fit.
    pub token: String,
    /// Where that part starts.
    pub position: usize,
    /// What is wrong and what would be right.
    pub problem: String,
}

const FIELDS: [&str; 20] = [
    "routine", "object", "frame", "comm", "region", "pid", "tid", "cpu", "addr", "ip", "mode",
    "variable", "level", "op", "snoop", "tlb", "lock", "blk", "weight", "miss",
];

const MODES: [(&str, CpuMode); 5] = [
    ("user", CpuMode::User),
    ("kernel", CpuMode::Kernel),
    ("hypervisor", CpuMode::Hypervisor),
    ("guest-kernel", CpuMode::GuestKernel),
    ("guest-user", CpuMode::GuestUser),
];

pub(super) fn mode_word(mode: CpuMode) -> &'static str {
    MODES.iter().find(|(_, known)| *known == mode).map_or("unknown", |(word, _)| word)
}

/// A part of the text and where it starts.
#[derive(Clone, Copy)]
struct Token<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Token<'t> {
    fn part(self, from: usize, to: usize) -> Token<'t> {
        Token { text: &self.text[from..to], at: self.at + from }
    }

    fn trim(self) -> Token<'t> {
        let from = self.text.len() - self.text.trim_start().len();
        Token { text: self.text.trim(), at: self.at + from }
    }

    fn bad(self, whole: &str, problem: impl Into<String>) -> QueryFilterError {
        QueryFilterError {
            text: whole.into(),
            token: self.text.into(),
            position: self.at,
            problem: problem.into(),
        }
    }
}

impl Filter {
    /// Reads `TERM { " and " TERM }`.
    pub fn parse_all(text: &str) -> Result<Vec<Filter>, QueryFilterError> {
        const AND: &str = " and ";
        let mut filters = Vec::new();
        let mut at = 0;
        for term in text.split(AND) {
            filters.push(term_of(Token { text: term, at }.trim(), text)?);
            at += term.len() + AND.len();
        }
        Ok(filters)
    }
}

impl FromStr for Filter {
    type Err = QueryFilterError;

    fn from_str(text: &str) -> Result<Filter, QueryFilterError> {
        term_of(Token { text, at: 0 }.trim(), text)
    }
}

fn term_of(term: Token<'_>, whole: &str) -> Result<Filter, QueryFilterError> {
    let Some(equals) = term.text.find('=') else {
        return Err(term.bad(
            whole,
            format!("has no \"=\"; write FIELD=VALUE, FIELD one of {}", FIELDS.join(", ")),
        ));
    };
    let negated = term.text[..equals].ends_with('!');
    let field = term.part(0, equals - usize::from(negated)).trim();
    let value = term.part(equals + 1, term.text.len()).trim();
    if !FIELDS.contains(&field.text) {
        let near = nearest(field.text, FIELDS.into_iter());
        let hint = if near.is_empty() {
            format!("possible are {}", FIELDS.join(", "))
        } else {
            format!("did you mean {}?", near.join(" or "))
        };
        return Err(field.bad(whole, format!("is nothing to filter by; {hint}")));
    }
    if value.text.is_empty() {
        return Err(value.bad(whole, format!("is no value for {}", field.text)));
    }
    let condition = match field.text {
        "routine" => FilterCondition::Routine(Glob::new(value.text)),
        "object" => FilterCondition::Object(Glob::new(value.text)),
        "frame" => FilterCondition::Frame(Glob::new(value.text)),
        "comm" => FilterCondition::Comm(Glob::new(value.text)),
        "region" => FilterCondition::Region(Glob::new(value.text)),
        "variable" => FilterCondition::Variable(Glob::new(value.text)),
        "pid" => FilterCondition::Pid(number(value, whole, "a process id, 0 to 2147483647")?),
        "tid" => FilterCondition::Tid(number(value, whole, "a thread id, 0 to 2147483647")?),
        "cpu" => FilterCondition::Cpu(number(value, whole, "a CPU number")?),
        "addr" => FilterCondition::Addr(range(value, whole, address)?),
        "ip" => FilterCondition::Ip(range(value, whole, address)?),
        "weight" => FilterCondition::Weight(range(value, whole, decimal)?),
        "miss" => FilterCondition::Miss(
            value
                .text
                .parse()
                .map_err(|error: UnknownMissClass| value.bad(whole, error.to_string()))?,
        ),
        word => match Key::aspect(word) {
            Some(aspect) => FilterCondition::Access(aspect, Glob::new(value.text)),
            None => FilterCondition::Mode(mode(value, whole)?),
        },
    };
    Ok(Filter { condition, negated })
}

fn number<N: FromStr + Default + PartialOrd>(
    value: Token<'_>,
    whole: &str,
    what: &str,
) -> Result<N, QueryFilterError> {
    match value.text.parse::<N>() {
        Ok(number) if number >= N::default() => Ok(number),
        _ => Err(value.bad(whole, format!("is not {what}"))),
    }
}

fn mode(value: Token<'_>, whole: &str) -> Result<CpuMode, QueryFilterError> {
    match MODES.iter().find(|(word, _)| *word == value.text) {
        Some((_, mode)) => Ok(*mode),
        None => {
            let words: Vec<&str> = MODES.iter().map(|(word, _)| *word).collect();
            Err(value
                .bad(whole, format!("is no privilege level; possible are {}", words.join(", "))))
        }
    }
}

type End = fn(Token<'_>, &str) -> Result<u64, QueryFilterError>;

fn range(value: Token<'_>, whole: &str, read: End) -> Result<AddressRange, QueryFilterError> {
    let Some(dash) = value.text.find('-') else {
        let start = read(value, whole)?;
        return Ok(AddressRange { start, last: start });
    };
    let start = read(value.part(0, dash).trim(), whole)?;
    let end = value.part(dash + 1, value.text.len()).trim();
    if end.text.is_empty() {
        return Ok(AddressRange { start, last: u64::MAX });
    }
    let beyond = read(end, whole)?;
    if beyond <= start {
        let first = value.part(0, dash).trim().text;
        return Err(end.bad(
            whole,
            format!("is not above the start {first}; a range is START-END without END"),
        ));
    }
    Ok(AddressRange { start, last: beyond - 1 })
}

fn decimal(value: Token<'_>, whole: &str) -> Result<u64, QueryFilterError> {
    number(value, whole, "a decimal number, or START-END without END, or START-")
}

fn address(value: Token<'_>, whole: &str) -> Result<u64, QueryFilterError> {
    let digits = value.text.strip_prefix("0x").or_else(|| value.text.strip_prefix("0X"));
    let digits = digits.unwrap_or(value.text);
    // from_str_radix takes a sign, an address has none.
    if digits.starts_with('+') {
        return Err(value.bad(whole, "is no address; write up to 16 hex digits"));
    }
    u64::from_str_radix(digits, 16)
        .map_err(|_| value.bad(whole, "is no address; write up to 16 hex digits"))
}
