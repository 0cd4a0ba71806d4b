//! Operations that the compiler cannot check.

use memmap2::Mmap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;

/// Write permission of group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The bytes of a file that nobody but root and this user can change.
#[derive(Debug)]
pub(crate) struct Mapped(Mmap);

impl Mapped {
    /// Maps the whole file. None: it is empty, or another user can write to
    /// it, and could cut it short at any moment, which kills a reader of a
    /// mapping with SIGBUS. The open file is asked, not its path; an access
    /// control list that lets others write shows among the group's bits.
    pub(crate) fn of(file: &File) -> io::Result<Option<Mapped>> {
        let found = file.metadata()?;
        let ours = found.uid() == 0 || found.uid() == rustix::process::geteuid().as_raw();
        if !ours || found.mode() & WRITABLE_BY_OTHERS != 0 || found.size() == 0 {
            return Ok(None);
        }
        // SAFETY: the bytes could change under us only by the hand of root or
        // of this very user (above), who are trusted not to cut short or
        // rewrite in place the files that they have named; debug info that
        // was rewritten is refused or answered wrongly, as any damaged file.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Some(Mapped(map)))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_files_that_nobody_else_can_write_are_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (text, mode, maps) in [
            ("text", 0o644, true),
            ("text", 0o664, false),
            ("text", 0o646, false),
            ("", 0o644, false),
        ] {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let mapped = Mapped::of(&File::open(&path).unwrap()).unwrap();
            assert_eq!(mapped.map(|mapped| mapped.bytes().to_vec()).is_some(), maps, "{mode:o}");
        }
    }

    #[expect(clippy::print_stderr, reason = "a test that skips says why")]
    #[test]
    fn a_file_of_another_user_is_not_mapped_by_root() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a file away");
            return;
        }
        let file = tempfile::tempfile().unwrap();
        file.set_len(10).unwrap();
        file.set_permissions(PermissionsExt::from_mode(0o600)).unwrap();
        assert!(Mapped::of(&file).unwrap().is_some());
        std::os::unix::fs::fchown(&file, Some(65534), None).unwrap();
        assert!(Mapped::of(&file).unwrap().is_none());
    }
}
