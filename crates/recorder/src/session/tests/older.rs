//! This machine's kernel with less in it: what is given up is in the stream.

use std::io;

use super::*;
use crate::Fallback;
use crate::in_kernel::{HitSource, InKernel, KernelProgram, LoadError};
use crate::session::kernel::{Kernel, Linux};
use crate::sys::event::{EncodedAttr, EventPlace, PerfEvent};

/// Linux without PERF_FORMAT_LOST, on a CPU with precise_ip up to 1.
#[derive(Debug)]
pub(super) struct Older;

impl Kernel for Older {
    fn open(&self, encoded: &mut EncodedAttr, place: EventPlace<'_>) -> io::Result<PerfEvent> {
        let attr = encoded.attr();
        if attr.read_format.contains(ReadFormat::LOST) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        if attr.precise_ip() > 1 {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        Linux.open(encoded, place)
    }

    fn share(&self, event: &PerfEvent, owner: &PerfEvent) -> io::Result<()> {
        Linux.share(event, owner)
    }
    fn load(&self, _: &InKernel, _: HitSource, _: &[Cpu]) -> Result<KernelProgram, LoadError> {
        Err(LoadError::NoSystemCall)
    }
}

#[test]
fn what_is_given_up_is_in_notes_and_stream_and_nothing_else_is() {
    if events_refused() {
        return;
    }
    let mut plan = plan_of(PAGE_FAULTS, Target::Command, 64);
    plan.events[0].attr.set_precise_ip(3);
    let asked = plan.events[0].attr.clone();
    let mut sink = Vec::new();
    let mut session = Session::open_on(&Older, plan, command(&["true"], None)).unwrap();
    session.preamble(&facts(), &["test".into()], &mut sink).unwrap();
    session.start(&mut sink).unwrap();
    run_to_end(&mut session, &mut sink);
    let ledger = session.finish(&mut sink).unwrap();

    assert_eq!(session.given_up(), [Fallback::Lost]);
    assert_eq!(session.plan().events[0].attr.precise_ip(), 3);
    let opened = &session.events()[0].attr;
    assert_eq!(
        (opened.precise_ip(), opened.read_format),
        (1, asked.read_format - ReadFormat::LOST)
    );
    assert_eq!(opened.sample_type, asked.sample_type);
    let [lost, precision] = session.notes() else { panic!("{:?}", session.notes()) };
    assert_eq!(*lost, Fallback::Lost.to_string());
    assert!(precision.starts_with("test_event: precise_ip 1 of 3, "), "{precision}");

    let mut decoder = StreamDecoder::new();
    let mut rest = &sink[..];
    while !rest.is_empty() {
        let StreamStep::Record { consumed, .. } = decoder.step(rest).unwrap() else {
            panic!("cut")
        };
        rest = &rest[consumed..];
    }
    let [event, side] = decoder.events() else { panic!("{:?}", decoder.events()) };
    assert_eq!((event.attr.precise_ip(), event.attr.read_format), (1, opened.read_format));
    assert!(!side.attr.read_format.contains(ReadFormat::LOST));
    assert!(side.attr.flags.contains(AttrFlags::BUILD_ID), "not its fault");
    assert!(
        event.notes[0].ends_with(";precise_ip=1 of 3;given_up=lost;served=embedded"),
        "{:?}",
        event.notes
    );
    assert!(event.notes[1].contains(";lost.tail=unknown;"), "{:?}", event.notes);
    assert!(!ledger.tail_known && ledger.delivered > 0, "{ledger:?}");
    assert_eq!(ledger.unaccounted(), Some(0), "{ledger:?}");
}
