//! Writing to a pipe whose reader takes its time. What is written there in one call would keep
//! this program from hearing signals for as long as the reader does not read.

use crate::terminal::signals::{self, EndsAsked};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// Signals are looked for at least so often.
const LOOK: Duration = Duration::from_millis(100);
/// Once an end was asked for, a reader that takes nothing for so long is waited for no longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A pipe that has room has room for so much (PIPE_BUF, pipe(7)).
const LITTLE: usize = 4096;

/// Writes to a file; or to a pipe, until an end was asked for a second time while there was no
/// room, or once and the reader takes nothing.
#[derive(Debug)]
pub(crate) struct PatientWriter {
    file: File,
    name: String,
    way: Way,
    patience: Duration,
    gave_up: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// It has no reader that could make it wait.
    AtOnce,
    /// A call takes what there is room for.
    Unblocked,
    /// Others write there by the same open file, which blocks them and us: little at once, when
    /// there is room.
    Shared,
}

impl PatientWriter {
    /// To a file that this program has opened, and `name` it has for the user.
    pub(crate) fn new(file: File, name: String) -> PatientWriter {
        let way = match is_at_once(&file) {
            true => Way::AtOnce,
            false if unblock(&file).is_ok() => Way::Unblocked,
            false => Way::Shared,
        };
        PatientWriter { file, name, way, patience: PATIENCE, gave_up: false }
    }

