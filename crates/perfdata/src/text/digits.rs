//! Numbers to digits and back, without the formatting machinery.

/// What stands for a value that a record does not have: as wide as any.
pub(super) const ABSENT: [u8; 16] = *b"----------------";

/// The 16 hexadecimal digits of a word.
///
/// Each half at a time, eight nibbles at once: nibbles are spread
/// to bytes, then each byte above 9 gets the distance from '9' to 'a'.
#[inline]
pub fn hexadecimal(value: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    digits[..8].copy_from_slice(&eight(value >> 32));
    digits[8..].copy_from_slice(&eight(value & 0xffff_ffff));
    digits
}

/// The digits of a word below 2^32.
#[inline]
fn eight(value: u64) -> [u8; 8] {
    let pairs = (value | value << 16) & 0x0000_ffff_0000_ffff;
    let bytes = (pairs | pairs << 8) & 0x00ff_00ff_00ff_00ff;
    let nibbles = (bytes | bytes << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // 6 more carries a nibble above 9 into bit 4 of its byte.
    let above = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    let letters = above * u64::from(b'a' - b'9' - 1);
    (nibbles + 0x3030_3030_3030_3030 + letters).to_be_bytes()
}

/// Appends a number in at least `width` digits, zeroes in front.
pub fn decimal(value: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    let mut left = value;
    while left > 0 {
        at -= 1;
        // The rest of a division by ten is a digit.
        digits[at] += u8::try_from(left % 10).unwrap_or_default();
        left /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - width.min(digits.len()))..]);
}

/// Appends a signed number, its sign in place of a digit.
pub(super) fn signed(value: i64, width: usize, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
        decimal(value.unsigned_abs(), width - 1, out);
    } else {
        decimal(value.unsigned_abs(), width, out);
    }
}

/// A word of 1 to 16 hexadecimal digits, `0x` in front or not.
pub(super) fn parse_hexadecimal(text: &[u8]) -> Option<u64> {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0, |value, &byte| Some(value << 4 | u64::from(nibble(byte)?)))
}

pub(super) fn parse_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

fn nibble(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(put: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn widths() {
        assert_eq!(written(|out| decimal(0, 5, out)), "00000");
        assert_eq!(written(|out| decimal(123_456, 5, out)), "123456");
        assert_eq!(written(|out| decimal(u64::MAX, 5, out)), u64::MAX.to_string());
        assert_eq!(written(|out| signed(-1, 10, out)), "-000000001");
        assert_eq!(written(|out| signed(i64::MIN, 5, out)), i64::MIN.to_string());
    }

    #[test]
    fn what_is_no_number() {
        for text in ["", "0x", "g", "12345678901234567", "-1", "1 "] {
            assert_eq!(parse_hexadecimal(text.as_bytes()), None, "{text:?}");
        }
        for text in ["", "a", "18446744073709551616", "-1"] {
            assert_eq!(parse_decimal(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn like_the_standard_library(value: u64, small in 0u64..100_000, width in 0usize..21) {
            let digits = hexadecimal(value);
            prop_assert_eq!(std::str::from_utf8(&digits).unwrap(), format!("{value:016x}"));
            prop_assert_eq!(parse_hexadecimal(&digits), Some(value));
            for value in [value, small] {
                let digits = written(|out| decimal(value, width, out));
                prop_assert_eq!(&digits, &format!("{value:0width$}"));
                if !digits.is_empty() {
                    prop_assert_eq!(parse_decimal(digits.as_bytes()), Some(value));
                }
            }
        }
    }
}
