//! Whose rights open a source file. Its path is the word of whoever made the
//! program, who may want to see a file that only the reader of the profile
//! can open: root's rights are not lent to it.

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2};
use rustix::process::geteuid;
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

/// A group of nobody, where sudo names none.
const NO_GROUP: u32 = 65_534;
/// A user and a group that have files of their own nowhere: the mode of a
/// file says little where a directory above it is not for everybody.
const ANYBODY: FileUser = FileUser { user: NO_GROUP, group: NO_GROUP };

#[derive(Clone, Copy, Debug)]
struct FileUser {
    user: u32,
    group: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceReader {
    /// A user with the process's own rights: the kernel decides.
    Itself,
    /// Root by itself: what a user without rights may read, and what lies below a
    /// directory that was named on the command line.
    Root,
    /// Root for a user who called sudo or pkexec: what that user may open.
    For { user: u32, group: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The directory that was named on the command line, if one was.
    pub(super) below: Option<PathBuf>,
    /// The path there, or the whole path.
    pub(super) path: PathBuf,
}

#[derive(Debug)]
pub(super) enum Unread {
    Missing,
    /// It is there, and not for everybody.
    Withheld,
}

impl SourceReader {
    /// As this process was started; `variable` reads the environment.
    pub(super) fn of_process(variable: impl Fn(&str) -> Option<String>) -> SourceReader {
        if !geteuid().is_root() {
            return SourceReader::Itself;
        }
        let number = |name| variable(name).and_then(|word| word.parse::<u32>().ok());
        let user = number("SUDO_UID").or_else(|| number("PKEXEC_UID")).filter(|user| *user != 0);
        let group = number("SUDO_GID").unwrap_or(NO_GROUP);
        user.map_or(SourceReader::Root, |user| SourceReader::For { user, group })
    }

    /// A regular file of at most so many bytes; nothing is waited for.
    pub(super) fn read(self, candidate: &Candidate, most: u64) -> Result<Vec<u8>, Unread> {
        let whole = || match &candidate.below {
            Some(below) => below.join(&candidate.path),
            None => candidate.path.clone(),
        };
        let (file, is_named) = match (self, &candidate.below) {
            (SourceReader::Itself, _) => (opened(&whole()), true),
            (SourceReader::For { user, group }, _) => {
                (opened_for(FileUser { user, group }, &whole()), true)
            }
            (SourceReader::Root, Some(below)) => match opened_below(below, &candidate.path) {
                Ok(file) => (Ok(file), true),
                Err(_) => (opened_for(ANYBODY, &whole()), false),
            },
            (SourceReader::Root, None) => (opened_for(ANYBODY, &whole()), false),
        };
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => Unread::Withheld,
            _ => Unread::Missing,
        })?;
        // Of what was opened, wherever links led.
        let found = file.metadata().map_err(|_| Unread::Missing)?;
        if !found.is_file() || found.len() > most {
            return Err(Unread::Missing);
        }
        if !is_named && found.mode() & 0o004 == 0 {
            return Err(Unread::Withheld);
        }
        let mut text = Vec::new();
        file.take(most).read_to_end(&mut text).map_err(|_| Unread::Missing)?;
        Ok(text)
    }
}

/// What a path leads to, without opening it: a device may act when it is.
const NAMED: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

fn opened(path: &Path) -> io::Result<File> {
    regular(&open(path, NAMED, Mode::empty())?)
}

/// Opens just that file, whatever its path leads to by then.
fn regular(named: &OwnedFd) -> io::Result<File> {
    if FileType::from_raw_mode(fstat(named)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("no regular file"));
    }
    let itself = format!("/proc/self/fd/{}", named.as_raw_fd());
    Ok(open(itself, READ, Mode::empty())?.into())
}

/// Not by links that lead out of the directory.
fn opened_below(directory: &Path, path: &Path) -> io::Result<File> {
    let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, directory, how, Mode::empty())?;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    regular(&openat2(directory, path, NAMED, Mode::empty(), within)?)
}

