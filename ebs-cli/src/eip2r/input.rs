//! The lines of the input, a batch at a time.

use super::line::Line;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::path::Path;

/// Bytes of a line that count; all columns of a record fit many times.
const LONGEST: usize = (64 << 10) - 1;
/// Room that a pipe is asked to have: with the usual 64 KiB the writer waits
/// for the reader and the reader for the writer.
const PIPE: usize = 1 << 20;

/// A file, pipe or terminal.
#[derive(Debug)]
pub(super) struct Input<R> {
    reader: BufReader<R>,
    /// Column of the address, counted from 0.
    position: usize,
    /// Whole lines, each with its newline.
    batch: Vec<u8>,
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
    /// `position` counts columns from 0; `most` bytes are asked for at once.
    pub(super) fn new(source: R, position: usize, most: usize) -> Input<R> {
        let reader = BufReader::with_capacity(most, source);
        Input { reader, position, batch: Vec::new() }
    }

    /// Takes the next lines, those of one read: somebody may wait for the
    /// answer to them. False at the end.
    pub(super) fn next_batch(&mut self) -> io::Result<bool> {
        self.batch.clear();
        loop {
            let read = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if read.is_empty() {
                let has_rest = !self.batch.is_empty();
                self.batch.extend(has_rest.then_some(b'\n'));
                return Ok(has_rest);
            }
            let whole = memchr::memrchr(b'\n', read).map(|last| last + 1);
            let taken = whole.unwrap_or(read.len());
            // A line without an end must not fill the memory.
            let passed_over = match self.batch.len() < LONGEST {
                true => 0,
                false => memchr::memchr(b'\n', read).unwrap_or(taken),
            };
            self.batch.extend_from_slice(&read[passed_over..taken]);
            self.reader.consume(taken);
            if whole.is_some() {
                return Ok(true);
            }
        }
    }

    /// The lines of the batch.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut start = 0;
        memchr::memchr_iter(b'\n', &self.batch).map(move |end| {
            let line = &self.batch[start..end];
            start = end + 1;
            Line::read(&line[..line.len().min(LONGEST)], self.position)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: usize = 128 << 10;

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
        let mut input = Input::new(Pieces(text, pieces), 0, READ);
        let mut lines = Vec::new();
        while input.next_batch().unwrap() {
            let batch = input.batch.strip_suffix(b"\n").unwrap();
            let cut = |line: &[u8]| line[..line.len().min(LONGEST)].to_vec();
            lines.extend(batch.split(|&byte| byte == b'\n').map(cut));
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
        for length in
            [LONGEST - 1, LONGEST, LONGEST + 1, LONGEST + 2, READ, READ + LONGEST, 3 * READ]
        {
            let mut text = b"first\n".to_vec();
            text.extend((0..length).map(|at| b'a' + u8::try_from(at % 23).unwrap()));
            let kept = text[6..].iter().copied().take(LONGEST).collect::<Vec<_>>();
            text.extend(b"\nlast");
            for pieces in [vec![], vec![100; 10], vec![READ, 7], vec![LONGEST + 7, LONGEST]] {
                let found = lines(&text, pieces);
                assert_eq!(found.len(), 3, "{length}");
                assert!(found[1] == kept, "{length}");
                assert_eq!((&*found[0], &*found[2]), (&b"first"[..], &b"last"[..]));
            }
        }
    }

    #[test]
    fn what_is_there_is_not_kept_waiting() {
        let mut input = Input::new(Pieces(b"1\n2\n3\n4", vec![3, 4]), 0, READ);
        let mut batches = Vec::new();
        while input.next_batch().unwrap() {
            batches.push(String::from_utf8(input.batch.clone()).unwrap());
        }
        assert_eq!(batches, ["1\n2\n", "3\n", "4\n"]);
    }
}
