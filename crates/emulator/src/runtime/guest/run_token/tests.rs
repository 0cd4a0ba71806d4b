use super::*;

fn words() -> Vec<AtomicU64> {
    (0..WORDS).map(|_| AtomicU64::new(0)).collect()
}

#[test]
fn it_goes_to_the_next_by_number_all_around() {
    let words = words();
    let run_token = RunToken::new(&words, 200);
    for index in [3, 70, 199, 0] {
        run_token.join(index, false);
    }
    assert!(run_token.is_held(3), "who comes first runs at once");
    let mut holders = vec![3];
    for _ in 0..5 {
        let from = *holders.last().unwrap();
        run_token.queue.add(from);
        holders.push(run_token.pass(from).unwrap());
    }
    assert_eq!(holders, [3, 70, 199, 0, 3, 70]);
    assert_eq!(run_token.pass(3), None, "who has it not cannot pass it on");
}

#[test]
fn each_turn_has_another_number() {
    let words = words();
    let run_token = RunToken::new(&words, 10);
    let mut turns = vec![run_token.holding()];
    run_token.join(1, false);
    turns.push(run_token.holding());
    run_token.join(2, false);
    assert_eq!(run_token.holding(), turns[1], "who waits changes nothing");
    run_token.queue.add(1);
    for from in [1, 2] {
        run_token.pass(from);
        turns.push(run_token.holding());
    }
    assert_eq!(turns, [(None, 0), (Some(1), 1), (Some(2), 2), (Some(1), 3)]);
}

#[test]
fn a_thread_that_ends_passes_it_on() {
    let words = words();
    let run_token = RunToken::new(&words, 10);
    run_token.join(1, false);
    run_token.join(2, false);
    assert_eq!(run_token.leave(1), Some(2));
    assert!(run_token.is_held(2));
    assert_eq!(run_token.leave(2), None);
    assert!(run_token.claim(5), "nobody has it");
}

#[test]
fn who_waited_for_the_outside_comes_first_once() {
    let words = words();
    let run_token = RunToken::new(&words, 10);
    for index in 0..4 {
        run_token.join(index, false);
    }
    run_token.mark_urgent(3);
    assert!(run_token.is_urgent());
    assert_eq!(run_token.pass(0), Some(3));
    assert!(!run_token.is_urgent());
    run_token.mark_urgent(9);
    assert_eq!(run_token.pass(3), Some(1), "9 does not want to");
}

#[test]
fn those_that_were_woken_are_waited_for() {
    let words = words();
    let run_token = RunToken::new(&words, 10);
    for index in 1..5 {
        run_token.wait_slot(index).set_futex(0x1000);
    }
    run_token.wait_slot(5).set_futex(0x3000);
    assert!(
        !run_token.woken.wake(0x2000, 1, None) && run_token.woken.are_back(),
        "nobody waits there"
    );
    assert!(!run_token.woken.wake(0x1000, 1, Some(0)), "nor here, says the kernel");
    assert!(!run_token.woken.are_awaited());
    assert!(run_token.woken.wake(0x1000, 2, Some(4)) && !run_token.woken.are_back());
    assert!(run_token.woken.wake(0x3000, 9, None), "of another futex all");
    run_token.wait_slot(1).set_futex(0);
    assert!(run_token.woken.wake(0x1000, 1, Some(2)), "one more, before the second is back");
    run_token.wait_slot(3).set_futex(0);
    run_token.wait_slot(2).set_futex(0);
    assert!(!run_token.woken.are_back(), "5 is not");
    run_token.wait_slot(5).set_futex(0);
    assert!(run_token.woken.are_back(), "4 stays");
    run_token.woken.forget();
    assert!(!run_token.woken.are_awaited());
}

#[test]
fn a_thread_that_ends_wakes_one_more_than_is_known() {
    let words = words();
    let run_token = RunToken::new(&words, 10);
    for index in 1..4 {
        run_token.wait_slot(index).set_futex(0x1000);
    }
    assert!(run_token.woken.wake(0x1000, 1, Some(3)));
    run_token.wait_slot(7).clears(0x1000);
    assert_eq!(run_token.leave(7), None);
    run_token.wait_slot(1).set_futex(0);
    assert!(!run_token.woken.are_back());
    run_token.wait_slot(2).set_futex(0);
    assert!(run_token.woken.are_back());
}

#[test]
fn who_joins_a_thread_that_ends_is_next_before_it_comes() {
    let words = words();
    let run_token = RunToken::new(&words, 10);
    run_token.join(7, false);
    run_token.wait_slot(1).set_futex(0x1000);
    run_token.wait_slot(7).clears(0x1000);
    assert_eq!(run_token.leave(7), Some(1));
    assert!(
        run_token.is_held(1) && !run_token.woken.are_awaited() && !run_token.has_waiting(0x1000)
    );
}

#[test]
fn a_thread_that_goes_to_wait_is_looked_for_once() {
    let words = words();
    let run_token = RunToken::new(&words, 10);
    let futex = ProgramFutex { address: 0x1000, private: 128 };
    assert_eq!(run_token.pending_wait.take(), None);
    run_token.wait_slot(1).set_futex(0x1000);
    run_token.wait_slot(2).set_futex(0x1000);
    run_token.pending_wait.begin_wait(futex);
    assert_eq!(run_token.pending_wait.take(), Some(futex));
    assert_eq!(run_token.pending_wait.take(), None);
    assert!(
        !run_token.pending_wait.is_asleep(futex, 1) && run_token.pending_wait.is_asleep(futex, 2)
    );
    assert!(run_token.has_waiting(0x1000));
    run_token.forget_futex(0x1000);
    assert!(!run_token.has_waiting(0x1000) && !run_token.wait_slot(1).is_waiting_elsewhere());
}

#[test]
fn a_line_is_wanted_when_it_comes_again() {
    let words = words();
    let run_token = RunToken::new(&words, 10);
    assert!(!run_token.lines.moved(0x1000) && !run_token.lines.moved(0x1040));
    assert!(run_token.lines.moved(0x1000) && run_token.lines.moved(0x1040));
    for _ in 0..100 {
        assert!((1..=3).contains(&run_token.draw(3)));
    }
}
