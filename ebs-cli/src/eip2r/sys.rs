//! Lines by the instructions that this processor has.

/// As many addresses as come one after the other as 16 hexadecimal digits
/// and a newline each, an even number, at most `addresses.len()`. None where
/// the processor cannot: see [`Lines::plain`](super::line::Lines::plain) for
/// the way that every one can.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn plain(block: &[u8], addresses: &mut [u64]) -> Option<usize> {
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    // SAFETY: the processor has AVX2, as was just found.
    Some(unsafe { avx2::plain(block, addresses) })
}

/// None: no other way is known here.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn plain(_: &[u8], _: &mut [u64]) -> Option<usize> {
    None
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_extract_epi64,
        _mm256_maddubs_epi16, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256,
        _mm256_set_epi64x, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi64x,
        _mm256_setr_epi8, _mm256_shuffle_epi8, _mm256_sub_epi8,
    };

    /// Bytes of a line.
    const LINE: usize = 17;
    const PAIR: usize = 2 * LINE;
    const FOUR: usize = 4 * LINE;

    /// The first eight digits of an address: the next one's are mostly the
    /// same, and need not be read again.
    #[derive(Clone, Copy)]
    struct Upper {
        text: [u8; 8],
        value: u64,
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn plain(block: &[u8], addresses: &mut [u64]) -> usize {
        let mut count = 0;
        let mut upper = Upper { text: *b"00000000", value: 0 };
        let lines = block.as_chunks::<FOUR>().0;
        for (lines, four) in lines.iter().zip(addresses.as_chunks_mut::<4>().0) {
            if let Some(found) = alike(lines, upper) {
                *four = found;
            } else {
                let Some((first, second)) = pairs(lines) else { break };
                *four = [first[0], first[1], second[0], second[1]];
                let text = eight(lines, 3 * LINE);
                upper = Upper { text, value: second[1] & (u64::MAX << 32) };
            }
            count += 4;
        }
        let (lines, _) = block[count * LINE..].as_chunks::<PAIR>();
        for (lines, two) in lines.iter().zip(addresses[count..].as_chunks_mut::<2>().0) {
            let Some(found) = pair(lines) else { break };
            *two = found;
            count += 2;
        }
        count
    }

    /// Four lines that begin with the same eight digits, which are known.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn alike(lines: &[u8; FOUR], upper: Upper) -> Option<[u64; 4]> {
        let is_alike = |line: usize| {
            (eight(lines, line * LINE) == upper.text) & (lines[line * LINE + 16] == b'\n')
        };
        if !(is_alike(0) & is_alike(1) & is_alike(2) & is_alike(3)) {
            return None;
        }
        let lower = |line: usize| i64::from_le_bytes(eight(lines, line * LINE + 8));
        let bytes = bytes(_mm256_set_epi64x(lower(3), lower(2), lower(1), lower(0)))?;
        // The first byte of the text is the highest of the number.
        let order = _mm256_setr_epi8(
            6, 4, 2, 0, -1, -1, -1, -1, 14, 12, 10, 8, -1, -1, -1, -1, //
            6, 4, 2, 0, -1, -1, -1, -1, 14, 12, 10, 8, -1, -1, -1, -1,
        );
        let numbers = _mm256_shuffle_epi8(bytes, order);
        let numbers = _mm256_or_si256(numbers, _mm256_set1_epi64x(upper.value.cast_signed()));
        Some([
            _mm256_extract_epi64::<0>(numbers).cast_unsigned(),
            _mm256_extract_epi64::<1>(numbers).cast_unsigned(),
            _mm256_extract_epi64::<2>(numbers).cast_unsigned(),
            _mm256_extract_epi64::<3>(numbers).cast_unsigned(),
        ])
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn pairs(lines: &[u8; FOUR]) -> Option<([u64; 2], [u64; 2])> {
        let (lines, _) = lines.as_chunks::<PAIR>();
        Some((pair(&lines[0])?, pair(&lines[1])?))
    }

    /// Sixteen digits and a newline, twice.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn pair(lines: &[u8; PAIR]) -> Option<[u64; 2]> {
        if (lines[16] != b'\n') | (lines[33] != b'\n') {
            return None;
        }
        let word = |at: usize| i64::from_le_bytes(eight(lines, at));
        let bytes = bytes(_mm256_set_epi64x(word(25), word(17), word(8), word(0)))?;
        // The first byte of the text is the highest of the number.
        let order = _mm256_setr_epi8(
            14, 12, 10, 8, 6, 4, 2, 0, -1, -1, -1, -1, -1, -1, -1, -1, //
            14, 12, 10, 8, 6, 4, 2, 0, -1, -1, -1, -1, -1, -1, -1, -1,
        );
        let numbers = _mm256_shuffle_epi8(bytes, order);
        let first = _mm256_extract_epi64::<0>(numbers).cast_unsigned();
        let second = _mm256_extract_epi64::<2>(numbers).cast_unsigned();
        Some([first, second])
    }

    /// The value of every two digits, in 16 bits each; none if one of all 32
    /// is no digit.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn bytes(text: __m256i) -> Option<__m256i> {
        let each = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
        let below = |bytes: __m256i, limit: u8| {
            _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, each(limit - 1)), bytes)
        };
        let is_digit = below(_mm256_sub_epi8(text, each(b'0')), 10);
        let small = _mm256_or_si256(text, each(0x20));
        let is_letter = below(_mm256_sub_epi8(small, each(b'a')), 6);
        if _mm256_movemask_epi8(_mm256_or_si256(is_digit, is_letter)) != -1 {
            return None;
        }
        let letters = _mm256_and_si256(is_letter, each(9));
        let values = _mm256_add_epi8(_mm256_and_si256(text, each(0x0f)), letters);
        // Of two digits the first counts sixteenfold.
        Some(_mm256_maddubs_epi16(values, _mm256_set1_epi16(0x0110)))
    }

    #[inline]
    fn eight(text: &[u8], at: usize) -> [u8; 8] {
        text[at..].first_chunk().copied().unwrap_or_default()
    }
}
