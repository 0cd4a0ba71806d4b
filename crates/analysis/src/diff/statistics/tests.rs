use super::beta::{Beta, BetaPart};
use super::discovery_rates;
use super::dispersion::RateCount;
use super::dispersion::{Dispersion, PearsonSum};
use super::normal::{normal_deviation, student_beyond, student_deviation};
use super::rate_ratio::{least_likelihood, rate_ratio};
use std::collections::BTreeMap;

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

/// How often what is said is wrong, of runs whose truth is known. Seeds are
/// fixed: each run of the tests draws the same.
mod simulation {
    use crate::diff::statistics::discovery_rates;
    use crate::diff::statistics::dispersion::RateCount;
    use crate::diff::statistics::dispersion::{Dispersion, PearsonSum};
    use crate::diff::statistics::rate_ratio::{RateRatio, least_likelihood, rate_ratio};

    /// splitmix64.
    struct SeededDraws(u64);

    impl SeededDraws {
        fn word(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.0;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            word ^ (word >> 31)
        }

        /// Above 0, below 1.
        #[expect(clippy::cast_precision_loss, reason = "53 bits are asked for")]
        fn uniform(&mut self) -> f64 {
            ((self.word() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            let radius = (-2.0 * self.uniform().ln()).sqrt();
            radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
        }

        /// Of mean 1 and this standard deviation, below 1 (Marsaglia and Tsang 2000).
        fn gamma(&mut self, deviation: f64) -> f64 {
            let shape = 1.0 / (deviation * deviation);
            let least = shape - 1.0 / 3.0;
            loop {
                let normal = self.normal();
                let cube = (1.0 + normal / (9.0 * least).sqrt()).powi(3);
                if cube > 0.0
                    && self.uniform().ln()
                        < 0.5 * normal * normal + least * (1.0 - cube + cube.ln())
                {
                    return least * cube / shape;
                }
            }
        }

        /// Arrivals until so much time is over.
        fn poisson(&mut self, mean: f64) -> f64 {
            if mean > 500.0 {
                return mean.sqrt().mul_add(self.normal(), mean).round().max(0.0);
            }
            let (mut at, mut count) = (-self.uniform().ln(), 0.0);
            while at < mean {
                at -= self.uniform().ln();
                count += 1.0;
            }
            count
        }
    }

    /// A table of rows, of which some differ between its sides.
    struct Experiment {
        rows: u32,
        runs: u32,
        /// Rows with another rate in B, of ten.
        changed: u32,
        noise: RunNoise,
    }

    /// What rates of a row vary by from run to run, besides chance.
    #[derive(Clone, Copy)]
    enum RunNoise {
        Nothing,
        /// The logarithm is normal, of this standard deviation.
        LogNormal(f64),
        /// Of this standard deviation: counts are negative binomial then.
        Gamma(f64),
    }

    impl RunNoise {
        fn factor(self, draws: &mut SeededDraws) -> f64 {
            match self {
                RunNoise::Nothing => 1.0,
                RunNoise::LogNormal(deviation) => (deviation * draws.normal()).exp(),
                RunNoise::Gamma(deviation) => draws.gamma(deviation),
            }
        }
    }

    #[derive(Default)]
    struct TableOutcome {
        discoveries: f64,
        wrong: f64,
        covered: f64,
        rows: f64,
    }

    impl Experiment {
        fn verdicts(&self, draws: &mut SeededDraws) -> TableOutcome {
            let mut sides: Vec<[Vec<RateCount>; 2]> = Vec::new();
            let mut truths = Vec::new();
            for row in 0..self.rows {
                let truth = if row % 10 < self.changed { 2.0 } else { 1.0 };
                let rate = 300.0 * draws.uniform().powi(4);
                truths.push(truth);
                let mut side = |of: f64, exposure: f64| -> Vec<RateCount> {
                    let mut run = || {
                        let mean = rate * of * exposure * self.noise.factor(draws);
                        RateCount { count: draws.poisson(mean), exposure }
                    };
                    (0..self.runs).map(|_| run()).collect()
                };
                sides.push([side(1.0, 1.0), side(truth, 1.3)]);
            }
            let sums: Vec<PearsonSum> = sides
                .iter()
                .map(|[a, b]| {
                    let mut sum = PearsonSum::default();
                    [a, b].into_iter().for_each(|side| sum.add(side));
                    sum
                })
                .collect();
            let mut pooled = PearsonSum::default();
            sums.iter().for_each(|sum| pooled.join(*sum));
            let all = |runs: &[RateCount]| {
                runs.iter().copied().fold(RateCount::default(), RateCount::join)
            };
            let (mut tested, mut verdicts) = (Vec::new(), TableOutcome::default());
            for ([a, b], (sum, truth)) in sides.iter().zip(sums.iter().zip(&truths)) {
                let dispersion = Dispersion::of_row(*sum, pooled);
                let (a, b) = (all(a), all(b));
                if a.count + b.count == 0.0 || least_likelihood(a, b, dispersion) >= 0.05 {
                    continue;
                }
                let RateRatio { low, high, likelihood, .. } = rate_ratio(a, b, dispersion, 0.95);
                verdicts.rows += 1.0;
                verdicts.covered += f64::from(u8::from(low <= *truth && *truth <= high));
                tested.push((likelihood, *truth));
            }
            let likelihoods: Vec<f64> = tested.iter().map(|(likelihood, _)| *likelihood).collect();
            for (rate, (_, truth)) in discovery_rates(&likelihoods).into_iter().zip(tested) {
                if rate <= 0.05 {
                    verdicts.discoveries += 1.0;
                    verdicts.wrong += f64::from(u8::from(truth == 1.0));
                }
            }
            verdicts
        }

        /// Of so many tables: the mean part of discoveries that are false, the part
        /// of intervals that hold the truth, the part of changed rows that were found.
        fn outcome(&self, seed: u64) -> [f64; 3] {
            const TABLES: u32 = 200;
            let mut draws = SeededDraws(seed);
            let [mut is_false, mut covered, mut rows, mut found] = [0.0; 4];
            for _ in 0..TABLES {
                let said = self.verdicts(&mut draws);
                is_false += said.wrong / said.discoveries.max(1.0);
                (covered, rows) = (covered + said.covered, rows + said.rows);
                found += said.discoveries - said.wrong;
            }
            let tables = f64::from(TABLES);
            let changed = f64::from(self.rows * self.changed) / 10.0;
            [is_false / tables, covered / rows, found / tables / changed.max(1.0)]
        }
    }

    #[test]
    fn where_nothing_changed_few_tables_say_otherwise() {
        let single = Experiment { rows: 60, runs: 1, changed: 0, noise: RunNoise::Nothing };
        let [is_false, covered, _] = single.outcome(1);
        assert!(is_false <= 0.05 && covered >= 0.95, "{is_false} {covered}");
    }

    #[test]
    fn discoveries_of_changed_tables_are_true() {
        let single = Experiment { rows: 60, runs: 1, changed: 3, noise: RunNoise::Nothing };
        let [is_false, covered, found] = single.outcome(2);
        assert!(is_false <= 0.05 && covered >= 0.95 && found > 0.3, "{is_false} {covered} {found}");
    }

    /// Runs that vary by 15 % each, which chance alone would call changes.
    #[test]
    fn what_runs_vary_by_is_no_change() {
        for (runs, changed, least_found) in [(3, 0, 0.0), (5, 0, 0.0), (10, 3, 0.3)] {
            let noisy = Experiment { rows: 60, runs, changed, noise: RunNoise::LogNormal(0.15) };
            let [is_false, covered, found] = noisy.outcome(3);
            let said = format!("{runs} runs: {is_false} {covered} {found}");
            assert!(is_false <= 0.05 && covered >= 0.94 && found >= least_found, "{said}");
        }
        // Which a single pair does not know.
        let unaware =
            Experiment { rows: 60, runs: 1, changed: 0, noise: RunNoise::LogNormal(0.15) };
        let [is_false, ..] = unaware.outcome(4);
        assert!(is_false > 0.05, "{is_false}");
    }

    /// What docs/diff.md says of 200 pairs. Of those alike one in twenty, or fewer, has a row told apart: the
    /// most is that and two standard errors. Of intervals 95 of 100 hold the truth, or more, as exact ones have to where
    /// counts are few; each case draws some 3,000, whose share has a standard error below 0.005.
    #[test]
    fn of_200_pairs_as_much_is_wrong_as_is_promised() {
        for (runs, noise, most_covered) in [
            (1, RunNoise::Nothing, 0.98),
            (5, RunNoise::Gamma(0.15), 0.99),
            (2, RunNoise::Gamma(0.3), 0.995),
        ] {
            let alike = Experiment { rows: 30, runs, changed: 0, noise };
            let changed = Experiment { rows: 30, runs, changed: 3, noise };
            let ([told, ..], [is_false, covered, _]) = (alike.outcome(5), changed.outcome(6));
            let said = format!("{runs} runs: {told} {is_false} {covered}");
            assert!(told <= 0.08 && is_false <= 0.05, "{said}");
            assert!((0.95..=most_covered).contains(&covered), "{said}");
        }
    }
}
