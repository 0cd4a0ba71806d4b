//! Bytes of a `perf_event_attr`, all published sizes.
//!
//! The struct has grown nine times (trap 1); the kernel copies what the
//! caller's size says and zero-extends the rest, at any byte, and so does
//! this decoder (copy_struct_from_user() in perf_copy_attr(),
//! kernel/events/core.c).
//!
//! Big-endian machines allocate bit fields from the most significant bit
//! down, so there the flags are not the little-endian word with its bytes
//! swapped: bit 0 (`disabled`) is 0x80 of the first byte. `precise_ip`, two
//! bits wide, keeps its own bits in order. Linux's perf reverses the bits of
//! each byte when it reads a file of the other order, which swaps the two
//! bits of `precise_ip` (1 is read as 2); this codec does not.

use super::{Attr, AttrFlags, BranchSampleType, EventType, ReadFormat, SampleType};
use crate::bytes::{ByteOrder, ByteWriter, Cursor, Short};

/// Bytes of the first published attr, and what size 0 means.
const MIN_SIZE: u32 = 64;
/// The kernel takes no attr beyond a page.
const PAGE: u32 = 4096;
/// `__reserved_2`, two bytes that no kernel has used.
const RESERVED: std::ops::Range<usize> = 110..112;

/// Why bytes are no attr, or an attr cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttrError {
    /// `size` is below 64 (and not 0) or beyond the bytes given; or, when
    /// writing, beyond the 4096 that the kernel takes.
    #[error("perf_event_attr says it has {size} bytes; 64 to {available} are possible here")]
    Size {
        /// The attr's own size field.
        size: u32,
        /// Bytes that were given.
        available: usize,
    },
    /// A newer kernel's field is in use that this decoder does not know.
    #[error("perf_event_attr has a non-zero byte at offset {offset}, where no field is known here")]
    UnknownTail {
        /// Offset of the first such byte.
        offset: usize,
    },
    /// A field is set that an attr of the size asked for does not reach.
    #[error("perf_event_attr uses the byte at offset {offset}, {size} bytes cannot hold it")]
    Truncated {
        /// Offset of the first such byte.
        offset: usize,
        /// The size asked for.
        size: u32,
    },
}

impl Attr {
    /// The size of the newest attr known here, bytes.
    pub const MAX_SIZE: u32 = 144;

    /// Reads an attr whose size field says how long it is; bytes after it
    /// are not looked at. `size` 0 means 64, and is stored as 64.
    ///
    /// # Errors
    /// [`AttrError::Size`] when `bytes` ends before the attr, and
    /// [`AttrError::UnknownTail`] when a field unknown here is in use.
    pub fn decode(bytes: &[u8], order: ByteOrder) -> Result<Attr, AttrError> {
        match Attr::decode_newer(bytes, order)? {
            (attr, None) => Ok(attr),
            (_, Some(newer)) => Err(newer),
        }
    }

    /// [`Attr::decode`] of an attr that may be newer than this program: then
    /// [`AttrError::UnknownTail`] comes with the fields that are known.
    ///
    /// # Errors
    /// [`AttrError::Size`].
    pub(crate) fn decode_newer(
        bytes: &[u8],
        order: ByteOrder,
    ) -> Result<(Attr, Option<AttrError>), AttrError> {
        let available = bytes.len();
        let size = size_field(bytes, order).unwrap_or(0);
        let size = if size == 0 { MIN_SIZE } else { size };
        let out_of_range = AttrError::Size { size, available };
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        let (true, Some(attr)) = (size >= MIN_SIZE, bytes.get(..length)) else {
            return Err(out_of_range);
        };

        let known = length.min(Image::LEN);
        let mut image = Image::default();
        image.0[..known].copy_from_slice(&attr[..known]);
        let reserved = RESERVED.filter(|&at| image.0[at] != 0);
        let tail = (known..length).filter(|&at| attr[at] != 0);
        let newer = reserved.chain(tail).next().map(|offset| AttrError::UnknownTail { offset });
        let attr = image.parse(size, order).map_err(|_| out_of_range)?;
        Ok((attr, newer))
    }

