//! One client: requests in order, and at most one stream.

use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use recorder::Facts;
use recorder::catalogue::{self, Availability};
use recorder::remote::protocol::{
    ClientRequest, ErrorCode, ErrorReply, OLDEST, Reply, TypeLine, VERSION, Verb, common,
};
use recorder::session::preamble::{ProcessDescriber, SynthesizedRecords};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::OpenConnection;
use super::chunk::StreamTotals;
use super::client_counters::ClientCounters;
use super::client_socket::LINGER_TIMEOUT;
use super::hub::{Hub, Subscription, failed};
use super::outgoing_frame::{OutgoingFrame, send_some};
use super::passed_client::PidNamespace;
use super::queue::{Dequeued, QueueItem, QueueReceiver};
use super::relay::relay;
use super::request_reader::{RequestReadError, RequestReader};
use crate::broker::Reservation;

const DAEMON: &str = concat!("ebsd ", env!("CARGO_PKG_VERSION"));
/// Characters of a client's name that are logged.
const WORTH_LOGGING: usize = 64;
const MAX_ANSWERS: usize = 16;
/// The first request must have come by then.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves a client until it goes, or says something that cannot be
/// understood.
pub(crate) async fn serve(stream: UnixStream, namespace: PidNamespace, open: OpenConnection) {
    let mut connection = Connection {
        stream,
        namespace,
        hub: Rc::clone(&open.0),
        streaming: None,
        answers: VecDeque::new(),
        sending: None,
    };
    match connection.serve_requests().await {
        // It may have closed its sending half only, and wait for answers.
        Ok(()) | Err(RequestReadError::Closed) => {
            let _deaf = timeout(Duration::from_secs(1), connection.flush()).await;
        }
        Err(error) => {
            tracing::debug!(%error, "a connection ends");
            let reply = refusal(ErrorCode::BadRequest, &error);
            // It may not listen any more.
            let _deaf = timeout(Duration::from_secs(1), connection.send_last(&reply)).await;
        }
    }
    drop(connection);
    drop(open);
}

struct Connection {
    stream: UnixStream,
    namespace: PidNamespace,
    hub: Rc<Hub>,
    streaming: Option<Streaming>,
    answers: VecDeque<OutgoingFrame>,
    /// What is being sent: nothing else may come between its bytes.
    sending: Option<OutgoingFrame>,
}

struct Streaming {
    receiver: QueueReceiver,
    counters: Arc<ClientCounters>,
    wake_receiver: pipe::Receiver,
    /// Of the chunk that is being sent, what does not fit one frame.
    rest: Option<OutgoingFrame>,
    describing: Describing,
    /// The queue's bytes, as long as there is the queue.
    _reserved: Reservation,
}

/// The processes as they are when a client joins a session that runs.
enum Describing {
    /// Not of one's own session, and not twice.
    Not,
    /// Once the stream's preamble has come: then the client is subscribed.
    Wanted(Arc<ProcessDescriber>),
    Made(JoinHandle<SynthesizedRecords>),
}

