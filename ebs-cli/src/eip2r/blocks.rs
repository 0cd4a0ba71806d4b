//! A stream's blocks of lines, taken by several threads.

use super::bad_lines::BadLines;
use super::input::{Buffer, Input};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is read in blocks, and what was found in those that are done.
#[derive(Debug)]
pub(super) struct Blocks<R> {
    source: Mutex<Source<R>>,
    done: Mutex<Done>,
}

#[derive(Debug)]
struct Source<R> {
    /// None: it failed, and whoever read then has the reason.
    input: Option<Input<R>>,
    next: u64,
}

/// Bad lines of the blocks from the first on without a gap, and of those
/// beyond: a few, as there are a few threads.
#[derive(Debug, Default)]
struct Done {
    whole: BadLines,
    next: u64,
    beyond: BTreeMap<u64, BadLines>,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(input: Input<R>) -> Blocks<R> {
        let source = Source { input: Some(input), next: 0 };
        Blocks { source: Mutex::new(source), done: Mutex::default() }
    }

    /// The next block and its number. None: there are no more, or another
    /// thread failed to read.
    pub(super) fn take<'b>(&self, buffer: &'b mut Buffer) -> io::Result<Option<(u64, &'b [u8])>> {
        let mut source = lock(&self.source);
        let Some(input) = &mut source.input else { return Ok(None) };
        match input.next_block(buffer) {
            Ok(Some(block)) => {
                source.next += 1;
                Ok(Some((source.next - 1, block)))
            }
            Ok(None) => Ok(None),
            Err(error) => {
                source.input = None;
                Err(error)
            }
        }
    }

    pub(super) fn done(&self, number: u64, bad: BadLines) {
        let mut done = lock(&self.done);
        let Done { whole, next, beyond } = &mut *done;
        beyond.insert(number, bad);
        while let Some(bad) = beyond.remove(next) {
            whole.add(bad);
            *next += 1;
        }
    }

    pub(super) fn into_bad(self) -> BadLines {
        self.done.into_inner().unwrap_or_else(PoisonError::into_inner).whole
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_numbered_as_they_came_whoever_is_first() {
        // Three blocks: more than one read gives.
        let text = [b"1\n".repeat(100_000), b"x\n".to_vec()].concat();
        let blocks = Blocks::new(Input::new(&text[..]));
        let (mut buffer, mut all) = (Buffer::new(), Vec::new());
        while let Some((number, block)) = blocks.take(&mut buffer).unwrap() {
            let mut bad = BadLines::default();
            for line in block.split_inclusive(|&byte| byte == b'\n') {
                match line {
                    b"1\n" => bad.good(1),
                    line => bad.bad(&line[..line.len() - 1]),
                }
            }
            all.push((number, bad));
        }
        assert!(all.len() > 1);
        all.into_iter().rev().for_each(|(number, bad)| blocks.done(number, bad));
        let bad = blocks.into_bad();
        assert_eq!((bad.bad, bad.first), (1, Some((100_001, "x".to_owned()))));
    }

    #[test]
    fn one_thread_hears_of_a_failure_and_the_others_end() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("gone"))
            }
        }
        let blocks = Blocks::new(Input::new(Failing));
        let mut buffer = Buffer::new();
        assert_eq!(blocks.take(&mut buffer).unwrap_err().to_string(), "gone");
        assert_eq!(blocks.take(&mut buffer).unwrap(), None);
    }
}
