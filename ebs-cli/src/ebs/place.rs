//! Where a conversion, an export or a page goes: a file that is there only when it is whole, or
//! stdout.

use crate::ebs::arguments::UsageError;
use crate::outputs::{NamedOutput, Replacement};
use anyhow::{Context, Error, Result, anyhow};
use rustix::fs::Stat;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

#[derive(Debug)]
pub(super) enum Place {
    Stdout,
    Special(File, PathBuf),
    /// A neighbour of the file, which becomes it.
    File(Replacement, PathBuf),
}

/// Who may read a new file, besides what the umask says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputReaders {
    /// Whoever may read the recording: it is one itself.
    OfRecording,
    All,
}

impl Place {
    /// Opens the place to write to.
    ///
    /// # Errors
    ///
    /// A directory, a terminal, no right to write there, another user's link or FIFO in a sticky
    /// directory; the file that is read.
    pub(super) fn open(path: &Path, input: &Path, readers: OutputReaders) -> Result<Place> {
        if let Some(output) = named(path)? {
            if output.found().is_some_and(|found| is_input(found, input)) {
                return Err(UsageError::SameFile(path.to_owned()).into());
            }
            return Place::of(output, path, input, readers)?.watched();
        }
        Place::stdout()
    }

    /// The same for a recording; it may be the file that is read, which is replaced in the end.
    ///
    /// # Errors
    ///
    /// As of [`Place::open`].
    pub(super) fn over(path: &Path, input: &Path) -> Result<Place> {
        match named(path)? {
            Some(output) => Place::of(output, path, input, OutputReaders::OfRecording)?.watched(),
            None => Place::stdout(),
        }
    }

    /// The same for what is at hand as a whole: it is written at once, so that no signal
    /// is watched for.
    ///
    /// # Errors
    ///
    /// As of [`Place::open`].
    pub(super) fn at_once(path: &Path) -> Result<Place> {
        match named(path)? {
            Some(output) => Place::of(output, path, path, OutputReaders::All),
            None => Place::stdout(),
        }
    }

    /// Whether a file can be written there later; of pipes and devices that is not tried.
    ///
    /// # Errors
    ///
    /// A directory, no right to write there.
    pub(super) fn check(path: &Path) -> Result<()> {
        match named(path)? {
            Some(output) if output.is_replaceable() => {
                Place::of(output, path, path, OutputReaders::All).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn stdout() -> Result<Place> {
        match io::stdout().is_terminal() {
            true => Err(UsageError::Terminal.into()),
            false => Ok(Place::Stdout),
        }
    }

    fn of(output: NamedOutput, path: &Path, input: &Path, readers: OutputReaders) -> Result<Place> {
        if !output.is_replaceable() {
            let file = output.open_anew(&mut || false).map_err(|error| refused(error, path))?;
            return Ok(Place::Special(file, path.to_owned()));
        }
        let input = about(input).filter(Metadata::is_file);
        let most = match (readers, input) {
            (OutputReaders::OfRecording, Some(input)) => input.mode(),
            _ => 0o666,
        };
        let new = Replacement::new(output, most).map_err(|error| {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            refused(error, folder.unwrap_or(Path::new(".")))
        })?;
        Ok(Place::File(new, path.to_owned()))
    }

    /// A signal leaves no half of a file behind.
    fn watched(self) -> Result<Place> {
        if let Place::File(new, _) = &self {
            remove_when_ended(new.remover().context("copying a descriptor")?)?;
        }
        Ok(self)
    }

    pub(super) fn is_seekable(&self) -> bool {
        matches!(self, Place::File(..))
    }

    pub(super) fn file(&self) -> Result<File> {
        let file = match self {
            Place::Stdout => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Place::Special(file, _) => file.try_clone(),
            Place::File(new, _) => new.file().try_clone(),
        };
        file.context("cannot write")
    }

    /// Everything is written: gives the file its name, and tells it.
    pub(super) fn keep(self) -> Result<String> {
        match self {
            Place::Stdout => Ok("stdout".to_owned()),
            Place::Special(_, path) => Ok(path.display().to_string()),
            Place::File(new, path) => {
                new.keep().map_err(|error| refused(error, &path))?;
                Ok(path.display().to_string())
            }
        }
    }
}

/// Where a name leads; None: to stdout.
fn named(path: &Path) -> Result<Option<NamedOutput>> {
    if path == Path::new("-") {
        return Ok(None);
    }
    NamedOutput::find(path).map(Some).map_err(|error| refused(error, path))
}

fn refused(error: io::Error, path: &Path) -> Error {
    match error.kind() {
        ErrorKind::IsADirectory => anyhow!("{} is a directory", path.display()),
        _ => Error::new(error).context(format!("cannot write to {}", path.display())),
    }
}

fn is_input(found: &Stat, input: &Path) -> bool {
    let same = |input: Metadata| (input.dev(), input.ino()) == (found.st_dev, found.st_ino);
    crate::outputs::is_file(found) && about(input).is_some_and(same)
}

fn about(input: &Path) -> Option<Metadata> {
    let input = match input == Path::new("-") {
        true => Path::new("/dev/stdin"),
        false => input,
    };
    fs::metadata(input).ok()
}

/// From now on calls `remove` when SIGINT, SIGTERM or SIGHUP ends the
/// program. Those that it was started to ignore (`nohup`, a shell's
/// background) stay ignored.
///
/// # Errors
///
/// No pipe can be made, or no thread started.
pub(super) fn remove_when_ended(remove: impl Fn() + Send + 'static) -> Result<()> {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&String::from_utf8_lossy(&status));
    let ends = [SIGINT, SIGTERM, SIGHUP].into_iter();
    let mut signals = Signals::new(ends.filter(|signal| ignored >> (signal - 1) & 1 == 0))
        .context("signals cannot be caught; with too many open files raise `ulimit -n`")?;
    let watch = move || {
        for signal in signals.forever() {
            remove();
            // Whoever waits sees the signal. It cannot fail for these three.
            let _ = emulate_default_handler(signal);
        }
    };
    thread::Builder::new().spawn(watch).context("no thread can be started")?;
    Ok(())
}

/// The mask of ignored signals in a /proc/PID/status.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read() {
        let status = "Name:\tebs\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored(status), 0x1001);
        assert_eq!(ignored(""), 0);
    }
}
