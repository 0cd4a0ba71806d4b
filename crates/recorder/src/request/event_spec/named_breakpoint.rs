//! `mem:NAME[+OFFSET][@OBJECT][/LEN][:rwx]`: what is watched by its name in a
//! file, until it is known where that lies.

use std::fmt;

use super::breakpoint::{self, Breakpoint, BreakpointError, WatchedAccess, parse_number};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BreakpointLocation {
    Symbol {
        name: String,
        /// Bytes behind its first one.
        offset: u64,
    },
    /// An address as the file has it, which `nm` and `objdump` show.
    FileAddress(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedBreakpoint {
    pub spot: BreakpointLocation,
    /// The file, by path or name, or `[kernel]`; None: what the program is, else
    /// its libraries.
    pub object: Option<String>,
    /// Bytes watched, if that was said: 1, 2, 4 or 8.
    pub len: Option<u8>,
    pub access: WatchedAccess,
}

impl fmt::Display for NamedBreakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mem:{}", self.place())?;
        if let Some(len) = self.len {
            write!(f, "/{len}")?;
        }
        write!(f, ":{}", self.access)
    }
}

impl NamedBreakpoint {
    /// The place alone: `NAME[+OFFSET][@OBJECT]`.
    pub fn place(&self) -> String {
        let spot = match &self.spot {
            BreakpointLocation::Symbol { name, offset: 0 } => name.clone(),
            BreakpointLocation::Symbol { name, offset } => format!("{name}+{offset:#x}"),
            BreakpointLocation::FileAddress(address) => format!("{address:#x}"),
        };
        self.object.iter().fold(spot, |spot, object| format!("{spot}@{object}"))
    }

    /// The same breakpoint once its place is known.
    ///
    /// # Errors
    /// An address that is not aligned to the length.
    pub fn at(&self, address: u64, len: u8) -> Result<Breakpoint, BreakpointError> {
        let len = if self.access == WatchedAccess::Execute { 0 } else { len };
        breakpoint::check_alignment(&self.to_string(), address, len)?;
        Ok(Breakpoint { address, len, access: self.access, name: Some(self.place()) })
    }

    pub(super) fn parse(
        typed: &str,
        place: &str,
        letters: &str,
    ) -> Result<NamedBreakpoint, BreakpointError> {
        let (place, len_word) = split_length(place);
        let access = WatchedAccess::parse(typed, letters)?;
        let len = breakpoint::parse_length(typed, len_word, access)?;
        let wrong = || BreakpointError::Address { typed: typed.to_owned(), word: place.to_owned() };
        let (spot, object) = split_object(place);
        let spot = match parse_number(spot) {
            Some(address) => BreakpointLocation::FileAddress(address),
            None => symbol(spot).ok_or_else(wrong)?,
        };
        Ok(NamedBreakpoint { spot, object: object.map(str::to_owned), len, access })
    }
}

/// The length is a number behind the last slash; others are of a path, or of
/// C++'s `operator/`.
fn split_length(place: &str) -> (&str, Option<&str>) {
    match place.rsplit_once('/') {
        Some((before, word))
            if word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty() =>
        {
            (before, Some(word))
        }
        Some((before, word)) if !before.contains('@') && !before.ends_with("operator") => {
            (before, Some(word))
        }
        _ => (place, None),
    }
}

/// As `ebs annotate` has it: versions of symbols and stubs are no objects.
fn split_object(place: &str) -> (&str, Option<&str>) {
    match place.rsplit_once('@') {
        Some((name, object))
            if !name.is_empty()
                && !object.is_empty()
                && object != "plt"
                && !name.ends_with('@')
                && !object.starts_with("GLIBC") =>
        {
            (name, Some(object))
        }
        _ => (place, None),
    }
}

fn symbol(text: &str) -> Option<BreakpointLocation> {
    let (name, offset) = match text.rsplit_once('+') {
        Some((name, word)) => match parse_number(word) {
            Some(offset) => (name, offset),
            None => (text, 0),
        },
        None => (text, 0),
    };
    let first = name.chars().next()?;
    let is_name = !first.is_ascii_digit() && !"+-/:@=".contains(first);
    let is_plain = name.chars().all(|letter| !letter.is_control());
    (is_name && is_plain).then(|| BreakpointLocation::Symbol { name: name.to_owned(), offset })
}
