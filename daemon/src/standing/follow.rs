//! Serving somebody who reads a standing session: what was recorded, then
//! what is sampled now.

use std::cell::Cell;
use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use record::stream::write;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};

use super::history::{History, Told};
use super::keeper::Post;
use super::writer::{Order, Readable};
use crate::passing;
use crate::protocol::{
    Account, Complaint, ComplaintCode, FrameKind, Joined, MOST_FROM_DAEMON, Reply, WHOLE, WhenSlow,
    frame,
};
use crate::store::SystemClock;
use crate::sys::event::NATIVE_ORDER;
use crate::worker::queue::{Item, Next};
use crate::worker::{Hub, Subscription};

/// Readers of one standing session at a time: each takes a queue.
const MOST: u32 = 16;
/// Pieces of history that wait for a reader.
const AHEAD: usize = 4;

/// What a reader wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Follow {
    /// From so long ago on; None: nothing of what was recorded, if live
    /// records are wanted, else all.
    pub(crate) since: Option<Duration>,
    /// What is sampled from now on.
    pub(crate) live: bool,
}

const FOLLOW: &[u8; 8] = b"follow\0\0";

impl Follow {
    /// Bytes of a message of the supervisor to a worker.
    pub(crate) const BYTES: usize = 24;

    pub(crate) fn encode(&self) -> [u8; Follow::BYTES] {
        let since = self.since.map_or(u64::MAX, |since| since.as_secs());
        let mut bytes = [0; Follow::BYTES];
        let words = [u64::from_ne_bytes(*FOLLOW), since, u64::from(self.live)];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_ne_bytes();
        }
        bytes
    }

    /// None: the message is another.
    pub(crate) fn decode(bytes: &[u8; Follow::BYTES]) -> Option<Follow> {
        let ([kind, since, live], []) = bytes.as_chunks::<8>() else { return None };
        let since = u64::from_ne_bytes(*since);
        let since = (since != u64::MAX).then_some(Duration::from_secs(since));
        (kind == FOLLOW).then_some(Follow { since, live: u64::from_ne_bytes(*live) != 0 })
    }
}

thread_local! {
    // A worker has one thread for its connections.
    static READERS: Cell<u32> = const { Cell::new(0) };
}

struct Reading;

impl Drop for Reading {
    fn drop(&mut self) {
        READERS.set(READERS.get().saturating_sub(1));
    }
}

/// Serves one, on a connection that the supervisor has handed over.
pub(crate) async fn follow((stream, hub): (UnixStream, Rc<Hub>), what: Follow, post: Rc<Post>) {
    if READERS.get() >= MOST {
        let text = format!("{MOST} others read {} already: try again later", post.role.name);
        let complaint = Complaint { code: ComplaintCode::Exhausted, text };
        let _deaf = reply(&stream, &Reply::Refused(complaint)).await;
        return;
    }
    READERS.set(READERS.get() + 1);
    let _reading = Reading;
    if let Err(error) = serve((&stream, &hub), what, &post).await {
        tracing::debug!(%error, "a reader has gone");
    }
}

async fn serve((stream, hub): (&UnixStream, &Hub), what: Follow, post: &Post) -> io::Result<()> {
    let live = match what.live.then(|| hub.subscribe(WhenSlow::DropNewest)).transpose() {
        Ok(live) => live,
        Err(complaint) => return reply(stream, &Reply::Refused(complaint)).await,
    };
    let (subscriber, live) = live.map(|(one, other)| (Box::new(one), other)).unzip();
    let (answer, readable) = oneshot::channel();
    let gone = || io::Error::other("the writer has gone");
    // Without a time, who wants live records gets those.
    let history = what.since.is_some() || !what.live;
    if !post.writer.tell(Order::Follow { live: subscriber, history, answer }) {
        return Err(gone());
    }
    let readable = match readable.await.map_err(|_| gone())? {
        Ok(readable) => readable,
        Err(error) => {
            let text = format!("the records of {} cannot be read: {error}", post.role.name);
            let complaint = Complaint { code: ComplaintCode::Failed, text };
            return reply(stream, &Reply::Refused(complaint)).await;
        }
    };
    let name = post.role.event.clone();
    reply(stream, &Reply::Joined(Joined { stream: String::new(), name, notes: Vec::new() }))
        .await?;
    let mut first = Vec::new();
    write::file_header(NATIVE_ORDER, &mut first);
    send(stream, FrameKind::Data, &first).await?;
    let told = match history {
        true => recorded(stream, readable, (what.since, what.live)).await?,
        false => Told::default(),
    };
    let end = match live {
        Some(live) => sampled(stream, live, post).await?,
        None => end(&told),
    };
    reply(stream, &end).await
}

