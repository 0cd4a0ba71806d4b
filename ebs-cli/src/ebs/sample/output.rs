//! Where a session's stream goes while it samples, and what becomes of it
//! at the end.

mod destination;
mod keeper;
mod recorded_file;
mod sampled_page;
mod sampled_summary;
mod stack_unwinder;
mod text;

pub use destination::Destination;

use crate::ebs::arguments::TableArguments;
use crate::ebs::input::Input;
use crate::ebs::report::CountedRecording;
use crate::ebs::sample::cut_short::CutShort;
use crate::ebs::sample::{OutputChoice, OutputPlace, SampleJob};
use crate::outputs::PatientWriter;
use crate::terminal::debuginfod;
use analysis::{Pipeline, Query, table};
use anyhow::{Context, Result, bail};
use perfdata::bytes::Cursor;
use perfdata::{ByteOrder, RecordHeader};
pub use recorded_file::RecordedExtras;
use recorded_file::RecordedFile;
use recorder::Facts;
use recorder::session::Sink;
use recorder::session::ledger::Ledger;
use sampled_page::SampledPage;
use sampled_summary::SampledSummary;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use symbolizer::{KeptFiles, Symbolizer};
use text::TextRecords;

const NATIVE_ORDER: ByteOrder =
    if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

#[derive(Debug)]
pub struct SampleOutput {
    form: Form,
    page: Option<SampledPage>,
    summary: Option<SampledSummary>,
    /// The output is a pipe that nobody reads any more.
    reader_gone: bool,
    /// Samples that were written of a piece that did not fit as a whole,
    /// which the session books as lost.
    kept: u64,
    /// What became of a reader that does not read, once it is closed.
    stalled: Option<String>,
}

/// The recording that is shown in the end.
#[derive(Debug)]
enum RecordingSource {
    /// One that stays.
    Named(PathBuf),
    /// One without a name, gone when it is closed.
    Unnamed(File),
}

impl RecordingSource {
    /// Where it is opened anew, from its begin.
    fn path(&self) -> Cow<'_, Path> {
        match self {
            RecordingSource::Named(path) => path.into(),
            RecordingSource::Unnamed(file) => {
                PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())).into()
            }
        }
    }
}

#[derive(Debug)]
enum Form {
    /// Kept until the end, then counted: nothing that costs time is done
    /// while records come.
    Table { spool: Option<Destination>, top: usize, shown: TableArguments, kept: Box<KeptFiles> },
    /// Written as it comes, into what takes bytes but at its end.
    Stream(Destination),
    /// Written as it comes, into a file.
    File(Box<RecordedFile>),
    /// Written as lines, as soon as their order is sure.
    Text(Box<TextRecords>),
}

impl SampleOutput {
    /// Opens what is to be written. Files are made anew. `facts` are of the machine
    /// that is sampled. A FIFO is waited for until it has a reader, or `ended` says that there is no
    /// use.
    ///
    /// # Errors
    ///
    /// A file that cannot be made.
    pub fn open(
        job: &SampleJob,
        extras: RecordedExtras,
        facts: &Facts,
        ended: &mut dyn FnMut() -> bool,
    ) -> Result<SampleOutput> {
        let (mut page, mut summary) = (None, None);
        let form = match &job.output {
            OutputChoice::Table { top, shown } => {
                let (spool, kept) = (Some(Destination::spool()?), Box::default());
                Form::Table { spool, top: *top, shown: *shown, kept }
            }
            OutputChoice::Stream(place) => {
                let destination = Destination::create(place, ended)?;
                if destination.is_terminal() {
                    bail!("the stream is no text for a terminal: pipe it on, or say -o FILE.data");
                }
                if let OutputPlace::File(path) = place {
                    page = SampledPage::of(job, RecordingSource::Named(path.clone()));
                }
                match destination.end() {
                    Some(_) => {
                        let file = RecordedFile::new(destination, facts.clone(), extras);
                        Form::File(Box::new(file))
                    }
                    None => Form::Stream(destination),
                }
            }
            OutputChoice::Unnamed => {
                let destination = Destination::spool()?;
                page = SampledPage::of(job, RecordingSource::Unnamed(destination.again()?));
                Form::File(Box::new(RecordedFile::new(destination, facts.clone(), extras)))
            }
            OutputChoice::Summary => {
                let (destination, source) = sampled_summary::usual_recording(ended)?;
                summary = Some(SampledSummary::of(job, source));
                Form::File(Box::new(RecordedFile::new(destination, facts.clone(), extras)))
            }
            OutputChoice::Text(place) => {
                Form::Text(Box::new(TextRecords::new(Destination::create(place, ended)?)))
            }
        };
        Ok(SampleOutput { form, page, summary, reader_gone: false, kept: 0, stalled: None })
    }

