use super::beta::{Beta, BetaPart};
use super::dispersion::{Dispersion, PearsonSum};
use super::false_discovery::discovery_rates;
use super::normal::{normal_deviation, student_beyond, student_deviation};
use super::rate_ratio::{RateCount, least_likelihood, rate_ratio};
use std::collections::BTreeMap;

mod simulation;

/// Lines of a file of `oracle.py`, without its head: numbers.
fn figures(text: &'static str) -> impl Iterator<Item = Vec<f64>> {
    text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
}

#[track_caller]
fn assert_near(ours: f64, theirs: f64, about: &str) {
    let near = ours == theirs || (ours - theirs).abs() <= 1e-7 * theirs.abs();
    assert!(near, "{about}: {ours:e}, not {theirs:e}");
}

#[test]
fn ratios_are_those_of_scipy() {
    let mut seen = 0;
    for line in figures(include_str!("oracle_ratios.csv")) {
        let [count, exposure, count_b, exposure_b, factor, freedom, low, high, likelihood] =
            line[..]
        else {
            panic!("{line:?}")
        };
        let a = RateCount { count, exposure };
        let b = RateCount { count: count_b, exposure: exposure_b };
        let ours = rate_ratio(a, b, Dispersion { factor, freedom }, 0.95);
        let about = format!("{a:?} {b:?} {factor} {freedom}");
        assert_near(ours.low, low, &about);
        assert_near(ours.high, high, &about);
        assert_near(ours.likelihood, likelihood, &about);
        assert!(ours.low <= ours.ratio && ours.ratio <= ours.high, "{about}: {ours:?}");
        seen += 1;
    }
    assert!(seen >= 200, "{seen}");
}

#[test]
fn quantiles_are_those_of_scipy() {
    for line in figures(include_str!("oracle_quantiles.csv")) {
        let [freedom, likelihood, deviation] = line[..] else { panic!("{line:?}") };
        assert_near(student_deviation(likelihood, freedom), deviation, &format!("{line:?}"));
        assert_near(student_beyond(deviation, freedom), likelihood, &format!("{line:?}"));
    }
    assert!(normal_deviation(0.0).is_infinite());
    assert_near(normal_deviation(1.0), 0.0, "nothing is beyond");
}

#[test]
fn false_discoveries_are_those_of_scipy() {
    let mut families: BTreeMap<u64, Vec<[f64; 2]>> = BTreeMap::new();
    for line in figures(include_str!("oracle_discoveries.csv")) {
        let [family, likelihood, rate] = line[..] else { panic!("{line:?}") };
        families.entry(family.to_bits()).or_default().push([likelihood, rate]);
    }
    for family in families.values() {
        let given: Vec<f64> = family.iter().map(|[likelihood, _]| *likelihood).collect();
        for (ours, [likelihood, theirs]) in discovery_rates(&given).into_iter().zip(family) {
            assert_near(ours, *theirs, &format!("{likelihood}"));
        }
    }
    assert!(discovery_rates(&[]).is_empty());
}

#[test]
fn dispersions_are_those_of_statsmodels() {
    let mut families: BTreeMap<u64, Vec<Vec<f64>>> = BTreeMap::new();
    for line in figures(include_str!("oracle_dispersions.csv")) {
        families.entry(line[0].to_bits()).or_default().push(line);
    }
    for runs in families.values() {
        let mut sum = PearsonSum::default();
        for side in [0.0, 1.0] {
            let of = runs.iter().filter(|run| run[1] == side);
            let of: Vec<RateCount> =
                of.map(|run| RateCount { count: run[2], exposure: run[3] }).collect();
            let mut own = PearsonSum::default();
            own.add(&of);
            sum.join(own);
        }
        let ours = sum.dispersion().unwrap();
        assert_near(ours.factor, runs[0][4], "factor");
        assert_near(ours.freedom, runs[0][5], "freedom");
    }
    let mut single = PearsonSum::default();
    single.add(&[RateCount { count: 7.0, exposure: 1.0 }]);
    single.add(&[RateCount { count: 0.0, exposure: 1.0 }; 3]);
    assert_eq!(single.dispersion(), None);
}

#[test]
fn an_interval_leaves_one_out_where_the_test_does() {
    let freedoms = [f64::INFINITY, 5.0];
    for (index, freedom) in (0..600_u32).zip(freedoms.into_iter().cycle()) {
        let a = RateCount { count: f64::from(index % 23 * 3), exposure: 1.0 };
        let b = RateCount { count: f64::from(index % 17 * 4), exposure: 1.5 };
        if a.count + b.count == 0.0 {
            continue;
        }
        let dispersion = Dispersion { factor: 1.0 + f64::from(index % 5), freedom };
        let ours = rate_ratio(a, b, dispersion, 0.95);
        assert_eq!(ours.likelihood < 0.05, ours.low > 1.0 || ours.high < 1.0, "{a:?} {b:?}");
        // What is turned round turns the ratio round.
        let turned = rate_ratio(b, a, dispersion, 0.95);
        assert_near(turned.low, 1.0 / ours.high, "turned");
        assert_near(turned.likelihood, ours.likelihood, "turned");
        let least = least_likelihood(a, b, dispersion);
        assert!(least <= ours.likelihood * (1.0 + 1e-9), "{a:?} {b:?}: {least} {ours:?}");
    }
}

/// Both tails of the smallest and of large counts add up.
#[test]
fn parts_and_rests_are_one() {
    for (a, b) in [(0.01, 3.0), (1.0, 1.0), (5.5, 1e6), (3e7, 3e7)] {
        let beta = Beta { a, b };
        for likelihood in [1e-9, 0.025, 0.5, 0.975] {
            let at = beta.quantile(likelihood);
            let turned = Beta { a: b, b: a };
            let rest = turned.at_most(BetaPart { part: at.rest, rest: at.part });
            assert!((beta.at_most(at) + rest - 1.0).abs() < 1e-9, "{beta:?} {likelihood}");
            assert!((beta.at_most(at) - likelihood).abs() < 1e-7, "{beta:?} {likelihood} {at:?}");
        }
    }
}
