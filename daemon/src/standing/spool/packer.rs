//! The thread that packs closed segments.

use std::io::{self, BufReader, BufWriter, Write};
use std::sync::mpsc::{self, Receiver, Sender};

use perfdata::segment::pack;

use crate::store::{Directory, SegmentState};

/// A segment's number, and its size now.
type PackedSegment = (u64, u64);

/// Begun with the first segment; ends with its owner, after what it does.
#[derive(Debug)]
pub(super) struct Packer {
    orders: Option<Sender<(Directory, u64)>>,
    pub(super) reports: (Sender<PackedSegment>, Receiver<PackedSegment>),
}

impl Default for Packer {
    fn default() -> Packer {
        Packer { orders: None, reports: mpsc::channel() }
    }
}

impl Packer {
    /// Packs a segment, when those before it are packed.
    pub(super) fn pack(&mut self, directory: Directory, number: u64) {
        if self.orders.is_none() {
            let (sender, receiver) = mpsc::channel();
            let done = self.reports.0.clone();
            let thread = std::thread::Builder::new().name("packer".into());
            match thread.spawn(move || run(&receiver, &done)) {
                Ok(_) => self.orders = Some(sender),
                Err(error) => {
                    tracing::warn!(%error, "segments stay as they are");
                    return;
                }
            }
        }
        if let Some(orders) = &self.orders
            && orders.send((directory, number)).is_err()
        {
            self.orders = None;
        }
    }

    pub(super) fn done(&self) -> Vec<PackedSegment> {
        self.reports.1.try_iter().collect()
    }
}

fn run(orders: &Receiver<(Directory, u64)>, done: &Sender<PackedSegment>) {
    // Nothing waits for it: what samples comes first.
    let _niceness = rustix::process::nice(10);
    while let Ok((directory, number)) = orders.recv() {
        let packed = packed(&directory, number);
        match &packed {
            // Thrown away meanwhile, or with its directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(number, %error, "a segment stays as it is");
                let _gone = directory.remove(number, SegmentState::Packing);
            }
            Ok(_) => {}
        }
        // With its lock: who hears of it may open the directory anew.
        drop(directory);
        if let Ok(bytes) = packed
            && done.send((number, bytes)).is_err()
        {
            return;
        }
    }
}

fn packed(directory: &Directory, number: u64) -> io::Result<u64> {
    let from = directory.open(number, SegmentState::Closed)?;
    let file = directory.create(number, SegmentState::Packing)?;
    let mut to = BufWriter::new(&file);
    pack(BufReader::new(from), &mut to)?;
    to.flush()?;
    drop(to);
    file.sync_data()?;
    let bytes = file.metadata()?.len();
    drop(file);
    replace_closed(directory, number)?;
    Ok(bytes)
}

/// The packed segment is there instead of the other. That one may have been
/// thrown away meanwhile: the spool hears of this one then, and removes it.
pub(super) fn replace_closed(directory: &Directory, number: u64) -> io::Result<()> {
    directory.rename(number, SegmentState::Packing, SegmentState::Packed)?;
    directory.sync()?;
    match directory.remove(number, SegmentState::Closed) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
