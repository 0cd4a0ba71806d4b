//! `mem:ADDR[/LEN]:[r][w][x]`: a debug register's event.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WatchedAccess {
    Read,
    Write,
    ReadWrite,
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

impl WatchedAccess {
    pub(super) fn parse(typed: &str, letters: &str) -> Result<WatchedAccess, BreakpointError> {
        match letters {
            "r" => Ok(WatchedAccess::Read),
            "w" => Ok(WatchedAccess::Write),
            "rw" | "wr" => Ok(WatchedAccess::ReadWrite),
            "x" => Ok(WatchedAccess::Execute),
            word => Err(BreakpointError::Access { typed: typed.to_owned(), word: word.to_owned() }),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Breakpoint {
    /// First byte watched.
    pub address: u64,
    /// Bytes watched: 1, 2, 4 or 8; 0 for [`WatchedAccess::Execute`].
    pub len: u8,
    pub access: WatchedAccess,
    /// What was typed in place of the address, which was looked up since.
    pub name: Option<String>,
}

impl fmt::Display for Breakpoint {
    /// By its name, if it has one: an address may differ in each run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "mem:{name}")?,
            None => write!(f, "mem:{:#x}", self.address)?,
        }
        self.write_rest(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BreakpointError {
    #[error(
        "{typed}: \"{word}\" is no address and no name; write mem:ADDR[/LEN]:[r][w][x] with ADDR in \
         hex (0x...) or decimal, or the name of a variable or routine, mem:NAME[+OFFSET][@OBJECT]"
    )]
    Address { typed: String, word: String },
    #[error("{typed}: length \"{word}\" cannot be; a breakpoint watches 1, 2, 4 or 8 bytes")]
    Length { typed: String, word: String },
    #[error("{typed}: access \"{word}\" cannot be; say r, w, rw or x, and -u or -k for the mode")]
    Access { typed: String, word: String },
    #[error(
        "{typed}: {address:#x} is not aligned to {len} bytes, as the debug registers demand; \
         watch mem:{:#x}/{len} or single bytes with /1",
        address & !(u64::from(*len) - 1)
    )]
    Unaligned { typed: String, address: u64, len: u8 },
    #[error("{typed}: an execution breakpoint takes no length; leave \"/{word}\" out")]
    ExecuteLength { typed: String, word: String },
}

impl Breakpoint {
    /// The text that says both name and address, for whoever cannot look the
    /// name up.
    pub fn spelled_out(&self) -> String {
        let name = self.name.as_ref().map_or_else(String::new, |name| format!("{name}="));
        let address = self.address;
        match self.access {
            WatchedAccess::Execute => format!("mem:{name}{address:#x}:x"),
            access => format!("mem:{name}{address:#x}/{}:{access}", self.len),
        }
    }

    fn write_rest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.access {
            WatchedAccess::Execute => f.write_str(":x"),
            access => write!(f, "/{}:{access}", self.len),
        }
    }
}

/// Bytes to watch, if they were said; none of an instruction.
pub(super) fn parse_length(
    typed: &str,
    word: Option<&str>,
    access: WatchedAccess,
) -> Result<Option<u8>, BreakpointError> {
    let Some(word) = word else { return Ok(None) };
    let owned = || (typed.to_owned(), word.to_owned());
    match (word, access) {
        // What perf accepts here: a long, which is what x86 wants.
        ("8", WatchedAccess::Execute) => Ok(None),
        (_, WatchedAccess::Execute) => {
            let (typed, word) = owned();
            Err(BreakpointError::ExecuteLength { typed, word })
        }
        ("1", _) => Ok(Some(1)),
        ("2", _) => Ok(Some(2)),
        ("4", _) => Ok(Some(4)),
        ("8", _) => Ok(Some(8)),
        _ => {
            let (typed, word) = owned();
            Err(BreakpointError::Length { typed, word })
        }
    }
}

pub(super) fn check_alignment(typed: &str, address: u64, len: u8) -> Result<(), BreakpointError> {
    if address & u64::from(len.max(1) - 1) != 0 {
        return Err(BreakpointError::Unaligned { typed: typed.to_owned(), address, len });
    }
    Ok(())
}

pub(super) fn parse_number(word: &str) -> Option<u64> {
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
