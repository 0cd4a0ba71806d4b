//! What the fuzz targets reach of this crate's inside; compiled for them
//! alone (`--cfg fuzzing`).

use std::io;
use std::sync::Arc;

use recorder::remote::protocol::{Account, WhenSlow};
use recorder::session::Sink;
use recorder::session::ledger::Ledger;

use crate::broker::BrokerRequest;
use crate::channel::{MAX_MESSAGE, decode, encode};
use crate::worker::broadcast::{Broadcast, Subscriber};
use crate::worker::client_counters::ClientCounters;
use crate::worker::queue::{Dequeued, QueueItem, QueueReceiver, StreamEnding, queue};

/// A worker's request to the supervisor, read and written again.
pub fn broker_request(bytes: &[u8]) -> Option<Vec<u8>> {
    let request: BrokerRequest = decode(bytes)?;
    encode(&request, &mut [0; MAX_MESSAGE]).ok().map(<[u8]>::to_vec)
}

#[derive(Debug)]
pub struct ClientDelivery {
    pub stream: Vec<u8>,
    pub account: Account,
    /// It was too slow, and given up.
    pub overrun: bool,
}

/// Sends chunks of whole records to clients, whose queues take `capacity`
/// bytes each. After each chunk a client takes as many items as its byte
/// says; 255: all. The first comes before the first chunk, each other one
/// chunk later. `session` is what is in the chunks.
///
/// # Errors
/// No pipe for a waker.
pub fn fan_out(
    chunks: &[Vec<u8>],
    capacity: u64,
    clients: &[(u8, WhenSlow)],
    session: &Account,
) -> io::Result<Vec<ClientDelivery>> {
    let mut broadcast = Broadcast::new(vec![0; 16], true, Default::default());
    let mut receivers: Vec<(QueueReceiver, Arc<ClientCounters>, Vec<u8>)> = Vec::new();
    let mut wake_receivers = Vec::new();
    let mut coming = clients.iter();
    let preamble: Arc<[u8]> = Arc::new([]);
    for chunk in chunks {
        if let Some((_, when_slow)) = coming.next() {
            let (sender, receiver) = queue(capacity);
            let (waker, wake_receiver) = crate::worker::waker::waker()?;
            let counters = Arc::<ClientCounters>::default();
            let when_slow = *when_slow;
            let gap = crate::worker::chunk::SampleGap::default();
            broadcast.add(
                Subscriber { sender, waker, when_slow, counters: Arc::clone(&counters), gap },
                &preamble,
            );
            receivers.push((receiver, counters, Vec::new()));
            wake_receivers.push(wake_receiver);
        }
        broadcast.write(chunk)?;
        for ((receiver, _, stream), (takes, _)) in receivers.iter_mut().zip(clients) {
            for _ in 0..if *takes == 255 { usize::MAX } else { usize::from(*takes) } {
                match receiver.next() {
                    Dequeued::Item(QueueItem::Bytes(bytes)) => stream.extend_from_slice(&bytes),
                    _ => break,
                }
            }
        }
    }
    broadcast.end(
        StreamEnding { reason: "the end".into(), notes: Vec::new(), session: session.clone() },
        &Ledger::default(),
    );
    let served = receivers.into_iter().map(|(mut receiver, counters, mut stream)| {
        while let Dequeued::Item(QueueItem::Bytes(bytes)) = receiver.next() {
            stream.extend_from_slice(&bytes);
        }
        ClientDelivery {
            stream,
            account: counters.account(session),
            overrun: counters.is_overrun(),
        }
    });
    Ok(served.collect())
}
