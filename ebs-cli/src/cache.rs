//! `ebs cache`: indexes of debug info.

use crate::arguments::{CacheAction, CacheArguments};
use crate::debuginfod;
use crate::said::say;
use anyhow::{Context, Result, anyhow};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use symbolizer::cache::folder::{self, Folder};
use symbolizer::cache::indexes::Indexes;
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
            let indexes = Indexes::new(Folder::make(&path)?);
            for file in files {
                let (id, size) = add(&indexes, file)?;
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
fn add(indexes: &Indexes, path: &Path) -> Result<(String, usize)> {
    let options = Options { debuginfod: debuginfod::servers()?, ..Options::default() };
    let file = DebugFile::open(path, &options).map_err(|why| anyhow!("{why}"))?;
    let size = indexes.put(&file);
    let size = size.map_err(|why| anyhow!("no index of {}: {why}", path.display()))?;
    let id = file.build_id().unwrap_or_default();
    Ok((id.iter().map(|byte| format!("{byte:02x}")).collect(), size))
}

/// The indexes of this user, if there are any, unless they are not wanted:
/// `HARDMETER_CACHE` is `off`, or an option says so. Says why they cannot be
/// used.
pub(crate) fn indexes(program: &str, without: bool) -> Option<Arc<Indexes>> {
    if without || std::env::var_os("HARDMETER_CACHE").is_some_and(|word| word == "off") {
        return None;
    }
    match Folder::open(&path().ok()?) {
        Ok(folder) => Some(Arc::new(Indexes::new(folder?))),
        Err(error) => {
            say(program, &error.to_string());
            None
        }
    }
}

/// Makes those anew that were found damaged, and says so. To be called when
/// all is printed, and the symbolizer is gone.
pub(crate) fn mend(program: &str, indexes: Option<&Indexes>) {
    for told in indexes.into_iter().flat_map(Indexes::mend) {
        say(program, &told.to_string());
    }
}
