//! Symbols of a kernel as they were loaded, what to know of them, and why there are none.

use super::list::{ListError, SymbolList};
use super::table::KernelSymbols;
use perfdata::kernel_list::PackedKernelList;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// KASLR moves by multiples of this at least (arm64's `EFI_KIMG_ALIGN`;
/// x86-64's CONFIG_PHYSICAL_ALIGN is 2 MiB).
pub(super) const KASLR_STEP: u64 = 0x1_0000;
/// Start of the kernel's text; perf's mapping record names one of them.
const ANCHORS: [&str; 2] = ["_text", "_stext"];

/// A table, where it came from, and what the user should know about it.
#[derive(Debug)]
pub struct LoadedKernel {
    pub symbols: KernelSymbols,
    /// The list that was read.
    pub path: PathBuf,
    /// `_text` and `_stext` as far as they are listed, where the kernel runs.
    pub anchors: Vec<KernelAnchor>,
    /// Of the kernel, where that is known.
    pub build_id: Option<Box<[u8]>>,
    /// What the user should know.
    pub notes: Vec<KernelListNote>,
}

/// A symbol whose address tells one boot from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelAnchor {
    /// `_text` or `_stext`.
    pub symbol: String,
    /// Its run-time address.
    pub address: u64,
}

impl LoadedKernel {
    /// Run-time address of `_text` or `_stext`.
    pub fn address_of(&self, symbol: &str) -> Option<u64> {
        self.anchors.iter().find(|anchor| anchor.symbol == symbol).map(|anchor| anchor.address)
    }
}

/// What the user should know about the symbols in use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelListNote {
    #[error("{}: the kernel runs {} from where this list says; applied", path.display(), signed(*offset))]
    Moved { path: PathBuf, offset: u64 },
    #[error("{}: {count} symbols of modules and BPF programs left out: they do not move with the kernel", path.display())]
    ModulesLeftOut { path: PathBuf, count: usize },
    #[error("{}: nothing could be compared with the recorded kernel{}; its names are right only if it is that kernel's", path.display(), release.as_ref().map_or(String::new(), |release| format!(" ({release})")))]
    Unchecked { path: PathBuf, release: Option<String> },
    #[error("the kernel's symbols in the recording are left out: {why}")]
    RecordedUnusable { why: String },
    #[error("{}: saved under another boot ({symbol} at {listed:#x}; here it is at {here:#x}); used as it is", path.display())]
    OtherBoot { path: PathBuf, symbol: String, listed: u64, here: u64 },
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    List { path: PathBuf, source: ListError },
    #[error("{}: {why}", path.display())]
    KernelImage { path: PathBuf, why: String },
    #[error("{}: none of its symbols is of type t, T, w or W", path.display())]
    NoText { path: PathBuf },
    #[error("{}: it belongs to another kernel than the one running ({difference}); if the addresses come from that kernel, tell eip2r how far it was moved with -s and --kaslr-offset (0: not at all)", path.display())]
    OtherKernel { path: PathBuf, difference: String },
    #[error("{}: KASLR may have moved the kernel from where this list says, and /proc/kallsyms does not tell ({why}); be root, or tell eip2r how far with -s and --kaslr-offset (0: not at all)", path.display())]
    OffsetUnknown { path: PathBuf, why: String },
    #[error("{}: it does not fit the recorded kernel ({difference}); give the list of that very kernel", path.display())]
    NotRecorded { path: PathBuf, difference: String },
    #[error("{kallsyms}; {system_map}")]
    Nowhere { kallsyms: Box<KernelError>, system_map: Box<KernelError> },
}

impl KernelError {
    /// Whether kptr_restrict is the first cause.
    pub fn is_hidden(&self) -> bool {
        match self {
            KernelError::List { source: ListError::Hidden, .. } => true,
            KernelError::Nowhere { kallsyms, .. } => kallsyms.is_hidden(),
            _ => false,
        }
    }
}

/// What a recording says about its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    /// Where `_text` was; none when kptr_restrict hid it from the recorder.
    pub(crate) anchor: Option<KernelAnchor>,
    /// `uname -r`.
    pub(crate) release: Option<String>,
    pub(crate) list: Option<Arc<PackedKernelList>>,
}

pub(super) fn anchors(list: &SymbolList, offset: u64) -> Vec<KernelAnchor> {
    let anchors = ANCHORS.into_iter().filter_map(|symbol| {
        let address = list.address_of(symbol)?.wrapping_add(offset);
        Some(KernelAnchor { symbol: symbol.to_owned(), address })
    });
    anchors.collect()
}

pub(super) fn anchor(list: &SymbolList) -> Option<(&'static str, u64)> {
    ANCHORS.into_iter().find_map(|name| Some((name, list.address_of(name)?)))
}

fn signed(offset: u64) -> String {
    let value = offset.cast_signed();
    let sign = if value < 0 { '-' } else { '+' };
    format!("{sign}{:#x}", value.unsigned_abs())
}
