//! What rtrb promises, in words that loom follows: one producer, one
//! consumer, the same orders of memory.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom::sync::{Arc, Mutex};

#[derive(Debug)]
pub(super) struct RingBuffer;

#[derive(Debug)]
struct Shared<T> {
    slots: Vec<Mutex<Option<T>>>,
    /// Of the consumer.
    head: AtomicUsize,
    /// Of the producer.
    tail: AtomicUsize,
    abandoned: AtomicBool,
}

#[derive(Debug)]
pub(super) struct Producer<T>(Arc<Shared<T>>);

#[derive(Debug)]
pub(super) struct Consumer<T>(Arc<Shared<T>>);

impl RingBuffer {
    #[allow(clippy::new_ret_no_self, reason = "as rtrb has it")]
    pub(super) fn new<T>(slots: usize) -> (Producer<T>, Consumer<T>) {
        let shared = Arc::new(Shared {
            slots: (0..slots).map(|_| Mutex::new(None)).collect(),
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            abandoned: AtomicBool::new(false),
        });
        (Producer(Arc::clone(&shared)), Consumer(shared))
    }
}

impl<T> Producer<T> {
    pub(super) fn slots(&self) -> usize {
        let shared = &self.0;
        let used = shared.tail.load(Ordering::Relaxed) - shared.head.load(Ordering::Acquire);
        shared.slots.len() - used
    }

    pub(super) fn push(&mut self, item: T) -> Result<(), T> {
        if self.slots() == 0 {
            return Err(item);
        }
        let tail = self.0.tail.load(Ordering::Relaxed);
        let slot = &self.0.slots[tail % self.0.slots.len()];
        *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(item);
        self.0.tail.store(tail + 1, Ordering::Release);
        Ok(())
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.0.abandoned.load(Ordering::Acquire)
    }
}

impl<T> Consumer<T> {
    pub(super) fn pop(&mut self) -> Result<T, ()> {
        let head = self.0.head.load(Ordering::Relaxed);
        if head == self.0.tail.load(Ordering::Acquire) {
            return Err(());
        }
        let slot = &self.0.slots[head % self.0.slots.len()];
        let item = slot.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or(())?;
        self.0.head.store(head + 1, Ordering::Release);
        Ok(item)
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.0.abandoned.load(Ordering::Acquire)
    }
}

impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.0.abandoned.store(true, Ordering::Release);
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.0.abandoned.store(true, Ordering::Release);
    }
}
