//! `ebs script`: the records of a recording as text, in order of time.

mod arguments;
mod chain;
mod column;
mod field;
mod joined_chain;
mod line;
mod names;
mod order;
mod perf_printer;
mod registers;
mod sifter;
mod text_printer;
mod title_widths;

pub use arguments::{ScriptArguments, ScriptFormat};

pub use field::{Field, FieldError, LineFields, Selection, field_names};
pub use perf_printer::{Chains, PerfPrinter};
pub use sifter::Sifter;
pub use text_printer::TextPrinter;

use crate::ebs::arguments::UsageError;
use crate::ebs::input::Input;
use crate::ebs::report::symbols_of;
use crate::terminal::say;
use anyhow::{Result, anyhow};
use order::Order;
use perfdata::aggregate::AggregatePart;
use perfdata::stream::{StreamDecoder, StreamRecord};
use perfdata::{CpuMode, Sample};
use std::collections::BTreeMap;
use std::io::Write;
use symbolizer::{Symbolizer, SymbolizerOptions};

/// Prints the records of a recording.
///
/// # Errors
///
/// A field that is none; what cannot be read; a failing output.
pub fn run(arguments: &ScriptArguments, out: &mut dyn Write) -> Result<()> {
    let selection = Selection::parse(&arguments.fields)?;
    let mut input = Input::open(arguments.file.as_deref().ok_or(UsageError::RecordingMissing)?)?;
    let symbols = symbols_of(&input, &arguments.symbols)?;
    let sifter = (!arguments.all_samples).then(|| Sifter::new(arguments.class));
    match arguments.format {
        ScriptFormat::Perf => {
            let chains = match arguments.hide_call_graph {
                true => Chains::Hidden,
                false => Chains::Frames(arguments.max_stack),
            };
            let printer = PerfPrinter::new(selection, chains);
            print_lines(arguments, &mut input, ScriptLines::new(printer, sifter, symbols), out)
        }
        ScriptFormat::Text => {
            let printer = TextPrinter::default();
            print_lines(arguments, &mut input, ScriptLines::new(printer, sifter, symbols), out)
        }
    }
}

fn print_lines(
    arguments: &ScriptArguments,
    input: &mut Input,
    lines: ScriptLines<impl Printer>,
    out: &mut dyn Write,
) -> Result<()> {
    let lines = if arguments.guest { lines } else { lines.without_guests() };
    script(input, lines, out)
}

/// Bytes of lines that are written at once.
const CHUNK: usize = 1 << 16;

pub trait Printer {
    fn print(&mut self, sample: &Sample<'_>, about: &mut About<'_>, out: &mut Vec<u8>);

    /// Whether it names places: the symbolizer then sees every sideband record,
    /// before the records of its time are printed.
    fn names_places(&self) -> bool {
        false
    }

    /// The stream says more of this event.
    fn renamed(&mut self, _event: usize) {}

    /// The stream says more of any event.
    fn all_renamed(&mut self) {}

    /// The lines are about to be taken: adds what was left out of them.
    fn complete(&mut self, _symbolizer: &mut Symbolizer, _lines: &mut Vec<u8>) {}

    /// The last record is printed.
    fn end(&mut self, decoder: &StreamDecoder, symbolizer: &Symbolizer, out: &mut Vec<u8>);

    /// What a reader must know to read the lines right, in sentences.
    fn notes(&self) -> &[String] {
        &[]
    }
}

#[derive(Debug)]
pub struct About<'a> {
    pub decoder: &'a StreamDecoder,
    pub event: usize,
    pub comm: Option<&'a [u8]>,
    pub symbolizer: &'a mut Symbolizer,
}

#[derive(Debug)]
struct Press<P> {
    printer: P,
    /// None: all records are printed.
    sifter: Option<Sifter>,
    /// None: those of virtual machines are printed, too; otherwise how many
    /// were not.
    guests_left_out: Option<u64>,
    symbolizer: Symbolizer,
}

impl<P: Printer> Press<P> {
    fn new(printer: P, sifter: Option<Sifter>, symbols: SymbolizerOptions) -> Press<P> {
        let symbolizer = Symbolizer::new(symbols);
        Press { printer, sifter, guests_left_out: None, symbolizer }
    }

