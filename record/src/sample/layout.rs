//! Where each field of a sample is, computed once per attr.

use super::Sample;
use crate::attr::Attr;
use crate::bytes::{ByteOrder, Short};
use crate::header::Misc;
use crate::side::SampleId;
use crate::units::{Task, Time};

/// Why an attr has no layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A newer kernel's field: where it stands is not known here.
    #[error("sample_type {bits:#x} has bits that this version does not know: {unknown:#x}")]
    UnknownBits {
        /// The whole mask.
        bits: u64,
        /// The unknown part.
        unknown: u64,
    },
}

/// Why a payload is no sample of this layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SampleError {
    /// A field is cut off by the end of the record.
    #[error("sample field {field}: {short}")]
    Short {
        /// Name after PERF_SAMPLE_.
        field: &'static str,
        /// Where and how much.
        short: Short,
    },
}

/// Why a sample cannot be written with this layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The sample lacks a field of the layout, or has one too many.
    #[error("sample field {field} does not fit the attr's sample_type")]
    Field {
        /// Name after PERF_SAMPLE_.
        field: &'static str,
    },
    /// A record's size is 16 bits.
    #[error("a record of {size} bytes is beyond the limit of 65,535")]
    TooLong {
        /// Bytes that it would take.
        size: usize,
    },
}

/// How samples and trailers of one attr are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleLayout {
    attr: Attr,
    order: ByteOrder,
}

impl SampleLayout {
    /// Computes the layout; refuses sample_type and read_format bits it does
    /// not know.
    pub fn new(attr: &Attr, order: ByteOrder) -> Result<SampleLayout, LayoutError> {
        Ok(SampleLayout { attr: attr.clone(), order })
    }

    /// Decodes a SAMPLE record's bytes after the header.
    pub fn decode<'a>(&self, _misc: Misc, _payload: &'a [u8]) -> Result<Sample<'a>, SampleError> {
        todo!()
    }

    /// Appends a whole SAMPLE record, header included.
    pub fn encode(&self, _sample: &Sample<'_>, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        todo!()
    }

    /// The instruction pointer alone, at its fixed place.
    pub fn peek_ip(&self, _payload: &[u8]) -> Option<u64> {
        todo!()
    }

    /// Process and thread alone.
    pub fn peek_task(&self, _payload: &[u8]) -> Option<Task> {
        todo!()
    }

    /// The time alone.
    pub fn peek_time(&self, _payload: &[u8]) -> Option<Time> {
        todo!()
    }

    /// The event id alone: IDENTIFIER if there, else ID.
    pub fn peek_id(&self, _payload: &[u8]) -> Option<u64> {
        todo!()
    }

    /// Bytes of the sample_id trailer on records other than SAMPLE; 0
    /// without `sample_id_all`.
    pub fn trailer_size(&self) -> usize {
        todo!()
    }

    /// Reads the sample_id trailer from the END of a side record's payload
    /// (trap 31).
    pub fn trailer(&self, _payload: &[u8]) -> Result<SampleId, SampleError> {
        todo!()
    }

    /// Appends the trailer.
    pub fn encode_trailer(&self, _id: &SampleId, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        todo!()
    }
}
