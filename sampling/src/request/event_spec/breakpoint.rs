//! `mem:ADDR[/LEN]:[r][w][x]`: a debug register's event.

use std::fmt;

/// Accesses that a breakpoint watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchedAccess {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Loads and stores.
    ReadWrite,
    /// Execution of the instruction at the address.
    Execute,
}

impl fmt::Display for WatchedAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WatchedAccess::Read => "r",
            WatchedAccess::Write => "w",
            WatchedAccess::ReadWrite => "rw",
            WatchedAccess::Execute => "x",
        })
    }
}

/// A breakpoint as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Breakpoint {
    /// First byte watched.
    pub address: u64,
    /// Bytes watched: 1, 2, 4 or 8; 0 for [`WatchedAccess::Execute`].
    pub len: u8,
    /// What is watched.
    pub access: WatchedAccess,
}

impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.access {
            WatchedAccess::Execute => write!(f, "mem:{:#x}:x", self.address),
            access => write!(f, "mem:{:#x}/{}:{access}", self.address, self.len),
        }
    }
}

/// Text behind `mem:` that is no breakpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BreakpointError {
    /// The address is no number.
    #[error(
        "{typed}: \"{word}\" is no address; write mem:ADDR[/LEN]:[r][w][x] with ADDR in hex (0x...) \
         or decimal; nm or gdb tell a variable's address"
    )]
    Address {
        /// As typed.
        typed: String,
        /// Its address part.
        word: String,
    },
    /// The length is none of those.
    #[error("{typed}: length \"{word}\" cannot be; a breakpoint watches 1, 2, 4 or 8 bytes")]
    Length {
        /// As typed.
        typed: String,
        /// Its length part.
        word: String,
    },
    /// The access letters are none of those.
    #[error("{typed}: access \"{word}\" cannot be; say r, w, rw or x, and -u or -k for the mode")]
    Access {
        /// As typed.
        typed: String,
        /// Its access part.
        word: String,
    },
    /// Debug registers want aligned ranges.
    #[error(
        "{typed}: {address:#x} is not aligned to {len} bytes, as the debug registers demand; \
         watch mem:{:#x}/{len} or single bytes with /1",
        address & !(u64::from(*len) - 1)
    )]
    Unaligned {
        /// As typed.
        typed: String,
        /// The address.
        address: u64,
        /// The length, a power of two.
        len: u8,
    },
    /// An instruction has no length to give.
    #[error("{typed}: an execution breakpoint takes no length; leave \"/{word}\" out")]
    ExecuteLength {
        /// As typed.
        typed: String,
        /// Its length part.
        word: String,
    },
}

impl Breakpoint {
    /// Reads what follows `mem:`. `typed` is the whole text, for errors.
    pub(super) fn parse(typed: &str, rest: &str) -> Result<Breakpoint, BreakpointError> {
        let typed = || typed.to_owned();
        let (place, letters) = rest.split_once(':').unwrap_or((rest, "rw"));
        let (address_word, len_word) = match place.split_once('/') {
            Some((address, len)) => (address, Some(len)),
            None => (place, None),
        };
        let address = parse_number(address_word).ok_or_else(|| BreakpointError::Address {
            typed: typed(),
            word: address_word.to_owned(),
        })?;
        let access = match letters {
            "r" => WatchedAccess::Read,
            "w" => WatchedAccess::Write,
            "rw" | "wr" => WatchedAccess::ReadWrite,
            "x" => WatchedAccess::Execute,
            _ => return Err(BreakpointError::Access { typed: typed(), word: letters.to_owned() }),
        };
        if access == WatchedAccess::Execute {
            return match len_word {
                // What perf accepts here: a long, which is what x86 wants.
                None | Some("8") => Ok(Breakpoint { address, len: 0, access }),
                Some(word) => {
                    Err(BreakpointError::ExecuteLength { typed: typed(), word: word.to_owned() })
                }
            };
        }
        let len = match len_word {
            None => 4,
            Some("1") => 1,
            Some("2") => 2,
            Some("4") => 4,
            Some("8") => 8,
            Some(word) => {
                return Err(BreakpointError::Length { typed: typed(), word: word.to_owned() });
            }
        };
        if address & (u64::from(len) - 1) != 0 {
            return Err(BreakpointError::Unaligned { typed: typed(), address, len });
        }
        Ok(Breakpoint { address, len, access })
    }
}

fn parse_number(word: &str) -> Option<u64> {
    // from_str_radix takes a sign, which no address has.
    if word.starts_with(['+', '-']) {
        return None;
    }
    match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None => word.parse().ok(),
    }
}
