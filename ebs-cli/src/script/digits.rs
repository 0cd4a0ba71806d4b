//! Numbers as text, padded with blanks on the left, straight into a buffer.

/// Appends the hexadecimal digits of a number, right-aligned in `width`.
#[inline]
pub(super) fn hexadecimal(value: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [0; 16];
    let mut at = digits.len();
    let mut left = value;
    loop {
        at -= 1;
        digits[at] = b"0123456789abcdef"[usize::from(left.to_le_bytes()[0] & 15)];
        left >>= 4;
        if left == 0 {
            break;
        }
    }
    pad(digits.len() - at, width, out);
    out.extend_from_slice(&digits[at..]);
}

/// Appends the decimal digits of a number, right-aligned in `width`.
#[inline]
pub(super) fn decimal(value: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let at = decimal_digits(value, &mut digits);
    pad(digits.len() - at, width, out);
    out.extend_from_slice(&digits[at..]);
}

/// Appends a number below zero or not, right-aligned in `width`.
#[inline]
pub(super) fn signed(value: i32, width: usize, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = decimal_digits(u64::from(value.unsigned_abs()), &mut digits);
    if value < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    pad(digits.len() - at, width, out);
    out.extend_from_slice(&digits[at..]);
}

/// Appends a number in at least `width` digits, zeroes in front.
#[inline]
pub(super) fn zero_padded(value: u64, width: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let at = decimal_digits(value, &mut digits);
    out.extend_from_slice(&digits[at.min(digits.len() - width)..]);
}

/// Writes the digits at the end of the array; gives where they start.
#[inline]
fn decimal_digits(value: u64, digits: &mut [u8; 20]) -> usize {
    let mut at = digits.len();
    let mut left = value;
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10).to_le_bytes()[0];
        left /= 10;
        if left == 0 {
            return at;
        }
    }
}

#[inline]
fn pad(length: usize, width: usize, out: &mut Vec<u8>) {
    for _ in length..width {
        out.push(b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::{decimal, hexadecimal, signed, zero_padded};

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("is text")
    }

    #[test]
    fn like_the_standard_library() {
        for value in [0, 1, 9, 10, 15, 16, 4095, 99_999, 0xffff_ffff, u64::MAX - 1, u64::MAX] {
            assert_eq!(text(|out| hexadecimal(value, 16, out)), format!("{value:16x}"));
            assert_eq!(text(|out| hexadecimal(value, 0, out)), format!("{value:x}"));
            assert_eq!(text(|out| decimal(value, 10, out)), format!("{value:10}"));
            assert_eq!(text(|out| zero_padded(value, 6, out)), format!("{value:06}"));
        }
        for value in [0, -1, 77, i32::MIN, i32::MAX] {
            assert_eq!(text(|out| signed(value, 5, out)), format!("{value:5}"));
        }
    }
}
