//! What a form is.

use analysis::{Report, SampleNames, SampleSink, SingleSample};
use perfdata::stream::Features;
use std::fmt::Debug;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

pub trait Export: SampleSink {
    /// Writes what is known when all samples were taken, and what was held
    /// back.
    ///
    /// # Errors
    /// It cannot be written.
    fn finish(&mut self, recording: &ExportedRecording<'_>) -> io::Result<()>;
}

#[derive(Clone, Copy, Debug)]
pub struct ExportedRecording<'r> {
    /// Its report: totals, losses, notes.
    pub report: &'r Report,
    pub features: &'r Features,
}

/// An export that a pipeline hands samples to while its owner keeps it.
#[derive(Clone, Debug)]
pub struct SharedExport(Arc<Mutex<Box<dyn Export>>>);

impl SharedExport {
    pub fn new(export: Box<dyn Export>) -> SharedExport {
        SharedExport(Arc::new(Mutex::new(export)))
    }

    /// Does something with it; one that was left amid a panic is as it is.
    fn with<A>(&self, act: impl FnOnce(&mut dyn Export) -> A) -> A {
        act(&mut **self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// [`Export::finish`].
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&self, recording: &ExportedRecording<'_>) -> io::Result<()> {
        self.with(|export| export.finish(recording))
    }
}

impl SampleSink for SharedExport {
    fn take(&mut self, sample: &SingleSample, names: &SampleNames<'_>) -> io::Result<()> {
        self.with(|export| export.take(sample, names))
    }

    fn end(&mut self, names: &SampleNames<'_>) -> io::Result<()> {
        self.with(|export| export.end(names))
    }
}
