//! Source text, by the paths that debug info gives.

use super::source_reader::{Candidate, SourceReader, Unread};
use crate::ebs::annotate::{AnnotateArguments, PrefixMap};
use std::collections::{BTreeSet, HashMap};
use std::path::{Component, Path, PathBuf};

/// Bytes of a source file at most; generated ones have several million.
const MOST_BYTES: u64 = 32 << 20;
/// Bytes of all of them at most.
const MOST_IN_ALL: u64 = 256 << 20;

#[derive(Debug)]
pub(in crate::ebs) struct SourceFiles {
    root: PathBuf,
    below: Vec<PathBuf>,
    prefixes: Vec<PrefixMap>,
    files: HashMap<String, Option<Lines>>,
    left: u64,
    reader: SourceReader,
    missing: BTreeSet<String>,
    /// Files that are there, and not for whom they would be shown to.
    withheld: BTreeSet<String>,
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
            below: arguments.source.clone(),
            prefixes: arguments.prefix_map.clone(),
            ..SourceFiles::at(root)
        }
    }

    /// Where debug info says, below a directory that stands for /.
    pub(in crate::ebs) fn at(root: &Path) -> SourceFiles {
        SourceFiles {
            root: root.to_owned(),
            below: Vec::new(),
            prefixes: Vec::new(),
            files: HashMap::new(),
            left: MOST_IN_ALL,
            reader: SourceReader::of_process(|name| std::env::var(name).ok()),
            missing: BTreeSet::new(),
            withheld: BTreeSet::new(),
        }
    }

    /// A line of a file, counted from 1.
    pub(in crate::ebs) fn line(&mut self, file: &str, line: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            let lines = self.read(file);
            match &lines {
                Ok(_) => {}
                Err(Unread::Missing) => _ = self.missing.insert(file.to_owned()),
                Err(Unread::Withheld) => _ = self.withheld.insert(file.to_owned()),
            }
            self.files.insert(file.to_owned(), lines.ok());
        }
        self.files.get(file)?.as_ref()?.line(line)
    }

    /// What there is to say of files that were not found, or not opened.
    pub(super) fn missing(&self) -> Vec<String> {
        let missing = some(&self.missing).map(|files| {
            format!(
                "no source text of {files}; --source DIR or --prefix-map FROM=TO says where it is"
            )
        });
        let withheld = some(&self.withheld).map(|files| match self.reader {
            SourceReader::Root => format!(
                "the source {files} is not for everybody to read, and programs name what they \
                 like: --source DIR shows what is below DIR"
            ),
            SourceReader::For { user, .. } => {
                format!("the source {files} may not be read by uid {user}, for whom root runs this")
            }
            SourceReader::Itself => format!("the source {files} may not be read by this user"),
        });
        missing.into_iter().chain(withheld).collect()
    }

    fn read(&mut self, file: &str) -> Result<Lines, Unread> {
        let mut why = Unread::Missing;
        for candidate in self.candidates(Path::new(file)) {
            match self.reader.read(&candidate, MOST_BYTES.min(self.left)) {
                Ok(text) => {
                    self.left = self.left.saturating_sub(text.len() as u64);
                    return Ok(Lines::new(text));
                }
                Err(Unread::Withheld) => why = Unread::Withheld,
                Err(Unread::Missing) => {}
            }
        }
        Err(why)
    }

    /// Where a file may be, best first.
    fn candidates(&self, file: &Path) -> Vec<Candidate> {
        let below = |directory: &Path, path| Candidate { below: Some(directory.to_owned()), path };
        let mapped = self.prefixes.iter().filter_map(|PrefixMap { from, to }| {
            file.strip_prefix(from).ok().map(|rest| below(to, rest.to_owned()))
        });
        let mut all: Vec<Candidate> = mapped.collect();
        let parts: Vec<_> =
            file.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        if file.is_absolute() {
            let path = self.root.join(file.strip_prefix("/").unwrap_or(file));
            all.push(Candidate { below: None, path });
        }
        for directory in &self.below {
            let tails = (0..parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
            all.extend(tails.map(|tail| below(directory, tail)));
        }
        all
    }
}

/// The first of some files, and how many more.
fn some(files: &BTreeSet<String>) -> Option<String> {
    let first = files.first()?;
    Some(match files.len() - 1 {
        0 => first.clone(),
        1 => format!("{first} and one more file"),
        more => format!("{first} and {more} more files"),
    })
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
    use std::fs::File;

    fn files(root: &Path, below: Vec<PathBuf>, prefixes: Vec<PrefixMap>) -> SourceFiles {
        SourceFiles {
            root: root.to_owned(),
            below,
            prefixes,
            files: HashMap::new(),
            left: MOST_IN_ALL,
            reader: SourceReader::of_process(|_| None),
            missing: BTreeSet::new(),
            withheld: BTreeSet::new(),
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
        let said = all.missing();
        assert!(said.len() == 1 && said[0].contains(" and 3 more files; --source"), "{said:?}");
    }
}
