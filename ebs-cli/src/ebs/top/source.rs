//! Where samples come from.

use super::counting::{FirstPart, SharedStream, TopQuestion, count};
use super::live_view::{StreamPart, TopNews};
use super::replay::{ReplayListener, replay};
use super::sampled_child::SampledChild;
use super::standing_stream;
use super::zoom::{ZoomSource, zoom};
use crate::ebs::exit_status::FAILURE;
use crate::ebs::input::Input;
use crate::ebs::report;
use crate::ebs::top::{ReplaySpeed, TopArguments};
use crate::terminal::signals::Catcher;
use crate::terminal::{causes, say};
use analysis::Query;
use analysis::annotate::RoutineTarget;
use anyhow::{Result, bail, ensure};
use recorder::remote::client::SOCKET;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

/// Rows of an interval that are told apart.
const ROWS: usize = 50_000;
/// Parts of a stream that wait while a routine's lines are looked up.
const PARTS: usize = 256;
/// Ends are looked for so often.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) enum Opened {
    Source(Box<TopSource>),
    /// None will, and why was said: the status to exit with.
    Nothing(u8),
}

#[derive(Debug)]
pub(super) struct TopSource {
    news: Receiver<TopNews>,
    /// For threads that read a routine.
    teller: Sender<TopNews>,
    asked: TopQuestion,
    zoomed: ZoomSource,
    child: Option<SampledChild>,
    /// The end that is told once the child has gone.
    ending: Option<TopNews>,
}

