//! The account on disk: replaced as a whole, one run's at a time.

use super::export_account::{ExportAccount, VERSION};
use crate::outputs::{self, NamedOutput, open_folder};
use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, renameat};
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

#[derive(Debug)]
pub(super) struct AccountFile {
    pub(super) books: ExportAccount,
    path: PathBuf,
    /// Held until this is dropped.
    _lock: File,
}

impl AccountFile {
    /// Reads it, or begins one of the segments of `directory`.
    ///
    /// # Errors
    ///
    /// It cannot be read, is none, or is of another directory; another run has
    /// it.
    pub(super) fn open(path: PathBuf, directory: &Path) -> Result<AccountFile> {
        let name = path.display();
        let unreadable = || format!("cannot read {name}");
        // Where its name leads to another user's file, no lock is left beside it.
        NamedOutput::find(&path).with_context(unreadable)?;
        let lock = beside(&path, ".lock");
        let goal = || format!("cannot open {}", lock.display());
        let lock = NamedOutput::find(&lock).and_then(|output| output.open(&mut || false));
        let lock = lock.with_context(goal)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another export of these segments runs: {name} is in use")
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(goal),
        }
        // What it says is removed and renamed as root, too.
        let text = NamedOutput::find(&path).and_then(|output| output.read());
        let books = match text.with_context(unreadable)? {
            Some(text) => serde_json::from_slice::<ExportAccount>(&text)
                .with_context(|| format!("{name} is no account of exported segments"))?,
            None => ExportAccount::new(directory.to_owned()),
        };
        if let Some(pending) = &books.pending
            && !(is_below(&pending.file) && pending.part.as_deref().is_none_or(is_below))
        {
            bail!(
                "{name} names a file outside of the output's folder: name another with --account"
            );
        }
        if books.hardmeter_export_account != VERSION {
            bail!(
                "{name} is an account of version {}; this program reads version {VERSION}",
                books.hardmeter_export_account
            );
        }
        if books.directory != directory {
            bail!(
                "{name} is the account of {}, not of {}: name another with --account",
                books.directory.display(),
                directory.display()
            );
        }
        Ok(AccountFile { books, path, _lock: lock })
    }

    /// It is on disk when this returns.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(super) fn save(&self) -> Result<()> {
        let goal = || format!("cannot write to {}", self.path.display());
        let mut text = serde_json::to_vec_pretty(&self.books).with_context(goal)?;
        text.push(b'\n');
        // Its name is always the same, so that a run that was killed leaves one file at most.
        // Below one open folder: a directory on the way may get another name meanwhile.
        let name = self.path.file_name().unwrap_or_default();
        let parent = self.path.parent().unwrap_or(Path::new("."));
        let folder = open_folder(CWD, parent).with_context(goal)?;
        let made = beside(Path::new(name), ".new");
        let mut file = outputs::create_in(&folder, &made).with_context(goal)?;
        file.write_all(&text).and_then(|()| file.sync_all()).with_context(goal)?;
        renameat(&folder, &made, &folder, name).with_context(goal)?;
        outputs::sync(&folder).with_context(goal)
    }
}

/// Whether a path leads to no place but below the folder that it is of.
fn is_below(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
