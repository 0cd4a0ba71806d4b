//! A sample and an account as C has them.

use sampler::{Ledger, NamedSample, Sampler};
use std::ffi::{CString, c_char};
use std::ptr;

/// `struct hardmeter_sample`. Texts belong to the sampler.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CSample {
    pub(crate) size: usize,
    ip: u64,
    address: u64,
    has_address: u32,
    is_exact: u32,
    time: u64,
    period: u64,
    weight: u64,
    data_source: u64,
    pid: i32,
    tid: i32,
    cpu: u32,
    reserved: u32,
    offset: u64,
    routine: *const c_char,
    object: *const c_char,
    variable: *const c_char,
    regions: *const c_char,
}

/// The texts of the sample that was given last.
#[derive(Debug, Default)]
pub(crate) struct SampleTexts {
    routine: CString,
    object: CString,
    variable: Option<CString>,
    regions: Option<CString>,
}

/// `struct hardmeter_account`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CAccount {
    pub(crate) size: usize,
    kernel: u64,
    delivered: u64,
    lost: u64,
    left_out: u64,
    lost_marks: u64,
}

/// Texts may hold anything, as names from files do; a NUL would end them in C.
pub(crate) fn text(of: &str) -> CString {
    CString::new(of.replace('\0', "?")).unwrap_or_default()
}

fn pointer(of: Option<&CString>) -> *const c_char {
    of.map_or(ptr::null(), |text| text.as_ptr())
}

impl CSample {
    /// A sample, whose texts go into `texts`.
    pub(crate) fn of(sample: &NamedSample, texts: &mut SampleTexts) -> CSample {
        *texts = SampleTexts {
            routine: text(&sample.routine),
            object: text(&sample.object),
            variable: sample.variable.as_deref().map(text),
            regions: sample.regions.as_deref().map(text),
        };
        CSample {
            size: size_of::<CSample>(),
            ip: sample.ip,
            address: sample.address.unwrap_or_default(),
            has_address: u32::from(sample.address.is_some()),
            is_exact: u32::from(sample.is_exact),
            time: sample.time.0,
            period: sample.period,
            weight: sample.weight.unwrap_or_default(),
            data_source: sample.data_source.map_or(0, |source| source.0),
            pid: sample.task.pid.0,
            tid: sample.task.tid.0,
            cpu: sample.cpu.0,
            reserved: 0,
            offset: sample.offset.unwrap_or_default(),
            routine: texts.routine.as_ptr(),
            object: texts.object.as_ptr(),
            variable: pointer(texts.variable.as_ref()),
            regions: pointer(texts.regions.as_ref()),
        }
    }
}

impl CAccount {
    pub(crate) fn of(ledger: &Ledger, sampler: &Sampler) -> CAccount {
        CAccount {
            size: size_of::<CAccount>(),
            kernel: ledger.kernel.unwrap_or(u64::MAX),
            delivered: ledger.delivered,
            lost: ledger.lost.total(),
            left_out: sampler.left_out(),
            lost_marks: sampler.lost_marks(),
        }
    }
}
