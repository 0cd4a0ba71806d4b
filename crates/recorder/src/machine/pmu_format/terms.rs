//! `event=0xc5,umask=0x1,inv`: terms as typed, or as an alias file has them.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TermValue {
    /// Nothing: a flag to set, an alias, or a maker's name for an event.
    Bare,
    /// `=N`: decimal, or hexadecimal with 0x. A leading 0 does not make it
    /// octal, as it does not in the kernel's perf.
    Number(u64),
    /// `=?`, in alias files only: the user must say.
    Required,
    /// `=TEXT`, without the quotes that may stand around it.
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    pub name: String,
    pub value: TermValue,
}

/// Terms in the order typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Terms(pub Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    #[error("a term without a name in {text:?}; write NAME=VALUE or NAME, with commas between")]
    NoName { text: String },
    #[error("term {name}= has no value; write {name}=VALUE, or {name} alone for {name}=1")]
    NoValue { name: String },
    #[error(
        "{name:?} is no name of a term; names are of letters, digits, \"_\", \"-\", \".\" and \":\""
    )]
    Name { name: String },
    /// A number of more than 64 bits, or 0x without digits.
    #[error("{name}={value}: no number of at most 64 bits; write decimal, or hexadecimal with 0x")]
    Number { name: String, value: String },
    #[error("a quote is not closed in {text:?}")]
    Quote { text: String },
    #[error(
        "{name}={value:?} is no text; it has no control characters, and quotes only around the \
         whole of it"
    )]
    Text { name: String, value: String },
    #[error("{reason}")]
    Unreadable { reason: String },
}

impl Terms {
    /// Reads terms. White space around a term does not count; text that is
    /// all white space is no terms, which some PMUs want.
    pub fn parse(text: &str) -> Result<Terms, TermsError> {
        if text.trim().is_empty() {
            return Ok(Terms::default());
        }
        let words = split(text).ok_or_else(|| TermsError::Quote { text: text.to_owned() })?;
        words
            .into_iter()
            .map(|word| parse_term(word.trim(), text))
            .collect::<Result<_, _>>()
            .map(Terms)
    }

    /// The last value of that name.
    pub fn get(&self, name: &str) -> Option<&TermValue> {
        self.0.iter().rev().find(|term| term.name == name).map(|term| &term.value)
    }
}

/// The pieces between commas outside quotes; None when a quote stays open.
fn split(text: &str) -> Option<Vec<&str>> {
    let mut quote = None;
    let mut pieces = Vec::new();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        match (c, quote) {
            (',', None) => {
                pieces.push(&text[from..at]);
                from = at + 1;
            }
            ('"' | '\'', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    pieces.push(&text[from..]);
    quote.is_none().then_some(pieces)
}

fn parse_term(word: &str, text: &str) -> Result<Term, TermsError> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (word, None),
    };
    if name.is_empty() {
        return Err(TermsError::NoName { text: text.to_owned() });
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte)) {
        return Err(TermsError::Name { name: name.to_owned() });
    }
    let value = match value {
        None => TermValue::Bare,
        Some("") => return Err(TermsError::NoValue { name: name.to_owned() }),
        Some("?") => TermValue::Required,
        Some(value) if value.starts_with(|c: char| c.is_ascii_digit()) => {
            let error = || TermsError::Number { name: name.to_owned(), value: value.to_owned() };
            parse_number(value).map(TermValue::Number).ok_or_else(error)?
        }
        Some(value) => {
            let error = || TermsError::Text { name: name.to_owned(), value: value.to_owned() };
            TermValue::Text(unquote(value).ok_or_else(error)?.to_owned())
        }
    };
    Ok(Term { name: name.to_owned(), value })
}

/// The text without the quotes around it; None when there are others.
fn unquote(value: &str) -> Option<&str> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (text, bad) = match quote {
        Some(quote) => (value.strip_prefix(quote)?.strip_suffix(quote)?, &[quote][..]),
        None => (value, &['"', '\''][..]),
    };
    let is_text = |c: char| !c.is_control() && !bad.contains(&c);
    text.chars().all(is_text).then_some(text)
}

fn parse_number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None => word.parse().ok(),
    }
}

impl fmt::Display for Term {
    /// Numbers in hexadecimal, texts in double quotes when they need some.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Term { name, value } = self;
        match value {
            TermValue::Bare => f.write_str(name),
            TermValue::Number(number) => write!(f, "{name}={number:#x}"),
            TermValue::Required => write!(f, "{name}=?"),
            TermValue::Text(text) if text.contains('"') => write!(f, "{name}='{text}'"),
            TermValue::Text(text) => write!(f, "{name}=\"{text}\""),
        }
    }
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.0.iter().enumerate() {
            write!(f, "{}{term}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
