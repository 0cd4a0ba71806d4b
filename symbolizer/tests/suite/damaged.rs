//! Debug info that was damaged: answers or reasons, never a panic.

use std::ops::Range;
use std::path::Path;
use symbolizer::{DebugFile, ElfSymbols, Frames};

/// Damaged copies of each file; HARDMETER_ROUNDS sets another number.
const ROUNDS: usize = 200;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % bound
    }
}

/// Addresses all over the routines of a file, their ends among them.
fn addresses(bytes: &[u8]) -> Vec<u64> {
    let symbols = ElfSymbols::parse(bytes).unwrap();
    let mut addresses = vec![0, u64::MAX];
    for Range { start, end } in symbols.stretches() {
        addresses.extend((start..end).step_by(7).chain([end - 1, end]));
    }
    addresses.truncate(2000);
    addresses
}

/// How many of the addresses have a line; asked in another order, each is
/// answered the same.
fn ask(bytes: &[u8], addresses: &[u64]) -> usize {
    let Ok(file) = DebugFile::parse(bytes) else { return 0 };
    let again = DebugFile::parse(bytes).unwrap();
    let answers: Vec<_> = addresses.iter().map(|&address| file.frames(address)).collect();
    for (&address, answer) in addresses.iter().zip(&answers).rev() {
        assert!(answer.frames.len() <= 257);
        assert_eq!(again.frames(address), *answer, "{address:#x} in another order");
    }
    let lined = |answer: &&Frames| answer.frames.iter().any(|frame| frame.source.is_some());
    answers.iter().filter(lined).count()
}

#[test]
fn damaged_debug_info_answers_or_says_why() {
    let corpus =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../fuzz/corpus/dwarf");
    let rounds = std::env::var("HARDMETER_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap());
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut files = 0;
    for file in std::fs::read_dir(corpus).unwrap() {
        let sound = std::fs::read(file.unwrap().path()).unwrap();
        let addresses = addresses(&sound);
        assert!(ask(&sound, &addresses) > 0, "a file of the corpus has lines");
        files += 1;
        for _ in 0..rounds {
            let mut bytes = sound.clone();
            for _ in 0..=random.below(8) {
                let at = random.below(bytes.len());
                bytes[at] = match random.below(4) {
                    0 => 0,
                    1 => 0xff,
                    2 => bytes[at] ^ 1 << random.below(8),
                    _ => u8::try_from(random.below(256)).unwrap(),
                };
            }
            if random.below(8) == 0 {
                bytes.truncate(random.below(bytes.len()));
            }
            ask(&bytes, &addresses);
        }
    }
    assert!(files > 4);
}
