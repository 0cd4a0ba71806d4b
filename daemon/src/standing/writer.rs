//! The thread that takes a standing session's stream: onto disk, and to those
//! who follow. Where it is too slow, the queue before it overflows, and rings
//! do not.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use recorder::session::Sink;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::oneshot;

use super::history::ReadableSegments;
use super::recorded_stream::RecordedStream;
use super::spool::Spool;
use crate::control::{SharedCounts, StandingStatus};
use crate::worker::Subscription;
use crate::worker::broadcast::{Broadcast, Subscriber};
use crate::worker::chunk::Chunk;
use crate::worker::queue::{Dequeued, QueueItem};
use crate::worker::waker::{WakeReceiver, Waker, waker};

/// What is written is on disk that much later.
const SYNC: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum WriterOrder {
    /// A sampling has begun; `ended` gets the reason of its end.
    Begin { subscription: Subscription, stream: u64, ended: oneshot::Sender<String> },
    Follow {
        live: Option<Box<Subscriber>>,
        /// What was written is read, too: it says what live records are of.
        history: bool,
        answer: oneshot::Sender<io::Result<ReadableSegments>>,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Writer {
    orders: Sender<WriterOrder>,
    waker: Waker,
}

impl Writer {
    /// Starts the thread. It ends, with all that it was given on disk, when
    /// the last of these is dropped; `finished` says so.
    pub(super) fn start(
        spool: Spool,
        status: Arc<SharedCounts<StandingStatus>>,
    ) -> io::Result<(Writer, std::thread::JoinHandle<()>)> {
        let (orders, receiver) = channel();
        let (waker, wake_receiver) = waker()?;
        let thread = std::thread::Builder::new().name("writer".into()).spawn(move || {
            let mut writer_thread = WriterThread {
                spool,
                status,
                orders: receiver,
                wake_receiver,
                sampled: None,
                broadcast: Broadcast::default(),
            };
            if let Err(error) = writer_thread.run() {
                tracing::error!(%error, "a recording ends");
            }
            writer_thread.spool.close();
        })?;
        Ok((Writer { orders, waker }, thread))
    }

    /// False: it has ended.
    pub(super) fn send_order(&self, order: WriterOrder) -> bool {
        let is_sent = self.orders.send(order).is_ok();
        self.waker.ring();
        is_sent
    }
}

#[derive(Debug)]
struct WriterThread {
    spool: Spool,
    status: Arc<SharedCounts<StandingStatus>>,
    orders: Receiver<WriterOrder>,
    wake_receiver: WakeReceiver,
    sampled: Option<ActiveSampling>,
    broadcast: Broadcast,
}

#[derive(Debug)]
struct ActiveSampling {
    subscription: Subscription,
    /// None: its first bytes have not come.
    sampling: Option<RecordedStream>,
    stream: u64,
    ended: Option<oneshot::Sender<String>>,
    lost: u64,
}

impl WriterThread {
    fn run(&mut self) -> io::Result<()> {
        let mut synced = Instant::now();
        loop {
            self.wait(SYNC.saturating_sub(synced.elapsed()))?;
            self.wake_receiver.clear();
            let goes_on = self.handle_orders();
            self.drain();
            if synced.elapsed() >= SYNC {
                self.spool.tick();
                let sampling = self.sampled.as_ref().and_then(|it| it.sampling.as_ref());
                if let Some(sampling) = sampling {
                    self.spool.write_gap(sampling);
                }
                self.broadcast.write_gaps();
                synced = Instant::now();
            }
            if !goes_on {
                return Ok(());
            }
        }
    }

    fn wait(&self, timeout: Duration) -> io::Result<()> {
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let receivers = [
            Some(&self.wake_receiver),
            self.sampled.as_ref().map(|it| &it.subscription.wake_receiver),
        ];
        let mut fds: Vec<PollFd<'_>> = receivers
            .into_iter()
            .flatten()
            .map(|wake_receiver| PollFd::from_borrowed_fd(wake_receiver.as_fd(), PollFlags::IN))
            .collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// False: there is no session any more.
    fn handle_orders(&mut self) -> bool {
        loop {
            match self.orders.try_recv() {
                Ok(WriterOrder::Begin { subscription, stream, ended }) => {
                    let ended = Some(ended);
                    let lost = 0;
                    self.sampled =
                        Some(ActiveSampling { subscription, sampling: None, stream, ended, lost });
                }
                Ok(WriterOrder::Follow { live, history, answer }) => {
                    // All up to here is history, all from here on is live.
                    self.drain();
                    let readable = self.spool.readable();
                    if let Some(subscriber) = live {
                        let is_told = history && self.spool.is_open();
                        let sampling = self.sampled.as_ref().filter(|_| !is_told);
                        let sampling = sampling.and_then(|it| it.sampling.as_ref());
                        let preamble = sampling.map(RecordedStream::whole).unwrap_or_default();
                        self.broadcast.add(*subscriber, &preamble.into());
                    }
                    // They may have gone.
                    let _gone = answer.send(readable);
                }
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn drain(&mut self) {
        let Some(sampled) = &mut self.sampled else { return };
        sampled.subscription.wake_receiver.clear();
        let mut reason = None;
        let abandoned = loop {
            let item = match sampled.subscription.receiver.next() {
                Dequeued::Item(item) => item,
                Dequeued::Empty => break false,
                Dequeued::Abandoned => break true,
            };
            match item {
                QueueItem::Bytes(bytes) => match &mut sampled.sampling {
                    None => {
                        let sampling = RecordedStream::new(sampled.stream, &bytes);
                        let trailer = sampling.trailer.clone();
                        self.broadcast.describe_as(trailer, sampling.is_identified);
                        // A broadcast cannot fail.
                        let _never = self.broadcast.write(&sampling.announcement);
                        sampled.sampling = Some(sampling);
                    }
                    Some(sampling) => {
                        let chunk = Chunk::new(&bytes);
                        self.spool.append(&chunk, sampling);
                        sampling.process_table.notice(&chunk);
                        let _never = self.broadcast.write(&bytes);
                    }
                },
                QueueItem::End(ending) => reason = Some(ending.reason.clone()),
            }
        };
        let lost = sampled.subscription.counters.samples().dropped;
        self.status.lock().stored.overtaken += lost - sampled.lost;
        sampled.lost = lost;
        if reason.is_none() && abandoned {
            reason = Some("the sampling has broken off".into());
        }
        self.broadcast.prune();
        let Some(reason) = reason else { return };
        self.spool.close();
        if let Some(ended) = self.sampled.take().and_then(|mut sampled| sampled.ended.take()) {
            let _gone = ended.send(reason);
        }
    }
}
