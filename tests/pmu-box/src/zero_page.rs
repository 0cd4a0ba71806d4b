//! What a boot loader hands over: the zero page (`struct boot_params`,
//! Documentation/arch/x86/zero-page.rst), the command line, and the first
//! program, which `start.S` is.
//!
//! All of it lies in one image below 640 KiB, where the first program expects
//! it: it asks the BIOS for the memory map, which only it can, and enters the
//! kernel in 64-bit mode.

use anyhow::{Result, ensure};

use crate::bzimage::{BzImage, HEADER};

/// Where the image lies.
pub const PLACE: u32 = 0x9_0000;
const COMMAND_LINE: usize = 0x1000;
const PROGRAM: usize = 0x2000;
const ENTRY: usize = 0x3000;
const TABLES: usize = 0x4000;
const LENGTH: usize = 0xa000;

const VIDEO_MODE: usize = 0x1fa;
const LOADER: usize = 0x210;
const LOAD_FLAGS: usize = 0x211;
const INITRD: usize = 0x218;
const INITRD_LENGTH: usize = 0x21c;
const COMMAND_LINE_PLACE: usize = 0x228;

/// What the first program and the kernel are to find.
#[derive(Clone, Copy, Debug)]
pub struct HandedOver<'a> {
    /// `start.S`, assembled.
    pub program: &'a [u8],
    /// Where the kernel is entered, a physical address.
    pub entry: u32,
    /// The kernel's parameters.
    pub command_line: &'a str,
    /// Where the root file system lies, a physical address.
    pub initrd: u32,
    /// How long it is, in bytes.
    pub initrd_length: u32,
}

/// The image, to be put at [`PLACE`].
///
/// # Errors
/// The command line or the first program do not fit into their pages.
pub fn image(kernel: &BzImage<'_>, over: &HandedOver<'_>) -> Result<Vec<u8>> {
    let line = over.command_line;
    ensure!(line.len() < PROGRAM - COMMAND_LINE, "{} bytes of command line", line.len());
    ensure!(over.program.len() <= ENTRY - PROGRAM, "start.S takes {} bytes", over.program.len());
    let mut image = vec![0; LENGTH];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(HEADER, kernel.header());
    put(LOADER, &[0xff]); // no loader that has a number
    put(VIDEO_MODE, &0xffff_u16.to_le_bytes()); // "normal"
    put(INITRD, &over.initrd.to_le_bytes());
    put(INITRD_LENGTH, &over.initrd_length.to_le_bytes());
    put(COMMAND_LINE_PLACE, &(PLACE + u32::try_from(COMMAND_LINE)?).to_le_bytes());
    put(COMMAND_LINE, line.as_bytes());
    put(PROGRAM, over.program);
    put(ENTRY, &u64::from(over.entry).to_le_bytes());
    // LOADED_HIGH, and CAN_USE_HEAP as every loader says.
    image[LOAD_FLAGS] |= 0x81;
    identity_map(&mut image)?;
    Ok(image)
}

/// Page tables for the first 4 GiB, in pages of 2 MiB: one PML4, one table of
/// 1 GiB entries that point on, four of 2 MiB entries.
fn identity_map(image: &mut [u8]) -> Result<()> {
    const PRESENT_WRITABLE: u64 = 3;
    const LARGE: u64 = 0x80;
    let mut entry = |at: usize, value: u64| image[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let tables = u64::from(PLACE) + u64::try_from(TABLES)?;
    entry(TABLES, (tables + 0x1000) | PRESENT_WRITABLE);
    for gibibyte in 0..4_usize {
        let table = tables + 0x2000 + u64::try_from(gibibyte * 0x1000)?;
        entry(TABLES + 0x1000 + gibibyte * 8, table | PRESENT_WRITABLE);
        for page in 0..512_usize {
            let place = u64::try_from((gibibyte << 30) + (page << 21))?;
            let at = TABLES + 0x2000 + gibibyte * 0x1000 + page * 8;
            entry(at, place | PRESENT_WRITABLE | LARGE);
        }
    }
    Ok(())
}
