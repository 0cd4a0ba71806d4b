//! The library that tells of the program's heap.

use crate::ebs::arguments::Serving;
use crate::ebs::sample::SampleJob;
use anyhow::{Result, bail};
use recorder::request::{CallGraph, StackBytes};
use recorder::{HeapSettings, Request};
use std::path::{Path, PathBuf};

/// Why a program that was started to look an address up in it cannot be told of.
pub(super) const ENTERED: &str = "--heap: an address is looked up in the program before its \
     environment can be changed: give the address as a number, mem:0x..., or use a program at \
     fixed addresses";

/// The library for where none is installed, as by `cargo install` (`build.rs`); empty: the target
/// has none.
const EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libhardmeter_heap.so"));

/// What a session has to know of it; None: nobody asked.
pub(super) fn settings(job: &SampleJob, request: &Request) -> Option<HeapSettings> {
    let stack = match request.call_graph {
        Some(CallGraph::Stack(bytes)) => bytes,
        _ => StackBytes::DEFAULT,
    };
    job.emulation.heap.map(|rate| HeapSettings {
        rate,
        stack,
        libraries: libraries(),
        embedded: EMBEDDED,
    })
}

/// Who may open the session.
///
/// # Errors
/// A daemon was asked for.
pub(super) fn serving(job: &SampleJob) -> Result<&Serving> {
    match (job.emulation.heap, &job.serving) {
        (None, serving) => Ok(serving),
        (Some(_), Serving::Daemon(_)) => {
            bail!("--heap: no block is told by way of a daemon: leave --daemon out")
        }
        (Some(_), _) => Ok(&Serving::Own),
    }
}

/// Where the library may be: beside this program, or where it is installed to.
fn libraries() -> Vec<PathBuf> {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.parent().unwrap_or(Path::new("."));
    let installed = folder.parent().unwrap_or(Path::new("/")).join("lib/hardmeter");
    [folder.to_path_buf(), installed].map(|folder| folder.join(HeapSettings::LIBRARY)).into()
}