/// By a thread that has that user's rights, and ends with them.
fn opened_for(whose: FileUser, path: &Path) -> io::Result<File> {
    let as_user = || {
        let (user, group) = (Uid::from_raw(whose.user), Gid::from_raw(whose.group));
        set_thread_groups(&[group])?;
        set_thread_res_gid(group, group, group)?;
        set_thread_res_uid(user, user, user)?;
        opened(path)
    };
    let joined = thread::scope(|scope| scope.spawn(as_user).join());
    joined.unwrap_or_else(|_| Err(io::Error::other("the thread that opens files failed")))
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a test says why it skips")]
mod tests {
    use super::*;
    use std::fs::{Permissions, create_dir, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    const NOBODY: SourceReader = SourceReader::For { user: 65_534, group: NO_GROUP };

    fn is_root(test: &str) -> bool {
        if !geteuid().is_root() {
            eprintln!("{test}: skipped: only root has rights to lend");
        }
        geteuid().is_root()
    }

    #[test]
    fn whose_rights_open_files() {
        if !is_root("whose_rights_open_files") {
            assert_eq!(SourceReader::of_process(|_| Some("1000".into())), SourceReader::Itself);
            return;
        }
        let of = |set: &[(&str, &str)]| {
            SourceReader::of_process(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[]), SourceReader::Root);
        assert_eq!(of(&[("SUDO_UID", "0"), ("SUDO_GID", "0")]), SourceReader::Root);
        assert_eq!(of(&[("SUDO_UID", "x")]), SourceReader::Root);
        let user = |user, group| SourceReader::For { user, group };
        assert_eq!(of(&[("SUDO_UID", "1000"), ("SUDO_GID", "100")]), user(1000, 100));
        assert_eq!(of(&[("PKEXEC_UID", "1000")]), user(1000, NO_GROUP));
    }

    /// As DWARF may name /etc/shadow, by itself or by a link.
    #[test]
    fn roots_rights_are_not_lent_to_the_author_of_a_program() {
        if !is_root("roots_rights_are_not_lent_to_the_author_of_a_program") {
            return;
        }
        let here = tempfile::tempdir().unwrap();
        set_permissions(here.path(), Permissions::from_mode(0o755)).unwrap();
        let (tree, hidden) = (here.path().join("tree"), here.path().join("hidden"));
        create_dir(&tree).unwrap();
        create_dir(&hidden).unwrap();
        let make = |path: PathBuf, mode| {
            write(&path, "text\n").unwrap();
            set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path
        };
        let open = make(tree.join("open.c"), 0o644);
        let secret = make(here.path().join("secret"), 0o640);
        let private = make(tree.join("private.c"), 0o600);
        let inner = make(hidden.join("inner.c"), 0o644);
        set_permissions(&hidden, Permissions::from_mode(0o700)).unwrap();
        symlink(&secret, tree.join("link.c")).unwrap();
        symlink("open.c", tree.join("inside.c")).unwrap();
        let read = |who: SourceReader, below: Option<&Path>, path: &Path| {
            let candidate = Candidate { below: below.map(Into::into), path: path.to_owned() };
            who.read(&candidate, 100).map_err(|why| matches!(why, Unread::Withheld))
        };
        let (shown, withheld) = (Ok(b"text\n".to_vec()), Err(true));
        for who in [SourceReader::Root, NOBODY] {
            assert_eq!(read(who, None, &open), shown, "{who:?}");
            assert_eq!(read(who, None, &secret), withheld, "{who:?}");
            assert_eq!(read(who, None, &tree.join("link.c")), withheld, "{who:?}");
            assert_eq!(read(who, Some(&tree), Path::new("link.c")), withheld, "{who:?}");
            assert_eq!(read(who, Some(&tree), Path::new("inside.c")), shown, "{who:?}");
            assert_eq!(read(who, None, &here.path().join("none")), Err(false), "{who:?}");
        }
        // Who names a directory means what is in it, as far as it is theirs.
        assert_eq!(read(SourceReader::Root, Some(&tree), Path::new("private.c")), shown);
        assert_eq!(read(NOBODY, Some(&tree), Path::new("private.c")), withheld);
        for who in [SourceReader::Root, NOBODY] {
            assert_eq!(read(who, None, &inner), withheld, "{who:?}");
        }
        assert_eq!(read(SourceReader::Root, Some(&hidden), Path::new("inner.c")), shown);
        assert_eq!(read(SourceReader::Root, None, &private), withheld);
        // The rights were a thread's, and went with it.
        assert!(geteuid().is_root() && std::fs::read(&secret).is_ok());
    }
}
