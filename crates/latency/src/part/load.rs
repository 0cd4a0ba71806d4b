//! Loads of memory while other cores read it.

use crate::affinity::stay_on;
use crate::error::LatencyError;
use crate::field::{FieldPages, MemoryField};
use crate::figure::LatencyFigure;
use crate::meter::Meter;
use crate::order::{LINE, VisitOrder};
use crate::sys::{Circle, MemoryRegion};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReaderFigure {
    /// CPUs that read as fast as they can, one line after the other.
    pub readers: usize,
    /// Bytes in a second that they had together.
    pub bytes_per_second: f64,
    pub load: LatencyFigure,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadStudy {
    /// Bytes that are visited.
    pub size: u64,
    pub pages: FieldPages,
    /// By readers, ascending.
    pub readers: Vec<ReaderFigure>,
}

/// Numbers of readers: none, one, half, and all of `most`.
#[must_use]
pub fn steps(most: usize) -> Vec<usize> {
    let mut all = vec![0, most.min(1), most / 2, most];
    all.sort_unstable();
    all.dedup();
    all
}

pub(crate) const EACH: u64 = 64 << 20;
/// Bytes after which a reader says how far it is.
const CHUNK: usize = 1 << 16;

#[derive(Debug, Default)]
struct Reading {
    bytes: AtomicU64,
    is_over: AtomicBool,
}

/// The study in a field; `others`: CPUs for the readers.
pub(crate) fn study(
    meter: &mut Meter<'_>,
    field: &mut MemoryField,
    size: u64,
    others: &[u32],
) -> Result<LoadStudy, LatencyError> {
    let offsets = VisitOrder::CrossPage.offsets(usize::try_from(size).unwrap_or(0));
    let mut circle = Circle::new(&mut field.region, offsets);
    let mut readers = Vec::new();
    for count in steps(others.len()) {
        if meter.is_stopped() {
            break;
        }
        let figure = beside(meter, &mut circle, others.get(..count).unwrap_or_default())?;
        if figure.load.runs > 0 {
            readers.push(figure);
        }
    }
    Ok(LoadStudy { size, pages: field.pages, readers })
}

fn beside(
    meter: &mut Meter<'_>,
    circle: &mut Circle<'_>,
    cpus: &[u32],
) -> Result<ReaderFigure, LatencyError> {
    let reading = Reading::default();
    thread::scope(|scope| {
        let (tell, told) = channel();
        let mut threads = Vec::new();
        let mut outcome = Ok(());
        for &cpu in cpus {
            let (tell, reading) = (tell.clone(), &reading);
            match thread::Builder::new().spawn_scoped(scope, move || read(reading, cpu, &tell)) {
                Ok(thread) => threads.push(thread),
                Err(error) => outcome = Err(LatencyError::Thread(error)),
            }
        }
        drop(tell);
        // Each says that it reads, or is gone with an error.
        let ready = told.iter().take(threads.len()).count();
        let mut figure = ReaderFigure {
            readers: cpus.len(),
            bytes_per_second: 0.0,
            load: LatencyFigure::default(),
        };
        if outcome.is_ok() && ready == cpus.len() {
            let before = reading.bytes.load(Ordering::Relaxed);
            let begin = Instant::now();
            figure.load = meter.figure(|loads| circle.chase(loads));
            let bytes = reading.bytes.load(Ordering::Relaxed) - before;
            figure.bytes_per_second = bytes as f64 / begin.elapsed().as_secs_f64();
        }
        reading.is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            // A thread that panicked has said so itself.
            outcome = outcome.and(thread.join().unwrap_or(Ok(())));
        }
        outcome.map(|()| figure)
    })
}

fn read(reading: &Reading, cpu: u32, tell: &Sender<()>) -> Result<(), LatencyError> {
    stay_on(cpu)?;
    let field = MemoryField::new(EACH, true, None)?;
    // Who is told waits for it, or has given up.
    let _gone = tell.send(());
    while !reading.is_over.load(Ordering::Relaxed) {
        for chunk in (0..field.region.bytes()).step_by(CHUNK) {
            read_lines(&field.region, chunk);
            reading.bytes.fetch_add(CHUNK as u64, Ordering::Relaxed);
            if reading.is_over.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    Ok(())
}

fn read_lines(region: &MemoryRegion, chunk: usize) {
    for offset in (chunk..chunk + CHUNK).step_by(LINE) {
        region.get(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_none_some_and_all() {
        assert_eq!(steps(0), [0]);
        assert_eq!(steps(1), [0, 1]);
        assert_eq!(steps(7), [0, 1, 3, 7]);
    }
}
