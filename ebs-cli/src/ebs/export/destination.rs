//! Where an export goes.

use super::format;
use super::partition::Partition;
use crate::ebs::arguments::ExportArguments;
use crate::ebs::invocation::Misuse;
use crate::ebs::place::{Place, remove_when_ended};
use anyhow::{Context, Result};
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A place that is written to, the terminal, or a fleet's folder.
#[derive(Debug)]
pub(super) enum Destination {
    Terminal,
    Place(Place),
    /// A file in a folder that becomes a part of it, below its host and day.
    Fleet(NamedTempFile, PathBuf),
}

impl Destination {
    /// Opens what was named.
    ///
    /// # Errors
    ///
    /// A terminal, for what it cannot show; as of [`Place::open`].
    pub(super) fn open(arguments: &ExportArguments) -> Result<Destination> {
        let (to, from) = (&arguments.output, arguments.file.as_deref());
        if to == Path::new("-") && io::stdout().is_terminal() {
            if format(arguments.to, true).is_binary() {
                return Err(Misuse::BinaryExport.into());
            }
            return Ok(Destination::Terminal);
        }
        if arguments.to.is_of_fleets() && to.is_dir() {
            let readable = Permissions::from_mode(0o666);
            let file = tempfile::Builder::new()
                .prefix(".ebs-")
                .permissions(readable)
                .tempfile_in(to)
                .with_context(|| format!("cannot write to {}", to.display()))?;
            remove_when_ended(file.path().to_owned())?;
            return Ok(Destination::Fleet(file, to.clone()));
        }
        Ok(Destination::Place(Place::open(to, from.unwrap_or(Path::new("-")))?))
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Destination::Terminal)
    }

    /// What to write to.
    pub(super) fn file(&self) -> Result<File> {
        match self {
            Destination::Terminal => {
                let stdout = io::stdout().as_fd().try_clone_to_owned();
                stdout.map(File::from).context("cannot write")
            }
            Destination::Place(place) => place.file(),
            Destination::Fleet(file, _) => file.as_file().try_clone().context("cannot write"),
        }
    }

    /// Everything is written: gives a file its name.
    pub(super) fn keep(self, partition: &Partition) -> Result<()> {
        match self {
            Destination::Terminal => Ok(()),
            Destination::Place(place) => place.keep().map(|_| ()),
            Destination::Fleet(file, folder) => add_part(file, &folder.join(partition.folder())),
        }
    }
}

/// Makes a file the next part of a folder, in which others may add theirs.
fn add_part(mut file: NamedTempFile, folder: &Path) -> Result<()> {
    let goal = || format!("cannot write to {}", folder.display());
    fs::create_dir_all(folder).with_context(goal)?;
    for number in 0_u32.. {
        match file.persist_noclobber(folder.join(format!("part-{number}.parquet"))) {
            Err(taken) if taken.error.kind() == ErrorKind::AlreadyExists => file = taken.file,
            Err(other) => return Err(other.error).with_context(goal),
            Ok(_) => break,
        }
    }
    Ok(())
}
