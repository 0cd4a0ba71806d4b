//! Accounts of one event, and of several.

use super::*;

/// Of one event: 100 delivered of 110.
fn ledger() -> Ledger {
    let mut ledger = Ledger::of(["event"]);
    ledger.tail_known = true;
    ledger.deliver(0, 100, 0);
    ledger.lose(0, 3, |lost| &mut lost.beyond_count);
    ledger.take_event_account(0, counted(110), Some(7));
    ledger
}

fn counted(events: u64) -> EventAccount {
    EventAccount { events, kernel: Some(events), ..EventAccount::default() }
}

fn with_kernel(kernel: Option<u64>) -> Ledger {
    let mut ledger = ledger();
    ledger.kernel = kernel;
    ledger.by_event[0].kernel = kernel;
    ledger
}

#[test]
fn a_sound_account_has_nothing_left_over() {
    assert_eq!(ledger().unaccounted(), Some(0));
    assert_eq!(
        ledger().to_string(),
        "100 records, 7 lost (ring 7), 3 more left out after the count was reached"
    );
}

#[test]
fn what_has_no_cause_is_said_with_its_sign() {
    let short = with_kernel(Some(120));
    assert!(short.to_string().ends_with(", 10 unaccounted for"), "{short}");
    assert_eq!(with_kernel(Some(108)).unaccounted(), Some(-2));
    assert_eq!(with_kernel(None).unaccounted(), None);
}

#[test]
fn a_stop_explains_one_record_a_cpu_and_no_more() {
    let missing = |count: u64| {
        let mut ledger = with_kernel(Some(110 + count));
        ledger.record_stop_losses(2);
        assert_eq!(ledger.by_event[0].lost, ledger.lost);
        (ledger.lost.stop, ledger.unaccounted())
    };
    assert_eq!(missing(0), (0, Some(0)));
    assert_eq!(missing(2), (2, Some(0)));
    assert_eq!(missing(3), (0, Some(3)));
    let mut over = with_kernel(Some(108));
    over.record_stop_losses(2);
    assert_eq!(over.unaccounted(), Some(-2));
}

#[test]
fn the_note_is_pairs() {
    let mut ledger = Ledger { wall: Duration::from_millis(1500), ..ledger() };
    ledger.rate_lowered = Some(RateLowered { from: 100_000, to: 50_000 });
    let note = ledger.note(0);
    assert!(note.starts_with("events=110;kernel=110;delivered=100;exact_ip=0;lost.ring=7;"));
    assert!(note.contains(";max_sample_rate.before=100000;max_sample_rate.after=50000;"));
    assert!(note.ends_with(";seconds=1.500000"), "{note}");
    assert!(note.split(';').all(|pair| pair.split('=').count() == 2));
}

fn two() -> Ledger {
    let mut ledger = Ledger::of(["fast", "slow"]);
    ledger.tail_known = true;
    ledger.deliver(0, 90, 9);
    ledger.deliver(1, 10, 10);
    ledger.take_event_account(0, counted(100), Some(8));
    ledger.take_event_account(1, counted(11), Some(0));
    ledger
}

#[test]
fn several_events_have_accounts_of_their_own_and_a_sum() {
    let mut ledger = two();
    ledger.record_stop_losses(2);
    assert_eq!((ledger.events, ledger.kernel, ledger.delivered), (111, Some(111), 100));
    assert_eq!((ledger.lost.ring, ledger.lost.stop, ledger.unaccounted()), (8, 3, Some(0)));
    assert_eq!(ledger.to_string(), "100 records (fast 90, slow 10), 11 lost (ring 8, stop 3)");
    assert!(ledger.note(0).starts_with("events=100;kernel=100;delivered=90;exact_ip=9;"));
    assert!(ledger.note(1).starts_with("events=11;kernel=11;delivered=10;exact_ip=10;"));
    assert!(ledger.note(1).contains("lost.stop=1;unaccounted=0;"), "{}", ledger.note(1));
    assert!(!ledger.note(1).contains(";throttled="), "told once");
    assert_eq!(ledger.note(2), "");
}

#[test]
fn one_count_that_does_not_tell_makes_the_sum_not_tell() {
    for unsure in [0, 1] {
        let mut ledger = Ledger::of(["fast", "slow"]);
        for event in 0..2 {
            let kernel = (event != unsure).then_some(5);
            ledger.take_event_account(event, EventAccount { kernel, ..counted(5) }, Some(0));
        }
        assert_eq!((ledger.kernel, ledger.events), (None, 10));
    }
}

#[test]
fn what_is_of_no_known_event_is_booked_once_and_blamed_on_none() {
    let mut ledger = two();
    ledger.lost.foreign = 2;
    ledger.record_stop_losses(2);
    assert_eq!((ledger.lost.stop, ledger.unaccounted()), (0, Some(1)));
    assert!(ledger.to_string().contains("(ring 8, foreign 2), 1 unaccounted for"), "{ledger}");
}

