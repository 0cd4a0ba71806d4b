use super::*;
use proptest::prelude::*;

fn drain(rounds: &mut OrderedRounds<u64>) -> Vec<u64> {
    let mut out = Vec::new();
    while let Some((tag, bytes)) = rounds.pop() {
        assert_eq!(bytes, tag.to_le_bytes());
        out.push(tag);
    }
    out
}

fn push(rounds: &mut OrderedRounds<u64>, time: u64) {
    rounds.push(Some(Time(time)), time, &time.to_le_bytes());
}

fn pass(rounds: &mut OrderedRounds<u64>, times: &[u64]) -> Vec<u64> {
    for &time in times {
        push(rounds, time);
    }
    rounds.finish_round();
    drain(rounds)
}

/// The example beside process_finished_round() in tools/perf: two CPUs,
/// three passes.
#[test]
fn the_example_of_the_specification() {
    let mut rounds = OrderedRounds::default();
    assert_eq!(pass(&mut rounds, &[1, 2, 2, 3, 4]), []);
    assert_eq!(pass(&mut rounds, &[3, 4, 5, 5, 6, 7]), [1, 2, 2, 3, 3, 4, 4]);
    assert_eq!(pass(&mut rounds, &[6, 7, 8, 9, 10]), [5, 5, 6, 6, 7, 7]);
    rounds.finish();
    assert_eq!(drain(&mut rounds), [8, 9, 10]);
    assert_eq!((rounds.late(), rounds.held().count()), (0, 0));
}

#[test]
fn records_of_one_time_keep_their_order() {
    let mut rounds = OrderedRounds::default();
    for number in 0..3u64 {
        rounds.push(Some(Time(7)), number, &number.to_le_bytes());
    }
    rounds.finish();
    assert_eq!(drain(&mut rounds), [0, 1, 2]);
}

#[test]
fn records_without_a_time_go_first_and_are_not_late() {
    let mut rounds = OrderedRounds::default();
    assert_eq!(pass(&mut rounds, &[10, 20]), []);
    assert_eq!(pass(&mut rounds, &[30]), [10, 20]);
    push(&mut rounds, 40);
    for number in [1, 2u64] {
        rounds.push(None, number, &number.to_le_bytes());
    }
    rounds.finish_round();
    assert_eq!((drain(&mut rounds), rounds.late()), (vec![1, 2, 30], 0));
}

#[test]
fn without_room_the_older_half_goes() {
    let mut rounds = OrderedRounds::default();
    for time in [4, 3, 2, 1, 8, 7, 6, 5] {
        push(&mut rounds, time);
    }
    assert!(rounds.size() > 8 * 24, "{}", rounds.size());
    rounds.make_room();
    assert_eq!(drain(&mut rounds), [1, 2, 3, 4, 5]);
    push(&mut rounds, 4);
    assert_eq!((rounds.late(), rounds.held().count()), (1, 4));
    rounds.finish();
    assert_eq!(drain(&mut rounds), [4, 6, 7, 8]);
    rounds.make_room();
    assert_eq!(drain(&mut rounds), []);
}

#[test]
fn the_largest_record_fits_and_more_is_cut() {
    let mut rounds = OrderedRounds::default();
    let large: Vec<u8> = (0..70_000u32).map(|number| number.to_le_bytes()[0]).collect();
    for time in [2, 1, 4, 3] {
        rounds.push(Some(Time(time)), time, &large);
    }
    rounds.make_room();
    rounds.finish();
    for time in 1..5 {
        assert_eq!(rounds.pop(), Some((time, &large[..65_535])));
    }
    assert_eq!(rounds.pop(), None);
}

#[test]
fn an_empty_round_lets_the_one_before_go() {
    let mut rounds = OrderedRounds::default();
    assert_eq!(pass(&mut rounds, &[1, 2]), []);
    assert_eq!(pass(&mut rounds, &[]), [1, 2]);
}

#[test]
fn a_broken_rule_is_counted_and_nothing_is_lost() {
    let mut rounds = OrderedRounds::default();
    pass(&mut rounds, &[10, 20]);
    assert_eq!(pass(&mut rounds, &[30]), [10, 20]);
    push(&mut rounds, 5);
    assert_eq!(rounds.late(), 1);
    rounds.finish_round();
    assert_eq!(drain(&mut rounds), [5, 30]);
}

proptest! {
    /// Passes that obey the rule come out sorted, whatever the order within;
    /// and never more than two rounds are held.
    #[test]
    fn passes_that_obey_come_out_in_order(
        steps in prop::collection::vec(prop::collection::vec(0u64..100, 0..20), 0..20),
    ) {
        let mut rounds = OrderedRounds::default();
        let mut out = Vec::new();
        let mut pushed = 0;
        let mut last = 0;
        for (number, offsets) in (0u64..).zip(&steps) {
            for offset in offsets {
                // Pass n has times from 50 n to 50 n + 99: n and n+2 do not meet.
                push(&mut rounds, number * 50 + offset);
                pushed += 1;
            }
            rounds.finish_round();
            out.extend(drain(&mut rounds));
            prop_assert!(rounds.held().count() <= offsets.len() + last);
            last = offsets.len();
        }
        rounds.finish();
        out.extend(drain(&mut rounds));
        prop_assert_eq!(out.len(), pushed);
        prop_assert!(out.is_sorted());
        prop_assert_eq!(rounds.late(), 0);
    }
}
