//! Where commands come from while sampling runs, and where answers go.

use super::control_command::{CommandReader, ControlCommand};
use crate::ebs::arguments::ControlPlace;
use crate::ebs::sys::copy_of;
use crate::terminal::say;
use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use std::fs::{self, File};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The answer of perf to a command, byte for byte: it writes the zero at the
/// end of its text, too.
const ACK: &[u8] = b"ack\n\0";
/// So much is read at once.
const PIECE: usize = 512;
/// So often at most before the rings are looked at again.
const PIECES: usize = 16;

#[derive(Debug)]
pub(super) struct ControlChannel {
    commands: OwnedFd,
    answers: Option<OwnedFd>,
    /// Nothing more to read is said at once.
    says_when_empty: bool,
    has_ended: bool,
    reader: CommandReader,
}

impl ControlChannel {
    /// Opens it as perf does: descriptors as they are, which the program that
    /// is started has, too; FIFOs for itself alone, so that none of them waits
    /// for another end, or ends with it.
    pub(super) fn open(place: &ControlPlace) -> Result<ControlChannel> {
        let (commands, answers) = match place {
            ControlPlace::Descriptors { commands, answers } => {
                (inherited(*commands)?, answers.map(inherited).transpose()?)
            }
            ControlPlace::Fifos { commands, answers } => {
                (fifo(commands)?, answers.as_deref().map(fifo).transpose()?)
            }
        };
        let flags = fcntl_getfl(&commands).context("--control: looking at its descriptor")?;
        ensure!(
            flags & OFlags::ACCMODE != OFlags::WRONLY,
            "--control: commands are read from the first descriptor, which is open for writing only"
        );
        if let Some(answers) = &answers {
            let flags = fcntl_getfl(answers).context("--control: looking at its descriptor")?;
            ensure!(
                flags & OFlags::ACCMODE != OFlags::RDONLY,
                "--control: answers are written to the second descriptor, which is open for reading \
                 only"
            );
        }
        let says_when_empty = flags.contains(OFlags::NONBLOCK);
        let (has_ended, reader) = (false, CommandReader::default());
        Ok(ControlChannel { commands, answers, says_when_empty, has_ended, reader })
    }

    /// What to wait for; None: nothing comes any more.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (!self.has_ended).then(|| self.commands.as_fd())
    }

    /// The commands that have come; it waits for none.
    pub(super) fn take(&mut self) -> Vec<ControlCommand> {
        let mut commands = Vec::new();
        let mut bytes = [0; PIECE];
        for _ in 0..PIECES {
            if self.has_ended || !is_at(self.commands.as_fd(), PollFlags::IN) {
                break;
            }
            match rustix::io::read(&self.commands, &mut bytes) {
                Ok(0) => self.has_ended = true,
                Ok(read) => commands.extend(self.reader.take(&bytes[..read])),
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => break,
                Err(errno) => {
                    say("ebs", &format!("--control: {errno}; no more commands are taken"));
                    self.has_ended = true;
                }
            }
        }
        if self.says_when_empty || self.has_ended {
            commands.extend(self.reader.pause());
        }
        commands
    }

    /// Answers a command. Who does not read answers gets no more of them.
    pub(super) fn acknowledge(&mut self) {
        let Some(answers) = &self.answers else { return };
        let wrote = match is_at(answers.as_fd(), PollFlags::OUT) {
            true => rustix::io::write(answers, ACK).map(|_| ()),
            false => Err(rustix::io::Errno::AGAIN),
        };
        if let Err(errno) = wrote {
            say("ebs", &format!("--control: a command cannot be acknowledged: {errno}"));
        }
    }
}

/// Whether a call would not wait, or would fail.
fn is_at(descriptor: BorrowedFd<'_>, wanted: PollFlags) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut fds = [PollFd::from_borrowed_fd(descriptor, wanted)];
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

fn inherited(number: RawFd) -> Result<OwnedFd> {
    copy_of(number).with_context(|| {
        format!(
            "--control fd: descriptor {number} is not open; open it where ebs is started, as in \
             `exec {number}<>FIFO`"
        )
    })
}

fn fifo(path: &Path) -> Result<OwnedFd> {
    let shown = path.display();
    let what = fs::metadata(path)
        .with_context(|| format!("--control fifo:{shown}; `mkfifo {shown}` makes one"))?;
    if !what.file_type().is_fifo() {
        bail!("--control fifo:{shown}: that is no FIFO; name another, which `mkfifo` makes");
    }
    let mut both_ways = File::options();
    both_ways.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let file = both_ways.open(path).with_context(|| format!("--control fifo:{shown}"))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
    use std::os::fd::AsRawFd;

    fn channel() -> (ControlChannel, PipeWriter, PipeReader) {
        let (commands, tell) = pipe().expect("a pipe can be made");
        let (hear, answers) = pipe().expect("a pipe can be made");
        let place = ControlPlace::Descriptors {
            commands: commands.as_raw_fd(),
            answers: Some(answers.as_raw_fd()),
        };
        (ControlChannel::open(&place).expect("both are open"), tell, hear)
    }

    #[test]
    fn commands_come_and_are_answered() {
        let (mut channel, mut tell, mut hear) = channel();
        assert!(channel.take().is_empty(), "it does not wait");
        tell.write_all(b"enable\ndis").expect("there is room");
        assert_eq!(channel.take(), [ControlCommand::Enable(None)]);
        tell.write_all(b"able\n").expect("there is room");
        assert_eq!(channel.take(), [ControlCommand::Disable(None)]);
        channel.acknowledge();
        let mut answer = [0; 5];
        hear.read_exact(&mut answer).expect("it was written");
        assert_eq!(&answer, b"ack\n\0");
        tell.write_all(b"stop").expect("there is room");
        drop(tell);
        assert_eq!(channel.take(), [ControlCommand::Stop], "an end is an end of a line, too");
        assert!(channel.descriptor().is_none());
        assert!(channel.take().is_empty());
    }

    #[test]
    fn whoever_reads_no_answers_does_not_hold_us_up() {
        let (mut channel, _tell, hear) = channel();
        for _ in 0..65_536 {
            channel.acknowledge();
        }
        drop(hear);
        channel.acknowledge();
    }

    #[test]
    fn what_is_no_channel_is_refused_in_words() {
        let complaint = |place: &ControlPlace| {
            let refused = ControlChannel::open(place).expect_err("it is none");
            format!("{refused:#}")
        };
        let (reader, writer) = pipe().expect("a pipe can be made");
        let numbers = |commands, answers| ControlPlace::Descriptors { commands, answers };
        let closed = complaint(&numbers(i32::MAX, None));
        assert!(closed.contains("descriptor 2147483647 is not open"), "{closed}");
        let closed = complaint(&numbers(reader.as_raw_fd(), Some(i32::MAX)));
        assert!(closed.contains("descriptor 2147483647 is not open"), "{closed}");
        let wrong = complaint(&numbers(writer.as_raw_fd(), None));
        assert!(wrong.contains("open for writing only"), "{wrong}");
        let wrong = complaint(&numbers(reader.as_raw_fd(), Some(reader.as_raw_fd())));
        assert!(wrong.contains("open for reading only"), "{wrong}");
        let fifo = |path: &str| ControlPlace::Fifos { commands: path.into(), answers: None };
        let absent = complaint(&fifo("/no/such"));
        assert!(absent.contains("`mkfifo /no/such`"), "{absent}");
        let other = complaint(&fifo("/dev/null"));
        assert!(other.contains("that is no FIFO"), "{other}");
    }
}
