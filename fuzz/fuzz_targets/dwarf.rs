//! Any bytes as a file with debug info: no panic, answers of bounded length,
//! the same whatever was asked before, and none that changes between two
//! neighbouring edges.
#![no_main]

use libfuzzer_sys::fuzz_target;
use symbolizer::DebugFile;

/// Addresses asked for: edges beyond these are left out.
const MOST_ASKED: usize = 512;
/// As the symbolizer bounds it, and the function itself.
const MOST_FRAMES: usize = 257;

fuzz_target!(|input: &[u8]| {
    let Ok(file) = DebugFile::parse(input) else { return };
    let mut edges = vec![0, u64::MAX];
    file.edges(|edge| {
        if edges.len() < 1 << 16 {
            edges.push(edge);
        }
    });
    let is_whole = edges.len() < 1 << 16;
    edges.sort_unstable();
    edges.dedup();
    let answers: Vec<_> =
        edges.iter().take(MOST_ASKED).map(|&edge| (edge, file.frames(edge))).collect();
    for (_, frames) in &answers {
        assert!(frames.frames.len() <= MOST_FRAMES);
        let inlined = frames.frames.iter().rev().skip(1).all(|frame| frame.inlined);
        assert!(inlined && frames.frames.last().is_none_or(|frame| !frame.inlined));
    }
    let again = DebugFile::parse(input).expect("it was one before");
    for pair in answers.windows(2).rev() {
        let [(edge, frames), (next, _)] = pair else { continue };
        assert_eq!(again.frames(*edge), *frames, "{edge:#x} in another order");
        if is_whole {
            assert_eq!(again.frames(next - 1), *frames, "within {edge:#x}..{next:#x}");
        }
    }
});
