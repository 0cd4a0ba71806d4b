//! Lines of perf's control protocol, in pieces.

use super::*;
use proptest::prelude::*;

fn commands(bytes: &[u8]) -> Vec<ControlCommand> {
    CommandReader::default().take(bytes)
}

#[test]
fn each_line_is_a_command() {
    use ControlCommand::{Disable, Enable, List, Malformed, Ping, Snapshot, Stop, Unknown};
    let name = |text: &str| Some(text.to_owned());
    for (line, command) in [
        ("enable", Enable(None)),
        ("disable", Disable(None)),
        ("enable page_fault", Enable(name("page_fault"))),
        ("disable mem:0x10/8:w", Disable(name("mem:0x10/8:w"))),
        ("enable ", Enable(name(""))),
        ("enabled", Malformed("enabled".into())),
        ("ping", Ping),
        ("stop", Stop),
        // By how they begin, in perf too.
        ("stopped", Stop),
        ("pingpong", Ping),
        ("snapshot", Snapshot),
        ("evlist", List(EventListForm::Names)),
        ("evlist -v", List(EventListForm::Fields)),
        ("evlist -g", List(EventListForm::Groups)),
        ("evlist -F", List(EventListForm::Rates)),
        ("evlist -x", Malformed("evlist -x".into())),
        ("Enable", Unknown("Enable".into())),
        (" enable", Unknown(" enable".into())),
        ("ack", Unknown("ack".into())),
        ("\u{fffd}", Unknown("\u{fffd}".into())),
    ] {
        assert_eq!(
            commands(format!("{line}\n").as_bytes()),
            std::slice::from_ref(&command),
            "{line:?}"
        );
        assert_eq!(commands(format!("{line}\0").as_bytes()), [command], "{line:?} and a zero");
        assert!(commands(line.as_bytes()).is_empty(), "{line:?} has no end yet");
    }
    assert_eq!(commands(b"\n\n\0enable\n\0"), [Enable(None)], "empty lines are none");
    assert_eq!(commands(b"\xff\n"), [Unknown("\u{fffd}".into())]);
}

#[test]
fn a_line_without_an_end_is_cut_where_perf_cuts_it() {
    let endless = vec![b'x'; 2 * LONGEST + 1];
    let cut = ControlCommand::Unknown("x".repeat(LONGEST));
    let mut reader = CommandReader::default();
    assert_eq!(reader.take(&endless), [cut.clone(), cut]);
    assert_eq!(reader.take(b"\n"), [ControlCommand::Unknown("x".into())]);
}

#[test]
fn what_stands_there_alone_is_a_command_if_it_is_one() {
    let mut reader = CommandReader::default();
    assert_eq!(reader.pause(), None);
    assert!(reader.take(b"ena").is_empty());
    assert_eq!(reader.pause(), None, "half a word");
    assert!(reader.take(b"ble").is_empty());
    assert_eq!(reader.pause(), Some(ControlCommand::Enable(None)));
    assert_eq!(reader.take(b"\nstop\n"), [ControlCommand::Stop]);
}

proptest! {
    /// Where the pieces end does not matter, and nothing panics.
    #[test]
    fn pieces_are_what_the_whole_is(
        bytes in prop::collection::vec(
            prop_oneof![Just(b'\n'), Just(0), any::<u8>(), Just(b'e')], 0..300),
        at in any::<prop::sample::Index>(),
    ) {
        let (first, second) = bytes.split_at(at.index(bytes.len() + 1));
        let mut reader = CommandReader::default();
        let mut pieces = reader.take(first);
        pieces.extend(reader.take(second));
        prop_assert_eq!(pieces, commands(&bytes));
        prop_assert!(reader.line.len() < LONGEST);
    }
}
