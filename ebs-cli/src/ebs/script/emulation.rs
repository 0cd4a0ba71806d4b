//! The line above records that no hardware made.

use super::line::clean;
use perfdata::stream::{EventDescription, note};

/// Appends what was modelled as a comment line, `# emulated: ...`, if the
/// event is one of the emulated PMU.
pub(super) fn write(event: &EventDescription, out: &mut Vec<u8>) {
    let says = |key: &str| event.notes.iter().find_map(|text| note::value(text, key));
    if let Some(phrase) = analysis::emulation(says) {
        out.extend_from_slice(b"# ");
        clean(phrase.as_bytes(), out);
        out.push(b'\n');
    }
}
