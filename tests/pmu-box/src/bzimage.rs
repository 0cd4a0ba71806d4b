//! A compressed kernel (`vmlinuz`): its setup header, and the kernel in it.
//!
//! Layout and names: Documentation/arch/x86/boot.rst.

use std::{
    io::Write,
    process::{Command, Stdio},
    thread,
};

use anyhow::{Context, Result, bail, ensure};

/// Where the setup header begins in the file, and in the zero page.
pub const HEADER: usize = 0x1f1;
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x206;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;

/// A kernel as its package has it.
#[derive(Debug)]
pub struct BzImage<'a> {
    bytes: &'a [u8],
}

impl<'a> BzImage<'a> {
    /// Checks that the bytes are one, of a protocol that tells its payload.
    ///
    /// # Errors
    /// They are none, or of a kernel before 2.6.24.
    pub fn new(bytes: &'a [u8]) -> Result<BzImage<'a>> {
        ensure!(bytes.get(MAGIC..MAGIC + 4) == Some(b"HdrS"), "no setup header: not a vmlinuz");
        let version = u16::from_le_bytes([bytes[VERSION], bytes[VERSION + 1]]);
        ensure!(version >= 0x208, "boot protocol {version:#x} does not tell where the kernel is");
        Ok(BzImage { bytes })
    }

    /// The setup header: what follows [`HEADER`] in the file.
    #[must_use]
    pub fn header(&self) -> &'a [u8] {
        // The jump over the header tells its length: 0x202 + the byte at 0x201.
        let end = MAGIC + usize::from(self.bytes[MAGIC - 1]);
        &self.bytes[HEADER..end.min(self.bytes.len())]
    }

    /// The kernel, an ELF file; unpacked by the program that is named after
    /// the compression, which the kernel's build had, too.
    ///
    /// # Errors
    /// Cut off, of another compression, or without that program.
    pub fn kernel(&self) -> Result<Vec<u8>> {
        let payload = self.payload()?;
        // All but gzip have the length behind the data (cmd_xzkern_with_size).
        let sized = || payload.split_last_chunk::<4>().map(|(data, _)| data);
        let (program, data) = match payload {
            [0x1f, 0x8b, ..] => ("gzip", Some(payload)),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => ("xz", sized()),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", sized()),
            other => bail!("a kernel packed in a way not known here: {:x?}", other.get(..6)),
        };
        unpacked(program, data.unwrap_or_default())
    }

    fn payload(&self) -> Result<&'a [u8]> {
        let word = |at: usize| {
            let bytes = self.bytes.get(at..at + 4).context("the setup header is cut off")?;
            anyhow::Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        let sectors = match self.bytes[SETUP_SECTORS] {
            0 => 4,
            count => usize::from(count),
        };
        let start = (sectors + 1) * 512 + usize::try_from(word(PAYLOAD_OFFSET)?)?;
        let length = usize::try_from(word(PAYLOAD_LENGTH)?)?;
        let payload = self.bytes.get(start..start.saturating_add(length));
        payload.with_context(|| {
            format!("the kernel at {start:#x}, {length} bytes, lies beyond the file's end")
        })
    }
}

fn unpacked(program: &str, data: &[u8]) -> Result<Vec<u8>> {
    let mut child = Command::new(program)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("this kernel is unpacked by {program}, which does not start"))?;
    let mut stdin = child.stdin.take().context("a pipe was asked for")?;
    let output = thread::scope(|scope| {
        // What it does not read, its exit status tells about.
        scope.spawn(move || stdin.write_all(data));
        child.wait_with_output()
    })?;
    ensure!(output.status.success(), "{program} -dc of the kernel: {}", output.status);
    Ok(output.stdout)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 1024];
        bytes[SETUP_SECTORS] = 1;
        bytes[MAGIC - 1] = 0x6a;
        bytes[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        bytes[VERSION..VERSION + 2].copy_from_slice(&0x20fu16.to_le_bytes());
        let length = u32::try_from(payload.len()).unwrap();
        bytes[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn a_kernel_comes_out_as_it_was_packed() {
        let kernel: Vec<u8> = (0..200_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let mut child = Command::new("gzip")
            .arg("-c")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let packed = thread::scope(|scope| {
            scope.spawn(|| {
                stdin.write_all(&kernel).unwrap();
                drop(stdin);
            });
            child.wait_with_output().unwrap().stdout
        });
        let bytes = image(&packed);
        let image = BzImage::new(&bytes).unwrap();
        assert!(image.kernel().unwrap() == kernel);
        assert_eq!(image.header().len(), MAGIC + 0x6a - HEADER);
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        assert!(BzImage::new(b"MZ").is_err());
        let foreign = image(b"unknown packing");
        let why = BzImage::new(&foreign).unwrap().kernel().unwrap_err().to_string();
        assert!(why.contains("packed in a way not known"), "{why}");
        let mut cut = image(&[0x1f, 0x8b, 0, 0]);
        cut.truncate(1026);
        let why = BzImage::new(&cut).unwrap().kernel().unwrap_err().to_string();
        assert!(why.contains("beyond the file's end"), "{why}");
    }
}
