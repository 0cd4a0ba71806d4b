//! A list in as few bytes as it costs little time to make.

use super::KernelList;
use super::columns::{self, ColumnError};
use super::part::{self, KernelListPart, MOST_PACKED};
use zstd_safe::{CCtx, CParameter, get_error_name};

/// Level 1: higher ones save a tenth for three times the time.
const LEVEL: i32 = 1;
/// Most bytes of the columns, and most of them for each packed byte.
const MOST: u64 = 64 << 20;
const RATIO: u64 = 64;

/// A list, packed: what recordings hold.
#[derive(Clone, PartialEq, Eq)]
pub struct PackedKernelList {
    bytes: Vec<u8>,
}

impl std::fmt::Debug for PackedKernelList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packed").field("bytes", &self.bytes.len()).finish()
    }
}

/// Why a list cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    #[error(transparent)]
    Columns(#[from] ColumnError),
    #[error("packing the kernel's symbols: {0}")]
    Zstd(&'static str),
    #[error("the kernel's symbols take {0} bytes packed; at most {most} are kept", most = MOST_PACKED)]
    TooLong(usize),
}

/// Why a recorded list cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    #[error(transparent)]
    Columns(#[from] ColumnError),
    #[error("unpacking the kernel's symbols: {0}")]
    Zstd(&'static str),
    #[error(
        "the kernel's symbols say that {packed} bytes unpack to {unpacked}; at most {most} and 64 times as many are read",
        most = MOST
    )]
    Size { packed: usize, unpacked: u64 },
}

impl KernelList {
    /// Packs a list whose symbols are in order ([`KernelList::keep_code`],
    /// [`KernelList::keep_all`]).
    ///
    /// # Errors
    /// A list beyond all bounds of real kernels.
    pub fn pack(&self) -> Result<PackedKernelList, PackError> {
        let mut columns = Vec::with_capacity(self.names.len() + 4 * self.symbols.len());
        columns::write(self, &mut columns)?;
        let name = |code| PackError::Zstd(get_error_name(code));
        let mut context = CCtx::create();
        context.set_parameter(CParameter::CompressionLevel(LEVEL)).map_err(name)?;
        context.set_parameter(CParameter::ChecksumFlag(true)).map_err(name)?;
        let mut bytes = Vec::with_capacity(zstd_safe::compress_bound(columns.len()));
        context.compress2(&mut bytes, &columns).map_err(name)?;
        bytes.shrink_to_fit();
        match bytes.len() > MOST_PACKED {
            true => Err(PackError::TooLong(bytes.len())),
            false => Ok(PackedKernelList { bytes }),
        }
    }
}

impl PackedKernelList {
    pub(super) fn of(bytes: Vec<u8>) -> PackedKernelList {
        PackedKernelList { bytes }
    }

    /// Bytes that it takes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The list that parts make, which must be all of it and in order.
    pub fn joined(parts: &[KernelListPart<'_>]) -> Option<PackedKernelList> {
        let mut assembler = part::KernelListAssembler::default();
        let mut whole = None;
        for part in parts {
            whole = assembler.add(*part).ok()?;
        }
        Some(whole?.as_ref().clone())
    }

    /// Any bytes as if they were columns, for fuzzing.
    #[doc(hidden)]
    pub fn of_columns(columns: &[u8]) -> PackedKernelList {
        let mut bytes = Vec::with_capacity(zstd_safe::compress_bound(columns.len()));
        let _size = zstd_safe::compress(&mut bytes, columns, LEVEL);
        PackedKernelList { bytes }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// In pieces that fit records of a stream.
    pub fn parts(&self) -> impl Iterator<Item = KernelListPart<'_>> {
        part::parts(&self.bytes)
    }

    /// The list.
    ///
    /// # Errors
    /// Damage, or sizes that no kernel has.
    pub fn unpack(&self) -> Result<KernelList, UnpackError> {
        let size = zstd_safe::get_frame_content_size(&self.bytes)
            .map_err(|_| UnpackError::Zstd("no frame"))?
            .ok_or(UnpackError::Zstd("the frame does not say its size"))?;
        let packed = self.bytes.len();
        let believed = size <= MOST && size <= RATIO * packed as u64;
        let capacity = usize::try_from(size).ok().filter(|_| believed);
        let capacity = capacity.ok_or(UnpackError::Size { packed, unpacked: size })?;
        let mut columns = Vec::with_capacity(capacity);
        zstd_safe::decompress(&mut columns, &self.bytes)
            .map_err(|code| UnpackError::Zstd(get_error_name(code)))?;
        Ok(columns::read(&columns)?)
    }
}
