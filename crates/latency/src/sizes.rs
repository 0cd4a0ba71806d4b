//! Which sizes are measured. Pure.

use crate::order::PAGE;

/// Octaves above this have half the steps: no cache of most machines ends
/// there, and much of the time goes there.
const FINE: u64 = 32 << 20;

/// Sizes in bytes from `least` to `most`, in steps of a part of an octave:
/// whole pages, ascending, each once.
#[must_use]
pub fn sizes(least: u64, most: u64, steps: u64) -> Vec<u64> {
    let (page, steps) = (PAGE as u64, steps.max(1));
    let mut all = Vec::new();
    let mut octave = least.max(page).next_power_of_two();
    while octave <= most {
        let steps = if octave > FINE { steps.div_ceil(2) } else { steps };
        let parts = (0..steps).map(|step| octave + octave / steps * step);
        all.extend(parts.map(|size| size / page * page).filter(|size| *size <= most));
        match octave.checked_mul(2) {
            Some(next) => octave = next,
            None => break,
        }
    }
    all.dedup();
    all
}

/// The largest size that is measured: eight times the last level's, as lines
/// of a cache with random replacement are found there long beyond its size;
/// not less than 64 MiB, which few first levels of TLBs reach.
#[must_use]
pub fn largest(last_level: Option<u64>, available: u64, bound: u64) -> u64 {
    const MIN_LARGEST: u64 = 64 << 20;
    // An unknown last level is as large as those of servers.
    let wanted = last_level.unwrap_or(32 << 20).saturating_mul(8).max(MIN_LARGEST);
    wanted.min(bound).min(available / 4).max(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quarters_of_octaves() {
        let kib: Vec<u64> = sizes(4096, 65536, 4).iter().map(|size| size / 1024).collect();
        assert_eq!(kib, [4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64]);
        assert_eq!(sizes(4096, 8192, 1), [4096, 8192]);
    }

    #[test]
    fn a_last_level_that_cannot_be_is_bounded() {
        let gib = 1 << 30;
        assert_eq!(largest(Some(32 << 20), 20 * gib, 512 << 20), 256 << 20);
        assert_eq!(largest(Some(503 << 20), 20 * gib, 512 << 20), 512 << 20);
        assert_eq!(largest(Some(503 << 20), gib, 512 << 20), 256 << 20);
        assert_eq!(largest(Some(u64::MAX), u64::MAX, gib), gib);
        assert_eq!(largest(None, 0, 0), 1 << 20);
        assert_eq!(largest(Some(2 << 20), 20 * gib, gib), 64 << 20);
    }

    proptest! {
        #[test]
        fn sizes_ascend_and_are_whole_pages(
            least in 0_u64..1 << 30, most in 0_u64..1 << 40, steps in 0_u64..9,
        ) {
            let all = sizes(least, most, steps);
            prop_assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(all.iter().all(|size| size % 4096 == 0 && *size <= most && *size >= least));
        }
    }
}
