//! What lies between a ring thread and one client: chunks of the stream, as
//! many bytes as the client has been granted. The thread never waits here.

#[cfg(all(test, feature = "interleavings"))]
mod interleavings;
#[cfg(feature = "interleavings")]
mod model;

use std::sync::Arc;
#[cfg(not(feature = "interleavings"))]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

#[cfg(feature = "interleavings")]
use loom::sync::atomic::AtomicU64;
#[cfg(feature = "interleavings")]
use model::{Consumer, Producer, RingBuffer};
use recorder::remote::protocol::Account;
#[cfg(not(feature = "interleavings"))]
use rtrb::{Consumer, Producer, RingBuffer};

/// Chunks that a queue holds, however small they are.
const SLOTS: usize = if cfg!(feature = "interleavings") { 8 } else { 4096 };
/// Of them, kept for the record of a gap and for the end.
const RESERVED: usize = if cfg!(feature = "interleavings") { 3 } else { 16 };

#[derive(Debug)]
pub(crate) struct StreamEnding {
    pub(crate) reason: String,
    pub(crate) notes: Vec<String>,
    pub(crate) session: Account,
}

#[derive(Clone, Debug)]
pub(crate) enum QueueItem {
    Bytes(Arc<[u8]>),
    End(Arc<StreamEnding>),
}

#[derive(Clone, Debug)]
pub(crate) enum Dequeued {
    Item(QueueItem),
    Empty,
    /// Nothing ever again: the ring thread has gone without an end.
    Abandoned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueLevel {
    Low,
    /// Samples are to be dropped, so that sideband records still find room.
    High,
    Full,
}

/// The ring thread's end.
#[derive(Debug)]
pub(crate) struct QueueSender {
    items: Producer<QueueItem>,
    queued: Arc<AtomicU64>,
    capacity: u64,
}

/// The client's end.
#[derive(Debug)]
pub(crate) struct QueueReceiver {
    items: Consumer<QueueItem>,
    queued: Arc<AtomicU64>,
}

/// A queue of so many bytes.
pub(crate) fn queue(capacity: u64) -> (QueueSender, QueueReceiver) {
    let (producer, consumer) = RingBuffer::new(SLOTS);
    let queued = Arc::new(AtomicU64::new(0));
    let sender = QueueSender { items: producer, queued: Arc::clone(&queued), capacity };
    (sender, QueueReceiver { items: consumer, queued })
}

impl QueueSender {
    /// How full it would be with `more` bytes.
    pub(crate) fn level(&self, more: usize) -> QueueLevel {
        let slots = self.items.slots();
        let queued = self.queued.load(Ordering::Relaxed);
        let filled = queued.saturating_add(more as u64);
        if filled > self.capacity || slots <= RESERVED {
            QueueLevel::Full
        } else if queued > 0 && filled > self.capacity / 5 * 3 || slots < SLOTS / 4 {
            QueueLevel::High
        } else {
            QueueLevel::Low
        }
    }

    /// Bytes of aggregates that find room now, and leave some for what comes
    /// beside them.
    pub(crate) fn room(&self) -> usize {
        let queued = self.queued.load(Ordering::Relaxed);
        let room = match queued {
            _ if self.items.slots() < SLOTS / 4 => 0,
            0 => self.capacity,
            _ => (self.capacity / 5 * 3).saturating_sub(queued),
        };
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    /// Appends bytes; false: there is no room, or no receiver.
    pub(crate) fn push(&mut self, bytes: Arc<[u8]>) -> bool {
        let length = bytes.len() as u64;
        // Counted first: the client may take the item at once.
        self.queued.fetch_add(length, Ordering::Relaxed);
        let pushed = !self.items.is_abandoned() && self.items.push(QueueItem::Bytes(bytes)).is_ok();
        if !pushed {
            self.queued.fetch_sub(length, Ordering::Relaxed);
        }
        pushed
    }

    /// Appends the end, for which a slot is kept; false: there is no receiver.
    pub(crate) fn end(&mut self, ending: Arc<StreamEnding>) -> bool {
        !self.items.is_abandoned() && self.items.push(QueueItem::End(ending)).is_ok()
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.items.is_abandoned()
    }

    /// Bytes that wait.
    pub(crate) fn queued(&self) -> &Arc<AtomicU64> {
        &self.queued
    }
}

impl QueueReceiver {
    pub(crate) fn next(&mut self) -> Dequeued {
        // First: the end is pushed right before the ring thread goes.
        let abandoned = self.items.is_abandoned();
        let Ok(item) = self.items.pop() else {
            return if abandoned { Dequeued::Abandoned } else { Dequeued::Empty };
        };
        if let QueueItem::Bytes(bytes) = &item {
            self.queued.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
        }
        Dequeued::Item(item)
    }
    /// Whether the ring thread has gone; there may be items left.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.items.is_abandoned()
    }
}
