//! Debug info that was damaged: answers or reasons, never a panic.

use crate::toolchain::command;
use std::ops::Range;
use std::path::Path;
use symbolizer::{DebugFile, ElfSymbols, FrameDetail, Frames, MissingDebugInfo};

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

/// One routine with a million calls inlined into each other, a byte each.
const NESTED: &str = r#"
    .globl _start
    .text
    _start: .fill 64, 1, 0x90
    .Lend:
    .section .debug_abbrev,"",@progbits
    .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0
    .byte 2, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 7, 0, 0
    .byte 3, 0x1d, 1, 0, 0
    .byte 0
    .section .debug_info,"",@progbits
    .long .Linfo_end - .Linfo
    .Linfo: .value 4
    .long 0
    .byte 8
    .byte 1
    .quad _start, .Lend - _start
    .byte 2
    .asciz "nested"
    .quad _start, .Lend - _start
    .fill 1000000, 1, 3
    .fill 1000002, 1, 0
    .Linfo_end:
"#;

#[test]
fn calls_inlined_without_end_are_damage() {
    let scene = tempfile::tempdir().unwrap();
    std::fs::write(scene.path().join("p.s"), NESTED).unwrap();
    if !command(scene.path(), &["gcc", "-nostdlib", "-static", "-o", "p", "p.s"]) {
        return eprintln!("skipped: no gcc for x86-64, or it cannot link this");
    }
    let bytes = std::fs::read(scene.path().join("p")).unwrap();
    let start = ElfSymbols::parse(&bytes).unwrap().stretches().map(|it| it.start).min().unwrap();
    let file = DebugFile::parse(&bytes).unwrap();
    for address in [start, start + 9] {
        let depth = file.frames(address).depth;
        assert!(
            matches!(depth, FrameDetail::Symbols(MissingDebugInfo::Damaged { .. })),
            "{depth:?}"
        );
    }
}
