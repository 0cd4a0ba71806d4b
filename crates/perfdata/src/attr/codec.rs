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
    Size { size: u32, available: usize },
    #[error("perf_event_attr has a non-zero byte at offset {offset}, where no field is known here")]
    UnknownTail { offset: usize },
    #[error("perf_event_attr uses the byte at offset {offset}, {size} bytes cannot hold it")]
    Truncated { offset: usize, size: u32 },
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

    /// The smallest size that holds every field in use.
    pub(crate) fn least_size(&self) -> u32 {
        let mut scratch = Vec::new();
        let fits = |size: &u32| {
            scratch.clear();
            self.encode(*size, ByteOrder::Little, &mut scratch).is_ok()
        };
        (MIN_SIZE..=Attr::MAX_SIZE).step_by(8).find(fits).unwrap_or(Attr::MAX_SIZE)
    }

    /// Bytes of the attr in a stream: 128, more only when it uses fields
    /// beyond. perf before 6.4 looks for the ids at the end of ITS attr,
    /// whatever size the attr says (perf_event__process_attr() in
    /// tools/perf/util/header.c), and 128 is that of perf 5.12 to 6.2.
    pub(crate) fn stream_size(&self) -> u32 {
        self.least_size().max(128)
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
mod tests {
    use super::{Attr, AttrError};
    use crate::attr::{AttrFlags, BranchSampleType, EventType, ReadFormat, SampleType};
    use crate::bytes::ByteOrder;
    use proptest::prelude::*;

    const SIZES: [u32; 10] = [64, 72, 80, 96, 104, 112, 120, 128, 136, 144];
    const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];

    /// Every byte of every field its own value, so that a field read from a wrong
    /// place shows.
    fn full() -> Attr {
        Attr {
            kind: EventType(0x0403_0201),
            size: 144,
            config: 0x1817_1615_1413_1211,
            sample_period: 0x2827_2625_2423_2221,
            sample_type: SampleType::from_bits_retain(0x3837_3635_3433_3231),
            read_format: ReadFormat::from_bits_retain(0x4847_4645_4443_4241),
            flags: AttrFlags::from_bits_retain(0x5857_5655_5453_5251),
            wakeup: 0x6463_6261,
            bp_type: 0x7473_7271,
            config1: 0x8887_8685_8483_8281,
            config2: 0x9897_9695_9493_9291,
            branch_sample_type: BranchSampleType::from_bits_retain(0xa8a7_a6a5_a4a3_a2a1),
            sample_regs_user: 0xb8b7_b6b5_b4b3_b2b1,
            sample_stack_user: 0xc4c3_c2c1,
            clockid: -7,
            sample_regs_intr: 0xd8d7_d6d5_d4d3_d2d1,
            aux_watermark: 0xe4e3_e2e1,
            sample_max_stack: 0xe6e5,
            aux_sample_size: 0xf4f3_f2f1,
            aux_action: 0xf8f7_f6f5,
            sig_data: 0x0807_0605_0403_0201,
            config3: 0x1122_3344_5566_7788,
            config4: 0x99aa_bbcc_ddee_ff01,
        }
    }

    /// `full()` with zeroes where an attr of `size` ends.
    fn cut(size: u32) -> Attr {
        let mut bytes = Vec::new();
        full().encode(144, ByteOrder::Little, &mut bytes).unwrap();
        bytes.truncate(size as usize);
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        Attr::decode(&bytes, ByteOrder::Little).unwrap()
    }

    #[test]
    fn every_published_size_round_trips_in_both_orders() {
        for size in SIZES {
            for order in ORDERS {
                let attr = cut(size);
                assert_eq!(attr.size, size);
                let mut bytes = vec![0xee; 3];
                attr.encode(size, order, &mut bytes).unwrap();
                assert_eq!(bytes.len(), 3 + size as usize);
                assert_eq!(Attr::decode(&bytes[3..], order).unwrap(), attr, "{size} {order:?}");
            }
        }
    }

    #[test]
    fn a_published_size_ends_before_the_fields_of_the_next() {
        let whole = full();
        let fields: [fn(&Attr) -> u64; 9] = [
            |a| a.config2,
            |a| a.branch_sample_type.bits(),
            |a| a.sample_stack_user.into(),
            |a| a.sample_regs_intr,
            |a| a.sample_max_stack.into(),
            |a| a.aux_action.into(),
            |a| a.sig_data,
            |a| a.config3,
            |a| a.config4,
        ];
        for (at, size) in SIZES.into_iter().enumerate() {
            let attr = cut(size);
            for (number, field) in fields.iter().enumerate() {
                let wanted = if number < at { field(&whole) } else { 0 };
                assert_eq!(field(&attr), wanted, "field {number} of {size} bytes");
            }
        }
    }

    /// Offsets as `struct perf_event_attr` of uapi/linux/perf_event.h has them.
    #[test]
    fn fields_stand_where_the_header_puts_them() {
        let mut bytes = Vec::new();
        full().encode(144, ByteOrder::Little, &mut bytes).unwrap();
        let at = |offset: usize, wanted: &[u8]| {
            assert_eq!(&bytes[offset..offset + wanted.len()], wanted, "offset {offset}");
        };
        at(0, &[1, 2, 3, 4]);
        at(4, &[144, 0, 0, 0]);
        at(8, &[0x11]);
        at(16, &[0x21]);
        at(24, &[0x31]);
        at(32, &[0x41]);
        at(40, &[0x51]);
        at(48, &[0x61]);
        at(52, &[0x71]);
        at(56, &[0x81]);
        at(64, &[0x91]);
        at(72, &[0xa1]);
        at(80, &[0xb1]);
        at(88, &[0xc1]);
        at(92, &[0xf9, 0xff, 0xff, 0xff]);
        at(96, &[0xd1]);
        at(104, &[0xe1]);
        at(108, &[0xe5, 0xe6, 0, 0]);
        at(112, &[0xf1]);
        at(116, &[0xf5]);
        at(120, &[0x01]);
        at(128, &[0x88]);
        at(136, &[0x01, 0xff]);
    }

    #[test]
    fn size_zero_means_64() {
        let mut bytes = Vec::new();
        cut(64).encode(64, ByteOrder::Little, &mut bytes).unwrap();
        bytes[4..8].fill(0);
        bytes.extend([0xff; 80]);
        assert_eq!(Attr::decode(&bytes, ByteOrder::Little).unwrap(), cut(64));
    }

    #[test]
    fn sizes_between_the_published_ones_are_extended_with_zeroes() {
        let mut bytes = Vec::new();
        full().encode(144, ByteOrder::Little, &mut bytes).unwrap();
        bytes[4] = 74;
        let attr = Attr::decode(&bytes[..74], ByteOrder::Little).unwrap();
        assert_eq!(attr.size, 74);
        assert_eq!(attr.branch_sample_type.bits(), 0xa2a1);
        let mut again = Vec::new();
        attr.encode(74, ByteOrder::Little, &mut again).unwrap();
        assert_eq!(again, bytes[..74]);
    }

    #[test]
    fn sizes_beyond_the_newest_must_end_in_zeroes() {
        let mut bytes = Vec::new();
        full().encode(160, ByteOrder::Big, &mut bytes).unwrap();
        let mut attr = full();
        attr.size = 160;
        assert_eq!(Attr::decode(&bytes, ByteOrder::Big).unwrap(), attr);
        bytes[159] = 1;
        let refused = Attr::decode(&bytes, ByteOrder::Big);
        assert_eq!(refused, Err(AttrError::UnknownTail { offset: 159 }));
    }

    #[test]
    fn the_reserved_half_word_must_be_zero() {
        let mut bytes = Vec::new();
        full().encode(144, ByteOrder::Little, &mut bytes).unwrap();
        bytes[111] = 0x80;
        let refused = Attr::decode(&bytes, ByteOrder::Little);
        assert_eq!(refused, Err(AttrError::UnknownTail { offset: 111 }));
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (size, available) in [(1u32, 144), (63, 144), (65, 64), (u32::MAX, 4096), (0, 63)] {
            let mut bytes = vec![0; available];
            bytes[4..8].copy_from_slice(&size.to_le_bytes());
            let size = if size == 0 { 64 } else { size };
            let refused = Attr::decode(&bytes, ByteOrder::Little);
            assert_eq!(refused, Err(AttrError::Size { size, available }));
        }
        assert!(Attr::decode(&[1, 0, 0], ByteOrder::Little).is_err());
        let mut out = vec![9];
        assert!(full().encode(63, ByteOrder::Little, &mut out).is_err());
        assert!(full().encode(4097, ByteOrder::Little, &mut out).is_err());
        assert_eq!(out, [9]);
    }

    #[test]
    fn a_field_beyond_the_size_asked_for_is_refused() {
        let attr = Attr { config4: 1 << 8, ..Attr::default() };
        let mut out = Vec::new();
        let refused = attr.encode(136, ByteOrder::Little, &mut out);
        assert_eq!(refused, Err(AttrError::Truncated { offset: 137, size: 136 }));
        assert!(out.is_empty());
        attr.encode(144, ByteOrder::Little, &mut out).unwrap();
    }

    /// What gcc for a big-endian machine makes of `disabled = 1`, and of
    /// `precise_ip = 1` (bits 15 and 16, its own low bit last).
    #[test]
    fn big_endian_bit_fields_start_at_the_most_significant_bit() {
        let flags = |attr: &Attr| {
            let mut out = Vec::new();
            attr.encode(64, ByteOrder::Big, &mut out).unwrap();
            out[40..48].to_vec()
        };
        let mut attr = Attr { flags: AttrFlags::DISABLED, ..Attr::default() };
        assert_eq!(flags(&attr), [0x80, 0, 0, 0, 0, 0, 0, 0]);
        attr.flags = AttrFlags::SAMPLE_ID_ALL;
        assert_eq!(flags(&attr), [0, 0, 0x20, 0, 0, 0, 0, 0]);
        attr.flags = AttrFlags::empty();
        attr.set_precise_ip(1);
        assert_eq!(flags(&attr), [0, 0, 0x80, 0, 0, 0, 0, 0]);
        attr.set_precise_ip(2);
        assert_eq!(flags(&attr), [0, 0x01, 0, 0, 0, 0, 0, 0]);

        let paused = Attr { aux_action: 1, ..Attr::default() };
        let mut out = Vec::new();
        paused.encode(120, ByteOrder::Big, &mut out).unwrap();
        assert_eq!(out[116..120], [0x80, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_attr_that_writes_itself_back_or_an_error(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
            size in prop_oneof![Just(0u32), 0u32..200, any::<u32>()],
            big in any::<bool>(),
        ) {
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            if let Some(field) = bytes.get_mut(4..8) {
                field.copy_from_slice(&if big { size.to_be_bytes() } else { size.to_le_bytes() });
            }
            if let Some(reserved) = bytes.get_mut(110..112) {
                reserved.fill(0);
            }
            if let Ok(attr) = Attr::decode(&bytes, order) {
                let mut again = Vec::new();
                attr.encode(attr.size, order, &mut again).unwrap();
                prop_assert_eq!(&again[8..], &bytes[8..attr.size as usize]);
                prop_assert_eq!(Attr::decode(&again, order), Ok(attr));
            }
        }
    }
}
