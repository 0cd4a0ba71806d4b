//! Recorded mapping -> the file itself, or why it cannot be had.

use crate::elf::{self, head::Head};
use crate::file::{has_plain_inodes, open_link, open_within, process};
use crate::object::{Identity, MappedFile};
use crate::{Options, Reason};
use object::ReadCache;
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that is the one that was mapped, as far as can be told.
#[derive(Debug)]
pub(crate) struct Located {
    pub(crate) file: ReadCache<File>,
    pub(crate) head: Head,
    /// What stands for `/` where the file was found: separate debug files
    /// are looked for below it.
    pub(crate) root: PathBuf,
}

/// Looks at the recorded path, then at it as the processes saw it, then at
/// what /proc keeps of files without a name, then in the build-id
/// directories. The first that is the mapped file wins; the first reason
/// against is reported otherwise. A memfd that no process shows any more is
/// anonymous memory, as one that holds no program is.
pub(crate) fn locate(mapped: &MappedFile, options: &Options) -> Result<Located, Reason> {
    let shown = || String::from_utf8_lossy(&mapped.path).into_owned();
    let mut against = None;
    let mut attempt = |opened: io::Result<File>, root: PathBuf, proven: bool| match opened
        .map_err(|error| unreadable(shown(), &error))
        .and_then(|file| accept(file, mapped, proven))
    {
        Ok((file, head)) => Some(Located { file, head, root }),
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
    if !mapped.in_memory
        && let Some(found) =
            attempt(open_within(&options.root, &mapped.path), options.root.clone(), false)
    {
        return Ok(found);
    }
    for &(pid, start, end) in mapped.seen.iter().rev() {
        let process = process(&options.root, pid);
        let root = process.join("root");
        if !mapped.in_memory
            && let Some(found) = attempt(open_within(&root, &mapped.path), root.clone(), false)
        {
            return Ok(found);
        }
        for link in
            [process.join("map_files").join(format!("{start:x}-{end:x}")), process.join("exe")]
        {
            if !leads_to(&link, &mapped.path) {
                continue;
            }
            if let Some(found) = attempt(open_link(&link), root.clone(), true) {
                return Ok(found);
            }
        }
    }
    if let Some(id) = &mapped.identity.build_id {
        for path in build_id_paths(id, options, "") {
            if let Some(found) =
                attempt(open_within(&options.root, &path), options.root.clone(), false)
            {
                return Ok(found);
            }
        }
    }
    Err(match against {
        _ if mapped.in_memory => Reason::Anonymous { name: shown() },
        Some(reason) => reason,
        None => Reason::FileGone { file: shown() },
    })
}

/// The separate debug file of a program without symbols of its own: by build
/// id, then by debug link.
pub(crate) fn locate_debug(
    located: &Located,
    path: &[u8],
    options: &Options,
) -> Option<ReadCache<File>> {
    let head = &located.head;
    let candidates = |root: &Path| {
        let mut paths = Vec::new();
        if let Some(id) = &head.build_id {
            paths.extend(build_id_paths(id, options, ".debug").map(|path| (path, None)));
        }
        if let Some((name, crc)) = &head.debug_link {
            paths.extend(link_paths(name, path, options).map(|path| (path, Some(*crc))));
        }
        paths.into_iter().find_map(|(path, crc)| {
            let file = open_within(root, &path).ok()?;
            is_debug_file_of(file, head, crc)
        })
    };
    candidates(&located.root).or_else(|| candidates(&options.root))
}

fn is_debug_file_of(file: File, program: &Head, crc: Option<u32>) -> Option<ReadCache<File>> {
    let mut file = file;
    if let Some(crc) = crc
        && checksum(&mut file).ok()? != crc
    {
        return None;
    }
    let file = ReadCache::new(file);
    let head = elf::head(&file).ok()?;
    let differs = matches!((&program.build_id, &head.build_id), (Some(a), Some(b)) if a != b);
    // The directory's name is no proof: only an equal build id is.
    let proven = crc.is_some() || (head.build_id.is_some() && head.build_id == program.build_id);
    (head.has_symbols && proven && !differs).then_some(file)
}

/// Whether `file` is the mapped one. `proven`: it came from a link of /proc
/// that names the mapping.
fn accept(
    file: File,
    mapped: &MappedFile,
    proven: bool,
) -> Result<(ReadCache<File>, Head), Reason> {
    let name = || String::from_utf8_lossy(&mapped.path).into_owned();
    let found = file.metadata().map_err(|error| unreadable(name(), &error))?.ino();
    let plain = has_plain_inodes(&file);
    let file = ReadCache::new(file);
    let head = elf::head(&file)
        .map_err(|error| Reason::NotElf { file: name(), why: error.to_string() })?;
    let Identity { build_id, inode } = &mapped.identity;
    if let Some(recorded) = build_id {
        let same = head.build_id.as_deref().is_some_and(|found| same_build_id(recorded, found));
        let found = head.build_id.as_deref().map_or("none".to_owned(), hex);
        return match same {
            true => Ok((file, head)),
            false => Err(Reason::BuildIdDiffers { file: name(), recorded: hex(recorded), found }),
        };
    }
    match inode {
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

/// perf pads build ids with zeros to 20 bytes.
fn same_build_id(recorded: &[u8], found: &[u8]) -> bool {
    let shorter = recorded.len().min(found.len());
    let rest = recorded[shorter..].iter().chain(&found[shorter..]);
    shorter >= 1 && recorded[..shorter] == found[..shorter] && rest.copied().all(|byte| byte == 0)
}

fn leads_to(link: &Path, path: &[u8]) -> bool {
    std::fs::read_link(link).is_ok_and(|target| {
        let target = target.as_os_str().as_bytes();
        target == path || target.strip_suffix(b" (deleted)") == Some(path)
    })
}

/// `DIR/.build-id/xx/yyyy.debug`; with `suffix` empty also where some
/// distributions keep links to the programs themselves.
fn build_id_paths<'a>(
    id: &[u8],
    options: &'a Options,
    suffix: &'a str,
) -> impl Iterator<Item = Vec<u8>> + use<'a> {
    let (first, rest) = id.split_at(id.len().min(1));
    let tail = format!(".build-id/{}/{}{suffix}", hex(first), hex(rest));
    let libraries = suffix.is_empty().then(|| PathBuf::from("/usr/lib"));
    options
        .debug_directories
        .iter()
        .cloned()
        .chain(libraries)
        .map(move |directory| directory.join(&tail).into_os_string().into_encoded_bytes())
}

/// Beside the program, in `.debug` beside it, and below the debug
/// directories under the program's own path (gdb manual, "Separate Debug
/// Files").
fn link_paths<'a>(
    name: &'a [u8],
    path: &'a [u8],
    options: &'a Options,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    let directory = &path[..memchr::memrchr(b'/', path).unwrap_or(0)];
    let plain = !name.contains(&b'/');
    let beside = [[directory, b"/", name].concat(), [directory, b"/.debug/", name].concat()];
    let below = options
        .debug_directories
        .iter()
        .map(move |debug| [debug.as_os_str().as_bytes(), directory, b"/", name].concat());
    // A program is not its own debug file.
    beside.into_iter().chain(below).filter(move |candidate| plain && candidate != path)
}

fn checksum(file: &mut File) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    file.rewind()?;
    Ok(hasher.finalize())
}

fn unreadable(file: String, error: &io::Error) -> Reason {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Reason::FileGone { file },
        _ => Reason::FileUnreadable { file, why: error.to_string() },
    }
}

/// A build id as it is written everywhere.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
