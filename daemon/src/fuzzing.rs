//! What the fuzz targets reach of this crate's inside; compiled for them
//! alone (`--cfg fuzzing`).

use std::io;
use std::sync::Arc;

use recorder::remote::protocol::{Account, WhenSlow};
use recorder::session::Sink;
use recorder::session::ledger::Ledger;

use crate::broker::{ASK_BYTES, Ask};
use crate::worker::fan::{Fan, StreamEnding, Subscriber};
use crate::worker::queue::{Next, Outlet, QueueItem, queue};
use crate::worker::share::ClientShare;

/// A worker's request to the supervisor, filled up with zeros, read and
/// written again.
pub fn ask(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut request = [0; ASK_BYTES];
    request.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
    Ask::decode(&request).map(|ask| ask.encode().to_vec())
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
/// No pipe for a bell.
pub fn fan_out(
    chunks: &[Vec<u8>],
    capacity: u64,
    clients: &[(u8, WhenSlow)],
    session: &Account,
) -> io::Result<Vec<ClientDelivery>> {
    let mut fan = Fan::new(vec![0; 16], true, Default::default());
    let mut outlets: Vec<(Outlet, Arc<ClientShare>, Vec<u8>)> = Vec::new();
    let mut ears = Vec::new();
    let mut coming = clients.iter();
    let preamble: Arc<[u8]> = Arc::new([]);
    for chunk in chunks {
        if let Some((_, when_slow)) = coming.next() {
            let (feed, outlet) = queue(capacity);
            let (bell, ear) = crate::worker::bell::bell()?;
            let share = Arc::<ClientShare>::default();
            let when_slow = *when_slow;
            let gap = crate::worker::chunk::SampleGap::default();
            fan.add(
                Subscriber { feed, bell, when_slow, share: Arc::clone(&share), gap },
                &preamble,
            );
            outlets.push((outlet, share, Vec::new()));
            ears.push(ear);
        }
        fan.write(chunk)?;
        for ((outlet, _, stream), (takes, _)) in outlets.iter_mut().zip(clients) {
            for _ in 0..if *takes == 255 { usize::MAX } else { usize::from(*takes) } {
                match outlet.next() {
                    Next::Item(QueueItem::Bytes(bytes)) => stream.extend_from_slice(&bytes),
                    _ => break,
                }
            }
        }
    }
    fan.end(
        StreamEnding { reason: "the end".into(), notes: Vec::new(), session: session.clone() },
        &Ledger::default(),
    );
    let served = outlets.into_iter().map(|(mut outlet, share, mut stream)| {
        while let Next::Item(QueueItem::Bytes(bytes)) = outlet.next() {
            stream.extend_from_slice(&bytes);
        }
        ClientDelivery { stream, account: share.account(session), overrun: share.is_overrun() }
    });
    Ok(served.collect())
}
