//! Bytes as people write them: `8 MiB`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error};

/// So many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
        let text = String::deserialize(deserializer)?;
        let size: bytesize::ByteSize = text.parse().map_err(|_| {
            D::Error::custom(format!("{text:?} is no size, such as \"8 MiB\" or \"512 KiB\""))
        })?;
        Ok(Size(size.as_u64()))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bytesize::ByteSize(self.0).display().iec().fmt(f)
    }
}