    /// To stdout.
    ///
    /// # Errors
    ///
    /// No descriptor is left.
    pub(crate) fn stdout() -> io::Result<PatientWriter> {
        let shared = io::stdout().as_fd().try_clone_to_owned()?;
        let (file, way) = match opened_anew(&shared) {
            Some(own) => (own, Way::Unblocked),
            None if is_at_once(&shared) => (shared, Way::AtOnce),
            None => (shared, Way::Shared),
        };
        let (file, name) = (File::from(file), "stdout".to_owned());
        Ok(PatientWriter { file, name, way, patience: PATIENCE, gave_up: false })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn into_file(self) -> File {
        self.file
    }

    pub(crate) fn has_given_up(&self) -> bool {
        self.gave_up
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Writes all of `bytes`; or as many as were taken before the error. Of a file nobody knows
    /// how many those are.
    pub(crate) fn write_counted(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        match self.way {
            Way::AtOnce => {
                let written = self.file.write_all(bytes);
                (if written.is_ok() { bytes.len() } else { 0 }, written)
            }
            Way::Unblocked | Way::Shared => self.write_heeding(bytes, &mut signals::ends_asked),
        }
    }

    fn write_heeding(
        &mut self,
        bytes: &[u8],
        asked: &mut dyn FnMut() -> EndsAsked,
    ) -> (usize, io::Result<()>) {
        let mut taken = 0;
        while taken < bytes.len() {
            match self.write_some(&bytes[taken..], asked) {
                Ok(count) => taken += count,
                Err(error) => return (taken, Err(error)),
            }
        }
        (taken, Ok(()))
    }

    fn write_some(
        &mut self,
        bytes: &[u8],
        asked: &mut dyn FnMut() -> EndsAsked,
    ) -> io::Result<usize> {
        if self.gave_up {
            return Err(self.stalled());
        }
        let (mut wait_first, most) = match self.way {
            Way::Shared => (true, LITTLE),
            Way::AtOnce | Way::Unblocked => (false, usize::MAX),
        };
        loop {
            if wait_first {
                self.wait(asked)?;
            }
            match rustix::io::write(&self.file, &bytes[..bytes.len().min(most)]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => return Ok(count),
                Err(Errno::AGAIN) => wait_first = true,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Until there is room, or the reader is gone, or an end was asked for and nothing was taken
    /// since.
    fn wait(&mut self, asked: &mut dyn FnMut() -> EndsAsked) -> io::Result<()> {
        let a_look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
        let mut first_asked = None;
        loop {
            let mut fds = [PollFd::new(&self.file, PollFlags::OUT)];
            match poll(&mut fds, Some(&a_look)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
            let asked = asked();
            let waited = asked.any.then(|| first_asked.get_or_insert_with(Instant::now).elapsed());
            if asked.by_hand > 1 || waited.is_some_and(|waited| waited >= self.patience) {
                self.gave_up = true;
                return Err(self.stalled());
            }
        }
    }

    fn stalled(&self) -> io::Error {
        let why = format!("the reader of {} does not read", self.name);
        io::Error::new(ErrorKind::TimedOut, why)
    }
}

impl Write for PatientWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.way {
            Way::AtOnce => self.file.write(bytes),
            _ if bytes.is_empty() => Ok(0),
            Way::Unblocked | Way::Shared => self.write_some(bytes, &mut signals::ends_asked),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn kind(file: impl AsFd) -> Option<FileType> {
    fstat(file).ok().map(|about| FileType::from_raw_mode(about.st_mode))
}

fn is_at_once(file: impl AsFd) -> bool {
    matches!(kind(file), Some(FileType::RegularFile | FileType::BlockDevice))
}

fn unblock(file: impl AsFd) -> rustix::io::Result<()> {
    fcntl_setfl(&file, fcntl_getfl(&file)? | OFlags::NONBLOCK)
}

/// The same pipe or terminal by an open file of our own, whose flags are nobody else's; None: it
/// is neither, or cannot be opened by its number.
fn opened_anew(shared: &OwnedFd) -> Option<OwnedFd> {
    if kind(shared) != Some(FileType::Fifo) && !shared.is_terminal() {
        return None;
    }
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", shared.as_raw_fd());
    openat(CWD, path, flags, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::io::{PipeReader, Read, pipe};

    const MORE_THAN_A_PIPE: usize = 3 << 20;
    const NOT_ASKED: EndsAsked = EndsAsked { any: false, by_hand: 0, interrupts: 0 };
    const ONCE: EndsAsked = EndsAsked { any: true, by_hand: 1, interrupts: 1 };
    const TWICE: EndsAsked = EndsAsked { any: true, by_hand: 2, interrupts: 2 };

    fn writers() -> [(PipeReader, PatientWriter); 2] {
        [Way::Unblocked, Way::Shared].map(|way| {
            let (reader, writer) = pipe().expect("a pipe can be made");
            let file = File::from(OwnedFd::from(writer));
            let mut writer = match way {
                Way::Unblocked => PatientWriter::new(file, "there".into()),
                other => PatientWriter {
                    file,
                    name: "there".into(),
                    way: other,
                    patience: PATIENCE,
                    gave_up: false,
                },
            };
            assert_eq!(writer.way, way);
            // No test waits that long.
            writer.patience = Duration::MAX;
            (reader, writer)
        })
    }

    #[test]
    fn a_second_signal_gives_up_a_reader_that_does_not_read() {
        for (mut reader, mut writer) in writers() {
            let looks = Cell::new(0);
            let mut asked = || {
                looks.set(looks.get() + 1);
                [NOT_ASKED, ONCE, ONCE, TWICE][looks.get() - 1]
            };
            let bytes = vec![7; MORE_THAN_A_PIPE];
            let (taken, written) = writer.write_heeding(&bytes, &mut asked);
            let error = written.expect_err("no reader reads");
            assert_eq!(error.to_string(), "the reader of there does not read");
            assert_eq!(looks.get(), 4, "it waits until then");
            assert!(writer.has_given_up());
            // For good: what follows would begin in the middle of something.
            assert_eq!(writer.write_heeding(&bytes, &mut || NOT_ASKED).0, 0);
            drop(writer);
            let mut read = Vec::new();
            reader.read_to_end(&mut read).expect("it is open");
            assert_eq!(read.len(), taken, "what was taken is known");
        }
    }

    #[test]
    fn a_reader_that_takes_nothing_after_the_first_signal_is_given_up() {
        for (_reader, mut writer) in writers() {
            writer.patience = Duration::ZERO;
            let looks = Cell::new(0);
            let mut asked = || {
                looks.set(looks.get() + 1);
                if looks.get() == 1 { NOT_ASKED } else { ONCE }
            };
            let (_, written) = writer.write_heeding(&[7; MORE_THAN_A_PIPE], &mut asked);
            assert_eq!(written.expect_err("no reader reads").kind(), ErrorKind::TimedOut);
            assert_eq!(looks.get(), 2, "before that it waits for however long");
        }
    }

    #[test]
    fn a_reader_that_reads_gets_everything_whatever_is_asked() {
        for (mut reader, mut writer) in writers() {
            let bytes: Vec<u8> = (0..=250).cycle().take(MORE_THAN_A_PIPE).collect();
            let read = std::thread::spawn(move || {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).map(|_| read)
            });
            assert!(writer.write_heeding(&bytes, &mut || ONCE).1.is_ok());
            drop(writer);
            assert!(read.join().expect("it reads").expect("it is open") == bytes);
        }
    }

    #[test]
    fn a_reader_that_is_gone_is_told_apart() {
        for (reader, mut writer) in writers() {
            drop(reader);
            let (taken, written) = writer.write_heeding(b"x", &mut || TWICE);
            assert_eq!((taken, written.map_err(|e| e.kind())), (0, Err(ErrorKind::BrokenPipe)));
            assert!(!writer.has_given_up());
        }
    }
}
