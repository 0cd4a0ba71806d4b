//! Where fetched files lie: CACHE/BUILDID/debuginfo. An empty file there says
//! that no server had it.

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

/// What the cache has.
#[derive(Debug)]
pub(super) enum Cached {
    File(File),
    /// No server had it, a short while ago.
    Miss,
    Nothing,
}

/// One file's place.
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

    /// Where a server has it.
    pub(super) fn url(&self, server: &str) -> String {
        let server = server.trim_end_matches('/');
        let server = server.strip_suffix("/buildid").unwrap_or(server);
        format!("{server}/buildid/{}/{}", self.build_id, self.artifact)
    }

    pub(super) fn look(&self) -> Cached {
        let path = self.path();
        let Ok(found) = std::fs::metadata(&path) else { return Cached::Nothing };
        if !found.is_file() {
            return Cached::Nothing;
        }
        if found.len() == 0 || found.mode() & 0o777 == 0 {
            let fresh = age(&found).is_some_and(|age| age < self.miss_holds());
            return if fresh { Cached::Miss } else { Cached::Nothing };
        }
        File::open(path).map_or(Cached::Nothing, Cached::File)
    }

    fn miss_holds(&self) -> Duration {
        let said = std::fs::read_to_string(self.cache.join("cache_miss_s"));
        let seconds = said.ok().and_then(|text| text.trim().parse().ok());
        seconds.map_or(MISS, Duration::from_secs)
    }

    /// A file beside it, gone unless it is put into its place.
    pub(super) fn temporary(&self) -> io::Result<NamedTempFile> {
        DirBuilder::new().recursive(true).mode(0o700).create(self.directory())?;
        self.sweep();
        tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(self.directory())
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

    /// Notes that no server has it. Without that they are asked again.
    pub(super) fn put_miss(&self) {
        let Ok(temporary) = self.temporary() else { return };
        if temporary.as_file().set_permissions(Permissions::from_mode(0o000)).is_ok() {
            let _asked_again = temporary.persist(self.path());
        }
    }
}

/// Since it was last written.
fn age(found: &std::fs::Metadata) -> Option<Duration> {
    found.modified().ok()?.elapsed().ok()
}
