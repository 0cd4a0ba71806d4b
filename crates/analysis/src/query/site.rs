//! An instruction or routine as a user names it.

use crate::query::glob::Glob;
use std::fmt;
use std::str::FromStr;

/// Which instructions are meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SiteName {
    /// Address as the table shows it (in the object, or the kernel's), or
    /// as sampled.
    Address(u64),
    /// Every instruction of the routines whose names fit, with their
    /// parameters or without.
    Routine(Glob),
    /// One instruction: routine and bytes from its start.
    Offset(Glob, u64),
}

/// Why a text names no site.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SiteError {
    /// Nothing there.
    #[error("an empty site; write an address such as 0x401136, ROUTINE, or ROUTINE+0xOFFSET")]
    Empty,
    /// Looks like an address but is none.
    #[error("site {text:?} is no address: 0x and 1 to 16 hex digits are expected")]
    Address {
        /// As typed.
        text: String,
    },
    /// A `+` that no offset follows.
    #[error(
        "site {text:?}: {offset:?} is no offset: up to 16 hex digits are expected after the +, \
         as in ROUTINE+0x1f"
    )]
    Offset {
        /// As typed.
        text: String,
        /// What stands after the `+`.
        offset: String,
    },
}

/// Whether a `+` belongs to a routine's name: `operator+` and its kin, bounds
/// of Rust traits, sums in arguments of templates, patterns.
fn is_of_name(before: &str, after: &str) -> bool {
    let operator = ["operator", "operator+"].iter().any(|word| before.ends_with(word));
    operator || after.contains(['(', ')', '<', '>', '=', '*', '?'])
}

fn hex(digits: &str) -> Option<u64> {
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if all_hex { u64::from_str_radix(digits, 16).ok() } else { None }
}

/// An address starts with 0x, starts with a decimal digit, or has 16 hex
/// digits; anything else is a routine, perhaps with `+` and a hex offset.
impl FromStr for SiteName {
    type Err = SiteError;

    fn from_str(text: &str) -> Result<SiteName, SiteError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SiteError::Empty);
        }
        if let Some(digits) = text.strip_prefix("0x") {
            let address = hex(digits).ok_or_else(|| SiteError::Address { text: text.into() })?;
            return Ok(SiteName::Address(address));
        }
        let starts_with_digit = text.starts_with(|first: char| first.is_ascii_digit());
        if (starts_with_digit || text.len() == 16)
            && let Some(address) = hex(text)
        {
            return Ok(SiteName::Address(address));
        }
        if let Some((name, offset)) = text.rsplit_once('+') {
            match hex(offset.strip_prefix("0x").unwrap_or(offset)) {
                Some(offset) if !name.is_empty() => {
                    return Ok(SiteName::Offset(Glob::new(name), offset));
                }
                _ if is_of_name(name, offset) => {}
                _ => return Err(SiteError::Offset { text: text.into(), offset: offset.into() }),
            }
        }
        Ok(SiteName::Routine(Glob::new(text)))
    }
}

impl fmt::Display for SiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SiteName::Address(address) => write!(f, "{address:#x}"),
            SiteName::Routine(name) => write!(f, "{name}"),
            SiteName::Offset(name, offset) => write!(f, "{name}+{offset:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_addresses_from_routines() {
        let routine = |name: &str| SiteName::Routine(Glob::new(name));
        for (text, site) in [
            ("0x401136", SiteName::Address(0x40_1136)),
            ("401136", SiteName::Address(0x40_1136)),
            ("ffffffff81001000", SiteName::Address(0xffff_ffff_8100_1000)),
            ("add", routine("add")),
            ("copy_page", routine("copy_page")),
            ("copy_page+0x1f", SiteName::Offset(Glob::new("copy_page"), 0x1f)),
            ("copy_page+1f", SiteName::Offset(Glob::new("copy_page"), 0x1f)),
            ("V::operator+", routine("V::operator+")),
            ("V::operator++0x4", SiteName::Offset(Glob::new("V::operator+"), 4)),
            ("V::operator++", routine("V::operator++")),
            ("V::operator+=", routine("V::operator+=")),
            ("V::operator+(V const&)", routine("V::operator+(V const&)")),
            ("<dyn A + Send>::call", routine("<dyn A + Send>::call")),
            ("a+*", routine("a+*")),
        ] {
            assert_eq!(text.parse::<SiteName>(), Ok(site), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_neither() {
        assert_eq!("".parse::<SiteName>(), Err(SiteError::Empty));
        assert!("0x".parse::<SiteName>().is_err());
        assert_eq!(
            "0x12g".parse::<SiteName>().unwrap_err().to_string(),
            "site \"0x12g\" is no address: 0x and 1 to 16 hex digits are expected"
        );
        assert!("0x10000000000000000".parse::<SiteName>().is_err());
        assert_eq!(
            "main+0xzz".parse::<SiteName>().unwrap_err().to_string(),
            "site \"main+0xzz\": \"0xzz\" is no offset: up to 16 hex digits are expected after \
             the +, as in ROUTINE+0x1f"
        );
        for text in ["a+zz", "main+", "main+-5", "main+0x10000000000000000", "+5", "+"] {
            assert!(matches!(text.parse::<SiteName>(), Err(SiteError::Offset { .. })), "{text}");
        }
    }
}
