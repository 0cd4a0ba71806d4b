//! Samples that stand for more events than other forms have bits for.

use tests::Scene;

use super::{of_firefox, reported};

/// A record: its kind, and words.
fn record(kind: u32, words: &[u64]) -> Vec<u8> {
    let misc = 2_u16;
    let size = u16::try_from(8 + 8 * words.len()).unwrap();
    let mut bytes = [&kind.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes()].concat();
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    bytes
}

/// Three samples of a clock, each of which stands for so many nanoseconds: a
/// stream as docs/stream-format.md has it.
fn recording(scene: &Scene, period: u64) {
    let mut attr = [0; 16];
    // PERF_TYPE_SOFTWARE, 128 bytes; IP, TID and TIME of each sample.
    (attr[0], attr[2], attr[3]) = (1 | 128 << 32, period, 0b111);
    let id = 1;
    let mut bytes = [*b"PERFILE2", 16_u64.to_le_bytes()].concat();
    bytes.extend(record(64, &[&attr[..], &[id]].concat()));
    for at in 1..=3 {
        bytes.extend(record(9, &[at, 7 | 7 << 32, at]));
    }
    bytes.extend(record(68, &[]));
    scene.write("w.data", bytes);
}

#[test]
fn a_weight_of_the_firefox_profiler_is_whole_or_refused() {
    let scene = Scene::new();
    for period in [1, i32::MAX.unsigned_abs().into(), 1 << 31, 1000 << 31] {
        recording(&scene, period);
        let told: u64 = reported(&scene, "w.data").values().map(|sums| sums[1]).sum();
        assert_eq!(told, 3 * period);
        let profile = scene.run("ebs export --to firefox w.data").success().out;
        assert_eq!(of_firefox(&profile)[0], told, "{period}");
    }
    recording(&scene, 1 << 55);
    let run = scene.run("ebs export --to firefox -o w.json w.data");
    run.refused(1, &["36028797018963968 events are too many for the Firefox Profiler", "pprof"]);
    assert!(!scene.path("w.json").exists());
}
