//! A recording, read record by record from a file or stdin.

use anyhow::{Context, Result, anyhow};
use record::stream::{Decoder, Step, StreamError, StreamRecord};
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read};
use std::path::Path;

/// Bytes read at once; a record has 65,535 at most.
const BUFFER: usize = 1 << 20;
/// Files from this size on, in bytes, show how far they are read.
const LARGE: u64 = 64 << 20;

/// How a recording ended.
#[derive(Debug)]
#[must_use]
pub enum End {
    /// As it should.
    Whole,
    /// Not as it should, or with records that cannot be read; all others
    /// before that were handed out.
    Damaged(anyhow::Error),
    /// In a form that is not read here, for all that is known of it.
    Unread(anyhow::Error),
}

impl End {
    /// Damage as the error that it is.
    ///
    /// # Errors
    ///
    /// The damage, or that the recording's form is not read.
    pub fn into_result(self) -> Result<()> {
        match self {
            End::Whole => Ok(()),
            End::Damaged(error) | End::Unread(error) => Err(error),
        }
    }
}

/// Bytes of a recording and where they come from.
pub struct Input {
    source: Box<dyn Read>,
    name: String,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Input {
    /// Opens a file, or stdin for `-`.
    ///
    /// # Errors
    ///
    /// No such file, no right to read it, a directory.
    pub fn open(path: &Path) -> Result<Input> {
        if path == Path::new("-") {
            return Ok(Input::new(Box::new(std::io::stdin()), "stdin"));
        }
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        let metadata = file.metadata().with_context(|| format!("cannot look at {name}"))?;
        if metadata.is_dir() {
            return Err(anyhow!("{name} is a directory; a recording is a file"));
        }
        let large = metadata.is_file() && metadata.len() >= LARGE;
        if large && std::io::stderr().is_terminal() {
            let bar = indicatif::ProgressBar::new(metadata.len());
            return Ok(Input::new(Box::new(bar.wrap_read(file)), &name));
        }
        Ok(Input::new(Box::new(file), &name))
    }

    /// Reads from anything; `name` is for messages.
    pub fn new(source: Box<dyn Read>, name: &str) -> Input {
        Input { source, name: name.to_owned(), buffer: vec![0; BUFFER], start: 0, end: 0 }
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hands every record to `each`, until the recording ends or `each`
    /// fails.
    ///
    /// # Errors
    ///
    /// Those of `each`; errors of the recording itself are in [`End`].
    pub fn read(
        &mut self,
        decoder: &mut Decoder,
        mut each: impl FnMut(&Decoder, StreamRecord<'_>) -> Result<()>,
    ) -> Result<End> {
        loop {
            match decoder.step(&self.buffer[self.start..self.end]) {
                Ok(Step::Record { consumed, record }) => {
                    self.start += consumed;
                    each(decoder, record)?;
                }
                Ok(Step::NeedMore(wanted)) => match self.fill(wanted) {
                    Ok(true) => {}
                    Ok(false) => {
                        let end = decoder.finish(self.end - self.start);
                        return Ok(self.end_of(decoder, end));
                    }
                    Err(error) => {
                        let error = anyhow::Error::new(error);
                        return Ok(End::Damaged(error.context(format!("reading {}", self.name))));
                    }
                },
                Err(error) => return Ok(self.end_of(decoder, Err(error))),
            }
        }
    }

    fn end_of(&self, decoder: &Decoder, end: Result<(), StreamError>) -> End {
        if let Err(StreamError::Compressed { .. }) = end {
            return End::Unread(anyhow!(
                "{}: compressed (perf record -z), which is not read yet; record without -z",
                self.name
            ));
        }
        match (end, decoder.tally().unreadable()) {
            (Ok(()), None) => End::Whole,
            (Ok(()), Some(unreadable)) => End::Damaged(anyhow!("{}: {unreadable}", self.name)),
            (Err(error), None) => self.damaged(error),
            (Err(error), Some(unreadable)) => {
                End::Damaged(anyhow!("{}: {error}; besides, {unreadable}", self.name))
            }
        }
    }

    /// Text records are told from other foreign files: they are ours.
    fn damaged(&self, error: StreamError) -> End {
        let text = matches!(&error, StreamError::Foreign { start } if start.starts_with('#'));
        End::Damaged(if text {
            anyhow!(
                "{}: these are text records (or another text); this command reads the stream: \
                 record with -o FILE.data. Text records are for grep, awk and `eip2r -p 2`",
                self.name
            )
        } else {
            anyhow::Error::new(error).context(self.name.clone())
        })
    }

    /// Whether there are `wanted` bytes now; if not, the source has ended.
    fn fill(&mut self, wanted: usize) -> std::io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
