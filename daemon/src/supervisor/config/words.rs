//! Values that the configuration has in words.

use std::path::Path;

use recorder::Modes;
use serde::de::{Deserialize, Deserializer, Error};

use super::error::ConfigError;

/// `mode` of a standing session: whose code, and how it is counted. One word,
/// or a list of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ModeText {
    pub(super) modes: Modes,
    /// The kernel counts.
    pub(super) aggregate: bool,
}

impl Default for ModeText {
    fn default() -> ModeText {
        ModeText { modes: Modes::USER, aggregate: false }
    }
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Several(Vec<String>),
}

impl<'de> Deserialize<'de> for ModeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ModeText, D::Error> {
        let words = match OneOrMany::deserialize(deserializer) {
            Ok(OneOrMany::One(word)) => vec![word],
            Ok(OneOrMany::Several(words)) => words,
            Err(_) => return Err(D::Error::custom("mode is no word, and no list of words")),
        };
        let (mut modes, mut aggregate) = (Modes::default(), false);
        for word in &words {
            match word.as_str() {
                "user" => modes.user = true,
                "kernel" => modes.kernel = true,
                "both" => modes = Modes::BOTH,
                "aggregate" => aggregate = true,
                _ => {
                    return Err(D::Error::custom(format!(
                        "mode {word:?} is none of \"user\", \"kernel\", \"both\" and \"aggregate\""
                    )));
                }
            }
        }
        if modes == Modes::default() {
            modes = Modes::USER;
        }
        Ok(ModeText { modes, aggregate })
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(untagged)]
pub(super) enum GroupName {
    Number(u32),
    Name(String),
}

impl GroupName {
    pub(super) fn gid(
        self,
        path: &Path,
        gid_of: &dyn Fn(&str) -> Option<u32>,
    ) -> Result<u32, ConfigError> {
        match self {
            GroupName::Number(gid) => Ok(gid),
            GroupName::Name(group) => {
                gid_of(&group).ok_or_else(|| ConfigError::Group { path: path.to_owned(), group })
            }
        }
    }
}
