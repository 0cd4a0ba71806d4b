//! Without `--count`: a line of output for each line of input.

use super::answers::Answers;
use super::bad_lines::BadLines;
use super::input::{Buffer, Input};
use super::line::{Line, Lines};
use super::names::Names;
use super::output::Output;
use super::page::Page;
use super::pieces::{Piece, Pieces};
use super::run::Format;
use super::texts::{Texts, WORTHWHILE};
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

pub(super) fn print(
    input: &File,
    output: &mut Output,
    names: &mut Names,
    format: Format,
) -> anyhow::Result<BadLines> {
    match Pieces::of(input, PIECE).context("cannot read the input")? {
        Some(pieces) => print_pieces(&pieces, output, names, format),
        None => print_stream(Input::new(input), output, names, format),
    }
}

/// A regular file, on several threads.
fn print_pieces(
    pieces: &Pieces<'_>,
    output: &mut Output,
    names: &mut Names,
    format: Format,
) -> anyhow::Result<BadLines> {
    let is_long = pieces.bytes() >= WORTHWHILE;
    let texts = if is_long { Texts::of(names) } else { Texts::default() };
    let (names, turns) = (Mutex::new(names), Turns::new(output));
    let own = || Thread::new(&texts, &names, format);
    let threads = each_piece(pieces, format.threads, own, |thread, index, piece| {
        let done = thread.list_piece(index, piece, |page| match page.len() < MOST_WAITING {
            true => Ok(()),
            false => turns.begin(index, |output| write(output, page)),
        });
        let mut page = mem::take(&mut thread.page);
        turns.take(index, |output| done.and_then(|()| write(output, &mut page)))?;
        thread.page = page;
        Ok(())
    })?;
    let mut bad = Vec::new();
    for thread in threads {
        bad.extend(thread.bad);
        thread.answers.report();
    }
    Ok(BadLines::of_pieces(bad))
}

/// A pipe: how much will come is not known before it has come.
fn print_stream(
    mut input: Input<&File>,
    output: &mut Output,
    names: &mut Names,
    format: Format,
) -> anyhow::Result<BadLines> {
    let mut bad = Vec::new();
    for (index, most) in [(0, WORTHWHILE), (1, u64::MAX)] {
        let texts = if index == 0 { Texts::default() } else { Texts::of(names) };
        let names = Mutex::new(&mut *names);
        let mut thread = Thread::new(&texts, &names, format);
        let (part, is_all) = thread.list(&mut input, most, |page| write(output, page))?;
        bad.push((index, part));
        thread.answers.report();
        if is_all {
            break;
        }
    }
    Ok(BadLines::of_pieces(bad))
}

fn write(output: &mut Output, page: &mut Page) -> anyhow::Result<()> {
    let done = output.write(page.text()).context("cannot write the output");
    page.clear();
    done
}

struct Thread<'a> {
    answers: Answers<'a>,
    position: usize,
    buffer: Buffer,
    page: Page,
    bad: Vec<(u64, BadLines)>,
}

impl<'a> Thread<'a> {
    fn new(texts: &'a Texts, names: &'a Mutex<&'a mut Names>, format: Format) -> Thread<'a> {
        let answers = Answers::new(texts, names, format.offset);
        let (position, buffer) = (format.position, Buffer::new());
        Thread { answers, position, buffer, page: Page::default(), bad: Vec::new() }
    }

    fn list_piece(
        &mut self,
        index: u64,
        piece: io::Result<Piece<'_>>,
        settle: impl FnMut(&mut Page) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut input = Input::new(piece.context("cannot read the input")?);
        let (bad, _) = self.list(&mut input, u64::MAX, settle)?;
        self.bad.push((index, bad));
        Ok(())
    }

    /// Puts the output into `page`, and lets `settle` write once enough has
    /// come together, and at the end. After `most` bytes it is enough; gives
    /// whether that was all.
    fn list(
        &mut self,
        input: &mut Input<impl Read>,
        most: u64,
        mut settle: impl FnMut(&mut Page) -> anyhow::Result<()>,
    ) -> anyhow::Result<(BadLines, bool)> {
        let (mut bad, mut batch) = (BadLines::default(), [0; BATCH]);
        let (mut bytes, mut is_all) = (0, true);
        while let Some(block) =
            input.next_block(&mut self.buffer).context("cannot read the input")?
        {
            bytes += block.len() as u64;
            let mut lines = Lines::new(block, self.position);
            loop {
                let plain = lines.plain(&mut batch);
                bad.good(plain);
                self.answers.push_all(&mut self.page, &batch[..plain]);
                if self.page.len() >= WRITTEN {
                    settle(&mut self.page)?;
                }
                if plain == batch.len() {
                    continue;
                }
                match lines.next() {
                    None => break,
                    Some(Line::Address(address)) => {
                        bad.good(1);
                        self.answers.push_all(&mut self.page, &[address]);
                    }
                    Some(Line::Comment(line)) => {
                        bad.good(1);
                        self.page.push(line);
                        self.page.push(b"\n");
                    }
                    Some(Line::Heading) => bad.good(1),
                    Some(Line::Bad(line)) => {
                        bad.bad(line);
                        self.page.push(NO_NUMBER);
                    }
                }
            }
            if bytes >= most {
                is_all = false;
                break;
            }
        }
        settle(&mut self.page)?;
        Ok((bad, is_all))
    }
}