    /// Appends the attr in `size` bytes (and writes that into the size
    /// field); fields beyond `size` must be zero or are refused. Sizes
    /// between the published ones, and beyond the newest, are as good as
    /// the kernel takes them: up to 4096.
    ///
    /// # Errors
    /// [`AttrError::Size`] for a size that the kernel takes never, and
    /// [`AttrError::Truncated`]; `out` is then as it was.
    pub fn encode(&self, size: u32, order: ByteOrder, out: &mut Vec<u8>) -> Result<(), AttrError> {
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        if !(MIN_SIZE..=PAGE).contains(&size) {
            return Err(AttrError::Size { size, available: 4096 });
        }
        let mut image = Vec::with_capacity(Image::LEN.max(length));
        self.write(size, &mut ByteWriter::new(&mut image, order));
        if let Some(offset) = (length..image.len()).find(|&at| image[at] != 0) {
            return Err(AttrError::Truncated { offset, size });
        }
        image.resize(length, 0);
        out.extend_from_slice(&image);
        Ok(())
    }

    fn write(&self, size: u32, w: &mut ByteWriter<'_>) {
        w.u32(self.kind.0);
        w.u32(size);
        w.u64(self.config);
        w.u64(self.sample_period);
        w.u64(self.sample_type.bits());
        w.u64(self.read_format.bits());
        w.u64(word_from_flags(self.flags.bits(), w.order()));
        w.u32(self.wakeup);
        w.u32(self.bp_type);
        w.u64(self.config1);
        w.u64(self.config2);
        w.u64(self.branch_sample_type.bits());
        w.u64(self.sample_regs_user);
        w.u32(self.sample_stack_user);
        w.i32(self.clockid);
        w.u64(self.sample_regs_intr);
        w.u32(self.aux_watermark);
        w.u16(self.sample_max_stack);
        w.u16(0);
        w.u32(self.aux_sample_size);
        w.u32(aux_action_word(self.aux_action, w.order()));
        w.u64(self.sig_data);
        w.u64(self.config3);
        w.u64(self.config4);
    }
}

/// The size field, when there are bytes enough for it.
fn size_field(bytes: &[u8], order: ByteOrder) -> Result<u32, Short> {
    let mut cursor = Cursor::new(bytes, order);
    cursor.u32()?;
    cursor.u32()
}

/// An attr in its longest form, zero-extended as the kernel does it.
struct Image([u8; Image::LEN]);

impl Default for Image {
    fn default() -> Image {
        Image([0; Image::LEN])
    }
}

impl Image {
    const LEN: usize = 144;

    fn parse(&self, size: u32, order: ByteOrder) -> Result<Attr, Short> {
        let mut c = Cursor::new(&self.0, order);
        let kind = EventType(c.u32()?);
        c.u32()?;
        Ok(Attr {
            kind,
            size,
            config: c.u64()?,
            sample_period: c.u64()?,
            sample_type: SampleType::from_bits_retain(c.u64()?),
            read_format: ReadFormat::from_bits_retain(c.u64()?),
            flags: AttrFlags::from_bits_retain(flags_from_word(c.u64()?, order)),
            wakeup: c.u32()?,
            bp_type: c.u32()?,
            config1: c.u64()?,
            config2: c.u64()?,
            branch_sample_type: BranchSampleType::from_bits_retain(c.u64()?),
            sample_regs_user: c.u64()?,
            sample_stack_user: c.u32()?,
            clockid: c.i32()?,
            sample_regs_intr: c.u64()?,
            aux_watermark: c.u32()?,
            sample_max_stack: c.u16()?,
            aux_sample_size: {
                c.take(RESERVED.len())?;
                c.u32()?
            },
            aux_action: aux_action_word(c.u32()?, order),
            sig_data: c.u64()?,
            config3: c.u64()?,
            config4: c.u64()?,
        })
    }
}

/// The bit field as it stands in memory, read as a word -> flags.
fn flags_from_word(word: u64, order: ByteOrder) -> u64 {
    match order {
        ByteOrder::Little => word,
        ByteOrder::Big => with_precise_ip_swapped(word.reverse_bits()),
    }
}

/// The inverse of [`flags_from_word`].
fn word_from_flags(flags: u64, order: ByteOrder) -> u64 {
    match order {
        ByteOrder::Little => flags,
        ByteOrder::Big => with_precise_ip_swapped(flags).reverse_bits(),
    }
}

fn with_precise_ip_swapped(flags: u64) -> u64 {
    let others = flags & !AttrFlags::PRECISE_IP.bits();
    others | (flags & 1 << 15) << 1 | (flags & 1 << 16) >> 1
}

/// The bit field `aux_action`, all its fields one bit wide; its own inverse.
fn aux_action_word(word: u32, order: ByteOrder) -> u32 {
    match order {
        ByteOrder::Little => word,
        ByteOrder::Big => word.reverse_bits(),
    }
}

#[cfg(test)]
mod tests;
