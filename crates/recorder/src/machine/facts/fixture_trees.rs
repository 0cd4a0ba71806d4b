//! The trees of `fixtures/sysfs`, for tests.

use std::fs::File;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tempfile::TempDir;

use super::Facts;

/// Trees, unpacked until dropped.
pub(crate) struct FixtureTrees(TempDir);

impl FixtureTrees {
    /// All of them, which takes about a second.
    pub(crate) fn unpack() -> FixtureTrees {
        FixtureTrees::unpack_if(|_| true)
    }

    pub(crate) fn of(machines: &[&str]) -> FixtureTrees {
        FixtureTrees::unpack_if(|machine| machines.contains(&machine))
    }

    fn unpack_if(wanted: impl Fn(&str) -> bool) -> FixtureTrees {
        let archive = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap())
            .join("fixtures")
            .join("sysfs/trees.tar.gz");
        let file = File::open(&archive).unwrap_or_else(|error| panic!("{archive:?}: {error}"));
        let dir = tempfile::tempdir().unwrap();
        let mut archive = tar::Archive::new(GzDecoder::new(file));
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().into_owned();
            if path.iter().nth(1).is_some_and(|machine| wanted(machine.to_str().unwrap())) {
                assert!(entry.unpack_in(dir.path()).unwrap(), "{path:?}");
            }
        }
        FixtureTrees(dir)
    }

    pub(crate) fn path(&self, machine: &str) -> PathBuf {
        self.0.path().join("sysfs").join(machine)
    }

    pub(crate) fn facts(&self, machine: &str) -> Facts {
        Facts::read_tree(&self.path(machine), None)
            .unwrap_or_else(|error| panic!("{machine}: {error}"))
    }

    pub(crate) fn machines(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("")).unwrap().map(Result::unwrap);
        let trees = entries.filter(|entry| entry.path().is_dir());
        let mut names: Vec<_> =
            trees.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        assert!(names.len() >= 22, "{names:?}");
        names
    }
}
