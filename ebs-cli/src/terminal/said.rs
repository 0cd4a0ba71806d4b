//! What the commands say on stderr.

use perfdata::printable::printable;
use std::io::{self, Write};

/// A line for the user, `PROGRAM: TEXT`: names in it were chosen by others,
/// and end no line. A closed stderr is no reason to fail.
pub(crate) fn say(program: &str, text: &str) {
    let _closed = writeln!(io::stderr(), "{program}: {}", printable(text));
}
