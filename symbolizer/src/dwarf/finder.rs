//! Files that belong to a program's debug info.

use super::bytes::FileBytes;
use super::layout::Layout;
use crate::SymbolizerOptions;
use std::path::PathBuf;

#[derive(Clone, Debug)]
pub(crate) struct Finder {
    /// What stands for `/`.
    pub(crate) root: PathBuf,
    /// The program's path below it.
    pub(crate) program: Box<[u8]>,
    pub(crate) options: SymbolizerOptions,
}

impl Finder {
    /// A .dwo file: where the compiler put it, else beside the program.
    pub(crate) fn split(&self, directory: &[u8], name: &[u8]) -> Option<(FileBytes, Layout)> {
        let file = &name[memchr::memrchr(b'/', name).map_or(0, |slash| slash + 1)..];
        let whole = match name.starts_with(b"/") {
            true => name.to_vec(),
            false => [directory, b"/", name].concat(),
        };
        let beside = [self.beside(), b"/", file].concat();
        [whole, beside].iter().find_map(|path| self.open(path))
    }

    /// PROGRAM.dwp.
    pub(crate) fn package(&self) -> Option<(FileBytes, Layout)> {
        self.open(&[&self.program, b".dwp".as_slice()].concat())
    }

    fn beside(&self) -> &[u8] {
        &self.program[..memchr::memrchr(b'/', &self.program).unwrap_or(0)]
    }

    fn open(&self, path: &[u8]) -> Option<(FileBytes, Layout)> {
        let file = self.options.open_beside(&self.root, path).ok()?;
        let to_pack = self.options.to_pack(&file);
        let image = FileBytes::of(file).ok()?;
        let layout = Layout::of(&image).ok()?;
        self.options.pack_beside(&self.root, path, to_pack);
        Some((image, layout))
    }
}
