//! The terminal's own work on what is typed and drawn, left off meanwhile.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::io::{self, stdin};
use std::sync::{Mutex, PoisonError};

/// The settings before, while it is left off.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keys come one by one and unseen, and signals only from elsewhere; also where
/// another program has changed that meanwhile.
pub(crate) fn enter() -> io::Result<()> {
    let mut kept = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = match kept.take() {
        Some(before) => before,
        None => tcgetattr(stdin())?,
    };
    let mut raw = before.clone();
    raw.make_raw();
    // Kept first: what fails half-way is given back as well.
    *kept = Some(before);
    Ok(tcsetattr(stdin(), OptionalActions::Now, &raw)?)
}

/// All of it as it was.
pub(crate) fn leave() -> io::Result<()> {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    match before {
        Some(before) => Ok(tcsetattr(stdin(), OptionalActions::Now, &before)?),
        None => Ok(()),
    }
}
