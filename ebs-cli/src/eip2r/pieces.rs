//! A file's lines cut into pieces that threads read side by side.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Reads end at such a place, so that all but the first begin at one.
const PAGE: u64 = 4096;
/// Bytes looked through at a time for the end of a line.
const LOOK: usize = 4096;

/// A regular file from where it is read to its end.
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    file: &'a File,
    whole: Range<u64>,
    /// Bytes, before a piece is made longer to end where a line does.
    size: u64,
}

/// Some lines of the file, each whole.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    file: &'a File,
    at: u64,
    /// None: as far as the file reaches by then.
    end: Option<u64>,
}

impl<'a> Pieces<'a> {
    /// Pieces of about `size` bytes. None if `file` is not a regular one.
    pub(super) fn of(file: &'a File, size: u64) -> io::Result<Option<Pieces<'a>>> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        // What was read before, say by a shell's `read`, is not for us.
        let from = rustix::fs::seek(file, rustix::fs::SeekFrom::Current(0))?;
        Ok(Some(Pieces { file, whole: from..metadata.len().max(from), size }))
    }

    /// Bytes of all together, when they were counted.
    pub(super) fn bytes(&self) -> u64 {
        self.whole.end - self.whole.start
    }

    /// How many there are, at least one.
    pub(super) fn len(&self) -> u64 {
        self.bytes().div_ceil(self.size).max(1)
    }

    /// The lines that begin in the `index`-th part of the file.
    pub(super) fn get(&self, index: u64) -> io::Result<Piece<'a>> {
        let from = self.whole.start + index * self.size;
        let to = from + self.size;
        let at = self.line_from(from, Some(to))?;
        let end = match index + 1 < self.len() {
            // What has come to the file since belongs to the last.
            false => None,
            true if at == Some(to) || at.is_none() => Some(to),
            true => self.line_from(to, None)?,
        };
        Ok(Piece { file: self.file, at: at.unwrap_or(to), end })
    }

    /// Where the first line begins from `from` on; none if that is beyond
    /// `until`, or the file has ended.
    fn line_from(&self, from: u64, until: Option<u64>) -> io::Result<Option<u64>> {
        if from == self.whole.start {
            return Ok(Some(from));
        }
        let mut buffer = [0; LOOK];
        let mut at = from - 1;
        while until.is_none_or(|until| at < until) {
            let read = read_at(self.file, &mut buffer, at)?;
            if let Some(newline) = memchr::memchr(b'\n', &buffer[..read]) {
                let line = at + newline as u64 + 1;
                return Ok(Some(line).filter(|line| until.is_none_or(|until| *line <= until)));
            }
            if read == 0 {
                break;
            }
            at += read as u64;
        }
        Ok(None)
    }
}

impl Read for Piece<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.end.map_or(u64::MAX, |end| end.saturating_sub(self.at));
        let whole_pages = (buffer.len() as u64).saturating_sub(self.at % PAGE).max(1);
        let most = usize::try_from(left.min(whole_pages)).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        match file.read_at(buffer, at) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::{Buffer, Input};
    use super::*;
    use proptest::prelude::*;
    use std::io::{Seek, SeekFrom, Write};

    fn lines(mut input: Input<impl Read>) -> Vec<Vec<u8>> {
        let (mut lines, mut buffer) = (Vec::new(), Buffer::new());
        while let Some(block) = input.next_block(&mut buffer).unwrap() {
            lines.extend(block[..block.len() - 1].split(|&byte| byte == b'\n').map(<[u8]>::to_vec));
        }
        lines
    }

    /// The lines of all pieces, in order.
    fn in_pieces(file: &File, size: u64) -> Vec<Vec<u8>> {
        let pieces = Pieces::of(file, size).unwrap().unwrap();
        (0..pieces.len()).flat_map(|index| lines(Input::new(pieces.get(index).unwrap()))).collect()
    }

    #[test]
    fn every_split_point_of_a_ragged_file_gives_the_same_lines() {
        let text = b"1\n\n22 x\n# c\n\nffffffff81000000\nffffffff81000010\n\n\n333";
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        for from in 0..text.len() {
            file.seek(SeekFrom::Start(from as u64)).unwrap();
            let expected = lines(Input::new(&text[from..]));
            for size in 1..=text.len() as u64 + 1 {
                assert_eq!(in_pieces(&file, size), expected, "from {from} by {size}");
            }
        }
    }

    #[test]
    fn what_is_no_regular_file_has_no_pieces() {
        assert!(Pieces::of(&File::open("/dev/null").unwrap(), 1).unwrap().is_none());
    }

    #[test]
    fn lines_written_after_the_first_look_are_read() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"1\n2\n3").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let pieces = Pieces::of(&file, 2).unwrap().unwrap();
        (&file).seek(SeekFrom::End(0)).unwrap();
        (&file).write_all(b"3\n4\n").unwrap();
        let all: Vec<_> = (0..pieces.len())
            .flat_map(|index| lines(Input::new(pieces.get(index).unwrap())))
            .collect();
        assert_eq!(all, [&b"1"[..], b"2", b"33", b"4"]);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_lines(
            lengths in prop::collection::vec(prop_oneof![0_usize..40, Just(16), 4000_usize..9000], 0..40),
            size in prop_oneof![1_u64..100, 4000_u64..20_000],
            ends in any::<bool>(),
        ) {
            let mut text: Vec<u8> = lengths.iter().flat_map(|&length| {
                let mut line = vec![b'a'; length];
                line.push(b'\n');
                line
            }).collect();
            if !ends { text.pop(); }
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&text).unwrap();
            file.seek(SeekFrom::Start(0)).unwrap();
            prop_assert_eq!(in_pieces(&file, size), lines(Input::new(&text[..])));
        }
    }
}
