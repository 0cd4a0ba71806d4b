//! When the samples of a recording were taken: it is read once for that,
//! before it is counted.

use crate::ebs::input::{End, Input};
use analysis::RunTimes;
use anyhow::{Result, bail};
use perfdata::stream::StreamRecord;
use std::path::Path;

/// The first and the last sample's, of all events.
///
/// # Errors
///
/// What can be read but once; a recording without samples that have a time.
pub(crate) fn of(file: Option<&Path>) -> Result<RunTimes> {
    let Some(file) = file.filter(|file| file.metadata().is_ok_and(|it| it.is_file())) else {
        bail!(
            "times of a run are counted from its first sample to its last, for which it is read \
             twice: name a file, not a pipe or what a daemon keeps"
        );
    };
    let mut input = Input::open(file)?;
    let mut decoder = input.decoder();
    let mut times: Option<RunTimes> = None;
    // What is wrong with it is said when it is counted.
    let _: End = input.read(&mut decoder, |stream, record| {
        let StreamRecord::Sample { event, payload, .. } = record else { return Ok(()) };
        let layout = stream.events().get(*event).map(|event| &event.layout);
        if let Some(time) = layout.and_then(|layout| layout.peek_time(payload)) {
            let known = times.get_or_insert(RunTimes { first: time, last: time });
            known.first = known.first.min(time);
            known.last = known.last.max(time);
        }
        Ok(())
    })?;
    match times {
        Some(times) => Ok(times),
        None => bail!("{}: none of its samples has a time: leave --time out", file.display()),
    }
}
