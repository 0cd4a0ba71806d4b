//! Recordings of every maker: perf.data in pipe form and in file form, of
//! both byte orders, compressed or not.
//!
//! The pipe form is read front to back. A file is read in pieces that
//! [`RecordingDecoder`] asks for: events, their ids and the machine's features stand
//! behind the data and come first, so that names are known when the first
//! record comes, and memory does not grow with the file. No I/O here:
//! whoever steps brings the bytes. [`file_form`] writes the file form.

mod decoder;
pub mod file_form;
mod file_header;
mod form;
mod front;
mod unpacker;

pub use decoder::{RecordingDecoder, RecordingStep};
pub use form::{RecordingForm, RecordingSource};
