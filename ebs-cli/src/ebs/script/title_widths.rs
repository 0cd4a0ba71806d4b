//! How wide the events' titles are.

use perfdata::stream::StreamDecoder;
use std::collections::BTreeMap;

/// The widest title of all events, kept up to date: a recording may describe
/// thousands, and each is asked about when its first record comes.
#[derive(Debug, Default)]
pub(super) struct TitleWidths {
    /// By event.
    widths: Vec<usize>,
    /// How many events have each width.
    events: BTreeMap<usize, usize>,
    /// Events whose titles may have changed.
    stale: Vec<usize>,
}

impl TitleWidths {
    pub(super) fn renamed(&mut self, event: usize) {
        self.stale.push(event);
    }

    pub(super) fn all_renamed(&mut self) {
        *self = TitleWidths::default();
    }

    /// Bytes of the widest; 0 without events.
    pub(super) fn widest(&mut self, decoder: &StreamDecoder) -> usize {
        for event in std::mem::take(&mut self.stale) {
            if let Some(width) = self.widths.get(event).copied() {
                self.forget(width);
                let width = width_of(decoder, event);
                self.widths[event] = width;
                self.note(width);
            }
        }
        for event in self.widths.len()..decoder.events().len() {
            let width = width_of(decoder, event);
            self.widths.push(width);
            self.note(width);
        }
        self.events.last_key_value().map_or(0, |(width, _)| *width)
    }

    fn note(&mut self, width: usize) {
        *self.events.entry(width).or_default() += 1;
    }

    fn forget(&mut self, width: usize) {
        if let Some(events) = self.events.get_mut(&width) {
            *events -= 1;
            if *events == 0 {
                self.events.remove(&width);
            }
        }
    }
}

fn width_of(decoder: &StreamDecoder, event: usize) -> usize {
    decoder.events().get(event).map_or(0, |event| event.perf_title().len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::stream::StreamStep;
    use perfdata::stream::write::{attr, event_name, file_header};
    use perfdata::{Attr, ByteOrder};

    const ORDER: ByteOrder = ByteOrder::Little;

    fn told(decoder: &mut StreamDecoder, bytes: &[u8]) {
        let mut rest = bytes;
        while let StreamStep::Record { consumed, .. } = decoder.step(rest).unwrap() {
            rest = &rest[consumed..];
        }
    }

    #[test]
    fn the_widest_is_that_of_all_titles_as_they_are_now() {
        let (mut decoder, mut widths) = (StreamDecoder::new(), TitleWidths::default());
        let mut bytes = Vec::new();
        file_header(ORDER, &mut bytes);
        for id in 1..=3 {
            attr(&Attr::default(), &[id], ORDER, &mut bytes).unwrap();
        }
        told(&mut decoder, &bytes);
        let of_all = |decoder: &StreamDecoder| {
            decoder.events().iter().map(|event| event.perf_title().len()).max().unwrap()
        };
        assert_eq!(widths.widest(&decoder), of_all(&decoder));
        for (event, name) in [(1, "a name of many words"), (2, "short"), (1, "b"), (0, "c")] {
            let mut bytes = Vec::new();
            event_name(event as u64 + 1, name, ORDER, &mut bytes).unwrap();
            attr(&Attr::default(), &[event as u64 + 10], ORDER, &mut bytes).unwrap();
            told(&mut decoder, &bytes);
            widths.renamed(event);
            assert_eq!(widths.widest(&decoder), of_all(&decoder), "{name}");
        }
    }
}
