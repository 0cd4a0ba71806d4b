//! A stream that still grows, counted interval by interval.

use super::kept_stream::KeptStream;
use super::live_view::{StreamPart, TopNews};
use analysis::{Pipeline, Query};
use anyhow::Result;
use perfdata::stream::{StreamDecoder, StreamRecord, StreamStep};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use symbolizer::{Symbolizer, SymbolizerOptions};

#[derive(Clone, Debug)]
pub(super) struct TopQuestion {
    pub(super) query: Query,
    pub(super) symbols: SymbolizerOptions,
    pub(super) every: Duration,
    pub(super) wants_lines: Arc<AtomicBool>,
    /// Nobody looks any more.
    pub(super) is_over: Arc<AtomicBool>,
}

/// The first part of a stream, which was waited for, and the others.
#[derive(Debug)]
pub(super) struct FirstPart {
    pub(super) first: Vec<u8>,
    pub(super) stream: Receiver<StreamPart>,
}

/// Counts what comes, and tells it, until no more does.
///
/// # Errors
///
/// A stream that is none; those of counting.
pub(super) fn count(
    asked: TopQuestion,
    parts: &FirstPart,
    kept: &Mutex<KeptStream>,
    news: &Sender<TopNews>,
) -> Result<()> {
    let mut counting = LiveCounting {
        pipeline: Pipeline::new(asked.query, Symbolizer::new(asked.symbols))?,
        decoder: StreamDecoder::new(),
        left: Vec::new(),
        since: Instant::now(),
        wants_lines: asked.wants_lines,
        has_lines: false,
        end: None,
    };
    counting.take(&parts.first, kept)?;
    let why = loop {
        if let Some(why) = counting.end.take() {
            break why;
        }
        if asked.is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let left = (counting.since + asked.every).saturating_duration_since(Instant::now());
        match parts.stream.recv_timeout(left) {
            Ok(StreamPart::Bytes(bytes)) => counting.take(&bytes, kept)?,
            Ok(StreamPart::End(why)) => break why,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
        // While names were looked up parts may have come to wait, which are of
        // this interval.
        if counting.since.elapsed() >= asked.every && counting.waited(&parts.stream, kept)? {
            counting.tell(news)?;
        }
    };
    counting.tell_all(news)?;
    // Nobody listens any more where the screen has gone.
    let _gone = news.send(TopNews::End(why));
    Ok(())
}

#[derive(Debug)]
struct LiveCounting {
    pipeline: Pipeline,
    decoder: StreamDecoder,
    /// Bytes that are no whole record yet.
    left: Vec<u8>,
    since: Instant,
    wants_lines: Arc<AtomicBool>,
    has_lines: bool,
    /// The end has come, and why.
    end: Option<Option<String>>,
}

impl LiveCounting {
    /// Takes the parts that wait; false: the end is among them, and is left
    /// for who comes next.
    fn waited(&mut self, stream: &Receiver<StreamPart>, kept: &Mutex<KeptStream>) -> Result<bool> {
        // Not for ever, where more comes than can be counted.
        let until = Instant::now() + Duration::from_secs(1);
        while Instant::now() < until {
            match stream.try_recv() {
                Ok(StreamPart::Bytes(bytes)) => self.take(&bytes, kept)?,
                Ok(StreamPart::End(why)) => {
                    self.end = Some(why);
                    return Ok(false);
                }
                Err(_) => break,
            }
        }
        Ok(true)
    }

    fn take(&mut self, bytes: &[u8], kept: &Mutex<KeptStream>) -> Result<()> {
        if self.left.is_empty() {
            let taken = self.take_whole(bytes, kept)?;
            self.left.extend_from_slice(&bytes[taken..]);
            return Ok(());
        }
        let mut all = std::mem::take(&mut self.left);
        all.extend_from_slice(bytes);
        let taken = self.take_whole(&all, kept)?;
        all.drain(..taken);
        self.left = all;
        Ok(())
    }

    /// Takes the records that are whole; gives how many bytes they have.
    fn take_whole(&mut self, bytes: &[u8], kept: &Mutex<KeptStream>) -> Result<usize> {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        // Samples from `first` on are kept at once.
        let (mut at, mut first) = (0, 0);
        while let StreamStep::Record { consumed, record } = self.decoder.step(&bytes[at..])? {
            self.pipeline.record(&self.decoder, &record)?;
            if !matches!(record, StreamRecord::Sample(_) | StreamRecord::FinishedRound) {
                kept.add_samples(&bytes[first..at]);
                kept.add_other(&bytes[at..at + consumed]);
                first = at + consumed;
            }
            at += consumed;
        }
        kept.add_samples(&bytes[first..at]);
        Ok(at)
    }

    fn tell(&mut self, news: &Sender<TopNews>) -> Result<()> {
        let seconds = std::mem::replace(&mut self.since, Instant::now()).elapsed().as_secs_f64();
        // There is no event before the target was found for the first time.
        if self.decoder.events().is_empty() {
            let _gone = news.send(TopNews::Nothing);
        } else {
            let report = match self.wants_lines.load(Ordering::Relaxed) && !self.has_lines {
                true => {
                    self.has_lines = true;
                    self.pipeline.answer_and_ask(&self.decoder, top::sampled_keys(true))?
                }
                false => self.pipeline.answer(&self.decoder)?,
            };
            let _gone = news.send(TopNews::Interval(Box::new(report), seconds));
        }
        Ok(())
    }

    fn tell_all(self, news: &Sender<TopNews>) -> Result<()> {
        if !self.decoder.events().is_empty() {
            let seconds = self.since.elapsed().as_secs_f64();
            let report = self.pipeline.finish(&self.decoder)?;
            let _gone = news.send(TopNews::Interval(Box::new(report), seconds));
        }
        Ok(())
    }
}

pub(super) type SharedStream = Arc<Mutex<KeptStream>>;
