//! A sampler, and the texts that it lent.

use crate::sample::{CAccount, CSample, SampleTexts, text};
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

    /// What worked; None: it did not, and why is kept.
    fn kept<T>(&mut self, result: Result<T, SamplerError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error = text(&error.to_string());
                None
            }
        }
    }

    /// Whether it worked; else why not is kept.
    pub(crate) fn tried(
        &mut self,
        what: impl FnOnce(&mut Sampler) -> Result<(), SamplerError>,
    ) -> bool {
        let result = what(&mut self.sampler);
        self.kept(result).is_some()
    }

    /// Has samples ready, if there are any now; false: an error is kept.
    pub(crate) fn refill(&mut self) -> bool {
        if !self.waiting.is_empty() {
            return true;
        }
        let samples = self.sampler.samples().map(VecDeque::from_iter);
        self.kept(samples).is_some_and(|samples| {
            self.waiting = samples;
            true
        })
    }

    /// The next sample that is ready. Its texts hold until the next call.
    pub(crate) fn next(&mut self) -> Option<CSample> {
        let sample = self.waiting.pop_front()?;
        Some(CSample::of(&sample, &mut self.texts))
    }

    /// Stops for good; None: an error is kept.
    pub(crate) fn finish(&mut self) -> Option<CAccount> {
        let result = self.sampler.finish();
        let ledger = self.kept(result)?;
        Some(CAccount::of(&ledger, &self.sampler))
    }
}
