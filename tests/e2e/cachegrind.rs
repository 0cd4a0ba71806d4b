//! What cachegrind counts, whose caches may be fully associative.

use hardmeter_tests::Scene;

/// Misses of a cache of 512 lines of data, so many of a set, of a program in the
/// scene with its arguments.
#[track_caller]
pub(crate) fn misses(scene: &Scene, program: &str, ways: u32) -> u32 {
    let told = scene
        .shell(&format!(
            "valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=32768,{ways},64 \
             --LL=8388608,16,64 --cachegrind-out-file=/dev/null {program} 2>&1"
        ))
        .success();
    let line = told.out.lines().find_map(|line| line.split_once("D1  misses:"));
    let (_, numbers) = line.unwrap_or_else(|| panic!("{told}"));
    let word = numbers.split_whitespace().next().unwrap_or_else(|| panic!("{told}"));
    word.replace(',', "").parse().unwrap()
}
