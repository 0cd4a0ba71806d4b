//! Reads in blocks of whole lines.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::Path;

/// Bytes asked for at once.
const READ: usize = 128 * 1024;
/// Reads that start at a page boundary are three times as fast as others on
/// some machines.
const PAGE: usize = 4096;
/// Room before the read for the line that the last read cut; what is longer
/// than this loses its end.
const CARRY: usize = 16 * PAGE;
/// Room that a pipe is asked to have: with the usual 64 KiB the writer waits
/// for the reader and the reader for the writer.
const PIPE: usize = 1 << 20;

/// Bytes of a line that count; all columns of a record fit many times.
pub(super) const LONGEST: usize = CARRY - 1;

/// A file, pipe or terminal, read in blocks of whole lines.
#[derive(Debug)]
pub(super) struct Input<R> {
    source: R,
    /// The line that the last read cut.
    unfinished: Vec<u8>,
    /// The rest of a line that is too long is being passed over.
    skipping: bool,
    ended: bool,
}

#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// Where in `bytes` reads land; on a page boundary.
    landing: usize,
}

impl Buffer {
    pub(super) fn new() -> Buffer {
        let bytes = vec![0; CARRY + PAGE + READ];
        let landing = CARRY + bytes[CARRY..].as_ptr().align_offset(PAGE).min(PAGE);
        Buffer { bytes, landing }
    }
}

/// Opens `path`, or stdin for none and for `-`.
pub(super) fn open(path: Option<&Path>) -> io::Result<File> {
    let file = match path {
        Some(path) if path.as_os_str() != "-" => File::open(path)?,
        _ => File::from(io::stdin().as_fd().try_clone_to_owned()?),
    };
    // Refused beyond the user's limit, and on what is no pipe: slower, not wrong.
    let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE);
    Ok(file)
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Input<R> {
        Input { source, unfinished: Vec::new(), skipping: false, ended: false }
    }

    /// The next block: whole lines, each with its newline. The last line of
    /// all gets one if it has none; of a line longer than [`LONGEST`] at
    /// least that much comes.
    pub(super) fn next_block<'b>(
        &mut self,
        buffer: &'b mut Buffer,
    ) -> io::Result<Option<&'b [u8]>> {
        Ok(self.fill(buffer)?.map(|block| &buffer.bytes[block]))
    }

    fn fill(&mut self, Buffer { bytes, landing }: &mut Buffer) -> io::Result<Option<Range<usize>>> {
        let landing = *landing;
        while !self.ended {
            let read = match self.source.read(&mut bytes[landing..][..READ]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let mut start = landing - self.unfinished.len();
            bytes[start..landing].copy_from_slice(&self.unfinished);
            let end = landing + read;
            if read == 0 {
                self.ended = true;
                bytes[end] = b'\n';
                return Ok((start < end).then_some(start..end + 1));
            }
            if self.skipping {
                let newline = memchr::memchr(b'\n', &bytes[start..end]);
                let Some(newline) = newline else { continue };
                start += newline + 1;
                self.skipping = false;
            }
            let whole = memchr::memrchr(b'\n', &bytes[start..end]);
            let mut tail = whole.map_or(start, |newline| start + newline + 1);
            self.unfinished.clear();
            if end - tail < CARRY {
                self.unfinished.extend_from_slice(&bytes[tail..end]);
            } else {
                tail += CARRY;
                bytes[tail - 1] = b'\n';
                self.skipping = true;
            }
            if start < tail {
                return Ok(Some(start..tail));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives what it has in pieces of the given sizes.
    struct Pieces<'a>(&'a [u8], Vec<usize>);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1.pop().unwrap_or(usize::MAX);
            let size = self.0.len().min(most).min(buffer.len());
            buffer[..size].copy_from_slice(&self.0[..size]);
            self.0 = &self.0[size..];
            Ok(size)
        }
    }

    fn lines(text: &[u8], pieces: Vec<usize>) -> Vec<Vec<u8>> {
        let mut input = Input::new(Pieces(text, pieces));
        let (mut lines, mut buffer) = (Vec::new(), Buffer::new());
        while let Some(block) = input.next_block(&mut buffer).unwrap() {
            assert_eq!(block.last(), Some(&b'\n'));
            let cut = |line: &[u8]| line[..line.len().min(LONGEST)].to_vec();
            lines.extend(block[..block.len() - 1].split(|&byte| byte == b'\n').map(cut));
        }
        lines
    }

    #[test]
    fn every_cut_gives_the_same_lines() {
        let text = b"1\n\n22 x\n# c\n\n333";
        for cut in 1..text.len() {
            for second in 1..=text.len() - cut {
                let expected: Vec<Vec<u8>> =
                    text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
                assert_eq!(lines(text, vec![second, cut]), expected);
            }
        }
    }

    #[test]
    fn long_lines_lose_their_end_wherever_they_are_cut() {
        for length in [LONGEST - 1, LONGEST, CARRY, CARRY + 1, READ, READ + CARRY, 3 * READ] {
            let mut text = b"first\n".to_vec();
            text.extend((0..length).map(|at| b'a' + u8::try_from(at % 23).unwrap()));
            let kept = text[6..].iter().copied().take(LONGEST).collect::<Vec<_>>();
            text.extend(b"\nlast");
            for pieces in [vec![], vec![100; 10], vec![READ, 7], vec![CARRY + 6, CARRY - 1]] {
                let found = lines(&text, pieces);
                assert_eq!(found.len(), 3, "{length}");
                assert!(found[1] == kept, "{length}");
                assert_eq!((&*found[0], &*found[2]), (&b"first"[..], &b"last"[..]));
            }
        }
    }
}
