//! Records in hardmeter's own text form.

use super::line::write_emulation;
use super::{About, Printer};
use perfdata::Sample;
use perfdata::stream::StreamDecoder;
use perfdata::text::Columns;
use symbolizer::Symbolizer;

/// Prints a line a record, and a header line before the first and wherever
/// the next record has other columns.
#[derive(Debug, Default)]
pub struct TextPrinter {
    /// The columns of each event, as far as they were needed.
    columns: Vec<Option<Columns>>,
    /// The event of the last record, whose columns the last header has.
    current: Option<usize>,
}

impl TextPrinter {
    fn columns(
        &mut self,
        decoder: &StreamDecoder,
        event: usize,
        out: &mut Vec<u8>,
    ) -> Option<&Columns> {
        if self.current != Some(event) {
            let description = decoder.events().get(event)?;
            let attr = &description.attr;
            if self.columns.len() <= event {
                self.columns.resize(event + 1, None);
            }
            let machine = decoder.features().machine();
            self.columns[event].get_or_insert_with(|| Columns::of(attr, machine));
            let headed = self.current.and_then(|last| self.columns.get(last)?.as_ref());
            let new = self.columns[event].as_ref()?;
            if headed != Some(new) {
                write_emulation(description, out);
                new.header(out);
            }
            self.current = Some(event);
        }
        self.columns.get(event)?.as_ref()
    }
}

impl Printer for TextPrinter {
    fn print(&mut self, sample: &Sample<'_>, about: &mut About<'_>, out: &mut Vec<u8>) {
        if let Some(columns) = self.columns(about.decoder, about.event, out) {
            columns.line(sample, out);
        }
    }

    /// A recording without records has its header all the same.
    fn end(&mut self, decoder: &StreamDecoder, _symbolizer: &Symbolizer, out: &mut Vec<u8>) {
        if self.current.is_none() {
            self.columns(decoder, 0, out);
        }
    }
}
