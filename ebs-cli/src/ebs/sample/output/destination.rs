//! A file or pipe that takes whole pieces or nothing.

use super::{NATIVE_ORDER, first_record};
use crate::ebs::sample::OutputPlace;
use crate::outputs::{NamedOutput, PatientWriter};
use anyhow::{Context, Result};
use perfdata::bytes::Cursor;
use perfdata::{RecordHeader, RecordType};
use std::fs::File;
use std::io::{self, IsTerminal, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// Bytes tried at once on a disk that is nearly full: its usual block.
const PIECE: usize = 4096;

/// Bytes of a file copied at once.
const COPIED: usize = 1 << 20;

/// Something to write to. On a file, a piece that did not fit is cut off
/// again, so that a full disk leaves whole records behind.
#[derive(Debug)]
pub struct Destination {
    writer: PatientWriter,
    /// Where the last whole piece ends; None for what has no length.
    end: Option<u64>,
}

impl Destination {
    /// A file made anew, or stdout. A FIFO is waited for until it has a reader, or `ended` says that
    /// there is no use.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub fn create(place: &OutputPlace, ended: &mut dyn FnMut() -> bool) -> Result<Destination> {
        match place {
            OutputPlace::Stdout => {
                let writer = PatientWriter::stdout().context("stdout")?;
                Ok(Destination { writer, end: None })
            }
            OutputPlace::File(path) => {
                let file = NamedOutput::find(path)
                    .and_then(|output| output.open_anew(ended))
                    .with_context(|| format!("cannot write to {}", path.display()))?;
                let regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
                let writer = PatientWriter::new(file, path.display().to_string());
                Ok(Destination { writer, end: regular.then_some(0) })
            }
        }
    }

    /// A file without a name in TMPDIR, else /var/tmp, else /tmp; gone when it
    /// is closed. It may grow large, and /tmp is memory on many systems.
    ///
    /// # Errors
    ///
    /// It cannot be made there.
    pub fn spool() -> Result<Destination> {
        let own = std::env::var_os("TMPDIR").is_some_and(|directory| !directory.is_empty());
        let large = if own { None } else { tempfile::tempfile_in("/var/tmp").ok() };
        let file = large.map_or_else(tempfile::tempfile, Ok).with_context(|| {
            let place = std::env::temp_dir();
            format!(
                "records are kept in {} until the table is made, and no file can be made there; \
                 set TMPDIR to another directory, or use -o",
                place.display()
            )
        })?;
        let writer = PatientWriter::new(file, "a file without a name".into());
        Ok(Destination { writer, end: Some(0) })
    }

    /// The same file, for reading it later.
    ///
    /// # Errors
    ///
    /// Too many open files.
    pub fn again(&self) -> io::Result<File> {
        self.writer.file().try_clone()
    }

    pub fn is_terminal(&self) -> bool {
        self.writer.file().is_terminal()
    }

    /// The name of what has a reader that does not read, once that is waited for no longer.
    pub fn stalled(&self) -> Option<&str> {
        self.writer.has_given_up().then(|| self.writer.name())
    }

    /// Writes all of `bytes`, or leaves a file as it was.
    ///
    /// # Errors
    ///
    /// A full disk, a closed pipe, a reader that is waited for no longer.
    pub fn write_whole(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_counted(bytes).1
    }

    /// The same; an error comes with the number of bytes that a pipe took before.
    pub(super) fn write_counted(&mut self, bytes: &[u8]) -> (usize, io::Result<()>) {
        let (taken, written) = self.writer.write_counted(bytes);
        let Some(end) = &mut self.end else { return (taken, written) };
        if written.is_ok() {
            *end += bytes.len() as u64;
            return (taken, Ok(()));
        }
        let end = *end;
        (0, self.cut(end).and(written))
    }

    fn cut(&self, end: u64) -> io::Result<()> {
        let mut file = self.writer.file();
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end)).map(|_| ())
    }

    /// Writes bytes, a whole file of that size, and more bytes; or leaves a file
    /// as it was.
    ///
    /// # Errors
    ///
    /// A full disk; a file that became shorter.
    pub fn write_tail(
        &mut self,
        before: &[u8],
        content: Option<(&File, u64)>,
        after: &[u8],
    ) -> io::Result<()> {
        let start = self.end;
        let mut written = self.write_whole(before);
        if let (Ok(()), Some((file, size))) = (&written, content) {
            written = self.write_copy(file, size);
        }
        let written = written.and_then(|()| self.write_whole(after));
        if let (Err(_), Some(start)) = (&written, start) {
            self.cut(start)?;
            self.end = Some(start);
        }
        written
    }

    fn write_copy(&mut self, file: &File, size: u64) -> io::Result<()> {
        let mut buffer = vec![0; COPIED];
        let mut done = 0;
        while done < size {
            let wanted = usize::try_from(size - done).unwrap_or(COPIED).min(COPIED);
            match file.read_at(&mut buffer[..wanted], done)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => {
                    self.write_whole(&buffer[..count])?;
                    done += count as u64;
                }
            }
        }
        Ok(())
    }

    /// Writes records of a stream: all of them; or as many as fit into a file,
    /// or as a pipe took, and then the error that stopped it comes with the
    /// number of samples among those.
    pub fn write_records(&mut self, records: &[u8]) -> (u64, io::Result<()>) {
        let error = match self.write_counted(records) {
            (_, Ok(())) => return (0, Ok(())),
            (taken, Err(error)) if self.end.is_none() => {
                return (samples(&records[..taken]), Err(error));
            }
            (_, Err(error)) => error,
        };
        let mut kept = 0;
        let mut rest = records;
        while let Some((piece, samples)) = front(rest) {
            if self.write_whole(piece).is_err() {
                break;
            }
            kept += samples;
            rest = &rest[piece.len()..];
        }
        (kept, Err(error))
    }

    /// Where the last whole piece ends; None for what takes no bytes but at
    /// its end.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// Puts other bytes in place of the first ones of a file.
    ///
    /// # Errors
    ///
    /// A disk that fails; what is no file.
    pub fn replace_front(&self, bytes: &[u8]) -> io::Result<()> {
        self.writer.file().write_all_at(bytes, 0)
    }

    /// The same bytes from the start.
    ///
    /// # Errors
    ///
    /// What was written to cannot be read: a pipe.
    pub fn reread(self) -> io::Result<File> {
        let mut file = self.writer.into_file();
        file.rewind()?;
        Ok(file)
    }
}

