//! Records in hardmeter's own text form.

use super::{About, Printer};
use record::stream::{Decoder, Features};
use record::text::Columns;
use record::{Misc, Sample, SampleId, SideRecord};

/// Prints a line a record, and a header line before the first and wherever
/// the next record is of another event.
#[derive(Debug, Default)]
pub struct TextPrinter {
    /// The event of the last header, and its columns.
    current: Option<(usize, Columns)>,
}

impl TextPrinter {
    /// The columns of an event; its header is printed when it is not the
    /// last one's.
    fn columns(&mut self, decoder: &Decoder, event: usize, out: &mut Vec<u8>) -> Option<&Columns> {
        if self.current.as_ref().is_none_or(|(last, _)| *last != event) {
            let attr = &decoder.events().get(event)?.attr;
            let columns = Columns::of(attr, decoder.features().machine());
            columns.header(out);
            self.current = Some((event, columns));
        }
        self.current.as_ref().map(|(_, columns)| columns)
    }
}

impl Printer for TextPrinter {
    fn print(&mut self, sample: &Sample<'_>, about: &About<'_>, out: &mut Vec<u8>) {
        if let Some(columns) = self.columns(about.decoder, about.event, out) {
            columns.line(sample, out);
        }
    }

    fn side(&mut self, _misc: Misc, _record: &SideRecord<'_>, _id: &SampleId) {}

    fn machine(&mut self, _features: &Features) {}

    /// A recording without records has its header all the same.
    fn end(&mut self, decoder: &Decoder, out: &mut Vec<u8>) {
        if self.current.is_none() {
            self.columns(decoder, 0, out);
        }
    }
}
