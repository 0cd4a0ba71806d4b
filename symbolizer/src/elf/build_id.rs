//! Build ids (NT_GNU_BUILD_ID): how they are written and compared.

use std::fmt::Write;

/// A build id as it is written everywhere.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Without the zeros with which perf pads build ids to 20 bytes: those that
/// are shorter have 16 or 8.
pub(crate) fn unpadded(id: &[u8]) -> &[u8] {
    let length = [8, 16]
        .into_iter()
        .find(|length| id.get(*length..).is_some_and(|rest| rest.iter().all(|byte| *byte == 0)));
    &id[..length.unwrap_or(id.len()).min(id.len())]
}

/// perf pads build ids with zeros to 20 bytes.
pub(crate) fn is_same(recorded: &[u8], found: &[u8]) -> bool {
    let shorter = recorded.len().min(found.len());
    let rest = recorded[shorter..].iter().chain(&found[shorter..]);
    shorter >= 1 && recorded[..shorter] == found[..shorter] && rest.copied().all(|byte| byte == 0)
}
