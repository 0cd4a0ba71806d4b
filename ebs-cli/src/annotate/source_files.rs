//! Source text, by the paths that debug info gives.

use crate::arguments::{AnnotateArguments, PrefixMap};
use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// Bytes of a source file at most; generated ones have several million.
const MOST_BYTES: u64 = 32 << 20;
/// Bytes of all of them at most.
const MOST_IN_ALL: u64 = 256 << 20;

/// Files that were read, or were not there.
#[derive(Debug)]
pub(super) struct SourceFiles {
    root: PathBuf,
    below: Vec<PathBuf>,
    prefixes: Vec<PrefixMap>,
    files: HashMap<String, Option<Lines>>,
    left: u64,
    missing: BTreeSet<String>,
}

/// A text, and where its lines begin.
#[derive(Debug)]
struct Lines {
    text: Vec<u8>,
    starts: Vec<usize>,
}

impl SourceFiles {
    pub(super) fn new(root: &Path, arguments: &AnnotateArguments) -> SourceFiles {
        SourceFiles {
            root: root.to_owned(),
            below: arguments.source.clone(),
            prefixes: arguments.prefix_map.clone(),
            files: HashMap::new(),
            left: MOST_IN_ALL,
            missing: BTreeSet::new(),
        }
    }

    /// A line of a file, counted from 1.
    pub(super) fn line(&mut self, file: &str, line: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            let lines = self.read(file);
            if lines.is_none() {
                self.missing.insert(file.to_owned());
            }
            self.files.insert(file.to_owned(), lines);
        }
        self.files.get(file)?.as_ref()?.line(line)
    }

    /// What there is to say of files that were not found.
    pub(super) fn missing(&self) -> Option<String> {
        let first = self.missing.first()?;
        let more = match self.missing.len() - 1 {
            0 => String::new(),
            1 => " and one more file".to_owned(),
            more => format!(" and {more} more files"),
        };
        Some(format!(
            "no source text of {first}{more}; --source DIR or --prefix-map FROM=TO says where it is"
        ))
    }

    fn read(&mut self, file: &str) -> Option<Lines> {
        let text = self
            .candidates(Path::new(file))
            .iter()
            .find_map(|path| read(path, MOST_BYTES.min(self.left)).ok())?;
        self.left = self.left.saturating_sub(text.len() as u64);
        Some(Lines::new(text))
    }

    /// Where a file may be, best first.
    fn candidates(&self, file: &Path) -> Vec<PathBuf> {
        let mapped = self.prefixes.iter().filter_map(|PrefixMap { from, to }| {
            file.strip_prefix(from).ok().map(|rest| to.join(rest))
        });
        let mut all: Vec<PathBuf> = mapped.collect();
        let parts: Vec<_> =
            file.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        if file.is_absolute() {
            all.push(self.root.join(file.strip_prefix("/").unwrap_or(file)));
        }
        for directory in &self.below {
            let tails = (0..parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
            all.extend(tails.map(|tail| directory.join(tail)));
        }
        all
    }
}

/// A regular file of at most so many bytes; anything else is not waited for.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let metadata = File::metadata(&file)?;
    if !metadata.is_file() || metadata.len() > most {
        return Err(io::Error::other("no source file"));
    }
    let mut text = Vec::new();
    file.take(most).read_to_end(&mut text)?;
    Ok(text)
}

impl Lines {
    fn new(text: Vec<u8>) -> Lines {
        let ends = memchr::memchr_iter(b'\n', &text).map(|end| end + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Lines { text, starts }
    }

    fn line(&self, number: u32) -> Option<String> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).map_or(self.text.len(), |next| next - 1);
        let line = self.text.get(start..end).filter(|_| start < self.text.len())?;
        Some(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(root: &Path, below: Vec<PathBuf>, prefixes: Vec<PrefixMap>) -> SourceFiles {
        SourceFiles {
            root: root.to_owned(),
            below,
            prefixes,
            files: HashMap::new(),
            left: MOST_IN_ALL,
            missing: BTreeSet::new(),
        }
    }

    #[test]
    fn lines_are_counted_from_one() {
        let lines = Lines::new(b"one\ntwo\r\n\nfour".to_vec());
        let all: Vec<Option<String>> = (0..6).map(|number| lines.line(number)).collect();
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(all, [None, text("one"), text("two"), text(""), text("four"), None]);
        assert_eq!(Lines::new(b"one\n".to_vec()).line(2), None);
        assert_eq!(Lines::new(Vec::new()).line(1), None);
    }

    #[test]
    fn files_are_found_where_the_user_says() {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().join("tree/src/a.c");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "text\n").unwrap();
        let tree = here.path().join("tree");
        let found = |mut files: SourceFiles, name: &str| files.line(name, 1).is_some();
        let nowhere = Path::new("/");
        assert!(found(files(nowhere, vec![], vec![]), path.to_str().unwrap()));
        assert!(found(files(&tree, vec![], vec![]), "/src/a.c"));
        assert!(found(files(nowhere, vec![tree.clone()], vec![]), "/build/x/src/a.c"));
        assert!(found(files(nowhere, vec![tree.join("src")], vec![]), "../a.c"));
        let map = PrefixMap { from: "/build/x".into(), to: tree.clone() };
        assert!(found(files(nowhere, vec![], vec![map.clone()]), "/build/x/src/a.c"));
        assert!(!found(files(nowhere, vec![], vec![map]), "/build/xy/src/a.c"));
    }

    #[test]
    fn what_is_no_file_or_too_long_is_not_read_and_said_once() {
        let here = tempfile::tempdir().unwrap();
        let fifo = here.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let long = here.path().join("long");
        File::create(&long).unwrap().set_len(MOST_BYTES + 1).unwrap();
        let mut all = files(Path::new("/"), vec![], vec![]);
        for path in [&fifo, &long, here.path(), &here.path().join("none")] {
            for _ in 0..2 {
                assert_eq!(all.line(path.to_str().unwrap(), 1), None);
            }
        }
        let said = all.missing().unwrap();
        assert!(said.contains(" and 3 more files; --source"), "{said}");
    }
}