/// Waits until there may be something in the queue, or the processes are
/// described; for ever where there is no stream.
async fn wait_for_wake(streaming: &mut Option<Streaming>) -> io::Result<()> {
    let Some(streaming) = streaming else { return std::future::pending().await };
    if let Describing::Made(described) = &mut streaming.describing {
        let described = described.await?;
        streaming.describing = Describing::Not;
        streaming.counters.took(&StreamTotals::side(described.records));
        streaming.rest = OutgoingFrame::data(described.bytes.into())?;
        return Ok(());
    }
    streaming.wake_receiver.readable().await?;
    let mut rings = [0; 256];
    match streaming.wake_receiver.try_read(&mut rings) {
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

impl Connection {
    async fn serve_requests(&mut self) -> Result<(), RequestReadError> {
        let mut request_reader = RequestReader::new();
        let first = timeout(HELLO_TIMEOUT, request_reader.next(&self.stream)).await;
        let asked = first.map_err(|_| RequestReadError::Late)??;
        let ClientRequest::Known(Verb::Hello { oldest, newest, client }) = asked else {
            let reply = refusal(ErrorCode::BadRequest, "the first request is hello");
            return Ok(self.send_last(&reply).await?);
        };
        let Some(version) = common(oldest, newest) else {
            let text = format!(
                "the client speaks versions {oldest} to {newest} of the protocol, this daemon \
                 {OLDEST} to {VERSION}: install the same version of both"
            );
            return Ok(self.send_last(&refusal(ErrorCode::Incompatible, text)).await?);
        };
        let client: String = client.chars().take(WORTH_LOGGING).collect();
        tracing::info!(client, version, "a client");
        self.reply(&Reply::Welcome {
            version,
            daemon: DAEMON.into(),
            uid: self.hub.user.uid,
            permissions: self.hub.permissions.names(),
        })?;
        loop {
            self.load()?;
            let Connection { stream, streaming, answers, sending, .. } = &mut *self;
            let is_idle = sending.is_none();
            let stalls = !is_idle && streaming.as_ref().is_none_or(|s| s.receiver.is_abandoned());
            let asked = tokio::select! {
                // Who does not take answers is not asked for more requests.
                request = request_reader.next(stream), if answers.len() < MAX_ANSWERS => Some(request?),
                sent = send_some(stream, sending), if !is_idle => {
                    sent?;
                    None
                }
                wait_for_wake = wait_for_wake(streaming), if is_idle => {
                    wait_for_wake?;
                    None
                }
                () = sleep(LINGER_TIMEOUT), if stalls => {
                    return Err(io::Error::from(io::ErrorKind::TimedOut).into());
                }
            };
            match asked {
                None => {}
                Some(ClientRequest::Known(Verb::Follow { name, since_seconds, live }))
                    if self.streaming.is_none() =>
                {
                    // Answers before go before it.
                    self.flush().await?;
                    let since = since_seconds.map(Duration::from_secs);
                    match self.hub.follow(&name, since, live) {
                        // The session's worker answers, and ends it. A frame of
                        // its may be half sent: nothing comes behind it.
                        Ok(source) => {
                            if let Err(error) = relay(&self.stream, source, live).await {
                                tracing::debug!(%error, "a reader's connection ends");
                            }
                            return Ok(());
                        }
                        Err(refused) => self.reply(&Reply::Refused(refused))?,
                    }
                }
                Some(ClientRequest::Known(verb)) => {
                    let answered = self.answer(verb).await;
                    self.reply(&answered.unwrap_or_else(Reply::Refused))?;
                }
                Some(ClientRequest::Wrong(text)) => {
                    self.reply(&refusal(ErrorCode::BadRequest, text))?;
                }
                Some(ClientRequest::Unknown(verb)) => {
                    let text = format!(
                        "this daemon, {DAEMON}, knows no {verb:?}: install the same version of \
                         both"
                    );
                    self.reply(&refusal(ErrorCode::UnknownVerb, text))?;
                }
            }
        }
    }

    /// Takes up what is to be sent next, if nothing is being sent: answers
    /// before the stream.
    fn load(&mut self) -> io::Result<()> {
        if self.streaming.as_ref().is_some_and(|streaming| streaming.counters.is_overrun()) {
            return Err(io::Error::other("the client took its records too slowly"));
        }
        if self.sending.is_some() {
            return Ok(());
        }
        self.sending = self.answers.pop_front();
        let Some(streaming) = self.streaming.as_mut().filter(|_| self.sending.is_none()) else {
            return Ok(());
        };
        let frame = match streaming.rest.take() {
            Some(rest) => Some(rest),
            None if matches!(streaming.describing, Describing::Made(_)) => None,
            None => match streaming.receiver.next() {
                Dequeued::Item(QueueItem::Bytes(bytes)) => {
                    if let Describing::Wanted(describer) = &streaming.describing {
                        let describer = Arc::clone(describer);
                        let made = spawn_blocking(move || describer.describe_whole());
                        streaming.describing = Describing::Made(made);
                    }
                    OutgoingFrame::data(bytes)?
                }
                Dequeued::Item(QueueItem::End(ending)) => {
                    let client = streaming.counters.account(&ending.session);
                    let end = Reply::End {
                        reason: ending.reason.clone(),
                        notes: ending.notes.clone(),
                        session: ending.session.clone(),
                        client,
                    };
                    self.streaming = None;
                    self.hub.forget_ended();
                    self.sending = Some(OutgoingFrame::control(&end)?);
                    return Ok(());
                }
                Dequeued::Abandoned => return Err(io::Error::other("the session has broken off")),
                Dequeued::Empty => None,
            },
        };
        if let Some(frame) = &frame {
            streaming.rest = frame.rest()?;
        }
        self.sending = frame;
        Ok(())
    }

    /// Has an answer sent, behind those before it.
    fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        self.answers.push_back(OutgoingFrame::control(reply)?);
        Ok(())
    }

    /// Sends what must not be left half, then a last answer.
    async fn send_last(&mut self, reply: &Reply) -> io::Result<()> {
        self.reply(reply)?;
        self.flush().await
    }

    /// Sends what must not be left half, and the answers that wait; ends the
    /// stream.
    async fn flush(&mut self) -> io::Result<()> {
        self.streaming = None;
        loop {
            self.load()?;
            if self.sending.is_none() {
                return Ok(());
            }
            send_some(&self.stream, &mut self.sending).await?;
        }
    }

    async fn answer(&mut self, verb: Verb) -> Result<Reply, ErrorReply> {
        let second = "this connection has a stream already: open another for a second one";
        match verb {
            Verb::Hello { .. } => {
                Err(ErrorReply::new(ErrorCode::BadRequest, "hello is said once, at the beginning"))
            }
            Verb::Types => types(),
            // Not while there is a stream: else it is relayed.
            Verb::Follow { .. } => Err(ErrorReply::new(ErrorCode::BadRequest, second)),
            Verb::Start { .. } | Verb::Attach { .. } if self.streaming.is_some() => {
                Err(ErrorReply::new(ErrorCode::BadRequest, second))
            }
            Verb::Start { job, target, when_slow } => {
                let (started, subscription) =
                    self.hub.start(*job, target, &self.namespace, when_slow).await?;
                self.stream_from(subscription, Describing::Not)?;
                Ok(Reply::Started(started))
            }
            Verb::Attach { session, when_slow } => {
                let (joined, subscription, describer) = self.hub.join(session, when_slow)?;
                self.stream_from(subscription, Describing::Wanted(describer))?;
                Ok(Reply::Joined(joined))
            }
            Verb::Stats { session } => Ok(Reply::Stats(self.hub.stats(session).await?)),
            Verb::Stop { session } => {
                self.hub.stop(session, "stopped by its owner")?;
                Ok(Reply::Done)
            }
            Verb::Sessions => Ok(Reply::Sessions { sessions: self.hub.list() }),
            Verb::Plan { job, target } => self.hub.outline(*job, target, &self.namespace),
            Verb::SetInterval { session, interval } => {
                self.hub.set_interval(session, interval).await?;
                Ok(Reply::Done)
            }
            Verb::Standing => Ok(Reply::Standing { sessions: self.hub.standing() }),
        }
    }

    fn stream_from(
        &mut self,
        subscription: Subscription,
        describing: Describing,
    ) -> Result<(), ErrorReply> {
        let Subscription { receiver, wake_receiver, counters, reserved } = subscription;
        let wake_receiver = pipe::Receiver::from_owned_fd(wake_receiver.into()).map_err(failed)?;
        let rest = None;
        self.streaming = Some(Streaming {
            receiver,
            counters,
            wake_receiver,
            rest,
            describing,
            _reserved: reserved,
        });
        Ok(())
    }
}

fn refusal(code: ErrorCode, text: impl ToString) -> Reply {
    Reply::Refused(ErrorReply::new(code, text))
}

fn types() -> Result<Reply, ErrorReply> {
    let facts = Facts::read(std::path::Path::new("/")).map_err(failed)?;
    let line = |entry: &catalogue::CatalogueType| TypeLine {
        name: entry.name.into(),
        meaning: entry.meaning.into(),
        unavailable: match catalogue::availability(entry, &facts) {
            Availability::Available { .. } => None,
            Availability::Unavailable { why, .. } => Some(why),
        },
    };
    Ok(Reply::Types { types: catalogue::all().map(line).collect() })
}
