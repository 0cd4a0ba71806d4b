//! One client: requests in order, and at most one stream.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::Open;
use super::complaint::complain;
use super::hub::{Hub, Subscription, failed};
use super::intake::{Intake, IntakeError};
use super::queue::{Item, Outlet};
use super::share::Share;
use crate::broker::Reservation;
use crate::catalogue::{self, Availability};
use crate::protocol::{
    Asked, Complaint, ComplaintCode, FrameKind, MOST_FROM_DAEMON, OLDEST, Reply, TypeLine, VERSION,
    Verb, common, frame,
};
use crate::{Facts, passing};

/// Program and version.
const DAEMON: &str = concat!("ebsd ", env!("CARGO_PKG_VERSION"));
/// The first request must have come by then.
const HELLO: Duration = Duration::from_secs(5);

/// Serves a client until it goes, or says something that cannot be
/// understood.
pub(crate) async fn serve(stream: UnixStream, open: Open) {
    let mut connection = Connection { stream, hub: Rc::clone(&open.0), streaming: None };
    match connection.talk().await {
        Ok(()) | Err(IntakeError::Closed) => {}
        Err(error) => {
            tracing::debug!(%error, "a connection ends");
            let reply = complain(ComplaintCode::BadRequest, &error);
            // It may not listen any more.
            let _deaf = timeout(Duration::from_secs(1), connection.reply(&reply)).await;
        }
    }
    drop(connection);
    drop(open);
}

struct Connection {
    stream: UnixStream,
    hub: Rc<Hub>,
    streaming: Option<Streaming>,
}

struct Streaming {
    outlet: Outlet,
    share: Arc<Share>,
    ear: pipe::Receiver,
    /// The queue's bytes, as long as there is the queue.
    _reserved: Reservation,
}

impl Streaming {
    /// Waits until there may be something in the queue.
    async fn rung(&self) -> io::Result<()> {
        self.ear.readable().await?;
        let mut rings = [0; 256];
        match self.ear.try_read(&mut rings) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }
}

impl Connection {
    async fn talk(&mut self) -> Result<(), IntakeError> {
        let mut intake = Intake::new();
        let first = timeout(HELLO, intake.next(&self.stream)).await;
        let (asked, _) = first.map_err(|_| IntakeError::Late)??;
        let Asked::Known(Verb::Hello { oldest, newest, client }) = asked else {
            let reply = complain(ComplaintCode::BadRequest, "the first request is hello");
            return Ok(self.reply(&reply).await?);
        };
        let Some(version) = common(oldest, newest) else {
            let text = format!(
                "the client speaks versions {oldest} to {newest} of the protocol, this daemon \
                 {OLDEST} to {VERSION}: install the same version of both"
            );
            return Ok(self.reply(&complain(ComplaintCode::Incompatible, text)).await?);
        };
        tracing::info!(client, version, "a client");
        let welcome = Reply::Welcome {
            version,
            daemon: DAEMON.into(),
            uid: self.hub.user.uid,
            permissions: self.hub.permissions.names(),
        };
        self.reply(&welcome).await?;
        loop {
            let asked = match &self.streaming {
                None => Some(intake.next(&self.stream).await?),
                Some(streaming) => tokio::select! {
                    request = intake.next(&self.stream) => Some(request?),
                    rung = streaming.rung() => {
                        rung?;
                        None
                    }
                },
            };
            match asked {
                Some((Asked::Known(verb), pidfd)) => {
                    let answered = self.answer(verb, pidfd).await;
                    self.reply(&answered.unwrap_or_else(Reply::Refused)).await?;
                }
                Some((Asked::Unknown(verb), _)) => {
                    let text = format!(
                        "this daemon, {DAEMON}, knows no {verb:?}: install the same version of \
                         both"
                    );
                    self.reply(&complain(ComplaintCode::UnknownVerb, text)).await?;
                }
                None => self.pump().await?,
            }
        }
    }

