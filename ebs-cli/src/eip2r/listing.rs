//! Without `--count`: a line of output for each line of input.

use super::answers::Answers;
use super::bad_lines::BadLines;
use super::input::Input;
use super::line::{Line, Lines};
use super::names::Names;
use super::output::Output;
use super::pieces::{Piece, Pieces};
use super::run::Format;
use super::threads::{Turns, each_piece};
use anyhow::Context;
use std::fs::File;
use std::io::{self, Read};
use std::mem;
use std::sync::Mutex;

/// Addresses taken from the text at a time.
const BATCH: usize = 256;
/// Bytes that a thread takes at a time: its output waits in memory for its
/// turn.
const PIECE: u64 = 512 << 10;
/// Bytes of output after which it is written, where one thread reads all.
const WRITTEN: usize = 64 << 10;
/// Bytes of output of one piece that may wait.
const MOST_WAITING: usize = 16 << 20;
/// What stands in the output for a line without a number.
const NO_NUMBER: &[u8] = b"- [no-number]\n";

/// Reads everything, prints as it goes.
pub(super) fn print(
    input: &File,
    output: &mut Output,
    names: &mut Names,
    format: Format,
) -> anyhow::Result<BadLines> {
    let direct = names.direct();
    let names = Mutex::new(names);
    let own = || Thread {
        answers: Answers::new(&direct, &names, format.offset),
        position: format.position,
        out: Vec::new(),
        bad: Vec::new(),
    };
    let Some(pieces) = Pieces::of(input, PIECE).context("cannot read the input")? else {
        let mut thread = own();
        let bad = thread.list(Input::new(input), |out| write(output, out))?;
        thread.answers.report();
        return Ok(bad);
    };
    let turns = Turns::new(output);
    let threads = each_piece(&pieces, format.threads, own, |thread, index, piece| {
        let done = thread.list_piece(index, piece, |out| match out.len() < MOST_WAITING {
            true => Ok(()),
            false => turns.begin(index, |output| write(output, out)),
        });
        let mut out = mem::take(&mut thread.out);
        turns.take(index, |output| done.and_then(|()| write(output, &mut out)))?;
        thread.out = out;
        Ok(())
    })?;
    let mut bad = Vec::new();
    for thread in threads {
        bad.extend(thread.bad);
        thread.answers.report();
    }
    Ok(BadLines::of_pieces(bad))
}

fn write(output: &mut Output, out: &mut Vec<u8>) -> anyhow::Result<()> {
    let done = output.write(out).context("cannot write the output");
    out.clear();
    done
}

/// What one thread works with.
struct Thread<'a> {
    answers: Answers<'a>,
    position: usize,
    out: Vec<u8>,
    bad: Vec<(u64, BadLines)>,
}

impl Thread<'_> {
    /// Puts the output of a piece into `out`.
    fn list_piece(
        &mut self,
        index: u64,
        piece: io::Result<Piece<'_>>,
        settle: impl FnMut(&mut Vec<u8>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let input = Input::new(piece.context("cannot read the input")?);
        let bad = self.list(input, settle)?;
        self.bad.push((index, bad));
        Ok(())
    }

    /// Puts the output into `out`, and lets `settle` write once enough has
    /// come together, and at the end.
    fn list(
        &mut self,
        mut input: Input<impl Read>,
        mut settle: impl FnMut(&mut Vec<u8>) -> anyhow::Result<()>,
    ) -> anyhow::Result<BadLines> {
        let mut bad = BadLines::default();
        let mut batch = [0; BATCH];
        while let Some(block) = input.next_block().context("cannot read the input")? {
            let mut lines = Lines::new(block, self.position);
            loop {
                let plain = lines.plain(&mut batch);
                bad.good(plain);
                for &address in &batch[..plain] {
                    self.answers.push(&mut self.out, address);
                }
                if self.out.len() >= WRITTEN {
                    settle(&mut self.out)?;
                }
                if plain == batch.len() {
                    continue;
                }
                match lines.next() {
                    None => break,
                    Some(Line::Address(address)) => {
                        bad.good(1);
                        self.answers.push(&mut self.out, address);
                    }
                    Some(Line::Comment(line)) => {
                        bad.good(1);
                        self.out.extend_from_slice(line);
                        self.out.push(b'\n');
                    }
                    Some(Line::Bad(line)) => {
                        bad.bad(line);
                        self.out.extend_from_slice(NO_NUMBER);
                    }
                }
            }
        }
        settle(&mut self.out)?;
        Ok(bad)
    }
}
