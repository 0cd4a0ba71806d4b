//! C++ and Rust names as their source has them.

mod itanium;
mod short_name;

use std::borrow::Cow;
use std::fmt::{self, Write};

pub use short_name::{folded, short_name};

/// Substitutions can make a short mangled name expand without end.
const LONGEST: usize = 16 * 1024;

/// The demangled name, or the name as it is: when it is neither C++ nor
/// Rust, or when it would not end. Rust hashes are left out.
pub fn demangle(name: &[u8]) -> Cow<'_, str> {
    let Ok(text) = std::str::from_utf8(name) else { return String::from_utf8_lossy(name) };
    if !text.starts_with('_') {
        return Cow::Borrowed(text);
    }
    // A version, or `@plt`. Clones are part of the name.
    let (mangled, tail) = text.split_at(text.find('@').unwrap_or(text.len()));
    let name = match rustc_demangle::try_demangle(mangled) {
        Ok(rust) => limited(|out| write!(out, "{rust:#}")),
        Err(_) if mangled.starts_with("_Z") => itanium::demangled(mangled),
        Err(_) => None,
    };
    name.map_or(Cow::Borrowed(text), |name| Cow::Owned(name + tail))
}

struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn limited(write: impl FnOnce(&mut Limited) -> fmt::Result) -> Option<String> {
    let mut out = Limited(String::new());
    write(&mut out).ok().map(|()| out.0)
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_of_every_kind() {
        for (mangled, name) in [
            ("main", "main"),
            ("_start", "_start"),
            ("_ZN3foo3barEi", "foo::bar(int)"),
            ("_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_ZN4core3fmt5Write17h0123456789abcdefE@plt", "core::fmt::Write@plt"),
            ("_ZN3foo3barEi.cold@plt", "foo::bar(int) [clone .cold]@plt"),
            ("_Z3foov@@V_1", "foo()@@V_1"),
            ("_Z", "_Z"),
            ("_ZN", "_ZN"),
        ] {
            assert_eq!(demangle(mangled.as_bytes()), name);
        }
        assert_eq!(demangle(b"\xff_Z"), "\u{fffd}_Z");
    }

    #[test]
    fn a_name_that_doubles_itself_is_left_alone() {
        // Each parameter is a pair of the one before.
        let mut mangled = "_Z1fSt4pairIiiE".to_owned();
        for substitution in ["S0_", "S1_", "S2_", "S3_", "S4_", "S5_", "S6_", "S7_", "S8_", "S9_"]
            .iter()
            .chain(["SA_", "SB_", "SC_", "SD_", "SE_", "SF_", "SG_", "SH_"].iter())
        {
            mangled.push_str(&format!("S_I{substitution}{substitution}E"));
        }
        assert_eq!(demangle(mangled.as_bytes()), mangled);
    }
}
