//! Places of mapped files, many at once.

use crate::toolchain::command;
use perfdata::{CpuMode, Pid, Time};
#[allow(dead_code, reason = "other tests need more of it")]
use proptest::prelude::*;
use std::path::Path;
use symbolizer::{KernelSource, MapsEntry, Symbolizer, SymbolizerOptions};

const PROGRAM: &str = "volatile int seen;\n\
    static inline __attribute__((always_inline)) int twice(int of) { seen = of; return seen * 2; }\n\
    __attribute__((noinline)) int more(int of) { return twice(of) + seen; }\n\
    int main(int count, char **words) { (void)words; return more(count) + twice(1); }\n";

/// Builds `p`, with debug info, and `stripped`, the same without.
fn build(folder: &Path) -> bool {
    std::fs::write(folder.join("code.c"), PROGRAM).unwrap();
    let build = ["gcc", "-g", "-O1", "-no-pie", "-Wl,--build-id", "-o", "p", "code.c"];
    let strip = ["objcopy", "--strip-debug", "p", "stripped"];
    command(folder, &build) && command(folder, &strip)
}

/// A file mapped from its start.
fn entry(path: &Path, start: u64) -> MapsEntry<'_> {
    let path = path.to_str().unwrap().as_bytes();
    let (end, permissions) = (start + 0x10_0000, *b"r-xp");
    MapsEntry { start, end, permissions, offset: 0, device: (0, 0), inode: 0, path }
}

/// First and last address of the code of a program.
fn extent(path: &Path) -> (u64, u64) {
    let symbols = symbolizer::ElfSymbols::parse(&std::fs::read(path).unwrap()).unwrap();
    let first = symbols.stretches().map(|stretch| stretch.start).min().unwrap();
    (first, symbols.stretches().map(|stretch| stretch.end).max().unwrap())
}

const LIST: &str = "ffffffff81000000 T _text\nffffffff81000000 T start\nffffffff81000100 T next\n\
    ffffffff81000200 T _etext\n";
/// More than are open at a time.
const PROGRAMS: u64 = 70;

#[test]
fn many_places_at_once_have_the_answers_of_one_after_the_other() {
    let scene = tempfile::tempdir().unwrap();
    let at = |name: &str| scene.path().join(name);
    if !build(scene.path()) {
        return eprintln!("skipped: no gcc, or it cannot link this");
    }
    std::fs::write(at("System.map"), LIST).unwrap();
    std::fs::write(at("broken"), "no program").unwrap();
    let (first, end) = extent(&at("p"));
    let paths: Vec<_> = (0..PROGRAMS).map(|number| at(&format!("p{number}"))).collect();
    for (number, path) in paths.iter().enumerate() {
        let from = if number % 3 == 0 { "stripped" } else { "p" };
        std::fs::copy(at(from), path).unwrap();
    }
    let base = |number: u64| 0x40_0000 + (number << 24);
    let mut entries: Vec<_> =
        paths.iter().zip(0..).map(|(path, number)| entry(path, base(number))).collect();
    let (broken, gone) = (at("broken"), at("gone"));
    entries.push(entry(&broken, base(PROGRAMS)));
    entries.push(entry(&gone, base(PROGRAMS + 1)));
    let symbolizer = |threads: usize| {
        let offset = symbolizer::KernelOffset::Given(0);
        let kernel = KernelSource::File { path: at("System.map"), offset };
        let threads = threads.try_into().unwrap();
        let mut symbolizer =
            Symbolizer::new(SymbolizerOptions { kernel, threads, ..SymbolizerOptions::default() });
        symbolizer.maps(Pid(7), &entries, Time(0));
        symbolizer
    };
    let code = (0..PROGRAMS + 3, first - 2..end + 2)
        .prop_map(|(number, at)| (CpuMode::User, base(number) - 0x40_0000 + at));
    let of_kernel =
        (0xffff_ffff_80ff_fff0_u64..0xffff_ffff_8100_0300).prop_map(|at| (CpuMode::Kernel, at));
    let drawn = prop::collection::vec(prop_oneof![9 => code, 1 => of_kernel], 0..600);
    let config = ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() };
    proptest!(config, |(drawn in drawn, threads in 1_usize..6)| {
        let mut one = symbolizer(1);
        let mut place = |&(mode, at)| one.place(mode, Pid(7), at, Time(1));
        let places: Vec<_> = drawn.iter().map(&mut place).collect();
        let alone: Vec<_> = places.iter().map(|place| one.frames(*place)).collect();
        let mut all = symbolizer(threads);
        for (mode, at) in &drawn {
            all.place(*mode, Pid(7), *at, Time(1));
        }
        // The second time some files are open.
        for _ in 0..2 {
            let together = all.all_frames(&places);
            prop_assert!(together == alone, "{} places on {threads} threads", places.len());
        }
    });
}