    /// The session has ended: what waited is written now, and the account
    /// is set right. The session books whole pieces; here is known which
    /// records of the last one were written.
    pub fn close(&mut self, ledger: &mut Ledger) {
        let kept = self.kept.min(ledger.lost.sink);
        ledger.delivered += kept;
        ledger.lost.sink -= kept;
        // A map may have been made since the last record came.
        if let Form::Table { kept, .. } = &mut self.form {
            kept.look_again();
        }
        if let Form::File(file) = &mut self.form {
            if let (Err(error), None) = (file.finish(), &ledger.sink_error) {
                ledger.sink_error = Some(error.to_string());
            }
            file.settle(ledger);
        }
        if let Form::Text(text) = &mut self.form {
            let failed = text.close().err();
            let missing = ledger.delivered.saturating_sub(text.written() + text.left_out());
            ledger.delivered -= missing;
            ledger.exact_ip -= ledger.exact_ip.min(missing);
            ledger.lost.sink += missing;
            if let (Some(error), None) = (failed, &ledger.sink_error) {
                self.reader_gone |= error.kind() == ErrorKind::BrokenPipe;
                ledger.sink_error = Some(error.to_string());
            }
        }
        self.stalled = self.destination().and_then(Destination::stalled).map(|name| {
            let records = match ledger.lost.sink {
                1 => "1 record was".to_owned(),
                count => format!("{count} records were"),
            };
            format!("{records} not written, because the reader of {name} does not read")
        });
        // A reader that has seen enough is no failure.
        if self.reader_gone {
            ledger.sink_error = None;
        }
    }

    /// What the user should know of what was written, once it is closed.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = match &self.form {
            Form::Text(text) => text.notes(),
            Form::Table { kept, .. } => keeper::notes(kept),
            Form::File(file) => file.notes(),
            Form::Stream(_) => Vec::new(),
        };
        notes.extend(self.stalled.clone());
        notes
    }

    /// Whether its reader was given up, as it does not read.
    pub fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    fn destination(&self) -> Option<&Destination> {
        match &self.form {
            Form::Stream(destination) => Some(destination),
            Form::Text(text) => Some(text.destination()),
            Form::Table { .. } | Form::File(_) => None,
        }
    }

    /// Prints the table, or writes the page, if that is what was wanted, and not twice. The table
    /// says, too, what a count left unseen.
    ///
    /// # Errors
    ///
    /// The kept stream cannot be read, or the table or page not be written.
    pub fn show(&mut self, cut_short: Option<CutShort>) -> Result<()> {
        if let Some(page) = self.page.take() {
            return page.write();
        }
        if let Some(summary) = self.summary.take() {
            return summary.print();
        }
        let Form::Table { spool, top, shown, kept } = &mut self.form else {
            return Ok(());
        };
        let (Some(spool), top) = (spool.take(), *top) else {
            return Ok(());
        };
        let mut input = Input::new(Box::new(spool.reread()?), "the kept stream");
        let query = Query { top: Some(top), ..Query::default() };
        let debuginfod = debuginfod::servers()?;
        let options = symbolizer::SymbolizerOptions {
            debuginfod,
            ..symbolizer::SymbolizerOptions::default()
        };
        let mut symbolizer = Symbolizer::new(options);
        symbolizer.keep(std::mem::take(kept));
        let recording = CountedRecording::read(&mut input, query, symbolizer)?;
        let (mut report, end) = recording.answer(Pipeline::finish)?;
        if let Some(cut_short) = cut_short {
            // It knows more than the stream, which had ended before the target did.
            let ledgers = report.events.iter_mut().filter_map(|event| event.ledger.as_mut());
            ledgers.for_each(|ledger| ledger.count_reached = None);
            report.notes.push(cut_short.to_string());
        }
        let text = table::render(&report, shown.style());
        let stdout = PatientWriter::stdout();
        stdout.and_then(|mut stdout| stdout.write_all(text.as_bytes())).context("stdout")?;
        end.into_result()
    }
}

impl Sink for SampleOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let result = match &mut self.form {
            Form::Table { spool: Some(destination), kept, .. } => {
                keeper::keep(kept, bytes);
                let (whole, result) = destination.write_records(bytes);
                self.kept += whole;
                result
            }
            Form::Stream(destination) => {
                let (whole, result) = destination.write_records(bytes);
                self.kept += whole;
                result
            }
            Form::File(_) => return self.write_buffer(&mut bytes.to_vec()),
            Form::Table { spool: None, .. } => Err(ErrorKind::NotConnected.into()),
            Form::Text(text) => text.stream(bytes),
        };
        let closed = |error: &io::Error| error.kind() == ErrorKind::BrokenPipe;
        self.reader_gone |= result.as_ref().is_err_and(closed);
        result
    }

    fn write_buffer(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let Form::File(file) = &mut self.form else { return self.write(bytes) };
        let (whole, result) = file.write_records(bytes);
        self.kept += whole;
        result
    }
}

/// The record that `records` begins with, its header included; None where
/// none is whole.
fn first_record(records: &[u8]) -> Option<(RecordHeader, &[u8])> {
    let header = RecordHeader::decode(&mut Cursor::new(records, NATIVE_ORDER)).ok()?;
    let size = usize::from(header.size);
    let record = records.get(..size).filter(|_| size >= RecordHeader::SIZE)?;
    Some((header, record))
}
