//! A standing session's directory, as who exports it sees it: docs/segments.md.

use anyhow::{Context, Result, bail};
use perfdata::segment::{PackedSegment, SegmentHeader, SegmentStream};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Digits of a segment's number in its file's name.
const DIGITS: usize = 10;
/// Ends of names, in the order in which a segment has them: written, closed,
/// packed. Who looks in that order finds it, whatever happens meanwhile.
const ENDINGS: [&str; 3] = [".open", ".seg", ".seg.zst"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ListedSegments {
    pub(super) all: BTreeSet<u64>,
    /// Of those that nothing more is written to.
    pub(super) finished: BTreeSet<u64>,
}

#[derive(Debug)]
pub(super) struct SegmentFolder {
    path: PathBuf,
    session: String,
}

impl SegmentFolder {
    /// # Errors
    ///
    /// It is none.
    pub(super) fn open(path: &Path) -> Result<SegmentFolder> {
        let goal = || format!("cannot read the segments of {}", path.display());
        let path = path.canonicalize().with_context(goal)?;
        let session = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let Some(session) = session.filter(|_| path.is_dir()) else {
            bail!("{} is no session's directory, such as /var/lib/ebsd/web", path.display());
        };
        Ok(SegmentFolder { path, session })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn list(&self) -> Result<ListedSegments> {
        let goal = || format!("cannot read {}", self.path.display());
        let mut listed = ListedSegments::default();
        for entry in fs::read_dir(&self.path).with_context(goal)? {
            let entry = entry.with_context(goal)?;
            let name = entry.file_name();
            let Some((number, ending)) = name.to_str().and_then(parse) else { continue };
            if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            listed.all.insert(number);
            if ending != ENDINGS[0] {
                listed.finished.insert(number);
            }
        }
        Ok(listed)
    }

    /// Whether there is one of this number, in whatever state.
    pub(super) fn is_there(&self, number: u64) -> bool {
        ENDINGS.iter().any(|ending| self.path.join(name(number, ending)).exists())
    }

    /// For messages.
    pub(super) fn name(&self, number: u64) -> String {
        self.path.join(format!("{number:0DIGITS$}")).display().to_string()
    }

    /// One that is finished. Links are not followed, and nothing is waited for.
    pub(super) fn open_file(&self, number: u64) -> Result<File> {
        let mut options = File::options();
        options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        for ending in &ENDINGS[1..] {
            match options.open(self.path.join(name(number, ending))) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                opened => {
                    return opened.with_context(|| format!("cannot open {}", self.name(number)));
                }
            }
        }
        bail!("{} is there no more", self.name(number))
    }

    /// None: it has none that can be read.
    pub(super) fn header(&self, number: u64) -> Option<SegmentHeader> {
        let mut front = Vec::new();
        self.open_file(number).ok()?.take(FRONT).read_to_end(&mut front).ok()?;
        SegmentHeader::decode(&front).or_else(|_| PackedSegment::header(&front[..])).ok()
    }

    /// Whether it is whole, and nothing was written to it but its header.
    pub(super) fn is_empty(&self, number: u64) -> Result<bool> {
        let goal = || format!("cannot read {}", self.name(number));
        let mut stream =
            SegmentStream::new(Vec::new(), self.open_file(number)?).with_context(goal)?;
        Ok(stream.read(&mut [0]).is_ok_and(|read| read == 0))
    }
}

/// Bytes that have the header, packed or not.
const FRONT: u64 = 128;

fn name(number: u64, ending: &str) -> String {
    format!("{number:0DIGITS$}{ending}")
}

fn parse(text: &str) -> Option<(u64, &'static str)> {
    let (digits, _) = text.split_once('.')?;
    let number = digits.parse().ok()?;
    let ending = ENDINGS.into_iter().find(|ending| text == name(number, ending))?;
    Some((number, ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_not_finished_and_what_is_none_is_not_there() {
        let path = tempfile::tempdir().unwrap();
        let at = |name: &str| path.path().join(name);
        for name in [
            "0000000003.seg.zst",
            "0000000004.seg",
            "0000000005.open",
            "0000000006.tmp",
            "7.seg",
            "0000000008.seg.bak",
        ] {
            fs::write(at(name), b"x").unwrap();
        }
        std::os::unix::fs::symlink(at("0000000003.seg.zst"), at("0000000009.seg")).unwrap();
        let folder = SegmentFolder::open(path.path()).unwrap();
        let listed = folder.list().unwrap();
        assert_eq!(listed.all, BTreeSet::from([3, 4, 5]));
        assert_eq!(listed.finished, BTreeSet::from([3, 4]));
        assert!(folder.is_there(5) && !folder.is_there(6));
        folder.open_file(9).unwrap_err();
        folder.open_file(5).unwrap_err();
        assert_eq!(folder.header(4), None, "no bytes of a segment");
    }
}
