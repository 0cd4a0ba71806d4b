//! Loads of memory while other cores read it.

use crate::affinity::pin_to_cpu;
use crate::buffer::{MeasuredBuffer, PageBacking};
use crate::error::LatencyError;
use crate::figure::LatencyFigure;
use crate::meter::Meter;
use crate::order::{LINE, VisitOrder};
use crate::sys::{MemoryRegion, PointerChase};
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
    pub pages: PageBacking,
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

pub(crate) const READER_BYTES: u64 = 64 << 20;
/// Bytes after which a reader says how far it is.
const CHUNK: usize = 1 << 16;

#[derive(Debug, Default)]
struct ReaderProgress {
    bytes: AtomicU64,
    is_over: AtomicBool,
}

/// The study in a buffer; `others`: CPUs for the readers.
pub(crate) fn study(
    meter: &mut Meter<'_>,
    buffer: &mut MeasuredBuffer,
    size: u64,
    others: &[u32],
) -> Result<LoadStudy, LatencyError> {
    let offsets = VisitOrder::CrossPage.offsets(usize::try_from(size).unwrap_or(0));
    let mut pointers = PointerChase::new(&mut buffer.region, offsets);
    let mut readers = Vec::new();
    for count in steps(others.len()) {
        if meter.is_stopped() {
            break;
        }
        let figure =
            measure_with_readers(meter, &mut pointers, others.get(..count).unwrap_or_default())?;
        if figure.load.runs > 0 {
            readers.push(figure);
        }
    }
    Ok(LoadStudy { size, pages: buffer.pages, readers })
}

fn measure_with_readers(
    meter: &mut Meter<'_>,
    pointers: &mut PointerChase<'_>,
    cpus: &[u32],
) -> Result<ReaderFigure, LatencyError> {
    let progress = ReaderProgress::default();
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        let mut threads = Vec::new();
        let mut outcome = Ok(());
        for &cpu in cpus {
            let (sender, progress) = (sender.clone(), &progress);
            match thread::Builder::new()
                .spawn_scoped(scope, move || run_reader(progress, cpu, &sender))
            {
                Ok(thread) => threads.push(thread),
                Err(error) => outcome = Err(LatencyError::Thread(error)),
            }
        }
        drop(sender);
        // Each says that it reads, or is gone with an error.
        let ready = receiver.iter().take(threads.len()).count();
        let mut figure = ReaderFigure {
            readers: cpus.len(),
            bytes_per_second: 0.0,
            load: LatencyFigure::default(),
        };
        if outcome.is_ok() && ready == cpus.len() {
            let before = progress.bytes.load(Ordering::Relaxed);
            let begin = Instant::now();
            figure.load = meter.figure(|loads| pointers.chase(loads));
            let bytes = progress.bytes.load(Ordering::Relaxed) - before;
            figure.bytes_per_second = bytes as f64 / begin.elapsed().as_secs_f64();
        }
        progress.is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            // A thread that panicked has said so itself.
            outcome = outcome.and(thread.join().unwrap_or(Ok(())));
        }
        outcome.map(|()| figure)
    })
}

fn run_reader(
    progress: &ReaderProgress,
    cpu: u32,
    sender: &Sender<()>,
) -> Result<(), LatencyError> {
    pin_to_cpu(cpu)?;
    let buffer = MeasuredBuffer::new(READER_BYTES, true, None)?;
    // Who is told waits for it, or has given up.
    let _gone = sender.send(());
    while !progress.is_over.load(Ordering::Relaxed) {
        for chunk in (0..buffer.region.bytes()).step_by(CHUNK) {
            read_lines(&buffer.region, chunk);
            progress.bytes.fetch_add(CHUNK as u64, Ordering::Relaxed);
            if progress.is_over.load(Ordering::Relaxed) {
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
