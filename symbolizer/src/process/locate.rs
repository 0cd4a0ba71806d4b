//! Recorded mapping -> the file itself, or why it cannot be had.

use super::objects::{Identity, MappedFile};
use super::proc_dir;
use crate::Reason;
use crate::elf;
use crate::elf::head::{ElfHead, hex, is_same_build_id, unpadded};
use crate::files::debuginfod::Artifact;
use crate::files::embedded::index::EmbeddedPart;
use crate::files::embedded::lookup::FileToPack;
use crate::files::located_file::LocatedFile;
use crate::files::opening::{has_plain_inodes, open_link, open_within, reopened};
use crate::files::options::SymbolizerOptions;
use crate::files::separate::build_id_paths;
use object::ReadCache;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Looks at what the recording carries, then at the recorded path, then at it as the processes saw it, then at
/// what /proc keeps of files without a name, then in the build-id
/// directories. The first that is the mapped file wins; the first reason
/// against is reported otherwise. A memfd that no process shows any more is
/// anonymous memory, as one that holds no program is.
pub(crate) fn locate(
    mapped: &MappedFile,
    options: &SymbolizerOptions,
) -> Result<LocatedFile, Reason> {
    let shown = || String::from_utf8_lossy(&mapped.path).into_owned();
    let mut against = None;
    let mut attempt = |opened: io::Result<File>, root: PathBuf, way: FoundBy| match opened
        .map_err(|error| unreadable(shown(), &error))
        .and_then(|file| {
            let to_pack = options.to_pack(&file);
            let accepted = accept(file, mapped, way)?;
            pack(to_pack, mapped, &root, options);
            Ok(accepted)
        }) {
        Ok((file, head)) => Some(LocatedFile { file, head, root }),
        Err(reason) => {
            // A file that was found and refused says more than one that is
            // not there; /proc of a process that ended says nothing.
            against = match (against.take(), reason) {
                (None, reason) => Some(reason),
                (Some(gone @ Reason::FileGone { .. }), Reason::FileUnreadable { .. }) => Some(gone),
                (Some(Reason::FileGone { .. }), reason) => Some(reason),
                (first, _) => first,
            };
            None
        }
    };
    if let Some(kept) = mapped.kept.as_deref().and_then(reopened)
        && let Some(found) = attempt(Ok(kept), options.root.clone(), FoundBy::Mapping)
    {
        return Ok(found);
    }
    if let Some((file, root)) =
        options.carried().and_then(|files| files.mapped(&mapped.path, &mapped.identity.carried()))
        && let Some(found) = attempt(file, options.root_shown(root), FoundBy::Copy)
    {
        return Ok(found);
    }
    let way = if options.symfs.is_some() { FoundBy::Copy } else { FoundBy::Path };
    if !mapped.in_memory
        && let Some(found) =
            attempt(open_within(options.files(), &mapped.path), options.files().to_owned(), way)
    {
        return Ok(found);
    }
    let living = mapped.seen.iter().rev().filter(|_| options.symfs.is_none());
    for &(pid, start, end) in living {
        let process = proc_dir::directory(&options.root, pid);
        let root = process.join("root");
        if !mapped.in_memory
            && let Some(found) =
                attempt(open_within(&root, &mapped.path), root.clone(), FoundBy::Path)
        {
            return Ok(found);
        }
        for link in
            [process.join("map_files").join(format!("{start:x}-{end:x}")), process.join("exe")]
        {
            if !leads_to(&link, &mapped.path) {
                continue;
            }
            if let Some(found) = attempt(open_link(&link), root.clone(), FoundBy::Mapping) {
                return Ok(found);
            }
        }
    }
    if let Some(id) = &mapped.identity.build_id {
        for path in build_id_paths(id, options, "") {
            if let Some(found) =
                attempt(open_within(options.files(), &path), options.files().to_owned(), way)
            {
                return Ok(found);
            }
        }
    }
    if let (Some(id), Some(servers)) = (&mapped.identity.build_id, &options.debuginfod)
        && let Some(file) = servers.find(unpadded(id), Artifact::Executable)
        && let Some(found) = attempt(Ok(file), options.files().to_owned(), FoundBy::Path)
    {
        return Ok(found);
    }
    Err(match against {
        _ if mapped.in_memory => Reason::Anonymous { name: shown() },
        Some(reason) => reason,
        None => Reason::FileGone { file: shown() },
    })
}

/// Packs a file that is the mapped one, when a recording is to carry it.
fn pack(file: Option<FileToPack>, mapped: &MappedFile, root: &Path, options: &SymbolizerOptions) {
    let path = std::str::from_utf8(&mapped.path).ok();
    if let (Some(file), Some(path), Some(root)) = (file, path, options.shown_root(root)) {
        let (path, version) = (path.to_owned(), mapped.identity.carried());
        file.pack(EmbeddedPart::Mapped { path, root, version });
    }
}

/// How a file was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundBy {
    /// What lies at the path now.
    Path,
    /// A link of /proc that names the mapping, or it was opened in time.
    Mapping,
    /// With an inode of its own: the user said so, or the recording carries it.
    Copy,
}

/// Whether `file` is the mapped one.
fn accept(
    file: File,
    mapped: &MappedFile,
    way: FoundBy,
) -> Result<(ReadCache<File>, ElfHead), Reason> {
    let name = || String::from_utf8_lossy(&mapped.path).into_owned();
    let found = file.metadata().map_err(|error| unreadable(name(), &error))?.ino();
    let plain = has_plain_inodes(&file);
    let file = ReadCache::new(file);
    let head = elf::head(&file)
        .map_err(|error| Reason::NotElf { file: name(), why: error.to_string() })?;
    let Identity { build_id, inode } = &mapped.identity;
    if let Some(recorded) = build_id {
        let same = head.build_id.as_deref().is_some_and(|found| is_same_build_id(recorded, found));
        let found = head.build_id.as_deref().map_or("none".to_owned(), hex);
        return match same {
            true => Ok((file, head)),
            false => Err(Reason::BuildIdDiffers { file: name(), recorded: hex(recorded), found }),
        };
    }
    let proven = way == FoundBy::Mapping;
    match inode {
        _ if way == FoundBy::Copy => Ok((file, head)),
        Some(recorded) if plain && recorded.inode != found => {
            Err(Reason::FileReplaced { file: name(), recorded: recorded.inode, found })
        }
        // What lies at the path of a deleted file is another one, unless it
        // has the very inode.
        None if mapped.deleted && !proven => Err(Reason::FileGone { file: name() }),
        Some(_) if mapped.deleted && !proven && !plain => Err(Reason::FileGone { file: name() }),
        _ => Ok((file, head)),
    }
}

fn leads_to(link: &Path, path: &[u8]) -> bool {
    std::fs::read_link(link).is_ok_and(|target| {
        let target = target.as_os_str().as_bytes();
        target == path || target.strip_suffix(b" (deleted)") == Some(path)
    })
}

fn unreadable(file: String, error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Reason::FileGone { file },
        _ => Reason::FileUnreadable { file, why: error.to_string() },
    }
}
