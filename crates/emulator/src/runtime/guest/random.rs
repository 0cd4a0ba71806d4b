//! Numbers that look random and follow from a seed, in the target and in the
//! tracer alike.

/// The next number of a generator (splitmix64). States that lie less than
/// some billions apart give sequences that have nothing in common.
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// A number below `limit`, all as likely; 0 below 0.
pub fn below(state: &mut u64, limit: u64) -> u64 {
    u64::try_from((u128::from(next(state)) * u128::from(limit)) >> 64).unwrap_or(0)
}
