//! Where fetched files lie: CACHE/BUILDID/debuginfo. An empty file there says
//! that no server had it.

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use rustix::process::geteuid;
use std::fs::{DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::NamedTempFile;

/// How long a miss holds, when the cache's control file does not say.
const MISS: Duration = Duration::from_secs(600);
/// How the names begin of files that are not whole yet.
const UNFINISHED: &str = ".hardmeter-";
/// A file that is not whole and was not written to for so long has no writer
/// any more: a program that is interrupted leaves one.
const ABANDONED: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(super) enum Cached {
    File(File),
    /// No server had it, a short while ago.
    Miss,
    Nothing,
}

#[derive(Debug)]
pub(super) struct Place {
    cache: PathBuf,
    build_id: String,
    artifact: &'static str,
}

impl Place {
    pub(super) fn new(cache: &Path, build_id: &str, artifact: &'static str) -> Place {
        Place { cache: cache.to_owned(), build_id: build_id.to_owned(), artifact }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory().join(self.artifact)
    }

    fn directory(&self) -> PathBuf {
        self.cache.join(&self.build_id)
    }

    pub(super) fn url(&self, server: &str) -> String {
        let server = server.trim_end_matches('/');
        let server = server.strip_suffix("/buildid").unwrap_or(server);
        format!("{server}/buildid/{}/{}", self.build_id, self.artifact)
    }

    pub(super) fn look(&self) -> Cached {
        let path = self.path();
        let Ok(found) = std::fs::metadata(&path) else { return Cached::Nothing };
        // What others put there is theirs to change while it is read.
        if !found.is_file() || !is_trusted(&found) {
            return Cached::Nothing;
        }
        // Before 0.187 elfutils noted a miss with a file of mode 000.
        if found.len() == 0 || found.mode() & 0o777 == 0 {
            let fresh = age(&found).is_some_and(|age| age < self.miss_holds());
            return if fresh { Cached::Miss } else { Cached::Nothing };
        }
        let file = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        match file {
            Ok((found, file)) if found.is_file() && is_trusted(&found) => Cached::File(file),
            _ => Cached::Nothing,
        }
    }

    fn miss_holds(&self) -> Duration {
        let said = std::fs::read_to_string(self.cache.join("cache_miss_s"));
        let seconds = said.ok().and_then(|text| text.trim().parse().ok());
        seconds.map_or(MISS, Duration::from_secs)
    }

    /// A file beside it, gone unless it is put into its place.
    pub(super) fn temporary(&self) -> io::Result<NamedTempFile> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.directory())?;
        self.check()?;
        self.sweep();
        tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(self.directory())
    }

    /// Whether nobody else decides what becomes of a file in the directory:
    /// it could be led elsewhere by a link, or put in another's place.
    fn check(&self) -> io::Result<()> {
        let all = std::fs::metadata(&self.cache)?;
        let own = std::fs::symlink_metadata(self.directory())?;
        // In a directory as /tmp is, nobody replaces what is another's.
        let is_shared = all.uid() == 0 && all.mode() & 0o1000 != 0;
        for (directory, found, may_share) in
            [(&self.cache, all, is_shared), (&self.directory(), own, false)]
        {
            let why = match found.mode() {
                _ if !found.is_dir() => "is a link, or no directory".to_owned(),
                _ if may_share => continue,
                _ if found.uid() != geteuid().as_raw() => {
                    format!("belongs to uid {}, not to this user", found.uid())
                }
                mode if mode & 0o002 != 0 => {
                    format!("may be written to by others (mode {:o})", mode & 0o7777)
                }
                _ => continue,
            };
            let directory = directory.display();
            let way_out = "set DEBUGINFOD_CACHE_PATH to a directory of your own";
            return Err(io::Error::other(format!("{directory} {why}: {way_out}")));
        }
        Ok(())
    }

    fn sweep(&self) {
        let Ok(files) = std::fs::read_dir(self.directory()) else { return };
        for file in files.flatten() {
            let unfinished = file.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes());
            let age = file.metadata().ok().and_then(|found| age(&found));
            if unfinished && age.is_some_and(|age| age > ABANDONED) {
                let _stays = std::fs::remove_file(file.path());
            }
        }
    }

    /// Puts a whole file into its place; whoever reads an older one there
    /// reads on.
    pub(super) fn put(&self, temporary: NamedTempFile) -> io::Result<File> {
        temporary.as_file().set_permissions(Permissions::from_mode(0o400))?;
        temporary.persist(self.path()).map_err(|error| error.error)
    }

    /// Notes that no server has it. Without that they are asked again. What
    /// another process has fetched by now, from a server that it knows, stays.
    pub(super) fn put_miss(&self) {
        let Ok(temporary) = self.temporary() else { return };
        // Readable: elfutils since 0.187 opens it, and removes and asks again
        // what it may not open.
        if temporary.as_file().set_permissions(Permissions::from_mode(0o400)).is_err() {
            return;
        }
        let path = self.path();
        if temporary.persist_noclobber(&path).is_err()
            && std::fs::symlink_metadata(&path).is_ok_and(|found| found.len() == 0)
        {
            let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
            let now = Timestamps { last_access: now, last_modification: now };
            let _asked_again = utimensat(CWD, &path, &now, AtFlags::SYMLINK_NOFOLLOW);
        }
    }
}

/// Whether a file there is this user's or root's.
fn is_trusted(found: &std::fs::Metadata) -> bool {
    [0, geteuid().as_raw()].contains(&found.uid())
}

/// Since it was last written.
fn age(found: &std::fs::Metadata) -> Option<Duration> {
    found.modified().ok()?.elapsed().ok()
}
