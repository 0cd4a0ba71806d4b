//! What stands behind the sign of equality.

/// What an item says: ways are None for `full`.
pub(super) struct Numbers {
    pub(super) size: u64,
    pub(super) ways: Option<u64>,
    pub(super) line: Option<u64>,
}

/// Bytes, also in k, m or g (powers of 1024).
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let units = [("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30)];
    let unit = units.iter().find_map(|(letter, unit)| Some((text.strip_suffix(letter)?, *unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse::<u64>().ok()?.checked_mul(unit)).flatten()
}
