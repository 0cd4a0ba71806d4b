//! Commands that come while sampling runs, in the words of perf: the bytes
//! become commands here, whatever pieces they come in.

/// So much of a line is looked at, as in perf (EVLIST_CTL_CMD_MAX_LEN,
/// tools/perf/util/evlist.h): what is longer is two lines.
const LONGEST: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ControlCommand {
    /// Sampling goes on; of one event, where it is named.
    Enable(Option<String>),
    Disable(Option<String>),
    /// Nothing but an answer.
    Ping,
    Stop,
    List(EventListForm),
    /// A piece of an AUX area, which there is none of.
    Snapshot,
    /// It begins like a command, and goes on as none.
    Malformed(String),
    Unknown(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventListForm {
    Names,
    /// `-v`: its attr.
    Fields,
    /// `-g`: which are a group.
    Groups,
    /// `-F`: its interval.
    Rates,
}

impl ControlCommand {
    /// As perf reads a line: by how it begins (evlist__ctlfd_recv()).
    fn parse(line: &str) -> ControlCommand {
        let malformed = || ControlCommand::Malformed(line.to_owned());
        // None: it ends there; what follows a blank is its argument.
        let argument = |rest: &str| match rest.strip_prefix(' ') {
            Some(argument) => Ok(Some(argument.to_owned())),
            None if rest.is_empty() => Ok(None),
            None => Err(malformed()),
        };
        if let Some(rest) = line.strip_prefix("enable") {
            argument(rest).map_or_else(|malformed| malformed, ControlCommand::Enable)
        } else if let Some(rest) = line.strip_prefix("disable") {
            argument(rest).map_or_else(|malformed| malformed, ControlCommand::Disable)
        } else if line.starts_with("snapshot") {
            ControlCommand::Snapshot
        } else if let Some(rest) = line.strip_prefix("evlist") {
            match rest {
                "" => ControlCommand::List(EventListForm::Names),
                " -v" => ControlCommand::List(EventListForm::Fields),
                " -g" => ControlCommand::List(EventListForm::Groups),
                " -F" => ControlCommand::List(EventListForm::Rates),
                _ => malformed(),
            }
        } else if line.starts_with("stop") {
            ControlCommand::Stop
        } else if line.starts_with("ping") {
            ControlCommand::Ping
        } else {
            ControlCommand::Unknown(line.to_owned())
        }
    }

    /// Whether it needs nothing behind it.
    fn is_whole(&self) -> bool {
        !matches!(self, ControlCommand::Malformed(_) | ControlCommand::Unknown(_))
    }
}

#[derive(Debug, Default)]
pub(super) struct CommandReader {
    line: Vec<u8>,
}

impl CommandReader {
    /// Takes more bytes; gives the commands that end in them. A newline ends
    /// one, or a zero byte; an empty one is none.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<ControlCommand> {
        let mut commands = Vec::new();
        for &byte in bytes {
            let is_end = matches!(byte, b'\n' | 0);
            if !is_end {
                self.line.push(byte);
            }
            if is_end || self.line.len() == LONGEST {
                commands.extend(self.end_line());
            }
        }
        commands
    }

    /// Nothing more is there at this time, on a channel that says so: perf
    /// takes what it has for a line then. So do we where it is a command;
    /// half a word waits for its other half.
    pub(super) fn pause(&mut self) -> Option<ControlCommand> {
        let is_whole = ControlCommand::parse(&String::from_utf8_lossy(&self.line)).is_whole();
        if is_whole { self.end_line() } else { None }
    }

    fn end_line(&mut self) -> Option<ControlCommand> {
        let line = std::mem::take(&mut self.line);
        (!line.is_empty()).then(|| ControlCommand::parse(&String::from_utf8_lossy(&line)))
    }
}

#[cfg(test)]
mod tests {
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
}
