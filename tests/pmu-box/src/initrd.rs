//! A root file system in the kernel's format (cpio, "newc"), as
//! Documentation/driver-api/early-userspace/buffer-format.rst has it.

use std::{
    fs,
    io::{self, Write},
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

const DIRECTORY: u32 = 0o040_000;
const SYMLINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
const REGULAR: u32 = 0o100_000;

/// One entry. Everything belongs to root, whoever packs it.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    name: &'a [u8],
    mode: u32,
    data: &'a [u8],
    major: u32,
    minor: u32,
}

/// Writes a folder, and the console that the kernel opens for the first
/// program.
///
/// # Errors
/// The folder cannot be read, or the output takes no more.
pub fn write(folder: &Path, out: &mut impl Write) -> io::Result<()> {
    let mut number = 0;
    let mut add = |entry: Entry<'_>, out: &mut dyn Write| {
        number += 1;
        put(entry, number, out)
    };
    visit(folder, folder, &mut |name, mode, data| {
        add(Entry { name, mode, data, major: 0, minor: 0 }, out)
    })?;
    if !folder.join("dev").exists() {
        add(Entry { name: b"dev", mode: DIRECTORY | 0o755, data: b"", major: 0, minor: 0 }, out)?;
    }
    let console = Entry {
        name: b"dev/console",
        mode: CHARACTER_DEVICE | 0o600,
        data: b"",
        major: 5,
        minor: 1,
    };
    add(console, out)?;
    add(Entry { name: b"TRAILER::!", mode: 0, data: b"", major: 0, minor: 0 }, out)
}

type Visitor<'a> = dyn FnMut(&[u8], u32, &[u8]) -> io::Result<()> + 'a;

/// Every entry below a folder, folders before what is in them, in the order
/// of names: the same folder makes the same bytes.
fn visit(top: &Path, folder: &Path, each: &mut Visitor<'_>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = path.strip_prefix(top).map_err(io::Error::other)?.as_os_str().as_bytes();
        let about = entry.metadata()?;
        let rights = about.mode() & 0o7777;
        if about.is_dir() {
            each(name, DIRECTORY | rights, b"")?;
            visit(top, &path, each)?;
        } else if about.is_symlink() {
            each(name, SYMLINK | 0o777, fs::read_link(&path)?.as_os_str().as_bytes())?;
        } else if about.is_file() {
            each(name, REGULAR | rights, &fs::read(&path)?)?;
        }
    }
    Ok(())
}

fn put(entry: Entry<'_>, number: u32, out: &mut dyn Write) -> io::Result<()> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(io::Error::other);
    let size = length(entry.data)?;
    let name_size = length(entry.name)? + 1;
    write!(out, "070701")?;
    // ino mode uid gid nlink mtime filesize major minor rmajor rminor namesize check
    let fields =
        [number, entry.mode, 0, 0, 1, 0, size, 0, 0, entry.major, entry.minor, name_size, 0];
    for field in fields {
        write!(out, "{field:08x}")?;
    }
    out.write_all(entry.name)?;
    // The name ends with a zero, and both name and data at a multiple of four.
    out.write_all(&[0; 4][..1 + padding(110 + entry.name.len() + 1)])?;
    out.write_all(entry.data)?;
    out.write_all(&[0; 4][..padding(entry.data.len())])
}

fn padding(length: usize) -> usize {
    length.wrapping_neg() % 4
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn entries_lie_at_multiples_of_four_and_tell_their_lengths() {
        for (name, data) in [("a", "x"), ("ab", ""), ("abc", "1234"), ("a/b/c", "12345")] {
            let entry = Entry {
                name: name.as_bytes(),
                mode: REGULAR | 0o644,
                data: data.as_bytes(),
                major: 0,
                minor: 0,
            };
            let mut bytes = Vec::new();
            put(entry, 7, &mut bytes).unwrap();
            assert_eq!(bytes.len() % 4, 0, "{name}");
            let field = |n: usize| {
                let digits = std::str::from_utf8(&bytes[6 + n * 8..14 + n * 8]).unwrap();
                usize::from_str_radix(digits, 16).unwrap()
            };
            assert_eq!((field(0), field(6), field(11)), (7, data.len(), name.len() + 1));
            let at = 110 + field(11) + padding(110 + field(11));
            assert_eq!(&bytes[110..110 + name.len()], name.as_bytes());
            assert_eq!(&bytes[at..at + data.len()], data.as_bytes());
        }
    }
}
