//! What a file of the cache looks like.
//!
//! ```text
//! header | CRC of each block | tables, one after the other, in blocks
//! ```
//!
//! Numbers are little endian. The header and the list of CRCs have a CRC
//! themselves, at the header's end. A block has [`BLOCK`] bytes, the last one
//! what is left, and is checked when it is first read.

use std::ops::Range;

/// Changes with every change of the layout or of what answers mean.
pub(super) const VERSION: u32 = 2;
const MAGIC: &[u8; 8] = b"hmindex\n";
/// Bytes of a block of tables.
pub(super) const BLOCK: usize = 16 * 1024;
/// Bytes of the header.
pub(super) const HEADER: usize = 128;
/// Build ids have 20 bytes, rarely 8 to 32.
pub(super) const LONGEST_ID: usize = 64;
/// Bytes that an index may have.
pub(super) const LARGEST: u64 = 1 << 30;
/// No name, no file, no caller.
pub(super) const NONE: u32 = u32::MAX;
/// Bytes of a frame: name, file, line, column, caller.
pub(super) const FRAME: u64 = 20;

/// How much there is of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Stretches of addresses with one answer each.
    pub(super) stretches: u32,
    pub(super) frames: u32,
    pub(super) texts: u32,
    /// Bytes of all texts.
    pub(super) text: u32,
}

/// The start of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) build_id: Vec<u8>,
    /// The first address; those of stretches are counted from it.
    pub(super) base: u64,
    /// Where the first part of the file was loaded: prelink moves it and
    /// leaves the build id.
    pub(super) lowest: u64,
    pub(super) counts: Counts,
}

/// Where in the body each table is.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// u32: distance from the base.
    pub(super) starts: Range<u64>,
    /// u32: the innermost frame.
    pub(super) answers: Range<u64>,
    /// u32: the text that says why there is less than debug info.
    pub(super) depths: Range<u64>,
    pub(super) frames: Range<u64>,
    /// u32: where each text ends.
    pub(super) ends: Range<u64>,
    pub(super) text: Range<u64>,
}

impl Counts {
    pub(super) fn tables(&self) -> Tables {
        let mut at = 0_u64;
        let mut next = |count: u32, size: u64| {
            let start = at;
            at += u64::from(count) * size;
            start..at
        };
        Tables {
            starts: next(self.stretches, 4),
            answers: next(self.stretches, 4),
            depths: next(self.stretches, 4),
            frames: next(self.frames, FRAME),
            ends: next(self.texts, 4),
            text: next(self.text, 1),
        }
    }

    /// Bytes of all tables.
    pub(super) fn body(&self) -> u64 {
        self.tables().text.end
    }

    pub(super) fn blocks(&self) -> u64 {
        self.body().div_ceil(BLOCK as u64)
    }

    /// Bytes before the tables.
    pub(super) fn body_at(&self) -> u64 {
        HEADER as u64 + 4 * self.blocks()
    }
}

impl Header {
    /// The header, followed by the CRCs of the blocks.
    pub(super) fn write(&self, sums: &[u32]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend(u32::try_from(self.build_id.len()).unwrap_or(0).to_le_bytes());
        let mut id = self.build_id.clone();
        id.resize(LONGEST_ID, 0);
        out.extend(id);
        out.extend(self.base.to_le_bytes());
        let Counts { stretches, frames, texts, text } = self.counts;
        for count in [stretches, frames, texts, text] {
            out.extend(count.to_le_bytes());
        }
        out.extend(self.lowest.to_le_bytes());
        out.resize(HEADER - 4, 0);
        let sums: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        let mut sum = crc32fast::Hasher::new();
        sum.update(&out);
        sum.update(&sums);
        out.extend(sum.finalize().to_le_bytes());
        out.extend(sums);
        out
    }

    /// Reads what does not need the list of CRCs.
    pub(super) fn read(bytes: &[u8; HEADER]) -> Result<Header, String> {
        if bytes[..8] != *MAGIC {
            return Err("it does not start as an index does".to_owned());
        }
        let number = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        match number(8) {
            VERSION => {}
            other => return Err(format!("it has version {other}, this program writes {VERSION}")),
        }
        let id = usize::try_from(number(12)).unwrap_or(usize::MAX);
        let build_id = bytes[16..16 + LONGEST_ID].get(..id);
        let build_id = build_id.ok_or_else(|| format!("its build id has {id} bytes"))?.to_vec();
        let long = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        let (base, lowest) = (long(80), long(104));
        let counts = Counts {
            stretches: number(88),
            frames: number(92),
            texts: number(96),
            text: number(100),
        };
        Ok(Header { build_id, base, lowest, counts })
    }

    /// Whether header and CRCs are as they were written.
    pub(super) fn check(bytes: &[u8; HEADER], sums: &[u8]) -> Result<(), String> {
        let (own, told) = bytes.split_at(HEADER - 4);
        let mut sum = crc32fast::Hasher::new();
        sum.update(own);
        sum.update(sums);
        match cfg!(fuzzing) || sum.finalize().to_le_bytes() == *told {
            true => Ok(()),
            false => Err("the CRC of its header differs".to_owned()),
        }
    }
}
