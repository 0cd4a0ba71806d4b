//! A sampler, and the texts that it lent.

use crate::sample::{CAccount, CSample, SampleTexts};
use sampler::{NamedSample, Sampler, SamplerError};
use std::collections::VecDeque;
use std::ffi::CString;

/// What is behind `hardmeter_sampler`.
#[derive(Debug)]
pub(crate) struct SamplerHandle {
    sampler: Sampler,
    waiting: VecDeque<NamedSample>,
    texts: SampleTexts,
    error: CString,
}

impl SamplerHandle {
    pub(crate) fn new(sampler: Sampler) -> SamplerHandle {
        SamplerHandle {
            sampler,
            waiting: VecDeque::new(),
            texts: SampleTexts::default(),
            error: CString::default(),
        }
    }

    /// What went wrong last.
    pub(crate) fn error(&self) -> &CString {
        &self.error
    }

    /// Keeps why something failed.
    fn note(&mut self, error: &SamplerError) {
        self.error = CString::new(error.to_string().replace('\0', "?")).unwrap_or_default();
    }

    /// Whether it worked; else the error is kept.
    pub(crate) fn tried(
        &mut self,
        what: impl FnOnce(&mut Sampler) -> Result<(), SamplerError>,
    ) -> bool {
        let result = what(&mut self.sampler);
        result.as_ref().err().into_iter().for_each(|error| self.note(error));
        result.is_ok()
    }

    /// The next sample; None: there is none now. Its texts hold until the
    /// next call.
    ///
    /// # Errors
    /// Kept.
    pub(crate) fn next(&mut self) -> Result<Option<CSample>, ()> {
        if self.waiting.is_empty() {
            match self.sampler.samples() {
                Ok(samples) => self.waiting.extend(samples),
                Err(error) => {
                    self.note(&error);
                    return Err(());
                }
            }
        }
        let sample = self.waiting.pop_front();
        Ok(sample.map(|sample| CSample::of(&sample, &mut self.texts)))
    }

    /// Stops for good.
    ///
    /// # Errors
    /// Kept.
    pub(crate) fn finish(&mut self) -> Result<CAccount, ()> {
        match self.sampler.finish() {
            Ok(ledger) => Ok(CAccount::of(&ledger, self.sampler.left_out())),
            Err(error) => {
                self.note(&error);
                Err(())
            }
        }
    }
}
