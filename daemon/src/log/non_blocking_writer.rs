//! Writes lines to stderr without waiting: where it takes no more, they are
//! dropped and counted, and the next one says how many.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

/// Writes whole lines, one a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct NonBlockingWriter<'f> {
    pub(super) file: BorrowedFd<'f>,
    /// Lines that were dropped and not reported yet.
    pub(super) dropped: &'f AtomicU64,
    /// What a warning begins with.
    pub(super) warning: &'static str,
}

/// Gives stderr a file description of its own that does not wait. That of
/// the terminal or pipe may be shared with other programs, which would not
/// expect it.
pub(super) fn set_nonblocking() -> io::Result<()> {
    let kind = fstat(io::stderr()).map(|stat| FileType::from_raw_mode(stat.st_mode))?;
    if matches!(kind, FileType::Fifo | FileType::CharacterDevice) {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::stdio::dup2_stderr(open("/proc/self/fd/2", flags, Mode::empty())?)?;
    }
    Ok(())
}

impl io::Write for NonBlockingWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let missed = self.dropped.swap(0, Ordering::Relaxed);
        let warning = match missed {
            0 => String::new(),
            _ => format!(
                "{}{missed} lines of the log were dropped: nobody took them\n",
                self.warning
            ),
        };
        match write_whole(self.file, &[warning.as_bytes(), line].concat()) {
            Ok(_) => Ok(line.len()),
            Err(Errno::AGAIN) => {
                self.dropped.fetch_add(missed + 1, Ordering::Relaxed);
                Ok(line.len())
            }
            Err(errno) => Err(errno.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The journal is a socket, which can be written to without waiting
/// whatever its flags are. Lines are short: all of one goes, or nothing.
fn write_whole(file: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let sent =
        sendmsg(file.as_fd(), &[IoSlice::new(bytes)], &mut SendAncillaryBuffer::default(), flags);
    match sent {
        Err(Errno::NOTSOCK) => rustix::io::write(file, bytes),
        sent => sent,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;

    fn fill_and_read(file: BorrowedFd<'_>, mut reader: impl FnMut() -> String) {
        let dropped = AtomicU64::new(0);
        let mut lines = NonBlockingWriter { file, dropped: &dropped, warning: "<4>" };
        let line = [&[b'x'; 99][..], b"\n"].concat();
        let mut written = 0;
        while dropped.load(Ordering::Relaxed) < 5 {
            assert_eq!(lines.write(&line).unwrap(), 100);
            written += 1;
            assert!(written < 1_000_000, "it takes all");
        }
        let text = reader();
        assert_eq!(text.lines().count(), written - 5);
        lines.write_all(b"after\n").unwrap();
        let warning = "<4>5 lines of the log were dropped: nobody took them\nafter\n";
        assert_eq!(reader(), warning);
    }

    #[test]
    fn a_full_pipe_costs_lines_and_no_time() {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK).unwrap();
        fill_and_read(writer.as_fd(), || {
            let mut bytes = vec![0; 1 << 20];
            let read = rustix::io::read(&reader, &mut bytes).unwrap();
            String::from_utf8(bytes[..read].to_vec()).unwrap()
        });
    }

    #[test]
    fn a_full_socket_costs_lines_and_no_time() {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        reader.set_nonblocking(true).unwrap();
        fill_and_read(writer.as_fd(), || {
            let mut bytes = Vec::new();
            let _would_wait = reader.read_to_end(&mut bytes).unwrap_err();
            String::from_utf8(bytes).unwrap()
        });
    }
}