    /// Sends what waits in the queue.
    async fn pump(&mut self) -> io::Result<()> {
        let Some(streaming) = &mut self.streaming else { return Ok(()) };
        // Before the queue is seen to be empty: the end comes right before the
        // session goes.
        let abandoned = streaming.outlet.is_abandoned();
        while let Some(item) = streaming.outlet.take() {
            match item {
                Item::Bytes(bytes) => {
                    let most = usize::try_from(MOST_FROM_DAEMON).unwrap_or(usize::MAX);
                    for part in bytes.chunks(most) {
                        send(&self.stream, FrameKind::Data, part).await?;
                    }
                }
                Item::End(ending) => {
                    let client = streaming.share.account(&ending.session);
                    let reply = Reply::End {
                        reason: ending.reason.clone(),
                        notes: ending.notes.clone(),
                        session: ending.session.clone(),
                        client,
                    };
                    self.streaming = None;
                    self.hub.forget_ended();
                    return self.reply(&reply).await;
                }
            }
        }
        if streaming.share.is_overrun() {
            return Err(io::Error::other("the client took its records too slowly"));
        }
        if abandoned {
            return Err(io::Error::other("the session has broken off"));
        }
        Ok(())
    }

    async fn answer(&mut self, verb: Verb, pidfd: Option<OwnedFd>) -> Result<Reply, Complaint> {
        match verb {
            Verb::Hello { .. } => {
                Ok(complain(ComplaintCode::BadRequest, "hello is said once, at the beginning"))
            }
            Verb::Types => Ok(types()),
            Verb::Start { .. } | Verb::Attach { .. } if self.streaming.is_some() => Ok(complain(
                ComplaintCode::BadRequest,
                "this connection has a stream already: open another for a second one",
            )),
            Verb::Start { job, when_slow } => {
                let (started, subscription) = self.hub.start(&job, pidfd, when_slow).await?;
                self.stream_from(subscription)?;
                Ok(Reply::Started(started))
            }
            Verb::Attach { session, when_slow } => {
                let (joined, subscription) = self.hub.join(session, when_slow)?;
                self.stream_from(subscription)?;
                Ok(Reply::Joined(joined))
            }
            Verb::Stats { session } => Ok(Reply::Stats(self.hub.stats(session).await?)),
            Verb::Stop { session } => {
                self.hub.stop(session, "stopped by its owner")?;
                Ok(Reply::Done)
            }
            Verb::Sessions => Ok(Reply::Sessions { sessions: self.hub.list() }),
            Verb::Plan { job } => self.hub.outline(&job, pidfd),
            Verb::SetInterval { session, interval } => {
                self.hub.set_interval(session, interval).await?;
                Ok(Reply::Done)
            }
            Verb::Standing | Verb::Follow { .. } => {
                Ok(complain(ComplaintCode::UnknownVerb, "not served by this daemon"))
            }
        }
    }

    fn stream_from(&mut self, subscription: Subscription) -> Result<(), Complaint> {
        let Subscription { outlet, ear, share, reserved } = subscription;
        let ear = pipe::Receiver::from_owned_fd(ear.into()).map_err(failed)?;
        self.streaming = Some(Streaming { outlet, share, ear, _reserved: reserved });
        Ok(())
    }

    async fn reply(&self, reply: &Reply) -> io::Result<()> {
        let body = serde_json::to_vec(reply)?;
        send(&self.stream, FrameKind::Control, &body).await
    }
}

async fn send(stream: &UnixStream, kind: FrameKind, payload: &[u8]) -> io::Result<()> {
    use std::os::fd::AsFd;
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

fn types() -> Reply {
    let facts = match Facts::read(std::path::Path::new("/")) {
        Ok(facts) => facts,
        Err(error) => return complain(ComplaintCode::Failed, error),
    };
    let line = |entry: &catalogue::EventType| TypeLine {
        name: entry.name.into(),
        meaning: entry.meaning.into(),
        unavailable: match catalogue::availability(entry, &facts) {
            Availability::Available { .. } => None,
            Availability::Unavailable { why, .. } => Some(why),
        },
    };
    Reply::Types { types: catalogue::all().map(line).collect() }
}
