//! Records that describe what was there before sampling began: the kernel's
//! code, and names and mappings of running processes. Their time is 0, as in
//! perf's; live records take over from there.

mod kernel;
mod kernel_list;
mod proc_visibility;
mod process;

use std::path::Path;

use perfdata::{Attr, AttrFlags, Misc, SampleType, SidebandRecord};

use crate::sys::event::NATIVE_ORDER;

pub(crate) use kernel::kernel;
pub use kernel_list::{kernel_list, needed_symbols};
pub use proc_visibility::{GrantedView, KernelFile, ProcVisibility};
pub(crate) use process::Processes;

/// Appends records with the trailer that the side attr gives to all.
#[derive(Debug)]
pub struct Synthesizer<'a> {
    proc: &'a Path,
    proc_visibility: ProcVisibility,
    trailer: Vec<u8>,
    /// The side attr asks for mappings that are not executable, too.
    data_mappings: bool,
    /// What is mapped from this path is no part of the process.
    foreign: Option<&'static str>,
    pub(crate) records: u64,
    /// Records that were too long to write.
    pub(crate) left_out: u64,
}

impl<'a> Synthesizer<'a> {
    /// For a stream whose sideband records are described by `side`.
    pub(crate) fn new(proc: &'a Path, side: &Attr) -> Synthesizer<'a> {
        let trailer = Synthesizer::trailer(side);
        let data_mappings = side.flags.contains(AttrFlags::MMAP_DATA);
        Synthesizer {
            proc,
            proc_visibility: ProcVisibility::default(),
            trailer,
            data_mappings,
            foreign: None,
            records: 0,
            left_out: 0,
        }
    }

    pub(crate) fn seeing(self, proc_visibility: &ProcVisibility) -> Synthesizer<'a> {
        Synthesizer { proc_visibility: proc_visibility.clone(), ..self }
    }

    pub(crate) fn without(self, foreign: &'static str) -> Synthesizer<'a> {
        Synthesizer { foreign: Some(foreign), ..self }
    }

    /// As many zeros as the trailer of `side`'s records has.
    pub fn trailer(side: &Attr) -> Vec<u8> {
        let words = side.sample_type
            & (SampleType::TID
                | SampleType::TIME
                | SampleType::ID
                | SampleType::STREAM_ID
                | SampleType::CPU
                | SampleType::IDENTIFIER);
        let bits = usize::try_from(words.bits().count_ones()).unwrap_or(0);
        let has_trailer = side.flags.contains(AttrFlags::SAMPLE_ID_ALL);
        vec![0; if has_trailer { 8 * bits } else { 0 }]
    }

    fn append(&mut self, record: &SidebandRecord<'_>, misc: Misc, out: &mut Vec<u8>) {
        match record.encode(misc, &self.trailer, NATIVE_ORDER, out) {
            Ok(()) => self.records += 1,
            Err(_) => self.left_out += 1,
        }
    }
}
