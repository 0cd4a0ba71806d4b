//! How large rings can be.

use super::Misuse;

/// 0 is for the plan to refuse.
pub(super) fn ring(pages: u32) -> Result<u32, Misuse> {
    if pages == 0 || pages.is_power_of_two() { Ok(pages) } else { Err(Misuse::Ring { pages }) }
}

/// Which sizes there are, in words.
pub(super) fn nearest(pages: u32) -> String {
    let below = pages.checked_ilog2().map_or(1, |bit| 1_u32 << bit);
    match pages.checked_next_power_of_two() {
        Some(above) => format!("a power of two, such as {below} or {above}"),
        None => format!("a power of two, {below} at most"),
    }
}