fn end(told: &Told) -> Reply {
    let mut reason = WHOLE.to_owned();
    for gap in &told.gaps {
        reason.push_str("; ");
        reason.push_str(gap);
    }
    let mut account = Account { delivered: told.samples, side: told.side, ..Account::default() };
    if told.lost > 0 {
        account.lost.insert("told".into(), told.lost);
    }
    Reply::End { reason, session: account.clone(), client: account, notes: Vec::new() }
}

/// Sends what is on disk, read by a thread as fast as the reader takes it.
async fn recorded(
    stream: &UnixStream,
    readable: Readable,
    (since, goes_on): (Option<Duration>, bool),
) -> io::Result<Told> {
    let (sender, mut pieces) = mpsc::channel::<Vec<u8>>(AHEAD);
    let (teller, told) = oneshot::channel();
    let clock = Arc::new(SystemClock::new()?);
    std::thread::Builder::new().name("history".into()).spawn(move || {
        let history = History { readable, since, goes_on, clock };
        let told = history.run(&mut |piece| sender.blocking_send(piece).is_ok());
        let _gone = teller.send(told);
    })?;
    while let Some(piece) = pieces.recv().await {
        data(stream, &piece).await?;
    }
    told.await.map_err(|_| io::Error::other("the records could not be read"))
}

/// Sends what is sampled, until the reader goes.
async fn sampled(stream: &UnixStream, live: Subscription, post: &Post) -> io::Result<Reply> {
    let Subscription { mut outlet, ear, share, reserved: _reserved } = live;
    let ear = pipe::Receiver::from_owned_fd(ear.into())?;
    loop {
        let abandoned = loop {
            match outlet.next() {
                Next::Item(Item::Bytes(bytes)) => data(stream, &bytes).await?,
                Next::Item(Item::End(_)) => {}
                Next::Empty => break false,
                Next::Abandoned => break true,
            }
        };
        if share.is_overrun() {
            let text = format!("{}: taken too slowly", post.role.name);
            return Ok(Reply::Refused(Complaint { code: ComplaintCode::Exhausted, text }));
        }
        if abandoned {
            return Ok(end(&Told::default()));
        }
        tokio::select! {
            rung = ear.readable() => {
                rung?;
                let mut rings = [0; 256];
                // It rings, or has just been silenced.
                let _hushed = ear.try_read(&mut rings);
            }
            spoken = stream.readable() => {
                spoken?;
                let mut word = [0; 64];
                match stream.try_read(&mut word) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // It goes, or says what nobody asked for.
                    _ => return Err(io::ErrorKind::ConnectionAborted.into()),
                }
            }
        }
    }
}

async fn data(stream: &UnixStream, bytes: &[u8]) -> io::Result<()> {
    let most = usize::try_from(MOST_FROM_DAEMON).unwrap_or(usize::MAX);
    for part in bytes.chunks(most) {
        send(stream, FrameKind::Data, part).await?;
    }
    Ok(())
}

async fn reply(stream: &UnixStream, reply: &Reply) -> io::Result<()> {
    send(stream, FrameKind::Control, &serde_json::to_vec(reply)?).await
}

async fn send(stream: &UnixStream, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
    let header = frame(kind, payload.len()).map_err(io::Error::other)?;
    for mut rest in [&header[..], payload] {
        while !rest.is_empty() {
            let sent = stream
                .async_io(Interest::WRITABLE, || passing::send(stream.as_fd(), rest, &[]))
                .await?;
            rest = &rest[sent..];
        }
    }
    Ok(())
}