fn samples(mut records: &[u8]) -> u64 {
    let mut samples = 0;
    while let Some((header, record)) = first_record(records) {
        samples += u64::from(header.kind == RecordType::SAMPLE);
        records = &records[record.len()..];
    }
    samples
}

/// Some whole records at the front, and how many of them are samples.
fn front(records: &[u8]) -> Option<(&[u8], u64)> {
    let (mut end, mut samples) = (0, 0);
    while end < PIECE {
        let mut cursor = Cursor::new(records.get(end..)?, NATIVE_ORDER);
        let Ok(header) = RecordHeader::decode(&mut cursor) else { break };
        let size = usize::from(header.size);
        if size < RecordHeader::SIZE || size > records.len() - end {
            break;
        }
        samples += u64::from(header.kind == RecordType::SAMPLE);
        end += size;
    }
    (end > 0).then(|| (&records[..end], samples))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::Misc;
    use perfdata::bytes::ByteWriter;
    use std::io::Read;

    #[test]
    fn a_spool_gives_back_what_it_took() {
        let mut spool = Destination::spool().expect("TMPDIR is there");
        spool.write_whole(b"one").expect("there is room");
        spool.write_whole(b"two").expect("there is room");
        let mut back = String::new();
        spool.reread().expect("is a file").read_to_string(&mut back).expect("is text");
        assert_eq!(back, "onetwo");
    }

    #[test]
    fn a_full_device_takes_nothing() {
        let place = OutputPlace::File("/dev/full".into());
        let mut full = Destination::create(&place, &mut || false).expect("Linux has it");
        let error = full.write_whole(b"x").expect_err("is full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn records_are_never_cut() {
        let header = |kind, size| RecordHeader { kind, misc: Misc(0), size };
        let mut records = Vec::new();
        for number in 0..1000 {
            let kind = if number % 2 == 0 { RecordType::SAMPLE } else { RecordType::COMM };
            header(kind, 24).encode(&mut ByteWriter::new(&mut records, NATIVE_ORDER));
            records.extend_from_slice(&[0xff; 16]);
        }
        let (piece, samples) = front(&records).expect("records are whole");
        assert_eq!((piece.len(), samples), (171 * 24, 86));
        let (last, samples) = front(&records[999 * 24..]).expect("one is left");
        assert_eq!((last.len(), samples), (24, 0));
        assert!(front(&records[..23]).is_none());
        assert!(front(&[]).is_none());
        assert!(front(&[0; 64]).is_none(), "a size of 0 leads nowhere");
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named() {
        let place = OutputPlace::File("/nonexistent/file".into());
        let error = Destination::create(&place, &mut || false).expect_err("cannot be made");
        assert!(format!("{error:#}").starts_with("cannot write to /nonexistent/file: "));
    }
}
