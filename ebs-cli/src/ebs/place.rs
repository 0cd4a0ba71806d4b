//! Where a conversion, an export or a page goes: a file that is there only when it is whole, or
//! stdout.

mod removal;

use crate::ebs::invocation::Misuse;
use anyhow::{Context, Result, bail};
pub(super) use removal::remove_when_ended;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What is written to.
#[derive(Debug)]
pub(super) enum Place {
    Stdout,
    /// A pipe or device.
    Special(File, PathBuf),
    /// A neighbour of the file, which becomes it.
    File(NamedTempFile, PathBuf),
}

impl Place {
    /// Opens the place to write to.
    ///
    /// # Errors
    ///
    /// A directory, a terminal, no right to write there; the file that is
    /// read.
    pub(super) fn open(path: &Path, input: &Path) -> Result<Place> {
        let there = fs::metadata(path).ok();
        if there.as_ref().is_some_and(|there| is_input(there, input)) {
            return Err(Misuse::SameFile(path.to_owned()).into());
        }
        Place::over(path, input)
    }

    /// The same; it may be the file that is read, which is replaced in the end.
    ///
    /// # Errors
    ///
    /// As of [`Place::open`].
    pub(super) fn over(path: &Path, input: &Path) -> Result<Place> {
        let place = Place::beside(path, input)?;
        if let Place::File(file, _) = &place {
            remove_when_ended(file.path().to_owned())?;
        }
        Ok(place)
    }

    fn beside(path: &Path, input: &Path) -> Result<Place> {
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                return Err(Misuse::Terminal.into());
            }
            return Ok(Place::Stdout);
        }
        let name = path.display();
        let there = fs::metadata(path).ok();
        match there {
            Some(there) if there.is_dir() => bail!("{name} is a directory"),
            Some(there) if !there.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.with_context(|| format!("cannot write to {name}"))?;
                Ok(Place::Special(file, path.to_owned()))
            }
            // What a link leads to is replaced, not the link.
            there => {
                let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
                let folder = match path.parent() {
                    Some(folder) if folder != Path::new("") => folder,
                    _ => Path::new("."),
                };
                let file = tempfile::Builder::new()
                    .prefix(".ebs-")
                    .permissions(Permissions::from_mode(readers(there.as_ref(), input)))
                    .tempfile_in(folder)
                    .with_context(|| format!("cannot write to {}", folder.display()))?;
                Ok(Place::File(file, path))
            }
        }
    }

    /// The same for what is at hand as a whole: it is written at once, so that no signal
    /// is watched for.
    ///
    /// # Errors
    ///
    /// As of [`Place::open`].
    pub(super) fn at_once(path: &Path, input: &Path) -> Result<Place> {
        Place::beside(path, input)
    }

    /// Whether a file can be written there later; of pipes and devices that is not tried.
    ///
    /// # Errors
    ///
    /// A directory, no right to write there.
    pub(super) fn check(path: &Path) -> Result<()> {
        let special = fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir());
        match special || path == Path::new("-") {
            true => Ok(()),
            false => Place::beside(path, path).map(drop),
        }
    }

    /// Whether what was written can be changed later.
    pub(super) fn is_seekable(&self) -> bool {
        matches!(self, Place::File(..))
    }

    /// What to write to.
    pub(super) fn file(&self) -> Result<File> {
        let file = match self {
            Place::Stdout => io::stdout().as_fd().try_clone_to_owned().map(File::from),
            Place::Special(file, _) => file.try_clone(),
            Place::File(file, _) => file.as_file().try_clone(),
        };
        file.context("cannot write")
    }

    /// Everything is written: gives the file its name, and tells it.
    pub(super) fn keep(self) -> Result<String> {
        match self {
            Place::Stdout => Ok("stdout".to_owned()),
            Place::Special(_, path) => Ok(path.display().to_string()),
            Place::File(file, path) => {
                let name = path.display().to_string();
                file.persist(&path).with_context(|| format!("cannot write to {name}"))?;
                Ok(name)
            }
        }
    }
}

/// Whether the file that is read is this one.
fn is_input(there: &Metadata, input: &Path) -> bool {
    let same = |input: Metadata| (input.dev(), input.ino()) == (there.dev(), there.ino());
    there.is_file() && about(input).is_some_and(same)
}

/// Who may read the new file: whoever could read the one that it replaces,
/// else the one that is read. perf's recordings are their owner's alone.
fn readers(there: Option<&Metadata>, input: &Path) -> u32 {
    const EVERYBODY: u32 = 0o666;
    let input = about(input).filter(Metadata::is_file);
    there.or(input.as_ref()).map_or(EVERYBODY, Metadata::mode) & EVERYBODY
}

fn about(input: &Path) -> Option<Metadata> {
    let input = match input == Path::new("-") {
        true => Path::new("/dev/stdin"),
        false => input,
    };
    fs::metadata(input).ok()
}
