//! Packs files for a recording to carry.

use super::index::{EmbeddedFile, EmbeddedIndex, EmbeddedPart, INDEX, VERSION};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zip::ZipWriter;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

/// Bytes copied at once.
const PIECE: usize = 1 << 18;
/// Files from this size on, in bytes, need longer headers (zip's limit is
/// 4 GiB).
const LARGE: u64 = u32::MAX as u64;
/// The quickest level makes a debug build 35 % of its size, at 200 MB/s; the usual
/// one takes three and a half times as long for 26 %.
const LEVEL: i64 = 1;

/// Packs each file that it is given, once, until there are more bytes than
/// agreed.
#[derive(Debug)]
pub struct FilePacker {
    inner: Mutex<Packing>,
}

/// What was packed.
#[derive(Debug)]
pub struct PackedFiles {
    /// The archive, from its first byte.
    pub archive: File,
    pub size: u64,
    /// How many different files are in it.
    pub files: u64,
    /// Bytes of these.
    pub unpacked: u64,
    /// Paths of those that are not, and why.
    pub left_out: Vec<String>,
}

/// The archive's file, until what is written to it is of no use any more. `ZipWriter` ends an archive
/// when it is dropped, and prints that a full disk takes no more.
#[derive(Debug)]
struct ArchiveFile {
    file: File,
    is_given_up: Arc<AtomicBool>,
}