#[test]
fn lines_lost_by_a_text_output_leave_the_split_unsaid() {
    let mut ledger = two();
    ledger.delivered -= 1;
    ledger.lost.sink += 1;
    assert!(ledger.to_string().starts_with("99 records, 9 lost"), "{ledger}");
}

#[test]
fn an_event_that_shared_its_counter_says_so() {
    let said = |on_counter| {
        let mut ledger = Ledger::of(["loads", "stores"]);
        ledger.tail_known = true;
        ledger.take_event_account(1, EventAccount { on_counter, ..EventAccount::default() }, None);
        ledger.to_string()
    };
    let plain = said(None);
    assert_eq!((said(Some(1.0)), said(Some(0.996))), (plain.clone(), plain));
    assert!(said(Some(0.433)).contains(", stores had a counter 43.3 % of the time"));
    assert!(said(Some(0.0)).contains(", stores never got a counter ("));
}

#[test]
fn a_lowered_sample_rate_is_told() {
    let rate_lowered = Some(RateLowered { from: 100_000, to: 25_000 });
    let ledger = Ledger { rate_lowered, throttled: 3, ..ledger() };
    let text = ledger.to_string();
    assert!(text.contains(
        ", throttled 3 times (what came meanwhile is in no count: give a larger interval), the kernel \
         lowered perf_event_max_sample_rate from 100000 to 25000"
    ));
}

#[test]
fn what_throttling_cost_is_a_loss_of_its_event() {
    let mut ledger = Ledger::of(["fast", "slow"]);
    ledger.throttle(Some(0));
    ledger.throttle(None);
    assert!(ledger.was_throttled(0) && !ledger.was_throttled(1));
    ledger.deliver(0, 400, 400);
    ledger.lose(0, 2_100, |lost| &mut lost.throttled);
    let said = EventAccount { events: 40_000, kernel: Some(2_500), ..EventAccount::default() };
    ledger.take_event_account(0, said, Some(0));
    assert_eq!(ledger.by_event[0].unaccounted(), Some(0), "kernel = delivered + lost");
    assert!(ledger.was_throttled(0), "settling keeps it");
    assert!(ledger.note(0).contains("lost.throttled=2100;"), "{}", ledger.note(0));
    let text = ledger.to_string();
    assert!(text.starts_with("400 records"), "{text}");
    assert!(text.contains("2100 lost (throttled 2100)"), "{text}");
    assert!(text.ends_with(", throttled 2 times"), "{text}");
}

#[test]
fn an_account_that_a_daemon_sends_says_what_the_ledger_said() {
    let rate_lowered = Some(RateLowered { from: 100_000, to: 25_000 });
    let mut ledger = Ledger { rate_lowered, throttled: 3, ..two() };
    ledger.by_event[1].on_counter = Some(0.433);
    ledger.by_event[1].enabled = Duration::from_millis(1500);
    ledger.enabled = Duration::from_millis(1500);
    ledger.tail_known = false;
    let sent = serde_json::to_vec(&ledger.account()).unwrap();
    let mut heard = Ledger::of(["fast", "slow"]);
    heard.take_over(&serde_json::from_slice(&sent).unwrap());
    assert_eq!((heard.exact_ip, heard.enabled), (19, Duration::from_millis(1500)));
    // Which event each record was of goes by the stream.
    let whole = ledger.to_string().replace(" (fast 90, slow 10)", "");
    assert_eq!(heard.to_string(), whole);
    assert!(whole.contains("throttled 3 times") && whole.contains("slow had a counter 43.3 %"));
}

#[test]
fn an_account_of_an_older_daemon_is_read() {
    let sent = br#"{"delivered":3,"lost":{},"side":0,"side_lost":0}"#;
    let mut heard = Ledger::of(["event"]);
    heard.take_over(&serde_json::from_slice(sent).unwrap());
    assert_eq!((heard.delivered, heard.exact_ip, heard.throttled), (3, 0, 0));
    assert_eq!(heard.to_string(), "3 records, 0 lost");
}

/// Counted in the kernel: 110 hits, of which the program saw so many.
fn counted_in_kernel(seen: u64) -> Ledger {
    let mut ledger = Ledger { aggregates: Some(2), ..Ledger::of(["event"]) };
    ledger.tail_known = true;
    ledger.deliver(0, 90, 0);
    ledger.lose(0, 4, |lost| &mut lost.no_room);
    let mut said = EventAccount { seen: Some(seen), ..counted(110) };
    said.filtered.add("pid", 5);
    said.filtered.add("comm", 0);
    said.filtered.add("pid", 1);
    ledger.take_event_account(0, said, Some(0));
    ledger
}

