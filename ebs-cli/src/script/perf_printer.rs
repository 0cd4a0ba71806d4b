//! Records as `perf script` prints them.

use super::field::{Field, Fields};
use super::line::Line;
use super::names::Names;
use super::{About, Printer};
use record::stream::{Decoder, EventDescription, Features};
use record::{EventType, Misc, Sample, SampleId, SideRecord};
use symbolizer::Symbolizer;

/// Prints as `perf script` does.
#[derive(Debug)]
pub struct PerfPrinter {
    fields: Fields,
    names: Names,
    event_width: Option<usize>,
    /// Events of which a record was printed.
    seen: Vec<bool>,
    notes: Vec<String>,
}

impl PerfPrinter {
    /// Prints these fields, with names from `symbolizer`.
    pub fn new(fields: Fields, symbolizer: Symbolizer) -> PerfPrinter {
        PerfPrinter {
            fields,
            names: Names::new(symbolizer),
            event_width: None,
            seen: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Notes, once an event, which fields its records do not have.
    fn see(&mut self, index: usize, event: &EventDescription) {
        if self.seen.len() <= index {
            self.seen.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.seen[index], true) && self.fields != Fields::usual() {
            // The usual fields are those that there are.
            let lacking = self.fields.lacking(&event.attr);
            if !lacking.is_empty() {
                let (name, lacking) = (event.title(), lacking.join(", "));
                self.notes.push(format!("{name} was recorded without {lacking}"));
            }
        }
    }
}

impl Printer for PerfPrinter {
    fn print(&mut self, sample: &Sample<'_>, about: &About<'_>, out: &mut Vec<u8>) {
        let events = about.decoder.events();
        if let Some(event) = events.get(about.event) {
            self.see(about.event, event);
        }
        let width = *self.event_width.get_or_insert_with(|| {
            events.iter().map(|event| event.title().len()).max().unwrap_or(0)
        });
        let with_names = self.fields.names_addresses();
        let addr = self.fields.has(Field::Addr) && events.get(about.event).is_some_and(names_data);
        let addr = (with_names && addr).then(|| self.names.data(sample));
        let ip = (with_names && self.fields.has(Field::Ip)).then(|| self.names.code(sample));
        let event = events.get(about.event).map(EventDescription::title).unwrap_or_default();
        let line = Line {
            sample,
            comm: about.comm,
            event: &event,
            event_width: width,
            ip,
            addr: addr.as_ref(),
            arch: about.decoder.features().machine(),
        };
        line.write(self.fields, out);
    }

    fn side(&mut self, misc: Misc, record: &SideRecord<'_>, id: &SampleId) {
        self.names.side(misc, record, id);
    }

    fn machine(&mut self, features: &Features) {
        if let Some(release) = &features.os_release {
            self.names.recorded_release(release);
        }
    }

    fn end(&mut self, _decoder: &Decoder, _out: &mut Vec<u8>) {}

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Whether perf names the data addresses of an event: those of page faults
/// (sample_addr_correlates_sym(), tools/perf/util/event.c).
fn names_data(event: &EventDescription) -> bool {
    const PAGE_FAULTS: [u64; 3] = [2, 5, 6];
    event.attr.kind == EventType::SOFTWARE && PAGE_FAULTS.contains(&event.attr.config)
}
