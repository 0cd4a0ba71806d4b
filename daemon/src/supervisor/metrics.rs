//! Numbers for a monitor: on a socket of their own, and in a file.

mod text;

use std::fs;
use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::Supervisor;
use super::directory::{DirectoryError, TrustedDirectory};
use super::socket::{SocketError, bind_with_mode};
use super::turned_away::TurnedAway;
use text::{Numbers, text};

/// Between two writings of the file.
const EVERY: Duration = Duration::from_secs(15);
/// Who has been answered has so long to take it.
const LEAVE: Duration = Duration::from_secs(1);
/// Who may be taking an answer at once.
const MOST: usize = 16;

/// Where numbers are to be had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// Whoever connects is told.
    pub socket: Option<PathBuf>,
    /// Whose members may connect, beside the daemon's user.
    pub gid: Option<u32>,
    /// Written every 15 s.
    pub textfile: Option<PathBuf>,
}

impl Places {
    /// Whether there is a place for each that nobody else can take. Gives those
    /// whose directory is missing, which is no fault: the service manager makes
    /// its own when the daemon starts (RuntimeDirectory=).
    ///
    /// # Errors
    /// The first that is not to be used.
    pub fn check(&self) -> Result<Vec<&Path>, DirectoryError> {
        let mut homeless = Vec::new();
        let places = [(&self.socket, "a socket"), (&self.textfile, "a file")];
        for (path, what) in places {
            let Some(path) = path else { continue };
            match TrustedDirectory::of(path, what) {
                Err(DirectoryError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {
                    homeless.push(path.as_path());
                }
                found => _ = found?,
            }
        }
        Ok(homeless)
    }
}

/// The socket, and who has just been answered.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    listener: Option<(UnixListener, PathBuf)>,
    leaving: Vec<(UnixStream, Instant)>,
    /// How they are let go.
    turned_away: TurnedAway,
    written: Option<Instant>,
}

impl Metrics {
    /// Listens, where that is wanted. Before capabilities are dropped: the
    /// socket may be for a group that is not the daemon's.
    pub(super) fn listen(places: &Places) -> Result<Metrics, SocketError> {
        let Some(path) = &places.socket else { return Ok(Metrics::default()) };
        let io = |error| SocketError::Io { path: path.clone(), error };
        let mode = if places.gid.is_some() { 0o660 } else { 0o600 };
        let listener = bind_with_mode(path, mode)?;
        if let Some(gid) = places.gid {
            std::os::unix::fs::chown(path, None, Some(gid)).map_err(io)?;
        }
        listener.set_nonblocking(true).map_err(io)?;
        let listener = Some((listener, path.clone()));
        Ok(Metrics { listener, ..Metrics::default() })
    }

    /// Readable when somebody asks.
    pub(super) fn watched(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(|(listener, _)| listener.as_fd())
    }

    /// Answers who asks, whatever they ask; nothing of it is read.
    fn answer(&mut self, text: &str) {
        let Some((listener, _)) = &self.listener else { return };
        let Ok((mut stream, _)) = listener.accept() else { return };
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{text}",
            text.len()
        );
        // It fits into the socket; who does not take it asks again.
        let _deaf = stream.set_nonblocking(true).and_then(|()| stream.write_all(answer.as_bytes()));
        let _gone = stream.shutdown(Shutdown::Write);
        // Closed now, with a request unread, it would be reset.
        self.leaving.push((stream, Instant::now()));
        if self.leaving.len() > MOST {
            self.turned_away.close(self.leaving.remove(0).0);
        }
    }

    fn forget(&mut self) {
        for (stream, _) in self.leaving.extract_if(.., |(_, since)| since.elapsed() >= LEAVE) {
            self.turned_away.close(stream);
        }
        self.turned_away.reap();
    }

    /// Takes the socket's name away.
    pub(super) fn unlink(self) -> Metrics {
        if let Some((_, path)) = &self.listener {
            // Somebody may have been quicker.
            let _gone = fs::remove_file(path);
        }
        self
    }
}

impl Supervisor {
    /// Somebody asks for numbers.
    pub(super) fn tell_numbers(&mut self) {
        let text = text(&self.numbers());
        self.metrics.answer(&text);
    }

    /// What is done once a second.
    pub(super) fn write_numbers(&mut self) {
        self.metrics.forget();
        let Some(path) = &self.config.metrics.textfile else { return };
        if self.metrics.written.is_some_and(|written| written.elapsed() < EVERY) {
            return;
        }
        self.metrics.written = Some(Instant::now());
        let directory = TrustedDirectory::of(path, "a file");
        let written = directory.and_then(|it| it.replace(text(&self.numbers()).as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, "the metrics cannot be written");
        }
    }

    fn numbers(&self) -> Numbers {
        let mut report = self.gone.clone();
        let pages = rustix::param::page_size() as u64;
        let own = usage("self");
        let (mut ticks, mut resident) = (own.own_ticks + own.children_ticks, own.pages * pages);
        for worker in self.workers.iter().chain(self.desk.workers()) {
            report.add(&worker.report);
            let used = usage(&worker.pid().to_string());
            ticks += used.own_ticks;
            resident += used.pages * pages;
        }
        let hundredths = ticks * 100 / rustix::param::clock_ticks_per_second();
        Numbers {
            report,
            workers: self.workers.len() as u64,
            killed: self.killed,
            stored: self.desk.stored(),
            reload_failed: self.reload_failed,
            cpu_seconds: Duration::from_millis(hundredths * 10).as_secs_f64(),
            resident_bytes: resident,
        }
    }
}

/// Of /proc/PID/stat; all 0 where the process has gone.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    own_ticks: u64,
    /// Of children that were waited for.
    children_ticks: u64,
    pages: u64,
}

fn usage(process: &str) -> Usage {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name before the last parenthesis may hold anything.
    let Some((_, fields)) = stat.rsplit_once(") ") else { return Usage::default() };
    let fields: Vec<u64> =
        fields.split(' ').map(|field| field.trim().parse().unwrap_or(0)).collect();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or(0);
    Usage {
        own_ticks: field(14) + field(15),
        children_ticks: field(16) + field(17),
        pages: field(24),
    }
}
