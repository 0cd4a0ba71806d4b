//! `ebs script`: the records of a recording as text, in order of time.

mod comms;
mod field;
mod line;
mod names;
mod order;
mod perf_printer;

pub use field::{Field, FieldError, Fields};
pub use perf_printer::PerfPrinter;

use crate::input::{End, Input};
use anyhow::{Result, anyhow};
use order::Order;
use record::stream::{Decoder, EventDescription, Features, StreamRecord};
use record::{Misc, Sample, SampleId, SideRecord};
use std::borrow::Cow;
use std::io::Write;

/// Bytes of lines that are written at once.
const CHUNK: usize = 1 << 16;

/// Turns one record into text.
pub trait Printer {
    /// Appends the lines of a record; `comm` is its thread's name.
    ///
    /// # Errors
    ///
    /// A record that this form cannot show.
    fn print(
        &mut self,
        sample: &Sample<'_>,
        about: &About<'_>,
        out: &mut Vec<u8>,
    ) -> std::io::Result<()>;

    /// Sees every side record, before the records of its time are printed.
    fn side(&mut self, misc: Misc, record: &SideRecord<'_>, id: &SampleId);

    /// Sees what the stream says of its machine, whenever it says more.
    fn machine(&mut self, features: &Features);
}

/// An event's name as its user typed it, or its numbers when the stream has
/// none.
pub fn event_name(event: &EventDescription) -> Cow<'_, str> {
    match &event.name {
        Some(name) => Cow::Borrowed(name),
        None => Cow::Owned(format!("{:#x}:{:#x}", event.attr.kind.0, event.attr.config)),
    }
}

/// What is known of a record besides its fields.
#[derive(Debug)]
pub struct About<'a> {
    /// What the stream said so far.
    pub decoder: &'a Decoder,
    /// Which of its events the record belongs to.
    pub event: usize,
    /// Name of the record's thread.
    pub comm: Option<&'a [u8]>,
}

/// Prints all records of `input` in order of time.
///
/// # Errors
///
/// Those of `out`; damage of the recording after all that could be read was
/// printed.
pub fn script(input: &mut Input, printer: &mut dyn Printer, out: &mut dyn Write) -> Result<()> {
    let mut decoder = Decoder::new();
    let mut order = Order::default();
    let mut text = Vec::with_capacity(2 * CHUNK);
    let end = input.read(&mut decoder, |decoder, record| {
        match record {
            StreamRecord::Sample { event, misc, payload } => {
                order.sample(decoder, event, misc, payload)
            }
            StreamRecord::Side { misc, record, id, .. } => {
                printer.side(misc, &record, &id);
                order.side(&record, id.time);
            }
            StreamRecord::Feature => printer.machine(decoder.features()),
            StreamRecord::FinishedRound => {
                order.finish_round();
                order.print(decoder, printer, &mut text, out)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    order.finish();
    order.print(&decoder, printer, &mut text, out)?;
    out.write_all(&text)?;
    out.flush()?;
    match (end, order.undecodable()) {
        (End::Damaged(error), _) => Err(error),
        (End::Whole, 0) => Ok(()),
        (End::Whole, bad) => Err(anyhow!("{bad} records were too short for their event's fields")),
    }
}
