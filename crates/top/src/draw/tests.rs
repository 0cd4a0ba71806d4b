use super::*;
use crate::counted_report::{report, row};
use crate::key_bytes::TopKey;
use analysis::report::RecorderLedger;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

fn screen(view: &mut TopView, columns: u16, lines: u16) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(view, frame)).unwrap();
    terminal.backend().clone()
}

fn viewed() -> TopView {
    let mut view = TopView::new("./server --port 80");
    view.add(&report(vec![row("sort", 1, 90), row("walk", 1, 10)], 0), 1.0);
    view.add(&report(vec![row("walk", 2, 30), row("sort", 1, 10)], 3), 0.5);
    view
}

fn press(view: &mut TopView, key: char) {
    view.press(if key == '\n' { TopKey::Enter } else { TopKey::Char(key) });
}

#[test]
fn sites_with_what_was_lost() {
    insta::assert_snapshot!(screen(&mut viewed(), 110, 10));
}

#[test]
fn who_reads_names_is_behind_until_it_tells() {
    let mut view = viewed();
    assert!(view.fall_behind(4) && !view.fall_behind(4));
    let drawn = screen(&mut view, 110, 10).to_string();
    assert!(drawn.contains("running, 4 s behind: names of programs are read"), "{drawn}");
    assert!(view.fall_behind(0));
    let drawn = screen(&mut view, 110, 10).to_string();
    assert!(drawn.contains("running") && !drawn.contains("behind"), "{drawn}");
}

#[test]
fn threads_of_the_end() {
    let mut view = viewed();
    let mut last = report(vec![row("walk", 2, 1)], 0);
    last.events[0].ledger = Some(RecorderLedger {
        kernel: Some(144),
        delivered: Some(141),
        lost: [("ring".to_owned(), 3)].into(),
        unaccounted: Some(0),
        ..RecorderLedger::default()
    });
    view.add(&last, 0.2);
    view.end("status 0");
    press(&mut view, 't');
    press(&mut view, '5');
    insta::assert_snapshot!(screen(&mut view, 110, 10));
}

#[test]
fn a_routine_and_a_filter_that_is_typed() {
    let mut view = viewed();
    press(&mut view, '\n');
    insta::assert_snapshot!("reading", screen(&mut view, 80, 8));
    view.zoomed("# of a routine\n  9  1001: mov (%rdi),%rax");
    insta::assert_snapshot!("routine", screen(&mut view, 80, 8));
    press(&mut view, 'q');
    press(&mut view, '/');
    press(&mut view, 'w');
    insta::assert_snapshot!("filter", screen(&mut view, 80, 8));
}

#[test]
fn help_tells_each_key() {
    let mut view = viewed();
    press(&mut view, 'h');
    insta::assert_snapshot!(screen(&mut view, 100, 22));
}

#[test]
fn no_size_is_too_small_to_say_so() {
    for (columns, lines) in [(39, 40), (200, 6), (3, 1), (1, 40)] {
        let drawn = screen(&mut viewed(), columns, lines).to_string();
        assert!(drawn.contains('e'), "{columns}x{lines}: {drawn}");
    }
    // And none panics, whatever is above.
    for above in ['x', 'h', '\n', '/'] {
        let mut view = viewed();
        press(&mut view, above);
        for size in (1..60).chain([400]) {
            screen(&mut view, size, size.min(50));
        }
    }
}
