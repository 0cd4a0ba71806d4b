//! A file a form.

pub(crate) mod csv;
pub(crate) mod firefox;
pub(crate) mod folded;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
pub(crate) mod pprof;
pub(crate) mod protobuf;
pub(crate) mod speedscope;

use std::borrow::Cow;

/// A name without what commands a terminal or turns the text around it.
fn escaped(name: &str) -> Cow<'_, str> {
    perfdata::printable::printable(name)
}
