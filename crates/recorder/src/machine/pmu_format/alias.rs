//! A PMU's own names for events: the files of its `events` directory.

use super::{Terms, TermsError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The file's terms; an error when the text is of no known form, which
    /// refuses this alias and nothing else.
    pub terms: Result<Terms, TermsError>,
    /// `NAME.scale`: what to multiply counts with, as the kernel writes it.
    pub scale: Option<String>,
    /// `NAME.unit`: unit of counts after scaling.
    pub unit: Option<String>,
    /// `NAME.per-pkg`: one count for each package.
    pub per_package: bool,
    /// `NAME.snapshot`: a value to read, not a count.
    pub snapshot: bool,
}

impl Alias {
    /// An alias without companions from the text of its file.
    pub fn parse(text: &str) -> Alias {
        Alias {
            terms: Terms::parse(text),
            scale: None,
            unit: None,
            per_package: false,
            snapshot: false,
        }
    }
}

/// The alias that `file` of an `events` directory belongs to and which of
/// its companions it is; None when it is the alias itself.
pub(crate) fn companion(file: &str) -> Option<(&str, AliasAttribute)> {
    [
        (".scale", AliasAttribute::Scale),
        (".unit", AliasAttribute::Unit),
        (".per-pkg", AliasAttribute::PerPackage),
        (".snapshot", AliasAttribute::Snapshot),
    ]
    .into_iter()
    .find_map(|(end, which)| file.strip_suffix(end).map(|name| (name, which)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AliasAttribute {
    Scale,
    Unit,
    PerPackage,
    Snapshot,
}
