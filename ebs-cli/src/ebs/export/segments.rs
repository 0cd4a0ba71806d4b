//! `ebs export --segments`: each finished segment of a standing session
//! becomes a part of a fleet's folder, once.

mod account_file;
mod export_account;
mod segment_folder;

use super::partition::Partition;
use super::written_export::WrittenExport;
use crate::ebs::arguments::UsageError;
use crate::ebs::export::ExportArguments;
use crate::ebs::input::{End, Input};
use crate::outputs::{self, FolderName, create_folder, open_folder};
use crate::terminal::say;
use account_file::AccountFile;
use anyhow::{Context, Result, anyhow, bail};
use export_account::{PendingPart, SegmentKey};
use rustix::fs::{AtFlags, CWD, fstatvfs, statat, unlinkat};
use rustix::io::Errno;
use segment_folder::SegmentFolder;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Exports what is finished and was not exported yet, oldest first. One that
/// fails holds up no other.
///
/// # Errors
///
/// A place that cannot be read or written; segments that could not be exported
/// as they should, or went before they were.
pub(super) fn run(arguments: &ExportArguments, directory: &Path) -> Result<()> {
    if !arguments.to.is_of_fleets() || !arguments.output.is_dir() {
        return Err(UsageError::SegmentsTo.into());
    }
    let folder = SegmentFolder::open(directory)?;
    let place = match &arguments.segments.account {
        Some(place) => place.clone(),
        None => arguments.output.join(format!(".{}.account", folder.session())),
    };
    let name = arguments.output.display();
    let output =
        open_folder(CWD, &arguments.output).with_context(|| format!("cannot write to {name}"))?;
    let mut exporter = SegmentExporter {
        arguments,
        output,
        account: AccountFile::open(place, folder.path())?,
        folder,
        is_told: false,
    };
    exporter.settle()?;
    let exported = exporter.export_all();
    exporter.account.save()?;
    exported?;
    if exporter.is_told {
        bail!("not all segments of {} were exported as they should", directory.display());
    }
    Ok(())
}

#[derive(Debug)]
struct SegmentExporter<'a> {
    arguments: &'a ExportArguments,
    /// The fleet's folder.
    output: OwnedFd,
    folder: SegmentFolder,
    account: AccountFile,
    /// Something was said that is to end in failure.
    is_told: bool,
}