    /// Whether a record is of a virtual machine, and left out for that.
    fn leaves_out(&mut self, sample: &Sample<'_>) -> bool {
        let of_guest = matches!(sample.misc.cpu_mode(), CpuMode::GuestKernel | CpuMode::GuestUser);
        match &mut self.guests_left_out {
            Some(count) if of_guest => {
                *count += 1;
                true
            }
            _ => false,
        }
    }

    /// Mappings are followed only for who names places, or reads code.
    fn observe(&mut self, decoder: &StreamDecoder, record: &StreamRecord<'_>) {
        let reads_code = || self.sifter.as_ref().is_some_and(Sifter::needs_code);
        let is_side = matches!(record, StreamRecord::Sideband { .. });
        if !is_side || self.printer.names_places() || reads_code() {
            self.symbolizer.observe(decoder, record);
        }
    }
}

/// A stream's records becoming lines, whoever reads the stream.
#[derive(Debug)]
pub struct ScriptLines<P> {
    order: Order,
    press: Press<P>,
    counted: Counted,
    /// Finished lines, for the owner to take.
    pub text: Vec<u8>,
}

impl<P: Printer> ScriptLines<P> {
    /// No record yet. Without a sifter all become lines. Names and code come
    /// from where `symbols` says.
    pub fn new(printer: P, sifter: Option<Sifter>, symbols: SymbolizerOptions) -> ScriptLines<P> {
        let (order, counted) = (Order::default(), Counted::default());
        ScriptLines {
            order,
            press: Press::new(printer, sifter, symbols),
            counted,
            text: Vec::new(),
        }
    }

    /// Leaves out records of virtual machines, and counts them.
    pub fn without_guests(mut self) -> ScriptLines<P> {
        self.press.guests_left_out = Some(0);
        self
    }

    /// Takes the record that `decoder` just gave. Records wait for the end
    /// of the round after theirs before they become lines.
    ///
    /// # Errors
    ///
    /// An event whose filter is not known here.
    pub fn record(
        &mut self,
        decoder: &StreamDecoder,
        record: &StreamRecord<'_>,
    ) -> Result<(), analysis::Error> {
        if let StreamRecord::Sample(sample) = record {
            self.learn(decoder)?;
            self.order.sample(decoder, *sample);
            return Ok(());
        }
        if let StreamRecord::Sideband { record, id, .. } = record {
            self.learn(decoder)?;
            self.order.side(decoder, record, id);
        }
        self.press.observe(decoder, record);
        match record {
            StreamRecord::EventUpdate(event) => self.press.printer.renamed(*event),
            // Of tracing data, which names tracepoints.
            StreamRecord::Feature
            | StreamRecord::KernelList { is_whole: true }
            | StreamRecord::Payload(_) => self.press.printer.all_renamed(),
            StreamRecord::FinishedRound => self.order.finish_round(),
            StreamRecord::Aggregate { event, part } => self.counted.add(*event, part),
            _ => {}
        }
        Ok(())
    }

    /// The stream has ended: whatever waits may become lines.
    pub fn finish(&mut self) {
        self.order.finish();
    }

    /// Appends lines of what nothing older can come before, about
    /// 64 KiB. False: there are no more for now.
    #[inline]
    pub fn print(&mut self, decoder: &StreamDecoder) -> bool {
        let until = self.text.len() + CHUNK;
        self.order.print(decoder, &mut self.press, &mut self.text, until)
    }

    /// The lines, once all that is printed of them is there.
    pub fn complete(&mut self) -> &[u8] {
        self.press.printer.complete(&mut self.press.symbolizer, &mut self.text);
        &self.text
    }

    pub fn end(&mut self, decoder: &StreamDecoder) {
        self.press.printer.end(decoder, &self.press.symbolizer, &mut self.text);
    }

    fn learn(&mut self, decoder: &StreamDecoder) -> Result<(), analysis::Error> {
        self.press.sifter.as_mut().map_or(Ok(()), |sifter| sifter.learn(decoder))
    }

