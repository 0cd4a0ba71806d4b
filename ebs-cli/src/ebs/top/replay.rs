//! A recording, played in its own time.

use super::counting::TopQuestion;
use super::live_view::TopNews;
use crate::ebs::input::{End, Input};
use crate::ebs::top::ReplaySpeed;
use analysis::Pipeline;
use anyhow::{Result, bail};
use perfdata::Time;
use perfdata::stream::{StreamDecoder, StreamRecord};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use symbolizer::Symbolizer;

/// Who waits for the time of a sample looks up so often.
const LOOK: Duration = Duration::from_millis(50);
/// Records between two looks at the clock.
const RECORDS: u32 = 256;

/// Plays a recording to its end, or until it is told to stop.
///
/// # Errors
///
/// A recording that cannot be read, or describes no event; those of counting.
pub(super) fn replay(
    path: &Path,
    asked: TopQuestion,
    speed: ReplaySpeed,
    listener: &ReplayListener,
) -> Result<()> {
    let mut input = Input::open(path)?;
    let mut decoder = input.decoder();
    let mut player = ReplayPlayer {
        pipeline: Pipeline::new(asked.query, Symbolizer::new(asked.symbols))?,
        every: asked.every,
        speed,
        began: Instant::now(),
        since: Instant::now(),
        first: None,
        told: Time(0),
        newest: Time(0),
        records: 0,
    };
    let end = input.read(&mut decoder, |stream, record| player.play(stream, record, listener))?;
    if decoder.stream().events().is_empty() {
        end.into_result()?;
        bail!("{}: the recording describes no event", input.name());
    }
    let seconds = player.seconds();
    let report = player.pipeline.finish(decoder.stream())?;
    let _gone = listener.news.send(TopNews::Interval(Box::new(report), seconds));
    let why = match end {
        End::Whole => "all of it was played".to_owned(),
        End::Damaged(error) => format!("{error:#}"),
    };
    let _gone = listener.news.send(TopNews::End(Some(why)));
    Ok(())
}

#[derive(Debug)]
pub(super) struct ReplayListener {
    pub(super) news: Sender<TopNews>,
    pub(super) is_over: std::sync::Arc<AtomicBool>,
}

#[derive(Debug)]
struct ReplayPlayer {
    pipeline: Pipeline,
    every: Duration,
    speed: ReplaySpeed,
    began: Instant,
    since: Instant,
    /// Of the first sample.
    first: Option<Time>,
    /// Of the newest sample that was told of.
    told: Time,
    newest: Time,
    records: u32,
}

impl ReplayPlayer {
    fn play(
        &mut self,
        stream: &StreamDecoder,
        record: &StreamRecord<'_>,
        listener: &ReplayListener,
    ) -> Result<()> {
        if let StreamRecord::Sample(sample) = record
            && let Some(time) = sample.time(stream)
        {
            self.wait(stream, time, listener)?;
        }
        self.pipeline.record(stream, record)?;
        self.records = (self.records + 1) % RECORDS;
        if self.records == 0 {
            self.look(stream, listener)?;
        }
        Ok(())
    }

    fn wait(
        &mut self,
        stream: &StreamDecoder,
        time: Time,
        listener: &ReplayListener,
    ) -> Result<()> {
        if self.first.is_none() {
            (self.first, self.told, self.newest) = (Some(time), time, time);
        }
        self.newest = self.newest.max(time);
        let ReplaySpeed::Times(times) = self.speed else { return Ok(()) };
        let since_first = seconds(self.first.unwrap_or(time), time) / times;
        let due = Duration::try_from_secs_f64(since_first).unwrap_or_default();
        loop {
            let left = due.saturating_sub(self.began.elapsed());
            // A sleep takes longer than it is told.
            if left < Duration::from_millis(2) {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
            self.look(stream, listener)?;
        }
    }

    fn look(&mut self, stream: &StreamDecoder, listener: &ReplayListener) -> Result<()> {
        if listener.is_over.load(Ordering::Relaxed) {
            bail!("nobody looks any more");
        }
        if self.since.elapsed() >= self.every {
            self.since = Instant::now();
            let seconds = self.seconds();
            let report = self.pipeline.answer(stream)?;
            let _gone = listener.news.send(TopNews::Interval(Box::new(report), seconds));
        }
        Ok(())
    }

    /// Seconds of the recording since the last time; 0 where samples have no
    /// times.
    fn seconds(&mut self) -> f64 {
        let since = std::mem::replace(&mut self.told, self.newest);
        seconds(since, self.newest)
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds matter, not nanoseconds")]
fn seconds(from: Time, to: Time) -> f64 {
    to.0.saturating_sub(from.0) as f64 / 1e9
}
