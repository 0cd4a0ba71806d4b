//! Stacks with their counts, a line each: what `ebs report --folded` prints.

use crate::export::{Export, ExportedRecording};
use analysis::{SampleNames, SampleSink, SingleSample, folded};
use std::fmt;
use std::io::{self, Write};

pub(crate) struct FoldedExport {
    out: Box<dyn Write + Send>,
}

impl FoldedExport {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> FoldedExport {
        FoldedExport { out }
    }
}

impl fmt::Debug for FoldedExport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FoldedExport")
    }
}

impl SampleSink for FoldedExport {
    fn take(&mut self, _sample: &SingleSample, _names: &SampleNames<'_>) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, _names: &SampleNames<'_>) -> io::Result<()> {
        Ok(())
    }
}

impl Export for FoldedExport {
    fn finish(&mut self, recording: &ExportedRecording<'_>) -> io::Result<()> {
        folded::write(recording.report, &mut self.out)?;
        self.out.flush()
    }
}
