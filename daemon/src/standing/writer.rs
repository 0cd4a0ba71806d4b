//! The thread that takes a standing session's stream: onto disk, and to those
//! who follow. Where it is too slow, the queue before it overflows, and rings
//! do not.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use perfdata::SampleType;
use perfdata::segment::LONGEST;
use perfdata::stream::{EventDescription, StreamDecoder, StreamStep, write};
use recorder::session::Sink;
use recorder::session::preamble::SIDE_NAME;
use recorder::session::synthesize::Synthesizer;
use recorder::sys::event::NATIVE_ORDER;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::oneshot;

use super::spool::Spool;
use crate::control::{SharedCounts, StandingStatus};
use crate::standing::process_table::ProcessTable;
use crate::standing::spool::SegmentContext;
use crate::store::Directory;
use crate::worker::Subscription;
use crate::worker::broadcast::{Broadcast, Subscriber};
use crate::worker::chunk::{Chunk, ChunkTally, FIRST_OF_TOOLS, SampleGap, kind};
use crate::worker::queue::{Dequeued, QueueItem};
use crate::worker::waker::{WakeReceiver, Waker, waker};

/// What is written is on disk that much later.
const SYNC: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum WriterOrder {
    /// A sampling has begun; `ended` is told why it ended.
    Begin { subscription: Subscription, stream: u64, ended: oneshot::Sender<String> },
    Follow {
        live: Option<Box<Subscriber>>,
        /// What was written is read, too: it says what live records are of.
        history: bool,
        answer: oneshot::Sender<io::Result<ReadableSegments>>,
    },
}

#[derive(Debug)]
pub(super) struct ReadableSegments {
    pub(super) directory: Directory,
    /// Segments, oldest first.
    pub(super) numbers: Vec<u64>,
    /// Bytes of the last one, where that is still written.
    pub(super) open: Option<u64>,
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
        let told = self.orders.send(order).is_ok();
        self.waker.ring();
        told
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
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(1),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let ears = [
            Some(&self.wake_receiver),
            self.sampled.as_ref().map(|it| &it.subscription.wake_receiver),
        ];
        let mut fds: Vec<PollFd<'_>> = ears
            .into_iter()
            .flatten()
            .map(|wake_receiver| PollFd::from_borrowed_fd(wake_receiver.as_fd(), PollFlags::IN))
            .collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// False: nobody is there to tell anything any more.
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
                    let readable = self.readable();
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

    fn readable(&mut self) -> io::Result<ReadableSegments> {
        let (directory, numbers, open) = self.spool.readable()?;
        Ok(ReadableSegments { directory, numbers, open })
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
                        self.broadcast.describe_as(sampling.trailer(), sampling.is_identified());
                        // A broadcast cannot fail.
                        let _never = self.broadcast.write(sampling.announcement());
                        sampled.sampling = Some(sampling);
                    }
                    Some(sampling) => {
                        let chunk = Chunk::new(&bytes);
                        self.spool.append(&chunk, &*sampling);
                        sampling.notice(&chunk);
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

/// Bytes of a stream's own header, before its first record.
pub(crate) const FILE_HEADER: usize = 16;

#[derive(Debug)]
pub(crate) struct RecordedStream {
    stream: u64,
    /// Events, names, promises, machine; without the file's header.
    announcement: Vec<u8>,
    process_table: ProcessTable,
    trailer: Vec<u8>,
    is_identified: bool,
    /// An id of the first event.
    id: Option<u64>,
}

pub(crate) fn events(front: &[u8]) -> Vec<EventDescription> {
    let mut decoder = StreamDecoder::new();
    let mut rest = front;
    while let Ok(StreamStep::Record { consumed, .. }) = decoder.step(rest) {
        rest = rest.get(consumed..).unwrap_or_default();
    }
    decoder.events().to_vec()
}

pub(crate) fn is_sampled(event: &EventDescription) -> bool {
    event.name.as_deref() != Some(SIDE_NAME)
}

impl RecordedStream {
    /// From the first bytes of its stream.
    pub(crate) fn new(stream: u64, front: &[u8]) -> RecordedStream {
        let events = events(front);
        let side = events.iter().find(|event| !is_sampled(event));
        let sampled = || events.iter().filter(|event| is_sampled(event));
        let records = Chunk::new(front.get(FILE_HEADER..).unwrap_or_default());
        let mut process_table = ProcessTable::default();
        process_table.notice(&records);
        let of_tools = records.records().filter(|record| kind(record).0 >= FIRST_OF_TOOLS);
        RecordedStream {
            stream,
            announcement: of_tools.flatten().copied().collect(),
            process_table,
            trailer: side.map(|side| Synthesizer::trailer(&side.attr)).unwrap_or_default(),
            is_identified: sampled()
                .all(|event| event.attr.sample_type.contains(SampleType::IDENTIFIER)),
            id: sampled().next().and_then(|event| event.ids.first().copied()),
        }
    }

    fn trailer(&self) -> Vec<u8> {
        self.trailer.clone()
    }

    fn is_identified(&self) -> bool {
        self.is_identified
    }

    fn announcement(&self) -> &[u8] {
        &self.announcement
    }

    fn notice(&mut self, chunk: &Chunk<'_>) {
        self.process_table.notice(chunk);
    }

    fn whole(&self) -> Vec<u8> {
        let mut all = self.announcement.clone();
        self.process_table.describe(&mut |piece| all.extend(piece));
        all
    }
}

impl SegmentContext for RecordedStream {
    fn stream(&self) -> u64 {
        self.stream
    }

    fn describe(&self, each: &mut dyn FnMut(&[u8])) {
        let mut front = Vec::new();
        write::file_header(NATIVE_ORDER, &mut front);
        front.extend(&self.announcement);
        // An announcement has some kilobytes.
        front.truncate(LONGEST);
        each(&front);
        self.process_table.describe(each);
    }

    fn lost_records(&self, gap: &mut SampleGap) -> Vec<u8> {
        gap.take_lost_records(&self.trailer)
    }

    fn add_missed(&self, chunk: &Chunk<'_>, gap: &mut SampleGap) {
        gap.add(&ChunkTally::of(chunk, self.is_identified));
        gap.add_lost_records(chunk);
    }

    fn note(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(id) = self.id {
            // Too long a note is none.
            let _fits = write::event_unit(id, text, NATIVE_ORDER, &mut out);
        }
        out
    }
}