impl Write for ArchiveFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.is_given_up.load(Ordering::Relaxed) {
            true => Ok(bytes.len()),
            false => self.file.write(bytes).inspect_err(|error| {
                if error.kind() != io::ErrorKind::Interrupted {
                    self.is_given_up.store(true, Ordering::Relaxed);
                }
            }),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for ArchiveFile {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Gives the archive up when dropped.
#[derive(Debug)]
struct AbortOnDrop(Arc<AtomicBool>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Packing {
    /// Before the archive, so that it is dropped before it.
    given_up: AbortOnDrop,
    zip: ZipWriter<ArchiveFile>,
    index: Vec<EmbeddedFile>,
    parts: FxHashSet<EmbeddedPart>,
    /// Members by which file they are.
    packed: FxHashMap<FileNumber, String>,
    names: FxHashSet<String>,
    unpacked: u64,
    most: u64,
    left_out: Vec<String>,
    /// Why nothing more is packed.
    failed: Option<io::Error>,
}

/// Which file it is on this machine, as it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileNumber {
    device: u64,
    inode: u64,
    size: u64,
    /// Nanoseconds.
    written: i64,
}

impl FilePacker {
    /// Packs into `archive`, an empty file, at most `most` bytes before they
    /// are packed.
    pub fn new(archive: File, most: u64) -> FilePacker {
        let is_given_up = Arc::<AtomicBool>::default();
        let given_up = AbortOnDrop(Arc::clone(&is_given_up));
        FilePacker {
            inner: Mutex::new(Packing {
                given_up,
                zip: ZipWriter::new(ArchiveFile { file: archive, is_given_up }),
                index: Vec::new(),
                parts: FxHashSet::default(),
                packed: FxHashMap::default(),
                names: FxHashSet::default(),
                unpacked: 0,
                most,
                left_out: Vec::new(),
                failed: None,
            }),
        }
    }

    /// Packs a file in a part that it plays. What goes wrong is told at the
    /// end.
    pub(crate) fn pack(&self, part: EmbeddedPart, file: &File) {
        let mut packing = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if packing.failed.is_none()
            && !packing.parts.contains(&part)
            && let Err(error) = packing.pack(part, file)
        {
            packing.failed = Some(error);
        }
    }

    pub(crate) fn pack_bytes(&self, part: EmbeddedPart, bytes: &[u8]) {
        let mut packing = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if packing.failed.is_none()
            && packing.parts.insert(part.clone())
            && let Err(error) = packing.add(part, bytes, bytes.len() as u64)
        {
            packing.failed = Some(error);
        }
    }

    /// Ends the archive.
    ///
    /// # Errors
    ///
    /// It could not be written: a full disk.
    pub fn finish(self) -> io::Result<PackedFiles> {
        // The last one named is the first that is dropped.
        let Packing { mut zip, index, unpacked, left_out, failed, given_up: _given_up, .. } =
            self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = failed {
            return Err(error);
        }
        let members: FxHashSet<&str> = index.iter().map(|file| file.member.as_str()).collect();
        let files = members.len() as u64;
        let index = EmbeddedIndex { version: VERSION, files: index };
        zip.start_file(INDEX, options(0)).map_err(into_io)?;
        serde_json::to_writer_pretty(&mut zip, &index)?;
        let mut archive = zip.finish().map_err(into_io)?.file;
        archive.flush()?;
        let size = archive.seek(io::SeekFrom::End(0))?;
        Ok(PackedFiles { archive, size, files, unpacked, left_out })
    }
}

impl Packing {
    fn pack(&mut self, part: EmbeddedPart, file: &File) -> io::Result<()> {
        self.parts.insert(part.clone());
        let found = match file.metadata() {
            Ok(found) => found,
            Err(error) => {
                self.left_out.push(format!("{}: {error}", part.path()));
                return Ok(());
            }
        };
        let (device, inode) = (found.dev(), found.ino());
        let number = FileNumber { device, inode, size: found.size(), written: found.mtime_nsec() };
        // The number of a file without a name is another's once it is closed.
        let is_named = found.nlink() > 0;
        if let Some(member) = self.packed.get(&number).filter(|_| is_named) {
            self.index.push(EmbeddedFile { member: member.clone(), part });
            return Ok(());
        }
        let reader = PositionedReader { file, position: 0 };
        let before = self.index.len();
        self.add(part, reader, found.size())?;
        if let Some(added) = self.index.get(before).filter(|_| is_named) {
            self.packed.insert(number, added.member.clone());
        }
        Ok(())
    }

    /// `size`: bytes that there should be; a file that grows is cut there.
    fn add(&mut self, part: EmbeddedPart, bytes: impl Read, size: u64) -> io::Result<()> {
        if size > self.most.saturating_sub(self.unpacked) {
            let told = format!("{} ({} MiB)", part.path(), size.div_ceil(1 << 20));
            self.left_out.push(told);
            return Ok(());
        }
        let member = self.name(&part);
        self.zip.start_file(&*member, options(size)).map_err(into_io)?;
        let mut source = bytes.take(size);
        let mut buffer = vec![0; PIECE];
        loop {
            let count = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // The file cannot be read; the archive can be written still.
                Err(error) => {
                    self.left_out.push(format!("{}: {error}", part.path()));
                    self.names.remove(&member);
                    return self.zip.abort_file().map_err(into_io);
                }
            };
            self.zip.write_all(&buffer[..count])?;
            self.unpacked += count as u64;
        }
        self.index.push(EmbeddedFile { member, part });
        Ok(())
    }

    /// The path without what stands for `/`; another number behind it when
    /// another file of that path is there.
    fn name(&mut self, part: &EmbeddedPart) -> String {
        let path = part.path();
        let parts = path.split('/').filter(|part| !["", ".", ".."].contains(part));
        let plain = parts.collect::<Vec<_>>().join("/");
        let mut name = plain.clone();
        let mut number = 1;
        while name == INDEX || name.is_empty() || !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{plain}~{number}");
        }
        name
    }
}

impl EmbeddedPart {
    fn path(&self) -> String {
        match self {
            EmbeddedPart::Mapped { path, .. }
            | EmbeddedPart::Beside { path }
            | EmbeddedPart::Map { path, .. }
            | EmbeddedPart::Dump { path, .. } => path.clone(),
            EmbeddedPart::Vdso { build_id, .. } => {
                format!("[vdso]/{}", build_id.as_deref().unwrap_or("vdso"))
            }
        }
    }
}

/// Reads at offsets: others may read the same open file.
struct PositionedReader<'a> {
    file: &'a File,
    position: u64,
}

impl Read for PositionedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

fn options(size: u64) -> SimpleFileOptions {
    SimpleFileOptions::default().compression_level(Some(LEVEL)).large_file(size >= LARGE)
}

fn into_io(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => io::Error::other(other),
    }
}
