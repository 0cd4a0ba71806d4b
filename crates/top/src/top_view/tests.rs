use super::*;
use crate::counted_report::{report, row};

fn press(view: &mut TopView, keys: &str) -> TopAction {
    let mut last = TopAction::None;
    for key in keys.chars() {
        let key = match key {
            '\n' => TopKey::Enter,
            '\t' => TopKey::Tab,
            '\u{1b}' => TopKey::Esc,
            '\u{8}' => TopKey::Backspace,
            '^' => TopKey::Up,
            'v' => TopKey::Down,
            '<' => TopKey::Home,
            '>' => TopKey::End,
            letter => TopKey::Char(letter),
        };
        last = view.press(key);
    }
    last
}

fn names(view: &TopView) -> Vec<&str> {
    view.rows.iter().map(|row| row.name.as_str()).collect()
}

fn viewed() -> TopView {
    let mut view = TopView::new("./server");
    view.add(&report(vec![row("sort", 1, 90), row("walk", 1, 10)], 0), 1.0);
    view.add(&report(vec![row("walk", 2, 30), row("sort", 1, 10)], 3), 1.0);
    view
}

#[test]
fn rows_stand_by_the_last_interval_and_then_by_all() {
    let mut view = viewed();
    assert_eq!(names(&view), ["walk+0x10", "sort+0x10"]);
    let counts = |view: &TopView| -> Vec<(u64, u64)> {
        view.rows.iter().map(|row| (row.count.samples, row.count.now_samples)).collect()
    };
    assert_eq!(counts(&view), [(40, 30), (100, 10)]);
    press(&mut view, "s");
    assert_eq!(names(&view), ["sort+0x10", "walk+0x10"], "by all");
    press(&mut view, "s");
    assert_eq!(names(&view), ["walk+0x10", "sort+0x10"], "by latency");
    press(&mut view, "sS");
    assert_eq!(names(&view), ["walk+0x10", "sort+0x10"], "by name, reversed");
    view.end("status 0");
    press(&mut view, "sS");
    assert_eq!(counts(&view), [(100, 0), (40, 0)], "nothing happens any more");
}

#[test]
fn each_view_adds_up_all_samples() {
    let mut view = viewed();
    for (digit, rows) in [("1", 2), ("2", 2), ("3", 1), ("4", 2), ("5", 2), ("6", 1)] {
        press(&mut view, digit);
        let sum: u64 = view.rows.iter().map(|row| row.count.samples).sum();
        assert_eq!((view.rows.len(), sum), (rows, 140), "view {digit}");
    }
    press(&mut view, "\t");
    assert_eq!(view.kind(), ViewKind::Sites);
    press(&mut view, "5");
    assert_eq!(names(&view), ["RAM hit", "L2 hit"]);
    let means: Vec<_> = view.rows.iter().filter_map(|row| row.count.mean()).collect();
    assert_eq!(means, [200.0, 14.0]);
}

#[test]
fn threads_are_told_apart_and_put_together() {
    let mut view = viewed();
    press(&mut view, "t");
    let rows: Vec<_> = view
        .rows
        .iter()
        .map(|row| (row.thread.as_deref().unwrap(), &*row.name, row.count.samples))
        .collect();
    assert_eq!(
        rows,
        [
            ("server 2", "walk+0x10", 30),
            ("server 1", "sort+0x10", 100),
            ("server 1", "walk+0x10", 10)
        ]
    );
    press(&mut view, "t");
    assert_eq!(view.rows.len(), 2);
}

#[test]
fn a_stopped_screen_shows_what_was_while_counting_goes_on() {
    let mut view = viewed();
    press(&mut view, "p");
    assert!(view.is_paused());
    view.add(&report(vec![row("late", 1, 1000)], 0), 1.0);
    assert_eq!(names(&view), ["walk+0x10", "sort+0x10"]);
    press(&mut view, "3");
    assert_eq!(view.rows[0].count.samples, 140, "other views are of the same time");
    press(&mut view, "1 ");
    assert_eq!(names(&view), ["late+0x10", "sort+0x10", "walk+0x10"]);
}

#[test]
fn filters_are_typed_seen_at_once_and_taken_back() {
    let mut view = viewed();
    press(&mut view, "/SOR");
    assert_eq!(names(&view), ["sort+0x10"]);
    press(&mut view, "q\u{8}T\n");
    assert_eq!((names(&view), &*view.filter), (vec!["sort+0x10"], "sort"));
    assert_eq!(press(&mut view, "/walk\u{1b}"), TopAction::None);
    assert_eq!(names(&view), ["sort+0x10"], "Esc leaves the filter as it was");
    press(&mut view, "/\n");
    assert_eq!(view.rows.len(), 2);
}

#[test]
fn the_cursor_follows_the_row_that_it_was_moved_to() {
    let mut view = viewed();
    press(&mut view, "v");
    assert_eq!(view.rows[view.paging.at].name, "sort+0x10");
    view.add(&report(vec![row("sort", 1, 5)], 0), 1.0);
    assert_eq!((view.paging.at, names(&view)[0]), (0, "sort+0x10"));
    press(&mut view, "v>^<");
    view.add(&report(vec![row("walk", 1, 5)], 0), 1.0);
    assert_eq!((view.paging.at, names(&view)[0]), (0, "walk+0x10"), "at the top it stays there");
}

#[test]
fn a_routine_is_asked_for_by_its_address() {
    let mut view = viewed();
    let TopAction::Zoom(target) = press(&mut view, "\n") else { panic!("no routine") };
    assert_eq!(target.to_string(), "0x1004@/usr/bin/server");
    view.zoomed("one\ntwo\tand\u{1b}[2J\nthree");
    press(&mut view, ">");
    let Above::Zoom { text, .. } = &view.above else { panic!("nothing is above") };
    assert_eq!((text.first, text.lines.as_ref().unwrap().len()), (2, 3));
    assert!(!text.lines.as_ref().unwrap()[1].contains('\u{1b}'));
    assert_eq!(press(&mut view, "r"), TopAction::Zoom(target));
    press(&mut view, "q");
    assert_eq!(view.above, Above::Nothing);
    assert_eq!(press(&mut view, "q"), TopAction::Quit);
}

#[test]
fn control_keys_hold_whatever_is_above() {
    let control = TopKey::Control;
    for before in ["", "h", "\n", "/abc"] {
        let mut view = viewed();
        press(&mut view, before);
        assert_eq!(view.press(control('z')), TopAction::Suspend);
        assert_eq!(view.press(control('c')), TopAction::Quit);
    }
}

#[test]
fn lines_are_wanted_once_they_are_looked_at() {
    let mut view = TopView::new("./server");
    let mut first = report(vec![row("sort", 1, 5)], 0);
    first.events[0].rows[0].cells.pop();
    view.add(&first, 1.0);
    assert!(!view.wants_lines());
    press(&mut view, "4");
    assert_eq!(names(&view), ["[lines were not looked up yet]"]);
    view.add(&report(vec![row("sort", 1, 3)], 0), 1.0);
    assert_eq!(names(&view), ["/src/sort.c:7", "[lines were not looked up yet]"]);
    press(&mut view, "1");
    assert!(view.wants_lines(), "what was begun is gone on with");
    assert_eq!(view.rows[0].count.samples, 8);
}
