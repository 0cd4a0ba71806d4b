//! hardmeter's notes in a stream: `key=value` pairs joined with `;`.

use std::collections::BTreeMap;

/// The pairs of one note; parts without `=` are left out.
pub(crate) fn pairs(note: &str) -> BTreeMap<&str, &str> {
    note.split(';').filter_map(|pair| pair.trim().split_once('=')).collect()
}
