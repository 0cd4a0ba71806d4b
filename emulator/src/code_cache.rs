//! All translated code of one address space.

use std::ops::Range;

use crate::translate::{CodeSource, Location, Stop, Translation};
use crate::zone::{ZoneId, ZoneMemory};

/// Translated code, where it is for which address, and what links it.
#[derive(Debug)]
pub struct CodeCache {
    translation: Translation,
}

/// Why code was not translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// No zone is within reach of the code: make one and add it.
    #[error("no zone of the code cache is within 2 GiB of {near:#x}")]
    NoZone {
        /// The address.
        near: u64,
    },
    /// The zone is full: flush when no thread is in translated code.
    #[error("the code cache near {near:#x} is full")]
    Full {
        /// The address.
        near: u64,
    },
}

impl CodeCache {
    /// An empty cache without zones.
    #[must_use]
    pub fn new(translation: Translation) -> CodeCache {
        CodeCache { translation }
    }

    /// Adds a zone, mapped in the target at `base`; writes its stubs.
    ///
    /// # Errors
    /// The memory is smaller than 64 KiB or not a multiple of 4 KiB.
    pub fn add_zone(&mut self, base: u64, memory: ZoneMemory) -> Result<ZoneId, ZoneError> {
        let _ = (base, memory);
        Err(ZoneError)
    }

    /// The zone that code at `pc` goes to.
    #[must_use]
    pub fn zone_for(&self, pc: u64) -> Option<ZoneId> {
        let _ = pc;
        None
    }

    /// Where an indirect branch to an unknown target goes: what all BRANCHES
    /// of a new block hold.
    #[must_use]
    pub fn miss(&self) -> Option<u64> {
        None
    }

    /// A stub of the zone that stops with [`Stop::Boundary`], all registers
    /// the program's.
    #[must_use]
    pub fn boundary(&self) -> Option<u64> {
        None
    }

    /// Address in the target of the code for `pc`, translated now with what
    /// it branches to unless it was. A thread that goes there has all
    /// registers in themselves.
    ///
    /// # Errors
    /// [`TranslateError`]; nothing changed.
    pub fn translate(
        &mut self,
        pc: u64,
        source: &mut dyn CodeSource,
    ) -> Result<u64, TranslateError> {
        let _ = (source, &self.translation);
        Err(TranslateError::NoZone { near: pc })
    }

    /// Takes what is new for the table of all indirect branches: pairs of an
    /// address in the program and the entry for BRANCHES.
    pub fn take_entries(&mut self) -> Vec<(u64, u64)> {
        Vec::new()
    }

    /// Why a thread stopped whose breakpoint was at `address` (its rip is one
    /// more).
    #[must_use]
    pub fn stop_at(&mut self, address: u64) -> Option<Stop> {
        let _ = address;
        None
    }

    /// What `address` in the code cache means; None outside of it.
    #[must_use]
    pub fn locate(&mut self, address: u64) -> Option<Location> {
        let _ = address;
        None
    }

    /// Forgets all code translated from a range. Threads in it run on to the
    /// next branch; entries of it stop from now on. Gives the program's
    /// addresses to take from the table of indirect branches (BRANCHES may
    /// keep them).
    pub fn invalidate(&mut self, range: Range<u64>) -> Vec<u64> {
        let _ = range;
        Vec::new()
    }

    /// Code of these pages checks from now on that it is what was translated.
    /// What was translated without checks is invalidated as by
    /// [`CodeCache::invalidate`].
    pub fn check_pages(&mut self, range: Range<u64>) -> Vec<u64> {
        let _ = range;
        Vec::new()
    }

    /// Whether anything was translated from a range.
    #[must_use]
    pub fn has_code(&self, range: Range<u64>) -> bool {
        let _ = range;
        false
    }

    /// Forgets all code. No thread may be in it; all BRANCHES and the table
    /// of indirect branches must be cleared by the caller.
    pub fn flush(&mut self) {}

    /// Bytes of zones in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        0
    }
}

/// The memory of a zone cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a zone's memory must be whole pages, 64 KiB at least, within 47 bits")]
pub struct ZoneError;
