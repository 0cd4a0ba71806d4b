//! Numbers as hands type them.

/// A whole number, which may end in k, m or g: powers of 1000, in either
/// letter case. None: it is none, or 2^64 and more.
pub(super) fn scaled(text: &str) -> Option<u64> {
    let units = [('k', 1_000), ('m', 1_000_000), ('g', 1_000_000_000)];
    let lower = text.to_ascii_lowercase();
    let unit =
        units.into_iter().find_map(|(letter, unit)| Some((lower.strip_suffix(letter)?, unit)));
    let (digits, unit) = unit.unwrap_or((&lower, 1));
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse::<u64>().ok()?.checked_mul(unit)).flatten()
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn a_letter_stands_for_a_power_of_a_thousand() {
        for (text, number) in [
            ("0", 0),
            ("10k", 10_000),
            ("10K", 10_000),
            ("1M", 1_000_000),
            ("1m", 1_000_000),
            ("2g", 2_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(scaled(text), Some(number), "{text}");
        }
        for none in ["", "k", "1.5M", "-1k", "+1", "1kk", "10 k", "1T", "99999999999g"] {
            assert_eq!(scaled(none), None, "{none}");
        }
    }
}