    pub fn sifter(&self) -> Option<&Sifter> {
        self.press.sifter.as_ref()
    }

    /// What the kernel counted, which becomes no lines: a sentence an event.
    pub fn counted<'d>(&'d self, decoder: &'d StreamDecoder) -> impl Iterator<Item = String> + 'd {
        self.counted.notes(decoder)
    }

    /// What a reader must know of names of threads that are not kept.
    pub fn unnamed(&self) -> Option<String> {
        self.order.unnamed()
    }

    /// Records that came too late for their place in time.
    pub fn late(&self) -> u64 {
        self.order.late()
    }

    /// Records that became lines, and records too short for their event's
    /// fields, which did not.
    pub fn counts(&self) -> (u64, u64) {
        self.order.counts()
    }
}

/// Prints the records of `input` in order of time.
///
/// # Errors
///
/// Those of `out`; damage of the recording after all that could be read was
/// printed.
pub fn script(
    input: &mut Input,
    mut lines: ScriptLines<impl Printer>,
    out: &mut dyn Write,
) -> Result<()> {
    let mut decoder = input.decoder();
    let end = input.read(&mut decoder, |decoder, record| {
        lines.record(decoder, record)?;
        write(&mut lines, decoder, out)
    })?;
    let decoder = decoder.stream();
    if decoder.events().is_empty() {
        end.into_result()?;
        return Err(anyhow!("{}: the recording describes no event", input.name()));
    }
    lines.finish();
    write(&mut lines, decoder, out)?;
    lines.end(decoder);
    out.write_all(lines.complete())?;
    out.flush()?;
    let left_out = lines.sifter().map(Sifter::notes).unwrap_or_default();
    let late = (lines.late() > 0).then(|| {
        format!(
            "{} records came after younger ones were printed: lines are out of order",
            lines.late()
        )
    });
    let unplaced = decoder.tally().unknown_id + decoder.tally().unplaced;
    let unplaced = (unplaced > 0).then(|| {
        format!("{unplaced} records belong to no event that the stream describes: left out")
    });
    let undecoded = decoder.undecoded();
    let counted: Vec<String> = lines.counted(decoder).collect();
    let unnamed = lines.unnamed();
    let guests = lines.press.guests_left_out.filter(|count| *count > 0).map(|count| {
        format!("{count} records of virtual machines are left out; --guest prints them")
    });
    let of_stream = guests
        .iter()
        .chain(&unplaced)
        .chain(&undecoded)
        .chain(&late)
        .chain(&unnamed)
        .chain(&counted);
    for note in lines.press.printer.notes().iter().chain(&left_out).chain(of_stream) {
        say("ebs", note);
    }
    end.into_result()?;
    if lines.counts().0 == 0 && !counted.is_empty() {
        return Err(anyhow!("{} has no records, only what the kernel counted", input.name()));
    }
    match lines.counts().1 {
        0 => Ok(()),
        bad => Err(anyhow!("{bad} records were too short for their event's fields")),
    }
}

#[inline]
fn write(
    lines: &mut ScriptLines<impl Printer>,
    decoder: &StreamDecoder,
    out: &mut dyn Write,
) -> Result<()> {
    while lines.print(decoder) || lines.text.len() >= CHUNK {
        out.write_all(lines.complete())?;
        lines.text.clear();
    }
    Ok(())
}

/// Hits and parts of aggregates, by event.
#[derive(Debug, Default)]
struct Counted {
    events: BTreeMap<usize, (u64, u64)>,
}

impl Counted {
    fn add(&mut self, event: usize, part: &AggregatePart) {
        let (hits, intervals) = self.events.entry(event).or_default();
        *hits = hits.saturating_add(part.samples());
        *intervals += u64::from(part.is_last);
    }

    fn notes<'d>(&'d self, decoder: &'d StreamDecoder) -> impl Iterator<Item = String> + 'd {
        self.events.iter().filter_map(|(event, (hits, intervals))| {
            let name = decoder.events().get(*event)?.title();
            Some(format!(
                "{name}: {hits} hits were counted in the kernel, in {intervals} intervals; they have no \
                 records that could be printed: `ebs report` shows their sites"
            ))
        })
    }
}
