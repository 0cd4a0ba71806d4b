//! The files that hold what was taken out of a program: symbols and debug
//! information, and what several debug files have together.

use super::debuginfod::Artifact;
use super::embedded::lookup::FileToPack;
use super::located_file::{LocatedFile, build_in_words};
use super::opening::{open_within, opened_path};
use super::options::SymbolizerOptions;
use crate::elf::head::{AltLink, ElfHead, hex};
use crate::elf::{self, ElfError, ElfSymbols, names::ElfNames, symbols::Naming};
use object::ReadCache;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DebugNeed {
    Symbols,
    Lines,
}

#[derive(Debug)]
pub(crate) struct Separate {
    pub(crate) file: ReadCache<File>,
    pub(crate) head: ElfHead,
    /// Path below `root`: what a link in it names may lie beside it.
    pub(crate) path: Vec<u8>,
    /// What stands for `/`.
    pub(crate) root: PathBuf,
}

/// The separate debug file of a program without symbols, or lines, of its
/// own: by build id, then by debug link.
pub(crate) fn locate_debug(
    located: &LocatedFile,
    path: &[u8],
    options: &SymbolizerOptions,
    wanted: DebugNeed,
) -> Option<Separate> {
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
            let file = options.open_beside(root, &path).ok()?;
            let to_pack = options.to_pack(&file);
            let (file, found) = is_debug_file_of(file, head, crc, wanted)?;
            options.pack_beside(root, &path, to_pack);
            Some(Separate { file, head: found, path, root: root.to_owned() })
        })
    };
    let local = candidates(&located.root).or_else(|| candidates(options.files()));
    local.or_else(|| {
        let file =
            options.debuginfod.as_ref()?.find(head.build_id.as_ref()?, Artifact::DebugInfo)?;
        let to_pack = options.to_pack(&file);
        let (file, found) = is_debug_file_of(file, head, None, wanted)?;
        pack_by_build_id(found.build_id.as_deref(), options, to_pack);
        Some(fetched(file, found))
    })
}

/// The separate debug file where a program has no symbol table of its own;
/// the program's build id, in words, if none was found.
pub(crate) fn symbols_of(
    located: &LocatedFile,
    path: &[u8],
    options: &SymbolizerOptions,
) -> (Option<Separate>, Option<String>) {
    if located.head.has_symbols {
        return (None, None);
    }
    let separate = locate_debug(located, path, options, DebugNeed::Symbols);
    let none = separate.is_none();
    (separate, none.then(|| build_in_words(located.head.build_id.as_deref(), options)))
}

/// The file that is called `path` below `options.root`, with [`symbols_of`] it.
fn with_separate(
    file: File,
    path: &Path,
    options: &SymbolizerOptions,
) -> Result<(LocatedFile, Option<Separate>, Option<String>), ElfError> {
    let file = ReadCache::new(file);
    let head = elf::head(&file)?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let located = LocatedFile { file, head, root: options.root.clone() };
    let (separate, stripped) = symbols_of(&located, path.as_os_str().as_bytes(), options);
    Ok((located, separate, stripped))
}

impl ElfSymbols {
    /// The same of a file below `options.root`; if it has no symbol table,
    /// from its separate debug file, which is found as [`crate::Symbolizer`]
    /// finds it.
    pub fn find_for(
        file: File,
        path: &Path,
        options: &SymbolizerOptions,
    ) -> Result<ElfSymbols, ElfError> {
        let (located, separate, stripped) = with_separate(file, path, options)?;
        let separate = separate.as_ref().map(|separate| &separate.file);
        let ranges = elf::ranges(&located.file, separate, Naming::Code)?;
        Ok(ElfSymbols { head: located.head, ranges, stripped })
    }
}

impl ElfNames {
    /// The names of a file that is called `path` below `options.root`: its own,
    /// or, if it has no symbol table, those of its separate debug file.
    ///
    /// # Errors
    /// It is no ELF file, or none that holds together.
    pub fn find_for(
        file: File,
        path: &Path,
        options: &SymbolizerOptions,
    ) -> Result<ElfNames, ElfError> {
        let (located, separate, _) = with_separate(file, path, options)?;
        ElfNames::of(&located.file, separate.as_ref().map(|separate| &separate.file))
    }
}

fn is_debug_file_of(
    mut file: File,
    program: &ElfHead,
    crc: Option<u32>,
    wanted: DebugNeed,
) -> Option<(ReadCache<File>, ElfHead)> {
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
    let serves = match wanted {
        DebugNeed::Symbols => head.has_symbols,
        DebugNeed::Lines => head.has_lines,
    };
    (serves && proven && !differs).then_some((file, head))
}

/// The file with what several debug files have together (`dwz -m`), which
/// .gnu_debugaltlink of one of them names. `holder`: that one's path below
/// `root`, itself the target of links. Only a file with the very build id
/// that the link has is taken; a program whose part this is without cannot
/// be read halfway.
pub(crate) fn locate_supplementary(
    root: &Path,
    holder: &[u8],
    link: &AltLink,
    options: &SymbolizerOptions,
) -> Option<Separate> {
    if link.build_id.is_empty() {
        return None;
    }
    let candidates = |root: &Path| {
        let mut paths = vec![link.path_from(&resolved(root, holder))];
        paths.extend(build_id_paths(&link.build_id, options, ".debug"));
        paths.into_iter().find_map(|path| {
            let file = options.open_beside(root, &path).ok()?;
            let to_pack = options.to_pack(&file);
            let file = ReadCache::new(file);
            let head = elf::head(&file).ok()?;
            if head.build_id.as_deref() != Some(&*link.build_id) {
                return None;
            }
            // Links lead on from where a file lies, which no copy tells.
            pack_by_build_id(Some(&link.build_id), options, to_pack);
            Some(Separate { file, head, path, root: root.to_owned() })
        })
    };
    let local = candidates(root).or_else(|| candidates(options.files()));
    local.or_else(|| {
        let file = options.debuginfod.as_ref()?.find(&link.build_id, Artifact::DebugInfo)?;
        pack_by_build_id(Some(&link.build_id), options, options.to_pack(&file));
        let file = ReadCache::new(file);
        let head = elf::head(&file).ok()?;
        Some(fetched(file, head))
    })
}

/// Packs a debug file as if it lay where build ids lead.
fn pack_by_build_id(id: Option<&[u8]>, options: &SymbolizerOptions, file: Option<FileToPack>) {
    if let Some(path) = id.and_then(|id| build_id_paths(id, options, ".debug").next()) {
        options.pack_beside(options.files(), &path, file);
    }
}

/// A file that lies in no directory of debug files: only build ids lead on
/// from it.
fn fetched(file: ReadCache<File>, head: ElfHead) -> Separate {
    Separate { file, head, path: Vec::new(), root: PathBuf::from("/") }
}

/// Where a path below `root` leads: the directory beside which a relative
/// link starts is the file's, not that of a link in .build-id.
fn resolved(root: &Path, path: &[u8]) -> Vec<u8> {
    let real = || {
        let opened = open_within(root, path).ok()?;
        let real = opened_path(&opened)?;
        let base = std::fs::canonicalize(root).ok()?;
        let below = Path::new("/").join(real.strip_prefix(base).ok()?);
        Some(below.into_os_string().into_encoded_bytes())
    };
    real().unwrap_or_else(|| path.to_vec())
}

/// `DIR/.build-id/xx/yyyy.debug`; with `suffix` empty also where some
/// distributions keep links to the programs themselves.
pub(crate) fn build_id_paths<'a>(
    id: &[u8],
    options: &'a SymbolizerOptions,
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
    options: &'a SymbolizerOptions,
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
