//! Numbers in columns of text: a quarter of the time of a line was the
//! formatting machinery's.

use perfdata::text::{decimal, hexadecimal};

/// Appends a decimal number, right in its column.
#[inline]
pub(super) fn right(value: u64, width: usize, out: &mut Vec<u8>) {
    let digits = value.checked_ilog10().unwrap_or(0) as usize + 1;
    blanks(width.saturating_sub(digits), out);
    decimal(value, 1, out);
}

/// Appends an id, which may be below zero, right in its column.
#[inline]
pub(super) fn id(value: i32, width: usize, out: &mut Vec<u8>) {
    if value >= 0 {
        return right(value.unsigned_abs().into(), width, out);
    }
    let digits = value.unsigned_abs().checked_ilog10().unwrap_or(0) as usize + 2;
    blanks(width.saturating_sub(digits), out);
    out.push(b'-');
    decimal(value.unsigned_abs().into(), 1, out);
}

/// Appends a hexadecimal number without leading zeroes, right in its column.
#[inline]
pub(super) fn hex(value: u64, width: usize, out: &mut Vec<u8>) {
    let digits = hexadecimal(value);
    let zeroes = (value | 1).leading_zeros() as usize / 4;
    blanks(width.saturating_sub(digits.len() - zeroes), out);
    out.extend_from_slice(&digits[zeroes..]);
}

#[inline]
pub(super) fn blanks(count: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + count, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = b"|".to_vec();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ids_may_be_below_zero() {
        for value in [0, 7, -1, -10, 99_999, i32::MIN, i32::MAX] {
            for width in [0, 5, 16] {
                assert_eq!(written(|out| id(value, width, out)), format!("|{value:width$}"));
            }
        }
    }

    #[test]
    fn columns_are_those_of_the_formatting_machinery() {
        let edges = (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1]);
        let tens = (0..20).flat_map(|power| [10u64.pow(power), 10u64.pow(power) - 1]);
        for value in edges.chain(tens).chain([u64::MAX]) {
            for width in [0, 1, 5, 16, 24] {
                assert_eq!(written(|out| right(value, width, out)), format!("|{value:width$}"));
                assert_eq!(written(|out| hex(value, width, out)), format!("|{value:width$x}"));
            }
        }
    }
}
