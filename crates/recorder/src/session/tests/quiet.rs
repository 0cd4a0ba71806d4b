//! What a ring lost is told while nothing more comes, and told once.

use std::io::Write;

use super::older::Older;
use super::running::Watched;
use super::*;
use crate::session::kernel::{Kernel, Linux};

/// Pages of a burst: many times what one page of ring holds.
const PAGES: u64 = 3_000;
const MINOR_FAULTS: (EventType, u64) = (EventType::SOFTWARE, SoftwareEvent::MINOR_FAULTS.0);

/// A process that faults when it is told to, and a session of one page of
/// ring on it.
struct Bursts {
    target: Watched,
    session: Session,
    sink: Vec<u8>,
    _directory: tempfile::TempDir,
}

impl Bursts {
    /// None, and why, where it cannot run.
    fn attached(kernel: &dyn Kernel, change: impl FnOnce(&mut Plan)) -> Option<Bursts> {
        let directory = tempfile::tempdir().unwrap();
        let binary = program("bursts.c", directory.path())?;
        if events_refused() {
            return None;
        }
        let target = Watched::spawn(&binary, &PAGES.to_string());
        let mut plan = plan_of(PAGE_FAULTS, Target::Process(target.pid()), 1);
        change(&mut plan);
        let mut session = Session::open_on(kernel, plan, SessionSettings::default()).unwrap();
        let mut sink = Vec::new();
        session.preamble(&facts(), &["test".into()], &mut sink).unwrap();
        session.start(&mut sink).unwrap();
        Some(Bursts { target, session, sink, _directory: directory })
    }

    fn burst(&mut self) {
        self.target.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        assert_eq!(self.target.line(), "done");
    }

    fn drain(&mut self) {
        self.session.check_losses();
        self.session.drain(&mut self.sink).unwrap();
    }

    /// What the kernel counted, and what the stream says so far.
    fn account(&self) -> (u64, Content) {
        (self.session.so_far().kernel.unwrap(), decode(&self.sink))
    }

    #[track_caller]
    fn is_told(&self) -> u64 {
        let (kernel, content) = self.account();
        let samples = content.addresses.len() as u64;
        assert_eq!(samples + content.lost, kernel, "{samples} samples");
        assert!(content.lost > 0);
        content.lost
    }

    fn end(mut self) {
        let ledger = self.session.finish(&mut self.sink).unwrap();
        let content = decode(&self.sink);
        assert_eq!((ledger.unaccounted(), content.lost_samples), (Some(0), 0), "{ledger:?}");
        assert_eq!((content.lost, ledger.lost.total()), (ledger.lost.ring, ledger.lost.ring));
        assert_eq!(content.addresses.len() as u64, ledger.delivered);
    }
}

fn reported_while_quiet(mut bursts: Bursts, looks: usize) {
    let mut before = 0;
    for round in 0..3 {
        bursts.burst();
        (0..looks).for_each(|_| bursts.drain());
        let lost = bursts.is_told();
        assert!(lost > before, "round {round}: {lost} after {before}");
        before = lost;
        bursts.drain();
        assert_eq!(bursts.is_told(), lost, "once");
    }
    bursts.end();
}

#[test]
fn what_a_ring_lost_is_told_while_its_target_is_quiet() {
    if let Some(bursts) = Bursts::attached(&Linux, |_| {}) {
        reported_while_quiet(bursts, 1);
    }
}

#[test]
fn several_events_of_one_ring_are_told_of_together() {
    let two = |plan: &mut Plan| {
        let first = plan.events[0].clone();
        let mut second = PlannedEvent { name: "minor".into(), ..first };
        second.attr.config = MINOR_FAULTS.1;
        plan.events.push(second);
    };
    if let Some(bursts) = Bursts::attached(&Linux, two) {
        reported_while_quiet(bursts, 1);
    }
}

#[test]
fn without_a_count_of_losses_the_count_of_events_tells_them() {
    if let Some(bursts) = Bursts::attached(&Older, |_| {}) {
        // The first look sees what there is, the second that nothing moves.
        reported_while_quiet(bursts, 2);
    }
}

#[test]
fn where_no_count_tells_the_kernels_next_record_does() {
    // Threads keep remainders of their own.
    let seldom = |plan: &mut Plan| plan.events[0].attr.sample_period = 7;
    let Some(mut bursts) = Bursts::attached(&Older, seldom) else { return };
    assert!(bursts.session.notes().iter().any(|note| note.contains("with its next record")));
    bursts.burst();
    (0..3).for_each(|_| bursts.drain());
    let content = decode(&bursts.sink);
    assert_eq!((bursts.session.so_far().kernel, content.lost), (None, 0));
    // One more than there are rings: some CPU has two of them.
    for _ in 0..=facts().cpus.online.unwrap_or_default().len() {
        bursts.burst();
        bursts.drain();
    }
    let content = decode(&bursts.sink);
    assert!(content.lost > 0, "{} samples", content.addresses.len());
    let ledger = bursts.session.finish(&mut bursts.sink).unwrap();
    assert_eq!((ledger.lost.ring, ledger.tail_known), (content.lost, false));
}
