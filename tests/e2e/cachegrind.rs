//! What cachegrind counts, whose caches may be fully associative.

use tests::Scene;

#[derive(Clone, Copy, Debug)]
pub(crate) struct DataMisses {
    /// Of the first cache.
    pub(crate) first: u64,
    /// Of the last one, behind it; code has room there, too.
    pub(crate) last: u64,
}

impl DataMisses {
    /// Of a program in the scene with its arguments, in a first and a last cache of so many
    /// bytes and ways: `32768,8`.
    #[track_caller]
    pub(crate) fn counted(scene: &Scene, program: &str, [first, last]: [&str; 2]) -> DataMisses {
        let told = scene
            .shell(&format!(
                "valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1={first},64 \
                 --LL={last},64 --cachegrind-out-file=/dev/null {program} 2>&1"
            ))
            .success();
        let of = |title: &str| {
            let line = told.out.lines().find_map(|line| line.split_once(title));
            let (_, numbers) = line.unwrap_or_else(|| panic!("{told}"));
            let word = numbers.split_whitespace().next().unwrap_or_else(|| panic!("{told}"));
            word.replace(',', "").parse().unwrap()
        };
        DataMisses { first: of("D1  misses:"), last: of("LLd misses:") }
    }
}

/// Misses of a cache of 512 lines of data, so many of a set, of a program in the
/// scene with its arguments.
#[track_caller]
pub(crate) fn misses(scene: &Scene, program: &str, ways: u32) -> u32 {
    let caches = [&format!("32768,{ways}"), "8388608,16"];
    u32::try_from(DataMisses::counted(scene, program, caches).first).unwrap()
}