impl SegmentExporter<'_> {
    /// Brings to its end what a run before was killed at.
    fn settle(&mut self) -> Result<()> {
        let Some(pending) = self.account.books.pending.clone() else { return Ok(()) };
        match &pending.part {
            // It may be half of one.
            None => self.remove(&pending.file)?,
            // It was whole; where it is neither here nor there, somebody has
            // taken it on from there.
            Some(part) => match statat(&self.output, &pending.file, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => {}
                _ => self.place(&pending.file, part)?,
            },
        }
        if pending.part.is_some() {
            self.account.books.exported(&pending);
        }
        self.account.books.pending = None;
        self.account.save()
    }

    fn export_all(&mut self) -> Result<()> {
        let listed = self.folder.list()?;
        let books = &mut self.account.books;
        let finished = listed.finished.iter();
        let headers: Vec<_> = finished.map(|number| self.folder.header(*number)).collect();
        let numbered = listed.finished.iter().zip(&headers);
        let keys: Vec<_> =
            numbered.map(|(number, header)| SegmentKey::of(*number, header.as_ref())).collect();
        if books.is_numbered_anew(&keys) {
            self.complain(
                "segments are numbered anew, as the directory was emptied: what went with it \
                 before it was exported is not known",
            );
        }
        let books = &mut self.account.books;
        let gone = books.look(&listed, |number| self.folder.is_there(number));
        if gone > 0 {
            self.complain(&format!(
                "segments that were thrown away before they were exported: {gone}; export more \
                 often, or raise retention.bytes"
            ));
        }
        for (key, header) in keys.into_iter().zip(headers) {
            if self.account.books.has(&key) {
                continue;
            }
            self.has_room()?;
            let exported = match header {
                Some(header) if header.number == key.number => self.export(key),
                Some(header) => Err(anyhow!("it is a copy of segment {}", header.number)),
                None => Err(anyhow!("it has no header that can be read")),
            };
            if let Err(error) = exported {
                self.complain(&format!("segment {} is not exported: {error:#}", key.number));
            }
            self.account.save()?;
        }
        Ok(())
    }

    /// Fails where the file system is to be left alone.
    fn has_room(&self) -> Result<()> {
        let output = &self.arguments.output;
        let about = fstatvfs(&self.output)
            .with_context(|| format!("cannot look at {}", output.display()))?;
        let free = about.f_bavail.saturating_mul(about.f_frsize);
        let keep = self.arguments.segments.keep_free;
        if free < keep {
            bail!(
                "{} has {free} bytes free where {keep} are to be kept free: segments wait in {}, \
                 the oldest go when these are too many; make room, or say --keep-free",
                output.display(),
                self.folder.path().display()
            );
        }
        Ok(())
    }

    fn export(&mut self, key: SegmentKey) -> Result<()> {
        if self.folder.is_empty(key.number)? {
            let pending = PendingPart { key, file: PathBuf::new(), part: None, samples: 0 };
            self.account.books.exported(&pending);
            return Ok(());
        }
        let session = self.folder.session();
        let name = format!("{session}-{:010}-{:016x}.parquet", key.number, key.stream);
        let writing = PathBuf::from(format!(".{name}.writing"));
        let mut pending = PendingPart { key, file: writing, part: None, samples: 0 };
        self.account.books.pending = Some(pending.clone());
        self.account.save()?;
        let written = self.write(&name, &mut pending);
        let placed = written.and_then(|end| {
            self.account.books.pending = Some(pending.clone());
            self.account.save()?;
            let part = pending.part.as_deref().unwrap_or(Path::new(&name));
            self.place(&pending.file, part).map(|()| (part.to_owned(), end))
        });
        self.account.books.pending = None;
        let (part, end) = match placed {
            Ok(placed) => placed,
            Err(error) => {
                // Known as gone before it is.
                self.account.save()?;
                self.remove(&pending.file)?;
                return Err(error);
            }
        };
        self.account.books.exported(&pending);
        let (number, samples) = (key.number, pending.samples);
        say("ebs", &format!("segment {number}: {samples} samples in {}", part.display()));
        if let End::Damaged(damage) = end {
            self.account.books.totals.damaged += 1;
            self.complain(&format!("what could be read of segment {number} is there: {damage:#}"));
        }
        Ok(())
    }

    /// Writes a part, on disk when this returns, and says what it is to be
    /// called.
    fn write(&self, name: &str, pending: &mut PendingPart) -> Result<End> {
        let number = pending.key.number;
        let told = self.folder.name(number);
        let mut input = Input::of_file(self.folder.open_file(number)?, &told)?;
        let path = self.arguments.output.join(&pending.file);
        let goal = || format!("cannot write to {}", path.display());
        let file = outputs::create_in(&self.output, &pending.file).with_context(goal)?;
        let format = super::format(self.arguments.to, false)?;
        let pipeline = super::pipeline(self.arguments, format, &input)?;
        let out = file.try_clone().with_context(goal)?;
        let written = WrittenExport::write(&mut input, format, pipeline, out)?;
        file.sync_all().with_context(goal)?;
        let WrittenExport { report, features, end } = written;
        let partition = Partition::of(&report, &features, input.segment(), None);
        pending.part = Some(partition.folder().join(name));
        pending.samples = report.events.iter().map(|event| event.totals.counted).sum();
        Ok(end)
    }

    fn place(&self, from: &Path, part: &Path) -> Result<()> {
        let to = self.arguments.output.join(part);
        let goal = || format!("cannot write to {}", to.display());
        let below = part.parent().unwrap_or(Path::new(""));
        let folder = create_folder(&self.output, below).with_context(goal)?;
        let name = Path::new(part.file_name().unwrap_or_default());
        let old = FolderName { folder: &self.output, name: from };
        if !old.rename_to_new(FolderName { folder: &folder, name }).with_context(goal)? {
            say("ebs", &format!("{} is there already, and stays", part.display()));
            self.remove(from)?;
        }
        outputs::sync(&folder).with_context(goal)
    }

    fn complain(&mut self, text: &str) {
        say("ebs", text);
        self.is_told = true;
    }

    fn remove(&self, name: &Path) -> Result<()> {
        match unlinkat(&self.output, name, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => Ok(()),
            Err(errno) => {
                let path = self.arguments.output.join(name);
                Err(errno).with_context(|| format!("cannot remove {}", path.display()))
            }
        }
    }
}
