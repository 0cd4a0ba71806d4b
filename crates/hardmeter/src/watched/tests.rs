use std::path::Path;

use recorder::EventSpec;
use recorder::request::event_spec::RequestedEvent;

use super::*;

static HERE: [u32; 5] = [7; 5];

#[inline(never)]
fn watched_routine() -> u32 {
    HERE[0]
}

fn found(event: &str) -> Result<FoundBreakpoint, WatchError> {
    let pid = Pid(std::process::id().cast_signed());
    let objects = WatchedObjects::of_process(pid, Path::new("/")).unwrap();
    match EventSpec::from(event).event() {
        Ok(RequestedEvent::NamedBreakpoint(point)) => objects.find(point),
        other => panic!("{event}: {other:?}"),
    }
}

#[test]
fn a_program_finds_its_own_variables_and_routines() {
    let here = std::ptr::from_ref(&HERE).addr() as u64;
    let name = concat!(module_path!(), "::HERE");
    let first = found(&format!("mem:{name}:w")).unwrap();
    assert_eq!(first.point.address, here);
    let len = if here.is_multiple_of(8) { 8 } else { 4 };
    assert_eq!(first.point.len, len, "{}", first.note);
    assert!(first.note.contains("of the 20 bytes of variable"), "{}", first.note);
    let last = found(&format!("mem:{name}+16:rw")).unwrap().point;
    assert_eq!((last.address, last.len), (here + 16, 4), "what is left of it");
    let routine = concat!("mem:", module_path!(), "::watched_routine:x");
    assert_eq!(watched_routine(), 7);
    assert_eq!(
        found(routine).unwrap().point.address,
        watched_routine as fn() -> u32 as usize as u64
    );
}

#[test]
fn what_is_not_there_is_told() {
    let error = |event: String| found(&event).unwrap_err().to_string();
    let name = concat!(module_path!(), "::HERE");
    let said = error(format!("mem:{name}S:w"));
    assert!(said.contains(&format!("did you mean {name}")), "{said}");
    assert!(error(format!("mem:{name}:x")).contains("is a variable"));
    assert!(error(format!("mem:{name}+20:w")).contains("has 20 bytes"));
    assert!(error(format!("mem:{name}+2/4:w")).contains("not aligned"));
    assert!(error(format!("mem:{name}@absent.so:w")).contains("no file absent.so is mapped"));
}
