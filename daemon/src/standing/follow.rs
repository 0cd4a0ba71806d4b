//! Serving somebody who reads a standing session: what was recorded, then
//! what is sampled now.

use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use perfdata::stream::write;
use recorder::remote::protocol::{
    Account, ErrorCode, ErrorReply, FrameKind, Joined, MAX_DAEMON_PAYLOAD, Reply, WHOLE, WhenSlow,
    frame,
};
use recorder::sys::event::NATIVE_ORDER;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::history::{History, HistoryAccount, ReadableSegments};
use super::keeper::StandingSession;
use super::writer::WriterOrder;
use crate::control::Follow;
use crate::store::SystemClock;
use crate::worker::queue::{Dequeued, QueueItem};
use crate::worker::{Hub, LINGER_TIMEOUT, Subscription};

/// Pieces of history that wait for a reader.
const AHEAD: usize = 4;
/// How often it is looked whether a reader is there to whom there is nothing
/// to say.
const READER_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Serves one, through a pipe that the supervisor has made: nothing comes
/// back through it.
pub(crate) async fn follow(
    pipe: pipe::Sender,
    hub: Rc<Hub>,
    what: Follow,
    standing: Rc<StandingSession>,
) {
    let _reading = match standing.readers.admit(what.reader) {
        Ok(reading) => reading,
        Err(full) => {
            let text = format!("{full} read {} already: try again later", standing.role.name);
            let refused = Reply::Refused(ErrorReply::new(ErrorCode::Exhausted, text));
            let _deaf = send_reply(&pipe, &refused).await;
            return;
        }
    };
    if let Err(error) = serve(&pipe, &hub, what, &standing).await {
        tracing::debug!(%error, "a reader has gone");
    }
}

async fn serve(
    stream: &pipe::Sender,
    hub: &Hub,
    what: Follow,
    standing: &StandingSession,
) -> io::Result<()> {
    let live = match what.live.then(|| hub.subscribe(WhenSlow::DropNewest, what.reader)).transpose()
    {
        Ok(live) => live,
        Err(error) => return send_reply(stream, &Reply::Refused(error)).await,
    };
    let (subscriber, live) = live.map(|(one, other)| (Box::new(one), other)).unzip();
    // What is in the queue before the order is read, too.
    hub.report_losses().await;
    let (answer, readable) = oneshot::channel();
    let gone = || io::Error::other("the writer has gone");
    // Without a time, who wants live records gets those.
    let history = what.since.is_some() || !what.live;
    if !standing.writer.send_order(WriterOrder::Follow { live: subscriber, history, answer }) {
        return Err(gone());
    }
    let readable = match readable.await.map_err(|_| gone())? {
        Ok(readable) => readable,
        Err(error) => {
            let text = format!("the records of {} cannot be read: {error}", standing.role.name);
            let refused = Reply::Refused(ErrorReply::new(ErrorCode::Failed, text));
            return send_reply(stream, &refused).await;
        }
    };
    let name = standing.role.event.clone();
    send_reply(stream, &Reply::Joined(Joined { stream: String::new(), name, notes: Vec::new() }))
        .await?;
    let mut first = Vec::new();
    write::file_header(NATIVE_ORDER, &mut first);
    send(stream, FrameKind::Data, &first).await?;
    let account = match history {
        true => send_history(stream, readable, what).await?,
        false => HistoryAccount::default(),
    };
    let end = match live {
        Some(live) => send_live(stream, live, standing).await?,
        None => end(&account),
    };
    send_reply(stream, &end).await
}

fn end(account: &HistoryAccount) -> Reply {
    let mut reason = WHOLE.to_owned();
    for gap in account.gaps.iter().chain(&account.damage) {
        reason.push_str("; ");
        reason.push_str(gap);
    }
    let mut session =
        Account { delivered: account.samples, side: account.side, ..Account::default() };
    if account.lost > 0 {
        session.lost.insert("told".into(), account.lost);
    }
    Reply::End { reason, client: session.clone(), session, notes: account.damage.clone() }
}

/// Sends what is on disk, read by a thread as fast as the reader takes it.
async fn send_history(
    stream: &pipe::Sender,
    readable: ReadableSegments,
    what: Follow,
) -> io::Result<HistoryAccount> {
    let (sender, mut pieces) = mpsc::channel::<Vec<u8>>(AHEAD);
    let (teller, account) = oneshot::channel();
    let clock = Arc::new(SystemClock::new()?);
    std::thread::Builder::new().name("history".into()).spawn(move || {
        let history = History { readable, since: what.since, goes_on: what.live, clock };
        let account = history.run(&mut |piece| sender.blocking_send(piece).is_ok());
        let _gone = teller.send(account);
    })?;
    while let Some(piece) = pieces.recv().await {
        send_data(stream, &piece).await?;
    }
    account.await.map_err(|_| io::Error::other("the records could not be read"))
}

async fn send_live(
    stream: &pipe::Sender,
    live: Subscription,
    standing: &StandingSession,
) -> io::Result<Reply> {
    let Subscription { mut receiver, wake_receiver, counters, reserved: _reserved } = live;
    let wake_receiver = pipe::Receiver::from_owned_fd(wake_receiver.into())?;
    loop {
        let abandoned = loop {
            match receiver.next() {
                Dequeued::Item(QueueItem::Bytes(bytes)) => send_data(stream, &bytes).await?,
                Dequeued::Item(QueueItem::End(_)) => {}
                Dequeued::Empty => break false,
                Dequeued::Abandoned => break true,
            }
        };
        if counters.is_overrun() {
            let text = format!("{}: taken too slowly", standing.role.name);
            return Ok(Reply::Refused(ErrorReply::new(ErrorCode::Exhausted, text)));
        }
        if abandoned {
            return Ok(end(&HistoryAccount::default()));
        }
        tokio::select! {
            wait_for_wake = wake_receiver.readable() => {
                wait_for_wake?;
                let mut rings = [0; 256];
                // It rings, or has just been silenced.
                let _hushed = wake_receiver.try_read(&mut rings);
            }
            () = sleep(READER_CHECK_INTERVAL) => {
                if has_gone(stream) {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        }
    }
}

fn has_gone(pipe: &pipe::Sender) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::empty())];
    poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

async fn send_data(stream: &pipe::Sender, bytes: &[u8]) -> io::Result<()> {
    let most = usize::try_from(MAX_DAEMON_PAYLOAD).unwrap_or(usize::MAX);
    for part in bytes.chunks(most) {
        send(stream, FrameKind::Data, part).await?;
    }
    Ok(())
}

async fn send_reply(stream: &pipe::Sender, reply: &Reply) -> io::Result<()> {
    send(stream, FrameKind::Control, &serde_json::to_vec(reply)?).await
}

/// Who takes nothing for too long has gone.
async fn send(stream: &pipe::Sender, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
    let header = frame(kind, payload.len()).map_err(io::Error::other)?;
    for mut rest in [&header[..], payload] {
        while !rest.is_empty() {
            timeout(LINGER_TIMEOUT, stream.writable())
                .await
                .map_err(|_| io::ErrorKind::TimedOut)??;
            match stream.try_write(rest) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => rest = &rest[written?..],
            }
        }
    }
    Ok(())
}
