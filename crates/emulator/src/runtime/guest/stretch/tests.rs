//! The places of bursts, over many periods.

use super::*;

/// The stretches of a thread's first `limit` instructions: state and range.
fn stretches(bursts: &Bursts, seed: u64, limit: u64) -> Vec<(u64, u64, u64)> {
    let mut stretch = Stretch::new(bursts, seed);
    let mut found = Vec::new();
    let mut at = 0;
    while at < limit {
        let mut length = 0;
        while stretch.left > 0 {
            length += stretch.part(u64::MAX);
        }
        found.push((stretch.state, at, at + length));
        at += length;
        stretch.turn(bursts);
    }
    found
}

#[test]
fn of_each_period_so_many_instructions_are_counted() {
    for (on, every) in [(1, 1), (1, 1000), (100, 1000), (999, 1000), (1_000_000, 1 << 40)] {
        let bursts = Bursts { on, every, warm: on };
        let limit = 5000 * every;
        let all = stretches(&bursts, 7, limit);
        let counted: u64 =
            all.iter().filter(|(state, ..)| *state == ON).map(|(_, from, to)| to - from).sum();
        // The last period, and a burst that reaches over either end.
        let expected = 5000 * on;
        assert!(counted.abs_diff(expected) <= 2 * on, "{counted} of {limit}, {on}/{every}");
    }
}

/// Each place of a period is in a burst as often as any other: a program
/// whose phases are as long as the period is sampled like all others.
#[test]
fn no_place_of_a_period_is_preferred() {
    let bursts = Bursts { on: 50, every: 1000, warm: 50 };
    let periods = 40_000;
    for seed in 1..4 {
        let mut covered = [0_u64; 20];
        for (state, from, to) in stretches(&bursts, seed, periods * 1000) {
            if state != ON {
                continue;
            }
            for at in from..to {
                covered[usize::try_from(at % 1000 / 50).unwrap()] += 1;
            }
        }
        let expected = periods * 50 / 20;
        for (place, count) in covered.into_iter().enumerate() {
            // 5 standard deviations: 2000 of 40,000 periods have their burst
            // there.
            let off = count.abs_diff(expected);
            assert!(off < expected / 9, "seed {seed}, place {place}: {count} of {expected}");
        }
    }
}

/// The first instructions of a thread are as likely as all others to be
/// counted.
#[test]
fn a_short_thread_has_its_share() {
    let bursts = Bursts { on: 100, every: 1000, warm: 100 };
    let hit = (0..20_000).filter(|seed| Stretch::new(&bursts, *seed).state == ON).count();
    assert!((1850..2150).contains(&hit), "{hit} of 20,000");
}

#[test]
fn bursts_have_a_warm_up_within_their_gap() {
    let bursts = Bursts { on: 400, every: 1000, warm: 400 };
    let all = stretches(&bursts, 3, 1_000_000);
    let mut gaps = 0;
    for pair in all.windows(2) {
        let [(state, from, to), (next, ..)] = pair else { unreachable!() };
        match *state {
            GAP => {
                assert_eq!(*next, WARM);
                gaps += 1;
            }
            WARM => {
                assert_eq!(*next, ON);
                assert!(to - from <= 400);
            }
            _ => assert!(from == &0 || to - from == 400),
        }
    }
    assert!(gaps > 300, "{gaps}");
}

#[test]
fn the_same_seed_gives_the_same_places() {
    let bursts = Bursts { on: 10, every: 1000, warm: 10 };
    assert_eq!(stretches(&bursts, 5, 100_000), stretches(&bursts, 5, 100_000));
    assert_ne!(stretches(&bursts, 5, 100_000), stretches(&bursts, 6, 100_000));
    let parent = Stretch::new(&bursts, 5);
    let child = parent.child(1);
    assert_eq!((child.state, child.left, child.rest), (parent.state, parent.left, parent.rest));
    assert_ne!(child.random, parent.random);
}

#[test]
fn words_are_those_in_memory() {
    let mut words = [0; WORDS];
    for (at, word) in (1_u64..).zip(&mut words) {
        *word = at;
    }
    let stretch = Stretch::of(words);
    assert_eq!(stretch.words(), words);
    let at = |offset: usize| words[offset / 8];
    assert_eq!(stretch.rest.cast_unsigned(), at(std::mem::offset_of!(Stretch, rest)));
    assert_eq!(stretch.ran[1], at(std::mem::offset_of!(Stretch, ran) + 8));
    assert_eq!(stretch.bursts, at(std::mem::offset_of!(Stretch, bursts)));
}

#[test]
fn a_long_stretch_is_given_in_parts() {
    let bursts = Bursts { on: 1 << 33, every: 1 << 33, warm: 0 };
    let mut stretch = Stretch::new(&bursts, 1);
    let mut sum = 0;
    while stretch.left > 0 {
        let part = stretch.part(u64::MAX);
        assert!(part <= 1 << 30);
        sum += part;
    }
    assert!(sum > 0 && sum <= 1 << 33);
}
