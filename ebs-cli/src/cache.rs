//! `ebs cache`: indexes of debug info.

use crate::arguments::{CacheAction, CacheArguments};
use crate::debuginfod;
use anyhow::{Context, Result, anyhow};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use symbolizer::cache::folder::{self, Folder};
use symbolizer::cache::indexed_file;
use symbolizer::{DebugFile, Options};

/// Does what was asked.
///
/// # Errors
/// There can be no cache, a file has no debug info that could be indexed, or
/// the system says why.
pub fn run(arguments: &CacheArguments, out: &mut dyn Write) -> Result<()> {
    let path = path()?;
    match &arguments.action {
        CacheAction::Path => writeln!(out, "{}", path.display())?,
        CacheAction::List => list(&path, out)?,
        CacheAction::Clear => {
            let cleared = Folder::open(&path)?.map(|folder| folder.clear()).transpose();
            let (count, size) = cleared.with_context(|| in_folder(&path))?.unwrap_or_default();
            writeln!(out, "{count} removed, {size} bytes")?;
        }
        CacheAction::Add { files } => {
            let folder = Folder::make(&path)?;
            for file in files {
                let (id, size) = add(&folder, file)?;
                writeln!(out, "{size:>12} {id} {}", file.display())?;
            }
        }
    }
    Ok(())
}

fn path() -> Result<PathBuf> {
    let path = folder::path(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"));
    path.ok_or_else(|| {
        anyhow!("no place for a cache: neither XDG_CACHE_HOME nor HOME is an absolute path")
    })
}

fn in_folder(path: &Path) -> String {
    format!("cannot use {}", path.display())
}

fn list(path: &Path, out: &mut dyn Write) -> Result<()> {
    let entries = Folder::open(path)?.map(|folder| folder.entries()).transpose();
    let mut entries = entries.with_context(|| in_folder(path))?.unwrap_or_default();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
    for entry in &entries {
        let age = entry.used.elapsed().unwrap_or(Duration::ZERO).as_secs();
        let age = match age {
            0..60 => format!("{age} s"),
            60..3600 => format!("{} min", age / 60),
            3600..86_400 => format!("{} h", age / 3600),
            _ => format!("{} d", age / 86_400),
        };
        writeln!(out, "{:>12} {age:>7} ago {}", entry.size, entry.build_id)?;
    }
    let size: u64 = entries.iter().map(|entry| entry.size).sum();
    writeln!(out, "# {} indexes, {size} bytes of at most {}", entries.len(), folder::LIMIT)?;
    Ok(())
}

/// Puts the index of a file there; gives its build id and bytes.
pub(crate) fn add(folder: &Folder, path: &Path) -> Result<(String, usize)> {
    let options = Options { debuginfod: debuginfod::servers()?, ..Options::default() };
    let file = DebugFile::open(path, &options).map_err(|why| anyhow!("{why}"))?;
    let failed = |why: String| anyhow!("no index of {}: {why}", path.display());
    let index = indexed_file::build(&file).map_err(failed)?;
    let id = file.build_id().unwrap_or_default();
    folder.put(id, &index, folder::LIMIT).with_context(|| in_folder(folder.path()))?;
    Ok((id.iter().map(|byte| format!("{byte:02x}")).collect(), index.len()))
}

/// The cache of this user, if there is one and `HARDMETER_CACHE` is not
/// `off`; says why it cannot be used.
pub(crate) fn folder(program: &str) -> io::Result<Option<Folder>> {
    if std::env::var_os("HARDMETER_CACHE").is_some_and(|word| word == "off") {
        return Ok(None);
    }
    match path().ok().map(|path| Folder::open(&path)).transpose() {
        Ok(folder) => Ok(folder.flatten()),
        Err(error) => {
            writeln!(io::stderr(), "{program}: {error}")?;
            Ok(None)
        }
    }
}
