//! A kernel as it lies in memory when it starts.

use anyhow::{Context, Result, ensure};
use object::{
    Endianness,
    elf::{FileHeader64, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};

/// Where kernels of x86-64 are linked to lie (`CONFIG_PHYSICAL_START`).
pub const START: u64 = 0x100_0000;
/// More than any kernel takes; a wrong header does not fill the memory.
const LARGEST: u64 = 256 << 20;

/// The segments of a kernel at their physical addresses, from [`START`] on.
#[derive(Debug)]
pub struct MemoryImage {
    /// The bytes; behind them, where segments are larger in memory, zeroes.
    pub bytes: Vec<u8>,
    /// The physical address that it is entered at, in 64-bit mode.
    pub entry: u32,
}

impl MemoryImage {
    /// Lays out an ELF file.
    ///
    /// # Errors
    /// It is no kernel of x86-64, or one for elsewhere.
    pub fn of(elf: &[u8]) -> Result<MemoryImage> {
        let endian = Endianness::Little;
        let header = FileHeader64::<Endianness>::parse(elf).context("the kernel is no ELF file")?;
        let mut bytes = Vec::new();
        for segment in header.program_headers(endian, elf)? {
            if segment.p_type(endian) != PT_LOAD {
                continue;
            }
            let place = segment.p_paddr(endian);
            let data = segment.data(endian, elf).ok().context("a segment is cut off")?;
            let at = place.checked_sub(START).filter(|at| *at < LARGEST);
            let at =
                at.with_context(|| format!("a segment at {place:#x}: not where kernels lie"))?;
            let at = usize::try_from(at)?;
            let end = at + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[at..end].copy_from_slice(data);
        }
        ensure!(!bytes.is_empty(), "the kernel has no segments");
        let entry = u32::try_from(header.e_entry(endian)).context("entered above 4 GiB")?;
        Ok(MemoryImage { bytes, entry })
    }
}
