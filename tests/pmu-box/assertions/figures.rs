//! What an assertion found, beside that it held: told on its line, so that
//! runs can be compared.

use std::{mem, sync::Mutex};

static FIGURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// A figure of the assertion that runs.
pub(crate) fn keep(figure: String) {
    FIGURES.lock().unwrap().push(figure);
}

/// Those of the assertion that has ended.
pub(crate) fn take() -> String {
    let figures = mem::take(&mut *FIGURES.lock().unwrap());
    figures.iter().map(|figure| format!("; {figure}")).collect()
}