impl TopSource {
    /// Opens it, and waits for its begin.
    ///
    /// # Errors
    ///
    /// A filter without meaning; a recording or a session that cannot be read;
    /// no process.
    pub(super) fn open(arguments: &TopArguments, catcher: &mut Catcher) -> Result<Opened> {
        let mut asked = question(arguments)?;
        if let Some(path) = &arguments.replay {
            let input = recording(path)?;
            asked.symbols = report::symbols_of(&input, &arguments.symbols)?;
            asked.symbols.debuginfod = None;
            // Nothing is lost while they are looked up.
            asked.query.keys = top::sampled_keys(true);
            let speed = arguments.speed.unwrap_or(ReplaySpeed::Times(1.0));
            let source = TopSource::of_recording(path.clone(), asked, speed);
            return Ok(Opened::Source(Box::new(source)));
        }
        let (parts, stream) = sync_channel(PARTS);
        let mut child = None;
        match &arguments.session {
            Some(name) => follow(arguments, name.clone(), parts),
            None => {
                let mut signal = None;
                let mut ended = || {
                    signal = catcher.asked().signal();
                    signal.is_some()
                };
                let started =
                    SampledChild::start(arguments, parts, Arc::clone(&asked.is_over), &mut ended);
                if let (Err(error), Some(signal)) = (&started, signal) {
                    say("ebs", &causes::told(error));
                    return Ok(Opened::Nothing(u8::try_from(128 + signal).unwrap_or(u8::MAX)));
                }
                child = Some(started?);
            }
        }
        loop {
            match stream.recv_timeout(LOOK) {
                Ok(StreamPart::Bytes(first)) => {
                    if let Some(child) = &child {
                        child.has_begun();
                    }
                    let source = TopSource::of_stream(first, stream, asked, child);
                    return Ok(Opened::Source(Box::new(source)));
                }
                Ok(StreamPart::End(why)) if child.is_none() => {
                    bail!("the daemon has ended the stream: {}", why.unwrap_or_default())
                }
                Ok(StreamPart::End(_)) | Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let status = child.as_mut().and_then(SampledChild::ended);
            if let (Some(status), Some(child)) = (status, &child) {
                child.notes().iter().for_each(|note| say("ebs", note));
                return Ok(Opened::Nothing(if status == 0 { FAILURE } else { status }));
            }
            if let Some(signal) = catcher.asked().signal() {
                if let Some(child) = &mut child {
                    child.end(catcher);
                }
                return Ok(Opened::Nothing(u8::try_from(128 + signal).unwrap_or(u8::MAX)));
            }
        }
    }

    fn of_recording(path: PathBuf, asked: TopQuestion, speed: ReplaySpeed) -> TopSource {
        let (teller, news) = channel();
        let zoomed = ZoomSource::Recording(path.clone());
        let (own, listener) = (
            asked.clone(),
            ReplayListener { news: teller.clone(), is_over: Arc::clone(&asked.is_over) },
        );
        thread::spawn(move || {
            if let Err(error) = replay(&path, own, speed, &listener) {
                let _gone = listener.news.send(TopNews::End(Some(format!("{error:#}"))));
            }
        });
        TopSource { news, teller, asked, zoomed, child: None, ending: None }
    }

    fn of_stream(
        first: Vec<u8>,
        stream: Receiver<StreamPart>,
        asked: TopQuestion,
        child: Option<SampledChild>,
    ) -> TopSource {
        let (teller, news) = channel();
        let kept = SharedStream::default();
        let zoomed = ZoomSource::Stream(Arc::clone(&kept));
        let (own, of_counting) = (asked.clone(), teller.clone());
        thread::spawn(move || {
            let parts = FirstPart { first, stream };
            if let Err(error) = count(own, &parts, &kept, &of_counting) {
                let _gone = of_counting.send(TopNews::End(Some(format!("{error:#}"))));
                // Who samples must not wait for a full pipe.
                while parts.stream.recv().is_ok() {}
            }
        });
        TopSource { news, teller, asked, zoomed, child, ending: None }
    }

    /// What is new, if anything is; never waits.
    pub(super) fn news(&mut self) -> Option<TopNews> {
        match self.news.try_recv() {
            Ok(end @ TopNews::End(_)) if self.child.is_some() => self.ending = Some(end),
            Ok(news) => return Some(news),
            Err(_) => {}
        }
        let child = self.child.as_mut()?;
        // The stream ends before the program that writes it.
        if self.ending.is_some()
            && let Some(status) = child.ended()
        {
            let said = child.notes().pop().map_or_else(String::new, |last| format!("; {last}"));
            let why = match self.ending.take() {
                Some(TopNews::End(Some(why))) => format!("; {why}"),
                _ => String::new(),
            };
            return Some(TopNews::End(Some(format!("status {status}{why}{said}"))));
        }
        None
    }

    pub(super) fn look_up_lines(&self) {
        self.asked.wants_lines.store(true, Ordering::Relaxed);
    }

    /// Reads a routine; its text is news.
    pub(super) fn zoom(&self, target: RoutineTarget) {
        let (zoomed, asked, teller) =
            (self.zoomed.clone(), self.asked.clone(), self.teller.clone());
        thread::spawn(move || {
            let _gone = teller.send(TopNews::Routine(zoom(&zoomed, target, &asked)));
        });
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.child.as_ref().map(SampledChild::notes).unwrap_or_default()
    }

    /// Ends the sampling, and waits for that; gives the status of a command
    /// that had ended by itself. Signals are passed on meanwhile.
    pub(super) fn close(&mut self, catcher: &mut Catcher) -> Result<Option<u8>> {
        self.asked.is_over.store(true, Ordering::Relaxed);
        let Some(child) = &mut self.child else { return Ok(None) };
        if let Some(status) = child.ended() {
            return Ok(Some(status));
        }
        child.end(catcher);
        Ok(None)
    }
}

fn question(arguments: &TopArguments) -> Result<TopQuestion> {
    ensure!(
        arguments.every.0 >= Duration::from_secs(1),
        "counted anew after each {}: give at least 1s",
        arguments.every
    );
    let mut symbols = report::symbols(&arguments.symbols)?;
    // Nobody waits for a server before a screen.
    symbols.debuginfod = None;
    let query = Query {
        keys: top::sampled_keys(false),
        filters: report::filters(&arguments.filter)?,
        accesses: true,
        most_rows: ROWS,
        ..Query::default()
    };
    query.check()?;
    Ok(TopQuestion {
        query,
        symbols,
        every: arguments.every.0,
        wants_lines: Arc::default(),
        is_over: Arc::default(),
    })
}

/// A recording that can be read more than once.
fn recording(path: &Path) -> Result<Input> {
    let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
    ensure!(
        is_file && path != Path::new("-"),
        "{}: a recording is read more than once to be replayed: name a file",
        path.display()
    );
    Input::open(path)
}

fn follow(arguments: &TopArguments, name: String, parts: SyncSender<StreamPart>) {
    let socket = arguments.serving.socket.clone().unwrap_or_else(|| SOCKET.into());
    thread::spawn(move || standing_stream::read(&socket, &name, &parts));
}
