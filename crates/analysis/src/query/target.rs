//! What is to be shown, as a user names it.

use crate::query::glob::Glob;
use crate::query::parameters::{is_clone, without_parameters};
use crate::query::site::{SiteError, SiteName};
use std::fmt;
use std::str::FromStr;

/// A routine by name or by an address in it, perhaps of one object only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutineTarget {
    /// Name or address.
    pub what: What,
    /// Path or file name of the object, as a pattern.
    pub object: Option<Glob>,
}

/// What names a routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Its name, with its parameters or without, or a part of it; with `*` or
    /// `?` a pattern for all of it.
    Routine(String),
    /// An address in it: in the object, or as sampled.
    Address(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// In part, or as a pattern.
    Part,
    /// As a whole.
    Whole,
}

/// Why a text names nothing that could be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Neither an address nor a name.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// One instruction is no routine.
    #[error("{text:?} is one instruction, and whole routines are shown: write {name:?}")]
    Offset {
        /// As typed.
        text: String,
        /// Without the offset.
        name: String,
    },
}

/// `ROUTINE`, `0xADDRESS`, each perhaps with `@OBJECT` behind it. What stands
/// behind the `@` of `write@plt` and `memcpy@@GLIBC_2.14` is of the name.
impl FromStr for RoutineTarget {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<RoutineTarget, TargetError> {
        let text = text.trim();
        let (name, object) = match text.rsplit_once('@') {
            Some((name, object)) if is_object(name, object) => (name, Some(Glob::new(object))),
            _ => (text, None),
        };
        let what = match name.parse::<SiteName>()? {
            SiteName::Address(address) => What::Address(address),
            SiteName::Routine(_) => What::Routine(name.to_owned()),
            SiteName::Offset(routine, _) => {
                let object = object.map_or_else(String::new, |object| format!("@{object}"));
                let name = format!("{routine}{object}");
                return Err(TargetError::Offset { text: text.to_owned(), name });
            }
        };
        Ok(RoutineTarget { what, object })
    }
}

fn is_object(name: &str, object: &str) -> bool {
    let is_version = name.ends_with('@') || object.starts_with("GLIBC");
    !name.is_empty() && !object.is_empty() && object != "plt" && !is_version
}

impl RoutineTarget {
    /// How well a routine's name fits; None where it does not, or where an
    /// address is asked for.
    pub(crate) fn fit(&self, routine: &str) -> Option<Fit> {
        let What::Routine(wanted) = &self.what else { return None };
        let is_pattern = wanted.contains(['*', '?']);
        let glob = Glob::new(wanted.as_str());
        if is_pattern && routine != wanted {
            return glob.matches_routine(routine).then_some(Fit::Part);
        }
        // A clone is meant by its short name only where its routine is not there.
        if routine == wanted || (!is_clone(routine) && without_parameters(routine) == *wanted) {
            return Some(Fit::Whole);
        }
        routine.contains(wanted.as_str()).then_some(Fit::Part)
    }

    pub(crate) fn is_of(&self, object: &str) -> bool {
        let file = symbolizer::file_name(object);
        let fits = |glob: &Glob| glob.matches(object) || glob.matches(file);
        self.object.as_ref().is_none_or(fits)
    }
}

impl fmt::Display for RoutineTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Routine(name) => f.write_str(name)?,
            What::Address(address) => write!(f, "{address:#x}")?,
        }
        self.object.as_ref().map_or(Ok(()), |object| write!(f, "@{object}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_addresses_and_objects_are_told_apart() {
        for (text, what, object) in [
            ("main", What::Routine("main".into()), None),
            ("main@prog", What::Routine("main".into()), Some("prog")),
            ("write@plt", What::Routine("write@plt".into()), None),
            ("write@plt@prog", What::Routine("write@plt".into()), Some("prog")),
            ("memcpy@@GLIBC_2.14", What::Routine("memcpy@@GLIBC_2.14".into()), None),
            ("0x401136", What::Address(0x40_1136), None),
            ("0x1000@/usr/lib/libc.so.6", What::Address(0x1000), Some("/usr/lib/libc.so.6")),
            ("V::operator+(V const&)", What::Routine("V::operator+(V const&)".into()), None),
        ] {
            let target: RoutineTarget = text.parse().unwrap();
            assert_eq!(target, RoutineTarget { what, object: object.map(Glob::new) }, "{text}");
            assert_eq!(target.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_routine_is_refused() {
        let said = |text: &str| text.parse::<RoutineTarget>().unwrap_err().to_string();
        assert!(said("").starts_with("an empty site"));
        assert!(said("0xzz").contains("is no address"));
        assert_eq!(
            said("main+0x10@prog"),
            "\"main+0x10@prog\" is one instruction, and whole routines are shown: write \
             \"main@prog\""
        );
    }

    #[test]
    fn a_whole_name_fits_better_than_a_part() {
        let fit = |target: &str, name: &str| target.parse::<RoutineTarget>().unwrap().fit(name);
        assert_eq!(fit("sum", "sum"), Some(Fit::Whole));
        assert_eq!(fit("sum", "sum(int)"), Some(Fit::Whole));
        assert_eq!(fit("sum", "sum(int) [clone .cold]"), Some(Fit::Part));
        assert_eq!(fit("sum", "sum(int)@plt"), Some(Fit::Part));
        assert_eq!(fit("sum", "checksum"), Some(Fit::Part));
        assert_eq!(fit("s*m", "sum"), Some(Fit::Part));
        assert_eq!(fit("s*m", "summer"), None);
        assert_eq!(fit("0x10", "sum"), None);
        let target: RoutineTarget = "sum@libc*".parse().unwrap();
        assert!(target.is_of("/usr/lib/libc.so.6") && !target.is_of("/usr/bin/cat"));
    }
}
