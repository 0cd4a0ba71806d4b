//! Which recording a command reads when none is named: the last one of the folder.

use crate::ebs::arguments::UsageError;
use crate::terminal::say;
use perfdata::recording::RecordingForm;
use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What `ebs PROGRAM` records into.
pub const RECORDING: &str = "ebs.data";

/// The file that was named, or else the last recording of the current folder, which stderr names.
///
/// # Errors
///
/// There is none.
pub fn named_or_last(file: &mut Option<PathBuf>) -> Result<(), UsageError> {
    if file.is_none() {
        let last = last_recording().ok_or(UsageError::RecordingMissing)?;
        say("ebs", &format!("reading {}, the last recording of this folder", last.display()));
        *file = Some(last);
    }
    Ok(())
}

/// The last recording of the current folder.
pub fn last_recording() -> Option<PathBuf> {
    last_in(Path::new("."))
}

/// The newest `*.data` file that is a recording. As `perf` does, files of other users are passed
/// over: in a shared folder anybody can put one.
fn last_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let named = entries.filter(|entry| {
        Path::new(&entry.file_name()).extension().is_some_and(|extension| extension == "data")
    });
    let recorded = named.filter_map(|entry| {
        let path = Path::new(&entry.file_name()).to_owned();
        Some((recorded_at(&folder.join(&path))?, path))
    });
    let (_, newest) = recorded.max()?;
    Some(newest)
}

fn recorded_at(path: &Path) -> Option<SystemTime> {
    // A FIFO of that name must not make us wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let metadata = file.metadata().ok()?;
    let is_ours = [0, geteuid().as_raw()].contains(&metadata.uid());
    let mut front = [0; RecordingForm::TOLD_BY];
    (metadata.is_file() && is_ours).then_some(())?;
    file.read_exact(&mut front).ok()?;
    (RecordingForm::find(&front) != RecordingForm::Unknown).then_some(())?;
    metadata.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    #[test]
    fn the_newest_recording_is_taken_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8], age: u64| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age))
                .unwrap();
        };
        assert_eq!(last_in(folder.path()), None);
        write("old.data", b"PERFILE2 and more", 9);
        assert_eq!(last_in(folder.path()), Some("old.data".into()));
        write("new.data", b"2ELIFREP and more", 5);
        write("text.data", b"not a recording", 1);
        write("short.data", b"PERF", 1);
        write("other.dat", b"PERFILE2 and more", 1);
        symlink("old.data", folder.path().join("link.data")).unwrap();
        fs::create_dir(folder.path().join("folder.data")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("fifo.data"), Mode::RUSR).unwrap();
        assert_eq!(last_in(folder.path()), Some("new.data".into()));
    }
}
