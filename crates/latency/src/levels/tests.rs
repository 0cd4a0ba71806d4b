use super::*;
use crate::sizes::sizes;
use proptest::prelude::*;

/// A level of a machine that nobody has built: bytes, cycles.
#[derive(Clone, Copy, Debug)]
struct Built {
    size: u64,
    latency: f64,
}

/// What a machine takes of one size: lines of a cache that is too small are
/// found there by the share that fits.
fn time(machine: &[Built], size: u64) -> f64 {
    let mut found = 0.0;
    let mut time = 0.0;
    for level in machine {
        let fits = (level.size as f64 / size as f64).min(1.0);
        time += (fits - found).max(0.0) * level.latency;
        found = fits.max(found);
    }
    time
}

fn curve(machine: &[Built], noise: &[f64]) -> Vec<CurvePoint> {
    let all = sizes(4096, 512 << 20, 4);
    let noise = noise.iter().cycle();
    let point = |(size, noise): (u64, &f64)| CurvePoint {
        size,
        latency: time(machine, size) * (1.0 + noise),
    };
    all.into_iter().zip(noise).map(point).collect()
}

const MEMORY: u64 = u64::MAX;

#[test]
fn a_machine_of_three_levels_has_them() {
    let machine = [
        Built { size: 32 << 10, latency: 4.0 },
        Built { size: 512 << 10, latency: 13.0 },
        Built { size: 32 << 20, latency: 48.0 },
        Built { size: MEMORY, latency: 330.0 },
    ];
    let found = levels(&curve(&machine, &[0.0, 0.01, -0.01]));
    assert_eq!(found.len(), 4, "{found:#?}");
    for (level, built) in found.iter().zip(machine) {
        assert!(level.is_of(built.size), "{built:?}: {found:#?}");
    }
    assert_eq!(found.last().unwrap().ends_before, None);
}

#[test]
fn a_flat_curve_is_one_level_and_none_is_none() {
    let flat: Vec<CurvePoint> = (1..20).map(|size| CurvePoint { size, latency: 5.0 }).collect();
    let found = levels(&flat);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].size, found[0].ends_before), (19, None));
    assert!(levels(&[]).is_empty());
}

proptest! {
    /// Whatever machine it is, if its levels are as far apart as they are in
    /// any real one: four octaves and more, and over double the time.
    #[test]
    fn levels_are_those_of_the_machine(
        first in 3_u32..5,
        steps in prop::collection::vec((4_u32..6, 2.5..5.0_f64), 1..4),
        noise in prop::collection::vec(-0.015..0.015_f64, 7..40),
    ) {
        let mut octave = first;
        let mut machine = vec![Built { size: 4096 << octave, latency: 4.0 }];
        for (octaves, times) in steps {
            octave += octaves;
            let latency = machine.last().unwrap().latency * times;
            machine.push(Built { size: 4096 << octave, latency });
        }
        machine.last_mut().unwrap().size = MEMORY;
        let found = levels(&curve(&machine, &noise));
        prop_assert_eq!(found.len(), machine.len(), "{:#?} of {:#?}", found, machine);
        for (level, built) in found.iter().zip(&machine) {
            // One step of the grid beside it, where one level goes over into
            // the next one little by little.
            let ratio = level.size as f64 / built.size as f64;
            let is_near = built.size == MEMORY || (0.7..1.3).contains(&ratio);
            prop_assert!(is_near, "{:?}: {:#?}", built, found);
            prop_assert!((0.75..1.25).contains(&(level.latency / built.latency)), "{:?}: {:#?}", built, found);
        }
    }

    #[test]
    fn levels_ascend_whatever_was_measured(
        latencies in prop::collection::vec(0.0..1e4_f64, 0..80),
    ) {
        let curve: Vec<CurvePoint> = (1..)
            .zip(latencies)
            .map(|(size, latency)| CurvePoint { size: size * 4096, latency })
            .collect();
        let found = levels(&curve);
        prop_assert_eq!(found.is_empty(), curve.is_empty());
        for pair in found.windows(2) {
            prop_assert!(pair[0].size < pair[1].size && pair[0].latency <= pair[1].latency);
            prop_assert!(pair[0].ends_before.is_some_and(|end| end > pair[0].size && end <= pair[1].size));
        }
    }
}
