//! Any bytes as a file with debug info: no panic, answers of bounded length,
//! and the same whatever was asked before.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbolizer::{DebugFile, ElfSymbols};

/// Addresses asked for: those beyond are left out.
const MOST_ASKED: usize = 512;
/// As the symbolizer bounds it, and the function itself.
const MOST_FRAMES: usize = 257;

/// Where routines begin and end, and what may be an address of the debug
/// info's own.
fn addresses(input: &[u8]) -> Vec<u64> {
    let symbols = ElfSymbols::parse(input);
    let stretches = symbols.iter().flat_map(|symbols| symbols.stretches());
    let ends = stretches.flat_map(|it| [it.start, it.end - 1, it.end]);
    let words = input.windows(8).filter_map(|bytes| bytes.first_chunk());
    let words = words.map(|bytes| u64::from_le_bytes(*bytes)).filter(|word| word >> 40 == 0);
    let mut addresses: Vec<_> =
        [0, u64::MAX].into_iter().chain(ends.take(MOST_ASKED / 2)).chain(words).collect();
    addresses.dedup();
    addresses.truncate(MOST_ASKED);
    addresses
}

fuzz_target!(|input: &[u8]| {
    let Ok(file) = DebugFile::parse(input) else { return };
    let addresses = addresses(input);
    let answers: Vec<_> = addresses.iter().map(|&address| file.frames(address)).collect();
    for frames in &answers {
        assert!(frames.frames.len() <= MOST_FRAMES);
        let inlined = frames.frames.iter().rev().skip(1).all(|frame| frame.inlined);
        assert!(inlined && frames.frames.last().is_none_or(|frame| !frame.inlined));
    }
    let again = DebugFile::parse(input).expect("it was one before");
    for (address, frames) in addresses.iter().zip(&answers).rev() {
        assert_eq!(again.frames(*address), *frames, "{address:#x} in another order");
    }
});
