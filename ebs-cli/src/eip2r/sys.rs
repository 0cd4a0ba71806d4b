//! Lines by the instructions that this processor has.

/// As many addresses as come one after the other as 16 hexadecimal digits
/// and a newline each, two at a time, at most `addresses.len()`. None where
/// the processor cannot: see [`Lines::plain`](super::line::Lines::plain) for
/// the way that every one can.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn pairs(block: &[u8], addresses: &mut [u64]) -> Option<usize> {
    if !is_x86_feature_detected!("avx2") {
        return None;
    }
    // SAFETY: the processor has AVX2, as was just found.
    Some(unsafe { avx2::pairs(block, addresses) })
}

/// None: no other way is known here.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn pairs(_: &[u8], _: &mut [u64]) -> Option<usize> {
    None
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_set_epi64x, _mm256_add_epi8, _mm256_and_si256, _mm256_cmpeq_epi8,
        _mm256_extract_epi64, _mm256_maddubs_epi16, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set_m128i, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_setr_epi8,
        _mm256_shuffle_epi8, _mm256_sub_epi8,
    };

    /// Bytes of two lines.
    const PAIR: usize = 34;

    #[target_feature(enable = "avx2")]
    pub(super) fn pairs(block: &[u8], addresses: &mut [u64]) -> usize {
        let mut count = 0;
        let lines = block.as_chunks::<PAIR>().0;
        for (lines, two) in lines.iter().zip(addresses.as_chunks_mut::<2>().0) {
            let Some(found) = pair(lines) else { break };
            *two = found;
            count += 2;
        }
        count
    }

    /// Sixteen digits and a newline, twice.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn pair(lines: &[u8; PAIR]) -> Option<[u64; 2]> {
        let text = digits(lines);
        let each = |byte: u8| _mm256_set1_epi8(byte.cast_signed());
        let below = |bytes: __m256i, limit: u8| {
            _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, each(limit - 1)), bytes)
        };
        let is_digit = below(_mm256_sub_epi8(text, each(b'0')), 10);
        let small = _mm256_or_si256(text, each(0x20));
        let is_letter = below(_mm256_sub_epi8(small, each(b'a')), 6);
        let is_sound = _mm256_movemask_epi8(_mm256_or_si256(is_digit, is_letter)) == -1;
        if !is_sound | (lines[16] != b'\n') | (lines[33] != b'\n') {
            return None;
        }
        let letters = _mm256_and_si256(is_letter, each(9));
        let values = _mm256_add_epi8(_mm256_and_si256(text, each(0x0f)), letters);
        // Of two digits the first counts sixteenfold.
        let bytes = _mm256_maddubs_epi16(values, _mm256_set1_epi16(0x0110));
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

    /// The digits of both lines side by side. The compiler makes two loads of
    /// sixteen bytes of it.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn digits(lines: &[u8; PAIR]) -> __m256i {
        let (words, _) = lines[..16].as_chunks::<8>();
        let (others, _) = lines[17..33].as_chunks::<8>();
        let two = |words: &[[u8; 8]]| {
            _mm_set_epi64x(i64::from_le_bytes(words[1]), i64::from_le_bytes(words[0]))
        };
        _mm256_set_m128i(two(others), two(words))
    }
}
