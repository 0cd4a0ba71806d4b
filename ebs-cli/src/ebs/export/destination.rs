//! Where an export goes.

use super::format;
use super::partition::Partition;
use crate::ebs::arguments::UsageError;
use crate::ebs::export::ExportArguments;
use crate::ebs::place::{OutputReaders, Place, remove_when_ended};
use crate::outputs::{FolderName, Replacement, create_folder, open_folder};
use anyhow::{Context, Result};
use rustix::fs::CWD;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// A place that is written to, the terminal, or a fleet's folder.
#[derive(Debug)]
pub(super) enum Destination {
    Terminal,
    Place(Place),
    /// A file in a folder that becomes a part of it, below its host and day.
    Fleet(Replacement, OwnedFd, PathBuf),
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
            if format(arguments.to, true)?.is_binary() {
                return Err(UsageError::BinaryExport.into());
            }
            return Ok(Destination::Terminal);
        }
        if arguments.to.is_of_fleets() && to.is_dir() {
            let goal = || format!("cannot write to {}", to.display());
            let folder = open_folder(CWD, to).with_context(goal)?;
            let made_in = folder.try_clone().with_context(goal)?;
            let file = Replacement::in_folder(made_in).with_context(goal)?;
            remove_when_ended(file.remover().with_context(goal)?)?;
            return Ok(Destination::Fleet(file, folder, to.clone()));
        }
        Ok(Destination::Place(Place::open(to, from.unwrap_or(Path::new("-")), OutputReaders::All)?))
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Destination::Terminal)
    }

    pub(super) fn file(&self) -> Result<File> {
        match self {
            Destination::Terminal => {
                let stdout = io::stdout().as_fd().try_clone_to_owned();
                stdout.map(File::from).context("cannot write")
            }
            Destination::Place(place) => place.file(),
            Destination::Fleet(file, ..) => file.file().try_clone().context("cannot write"),
        }
    }

    /// Everything is written: gives a file its name.
    pub(super) fn keep(self, partition: &Partition) -> Result<()> {
        match self {
            Destination::Terminal => Ok(()),
            Destination::Place(place) => place.keep().map(|_| ()),
            Destination::Fleet(file, folder, path) => {
                let below = partition.folder();
                let goal = || format!("cannot write to {}", path.join(&below).display());
                add_part(file, &folder, &below).with_context(goal)
            }
        }
    }
}

/// Makes a file the next part of a folder below another, in which others may add theirs.
fn add_part(mut file: Replacement, folder: &OwnedFd, below: &Path) -> io::Result<()> {
    let folder = create_folder(folder, below)?;
    for number in 0_u32.. {
        let name = format!("part-{number}.parquet");
        let to = FolderName { folder: &folder, name: Path::new(&name) };
        if file.keep_as_new(to)? {
            break;
        }
    }
    Ok(())
}
