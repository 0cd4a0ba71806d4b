//! Random numbers that are the same in every run, for programs that run
//! without ASLR.

/// Fills `out` and moves the state on (splitmix64).
pub(crate) fn fill(state: &mut u64, out: &mut [u8]) {
    for chunk in out.chunks_mut(8) {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = *state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^= word >> 31;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
}

/// ADDR_NO_RANDOMIZE of personality(2).
const NO_RANDOMIZE: u32 = 0x004_0000;
/// AT_RANDOM of getauxval(3).
const RANDOM: u64 = 25;

pub(crate) fn is_fixed(tid: i32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{tid}/personality")).unwrap_or_default();
    u32::from_str_radix(text.trim(), 16).is_ok_and(|persona| persona & NO_RANDOMIZE != 0)
}

/// Where the kernel put sixteen random bytes for a new program.
pub(crate) fn random_bytes(tid: i32) -> Option<u64> {
    let vector = std::fs::read(format!("/proc/{tid}/auxv")).ok()?;
    let (words, _) = vector.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    words.chunks(2).find(|pair| pair.first() == Some(&RANDOM))?.get(1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_repeat() {
        let (mut one, mut other) = ([0; 21], [0; 21]);
        fill(&mut 7, &mut one);
        fill(&mut 7, &mut other);
        assert_eq!(one, other);
        assert!(one.iter().any(|byte| *byte != one[0]));
        fill(&mut 8, &mut other);
        assert_ne!(one, other);
    }

    #[test]
    fn a_programs_random_bytes_are_found() {
        assert!(random_bytes(i32::try_from(std::process::id()).unwrap()).is_some());
    }
}
