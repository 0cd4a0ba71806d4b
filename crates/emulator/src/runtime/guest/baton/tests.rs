use super::*;

fn words() -> Vec<AtomicU64> {
    (0..WORDS).map(|_| AtomicU64::new(0)).collect()
}

#[test]
fn it_goes_to_the_next_by_number_all_around() {
    let words = words();
    let baton = Baton::new(&words, 200);
    for index in [3, 70, 199, 0] {
        baton.join(index, false);
    }
    assert!(baton.is_held(3), "who comes first runs at once");
    let mut holders = vec![3];
    for _ in 0..5 {
        let from = *holders.last().unwrap();
        baton.queue.add(from);
        holders.push(baton.pass(from).unwrap());
    }
    assert_eq!(holders, [3, 70, 199, 0, 3, 70]);
    assert_eq!(baton.pass(3), None, "who has it not cannot pass it on");
}

#[test]
fn each_turn_has_another_number() {
    let words = words();
    let baton = Baton::new(&words, 10);
    let mut turns = vec![baton.holding()];
    baton.join(1, false);
    turns.push(baton.holding());
    baton.join(2, false);
    assert_eq!(baton.holding(), turns[1], "who waits changes nothing");
    baton.queue.add(1);
    for from in [1, 2] {
        baton.pass(from);
        turns.push(baton.holding());
    }
    assert_eq!(turns, [(None, 0), (Some(1), 1), (Some(2), 2), (Some(1), 3)]);
}

#[test]
fn a_thread_that_ends_passes_it_on() {
    let words = words();
    let baton = Baton::new(&words, 10);
    baton.join(1, false);
    baton.join(2, false);
    assert_eq!(baton.leave(1), Some(2));
    assert!(baton.is_held(2));
    assert_eq!(baton.leave(2), None);
    assert!(baton.claim(5), "nobody has it");
}

#[test]
fn who_waited_for_the_outside_comes_first_once() {
    let words = words();
    let baton = Baton::new(&words, 10);
    for index in 0..4 {
        baton.join(index, false);
    }
    baton.hurry(3);
    assert!(baton.is_urgent());
    assert_eq!(baton.pass(0), Some(3));
    assert!(!baton.is_urgent());
    baton.hurry(9);
    assert_eq!(baton.pass(3), Some(1), "9 does not want to");
}

#[test]
fn those_that_were_woken_are_waited_for() {
    let words = words();
    let baton = Baton::new(&words, 10);
    for index in 1..5 {
        baton.seat(index).waits_at(0x1000);
    }
    baton.seat(5).waits_at(0x3000);
    assert!(!baton.woken.wake(0x2000, 1, None) && baton.woken.are_back(), "nobody waits there");
    assert!(!baton.woken.wake(0x1000, 1, Some(0)), "nor here, says the kernel");
    assert!(!baton.woken.are_awaited());
    assert!(baton.woken.wake(0x1000, 2, Some(4)) && !baton.woken.are_back());
    assert!(baton.woken.wake(0x3000, 9, None), "of another futex all");
    baton.seat(1).waits_at(0);
    assert!(baton.woken.wake(0x1000, 1, Some(2)), "one more, before the second is back");
    baton.seat(3).waits_at(0);
    baton.seat(2).waits_at(0);
    assert!(!baton.woken.are_back(), "5 is not");
    baton.seat(5).waits_at(0);
    assert!(baton.woken.are_back(), "4 stays");
    baton.woken.forget();
    assert!(!baton.woken.are_awaited());
}

#[test]
fn a_thread_that_ends_wakes_one_more_than_is_known() {
    let words = words();
    let baton = Baton::new(&words, 10);
    for index in 1..4 {
        baton.seat(index).waits_at(0x1000);
    }
    assert!(baton.woken.wake(0x1000, 1, Some(3)));
    baton.seat(7).clears(0x1000);
    assert_eq!(baton.leave(7), None);
    baton.seat(1).waits_at(0);
    assert!(!baton.woken.are_back());
    baton.seat(2).waits_at(0);
    assert!(baton.woken.are_back());
}

#[test]
fn who_joins_a_thread_that_ends_is_next_before_it_comes() {
    let words = words();
    let baton = Baton::new(&words, 10);
    baton.join(7, false);
    baton.seat(1).waits_at(0x1000);
    baton.seat(7).clears(0x1000);
    assert_eq!(baton.leave(7), Some(1));
    assert!(baton.is_held(1) && !baton.woken.are_awaited() && !baton.has_waiting(0x1000));
}

#[test]
fn a_thread_that_goes_to_wait_is_looked_for_once() {
    let words = words();
    let baton = Baton::new(&words, 10);
    let futex = ProgramFutex { address: 0x1000, private: 128 };
    assert_eq!(baton.sinking.take(), None);
    baton.seat(1).waits_at(0x1000);
    baton.seat(2).waits_at(0x1000);
    baton.sinking.goes(futex);
    assert_eq!(baton.sinking.take(), Some(futex));
    assert_eq!(baton.sinking.take(), None);
    assert!(!baton.sinking.is_down(futex, 1) && baton.sinking.is_down(futex, 2));
    assert!(baton.has_waiting(0x1000));
    baton.lose(0x1000);
    assert!(!baton.has_waiting(0x1000) && !baton.seat(1).is_away());
}

#[test]
fn a_line_is_wanted_when_it_comes_again() {
    let words = words();
    let baton = Baton::new(&words, 10);
    assert!(!baton.lines.moved(0x1000) && !baton.lines.moved(0x1040));
    assert!(baton.lines.moved(0x1000) && baton.lines.moved(0x1040));
    for _ in 0..100 {
        assert!((1..=3).contains(&baton.draw(3)));
    }
}
