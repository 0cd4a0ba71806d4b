//! Where a session's stream goes, through a buffer that is reused.

use std::io;

use crate::session::ledger::Ledger;

/// Handed on once it holds so much, bytes. A ring is always emptied into the
/// buffer first, so it can grow by the size of one ring.
const CHUNK: usize = 256 * 1024;

/// Takes the stream's bytes: whole records, in order.
pub trait Sink {
    /// Takes all of `bytes` or none: after an error none of its records
    /// counts as delivered, so a sink that writes to a file should cut off
    /// what it wrote of them.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// As [`Sink::write`], of records that it may keep: it then leaves another
    /// buffer, whose content means nothing.
    ///
    /// # Errors
    /// Those of [`Sink::write`].
    fn write_buffer(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.write(bytes)
    }

    /// Bytes that it has room for just now, where it drops what comes beyond
    /// that. None: it takes everything.
    fn room(&self) -> Option<usize> {
        None
    }
}

impl<F: FnMut(&[u8]) -> io::Result<()>> Sink for F {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self(bytes)
    }
}

impl Sink for Vec<u8> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

#[derive(Debug, Default)]
pub(crate) struct OutputBuffer {
    pub(crate) bytes: Vec<u8>,
    /// Of each event, by its place in the ledger.
    pub(crate) samples: Vec<BufferedSamples>,
    pub(crate) side: u64,
    /// The sink has failed: nothing is written any more.
    failed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BufferedSamples {
    pub(crate) samples: u64,
    pub(crate) exact_ip: u64,
}

impl OutputBuffer {
    pub(crate) fn new(events: usize) -> OutputBuffer {
        OutputBuffer {
            samples: vec![BufferedSamples::default(); events],
            ..OutputBuffer::default()
        }
    }

    /// Hands on a buffer that is full enough.
    pub(crate) fn flush_full(
        &mut self,
        sink: &mut dyn Sink,
        ledger: &mut Ledger,
    ) -> io::Result<()> {
        if self.bytes.len() >= CHUNK { self.flush(sink, ledger) } else { Ok(()) }
    }

    /// Hands on what there is, and books it as delivered or lost. Only the
    /// first failure is an error; the ledger keeps it.
    pub(crate) fn flush(&mut self, sink: &mut dyn Sink, ledger: &mut Ledger) -> io::Result<()> {
        let result = if self.failed || self.bytes.is_empty() {
            Ok(())
        } else {
            sink.write_buffer(&mut self.bytes)
        };
        if let Err(error) = &result {
            self.failed = true;
            ledger.sink_error = Some(error.to_string());
        }
        for (event, buffered) in self.samples.iter_mut().enumerate() {
            let BufferedSamples { samples, exact_ip } = std::mem::take(buffered);
            match self.failed {
                true => ledger.lose(event, samples, |lost| &mut lost.sink),
                false => ledger.deliver(event, samples, exact_ip),
            }
        }
        match self.failed {
            true => ledger.side_lost += self.side,
            false => ledger.side_delivered += self.side,
        }
        self.bytes.clear();
        self.side = 0;
        result
    }
}
