//! All translated code of one address space.

mod variant_code;

use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::translate::{
    Assembler, CodeSource, CodeStop, CodeVariant, Instrumentation, Location, RuntimeAddresses,
    Translation, stop, write_stubs,
};
use crate::zone::{Zone, ZoneId, ZoneMemory};
use variant_code::{VariantCode, nearest};

/// Translated code of one address space, where it is for which address, and
/// what links it. With [`Instrumentation::burst`](crate::translate::Instrumentation) there are
/// two translations of everything that runs, see [`CodeVariant`].
#[derive(Debug)]
pub struct CodeCache {
    runtime: RuntimeAddresses,
    zones: Vec<Zone>,
    modelled: VariantCode,
    bare: Option<VariantCode>,
    /// Pages whose code checks itself.
    checked: FxHashSet<u64>,
}

/// An entry for indirect branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    pub variant: CodeVariant,
    /// Address in the program.
    pub pc: u64,
    /// Address in the cache.
    pub to: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// No zone is within reach of the code: make one and add it.
    #[error("no zone of the code cache is within 2 GiB of {near:#x}")]
    NoZone { near: u64 },
    /// The zone is full: flush when no thread is in translated code.
    #[error("the code cache near {near:#x} is full")]
    Full { near: u64 },
}

impl CodeCache {
    #[must_use]
    pub fn new(translation: Translation) -> CodeCache {
        let bare = translation.instrumentation.burst.then(|| {
            let turns = translation.instrumentation.turns;
            let instrumentation =
                Instrumentation { burst: true, turns, ..Instrumentation::default() };
            VariantCode::new(
                Translation { instrumentation, ..translation.clone() },
                CodeVariant::Bare,
            )
        });
        CodeCache {
            runtime: translation.runtime,
            zones: Vec::new(),
            modelled: VariantCode::new(translation, CodeVariant::Modelled),
            bare,
            checked: FxHashSet::default(),
        }
    }

    #[must_use]
    pub fn has_bare(&self) -> bool {
        self.bare.is_some()
    }

    /// Adds a zone, mapped in the target at `base`; writes its stubs.
    ///
    /// # Errors
    /// The memory is smaller than 1 MiB or not a multiple of 4 KiB.
    pub fn add_zone(&mut self, base: u64, memory: ZoneMemory) -> Result<ZoneId, ZoneError> {
        let mut memory = memory;
        let size = memory.as_mut().as_mut().len() as u64;
        let fits = base.checked_add(size).is_some_and(|top| top <= 1 << 47);
        let whole = size.is_multiple_of(4096) && base.is_multiple_of(4096);
        if !(1 << 20..=1 << 31).contains(&size) || !whole || !fits {
            return Err(ZoneError);
        }
        let mut zone = Zone::new(base, memory);
        let mut code = Assembler::default();
        code.restart(base);
        zone.stubs = write_stubs(&mut code, &self.runtime);
        zone.write(base, &code.bytes);
        zone.clear();
        self.zones.push(zone);
        Ok(ZoneId(self.zones.len() - 1))
    }

    /// The zone that code at `pc` goes to: the nearest within reach.
    #[must_use]
    pub fn zone_for(&self, pc: u64) -> Option<ZoneId> {
        nearest(&self.zones, pc).map(ZoneId)
    }

    /// Where an indirect branch to an unknown target goes: what all BRANCHES
    /// of a new block hold. None before the first zone.
    #[must_use]
    pub fn miss(&self) -> Option<u64> {
        self.zones.first().map(|zone| zone.stubs.miss)
    }

    /// A stub that stops with [`CodeStop::Boundary`], all registers as they are.
    #[must_use]
    pub fn boundary(&self) -> Option<u64> {
        self.zones.first().map(|zone| zone.stubs.boundary)
    }

    /// Address in the target of the code for `pc` in a translation, made now
    /// with what it branches to unless it was; indirect branches find it
    /// afterwards. A thread that goes there has all registers in themselves.
    ///
    /// # Errors
    /// [`TranslateError`]; nothing changed.
    pub fn translate(
        &mut self,
        variant: CodeVariant,
        pc: u64,
        source: &mut dyn CodeSource,
    ) -> Result<u64, TranslateError> {
        let code = match (variant, &mut self.bare) {
            (CodeVariant::Bare, Some(bare)) => bare,
            _ => &mut self.modelled,
        };
        code.translate(&mut self.zones, &self.checked, pc, source)
    }

    /// Takes what is new for the table of all indirect branches.
    pub fn take_entries(&mut self) -> Vec<BlockEntry> {
        let mut entries = Vec::new();
        for code in [&mut self.modelled].into_iter().chain(&mut self.bare) {
            let variant = code.variant;
            entries.extend(code.new_entries.drain(..).map(|(pc, to)| BlockEntry {
                variant,
                pc,
                to,
            }));
        }
        entries
    }

    /// Why a thread stopped whose breakpoint was at `address` (its rip is one
    /// more). None when the breakpoint is not ours.
    #[must_use]
    pub fn stop_at(&mut self, address: u64) -> Option<CodeStop> {
        for code in [&self.modelled].into_iter().chain(&self.bare) {
            if let Some(&target) = code.dead.get(&address) {
                return Some(CodeStop::Direct { target });
            }
        }
        let zone = self.zones.iter_mut().find(|zone| zone.contains(address))?;
        stop::read(zone.read(address, 16))
    }

    /// What `address` in the code cache means; None outside of it.
    #[must_use]
    pub fn locate(&mut self, address: u64) -> Option<Location> {
        self.zones.iter_mut().find(|zone| zone.contains(address))?.locate(address)
    }

    /// Forgets all code translated from a range. Threads in it run on to the
    /// next branch; entries of it stop from now on. Gives what to take from
    /// the table of indirect branches (the tables of blocks may keep it).
    pub fn invalidate(&mut self, range: Range<u64>) -> Vec<(CodeVariant, u64)> {
        let mut gone = Vec::new();
        for code in [&mut self.modelled].into_iter().chain(&mut self.bare) {
            let variant = code.variant;
            gone.extend(
                code.invalidate(&mut self.zones, &range).into_iter().map(|pc| (variant, pc)),
            );
        }
        gone
    }

    /// Code of these pages checks from now on that it is what was translated.
    /// What was translated without checks is invalidated as by
    /// [`CodeCache::invalidate`].
    pub fn check_pages(&mut self, range: Range<u64>) -> Vec<(CodeVariant, u64)> {
        self.checked.extend(range.start >> 12..=range.end.saturating_sub(1) >> 12);
        self.invalidate(range)
    }

    #[must_use]
    pub fn has_code(&self, range: Range<u64>) -> bool {
        [&self.modelled].into_iter().chain(&self.bare).any(|code| code.has_code(&range))
    }

    /// Forgets all code, keeps zones and checked pages. No thread may be in
    /// it; all BRANCHES and the table of indirect branches must be cleared by
    /// the caller.
    pub fn flush(&mut self) {
        for code in [&mut self.modelled].into_iter().chain(&mut self.bare) {
            code.flush();
        }
        for zone in &mut self.zones {
            zone.clear();
        }
    }

    /// Bytes of zones in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.zones.iter().map(Zone::used).sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a zone's memory must be whole pages, 1 MiB to 2 GiB, within 47 bits")]
pub struct ZoneError;