#[test]
fn what_was_filtered_is_neither_delivered_nor_lost() {
    let mut ledger = counted_in_kernel(100);
    assert_eq!(ledger.unaccounted(), Some(10));
    ledger.record_busy_losses();
    assert_eq!((ledger.lost.kernel_busy, ledger.unaccounted()), (10, Some(0)));
    assert_eq!(ledger.by_event[0].lost, ledger.lost);
    assert_eq!(
        ledger.to_string(),
        "90 counted in 2 aggregates, 14 lost (no_room 4, kernel_busy 10), 6 filtered out in the \
         kernel (pid 6)"
    );
    let note = ledger.note(0);
    for pair in ["seen=100", "filtered.pid=6", "aggregates=2", "lost.no_room=4", "unaccounted=0"] {
        assert!(note.split(';').any(|found| found == pair), "{pair}: {note}");
    }
    assert!(!note.contains("filtered.comm"), "{note}");
}

#[test]
fn what_the_program_saw_is_never_put_down_to_the_kernel() {
    let mut ledger = counted_in_kernel(103);
    ledger.record_busy_losses();
    assert_eq!((ledger.lost.kernel_busy, ledger.unaccounted()), (7, Some(3)));
    for (seen, stop, unaccounted) in [(100, 10, 0), (110, 0, 10)] {
        let mut stopped = counted_in_kernel(seen);
        stopped.record_stop_losses(10);
        stopped.record_busy_losses();
        assert_eq!((stopped.lost.stop, stopped.lost.kernel_busy), (stop, 0), "{seen}");
        assert_eq!(stopped.unaccounted(), Some(unaccounted), "{seen}");
    }
}

/// 40,000 events, of which so many records came through, every so many.
fn sampled_every(interval: u64, delivered: u64, openings: u64) -> Ledger {
    let mut ledger = Ledger::of(["loads"]);
    ledger.tail_known = true;
    ledger.deliver(0, delivered, delivered);
    ledger.lose(0, 3, |lost| &mut lost.ring);
    let said = EventAccount { events: 40_000, ..EventAccount::default() };
    ledger.take_event_account(0, said, Some(0));
    ledger.record_unrecorded_events(0, interval, openings);
    ledger
}

#[test]
fn events_that_no_record_stands_for_are_said() {
    let one = sampled_every(1, 39_964, 4);
    assert_eq!(
        (one.unrecorded_events, one.by_event[0].unrecorded_events),
        (33, 33),
        "no rest of an interval of 1"
    );
    assert!(one.to_string().ends_with(", 33 events that no record stands for"), "{one}");
    assert!(one.note(0).contains(";uncovered=33;"), "{}", one.note(0));
    // 40,000 is 412 times 97, and 36.
    for (delivered, openings, unrecorded_events) in
        [(409, 1, 0), (408, 1, 97 + 36 - 96), (408, 2, 0), (380, 1, 29 * 97 + 36 - 96)]
    {
        let ledger = sampled_every(97, delivered, openings);
        assert_eq!(
            ledger.unrecorded_events, unrecorded_events,
            "{delivered} records, {openings} openings"
        );
        assert_eq!(
            ledger.note(0).contains("uncovered"),
            unrecorded_events > 0,
            "{}",
            ledger.note(0)
        );
    }
    let mut heard = Ledger::of(["loads"]);
    heard.take_over(&serde_json::from_slice(&serde_json::to_vec(&one.account()).unwrap()).unwrap());
    assert_eq!(heard.to_string(), one.to_string());
}

#[test]
fn where_losses_are_not_known_nothing_is_said_of_events() {
    let with = |change: fn(&mut Ledger)| {
        let mut ledger = Ledger { unrecorded_events: 0, ..sampled_every(1, 39_964, 1) };
        change(&mut ledger);
        ledger.record_unrecorded_events(0, 1, 1);
        ledger.unrecorded_events
    };
    assert_eq!(with(|_| {}), 33);
    assert_eq!(with(|ledger| ledger.tail_known = false), 0);
    assert_eq!(with(|ledger| ledger.lost.parse_error = 1), 0);
    assert_eq!(with(|ledger| ledger.lost.collision = 20), 13, "what no event is charged with");
}

#[test]
fn a_count_that_left_something_out_is_in_the_note() {
    let note = |reached| Ledger { count_reached: reached, ..ledger() }.note(0);
    let ran_on = note(CountReached::new(100, true, 0));
    assert!(ran_on.contains(";count.reached=100;count.ran_on=yes;"), "{ran_on}");
    let ended = note(CountReached::new(100, false, 3));
    assert!(ended.contains(";count.reached=100;"), "{ended}");
    assert!(!ended.contains("ran_on"), "{ended}");
    assert_eq!(CountReached::new(100, false, 0), None, "it was the last record");
    assert!(!note(None).contains("count.reached"));
}
