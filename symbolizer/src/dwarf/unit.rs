//! What is known of a unit once an address within it was asked for.

use super::functions::{Calls, DebugEntry, DebugPart, Functions};
use super::lines::{LineSpot, LineTable};
use super::root::{Root, UnitHead};
use super::sections::SectionReader;
use super::split::{Split, Splits};
use gimli::Dwarf;
use rustc_hash::FxHashMap;

/// Bytes of memory that parsed units may take before those used longest ago
/// are dropped.
const MOST_BYTES: usize = 48 << 20;

#[derive(Debug)]
pub(crate) struct DebugUnit {
    head: UnitHead,
    split: Option<Split>,
    functions: Functions,
    pub(crate) lines: Option<LineTable>,
    /// Why there are no functions: their file is not there.
    pub(crate) apart: Option<String>,
    /// In its language a declared name is not all of a name.
    pub(crate) mangles: bool,
    /// Where the file's code begins.
    first: u64,
    used: u64,
    size: usize,
}

/// A step out of an inlined call: the function, and where in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallStep {
    pub(crate) function: DebugEntry,
    pub(crate) spot: Option<LineSpot>,
}

impl DebugUnit {
    fn read(
        dwarf: &Dwarf<SectionReader<'_>>,
        splits: &mut Splits,
        offset: usize,
        first: u64,
    ) -> Result<DebugUnit, String> {
        let failed = |error: gimli::Error| format!("unit at {offset:#x}: {error}");
        let header = dwarf.unit_header(gimli::DebugInfoOffset(offset)).map_err(failed)?;
        let forms = dwarf.abbreviations(&header).map_err(failed)?;
        let root = Root::read(dwarf, header, forms).map_err(failed)?;
        let mut apart = None;
        let split = match root.split {
            Some(_) => splits.open(dwarf, &root).map_err(|why| apart = Some(why)).ok(),
            None => None,
        };
        let mangles = root.mangles || split.as_ref().is_some_and(|split| split.mangles);
        let functions = match &split {
            Some(split) => {
                let dwarf = split.dwarf(dwarf).map_err(failed)?;
                let unit = split.head.open(&dwarf).map_err(failed)?;
                Functions::read(&dwarf, &unit, false, first).map_err(failed)?
            }
            None => Functions::read(dwarf, &root.unit, root.is_flat, first).map_err(failed)?,
        };
        let lines = LineTable::read(dwarf, &root, first)
            .map_err(|error| format!("line table of the unit at {offset:#x}: {error}"))?;
        let size =
            functions.size() + lines.as_ref().map_or(0, LineTable::size) + size_of::<DebugUnit>();
        let head = root.head();
        Ok(DebugUnit { head, split, functions, lines, apart, mangles, first, used: 0, size })
    }

    /// The steps from the innermost call at an address out to the function
    /// that holds it. None: no function holds it.
    pub(crate) fn steps(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        address: u64,
    ) -> Result<Option<Vec<CallStep>>, String> {
        let Some(function) = self.functions.find(address) else { return Ok(None) };
        self.read_calls(dwarf, function)?;
        let mut spot = self.lines.as_ref().and_then(|lines| lines.find(address));
        let mut steps = Vec::new();
        if let Some(calls) = self.functions.calls(function) {
            for call in calls.find(address) {
                let step = CallStep { function: call.callee, spot };
                steps.push(step);
                spot = Some(call.from);
            }
        }
        let (part, head) = self.home();
        let offset = head.offset.saturating_add(self.functions.entry(function).0);
        steps.push(CallStep { function: DebugEntry { of: part, offset }, spot });
        Ok(Some(steps))
    }

    fn read_calls(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        function: usize,
    ) -> Result<(), String> {
        if self.functions.calls(function).is_some() {
            return Ok(());
        }
        let (at, first) = (self.functions.entry(function), self.first);
        let failed = |error: gimli::Error| format!("function at {:#x}: {error}", at.0);
        let calls = self
            .with_home(dwarf, |dwarf, part, head| {
                let unit = head.open(dwarf)?;
                Ok(Calls::read(dwarf, &unit, part, at, first))
            })
            .map_err(failed)??;
        self.size += self.functions.keep(function, calls);
        Ok(())
    }

    fn home(&self) -> (DebugPart, &UnitHead) {
        match &self.split {
            Some(split) => (split.part, &split.head),
            None => (DebugPart::Main, &self.head),
        }
    }

    pub(crate) fn with_home<T>(
        &self,
        dwarf: &Dwarf<SectionReader<'_>>,
        act: impl FnOnce(&Dwarf<SectionReader<'_>>, DebugPart, &UnitHead) -> gimli::Result<T>,
    ) -> gimli::Result<T> {
        let (part, head) = self.home();
        match &self.split {
            Some(split) => act(&split.dwarf(dwarf)?, part, head),
            None => act(dwarf, part, head),
        }
    }
}

/// Units that were read, as many as memory allows.
#[derive(Debug)]
pub(crate) struct Units {
    units: FxHashMap<usize, Result<Box<DebugUnit>, String>>,
    size: usize,
    clock: u64,
    /// Where the file's code begins.
    first: u64,
}

impl Units {
    /// None yet. `first`: where the file's code begins.
    pub(crate) fn new(first: u64) -> Units {
        Units { units: FxHashMap::default(), size: 0, clock: 0, first }
    }

    /// The unit that begins at an offset.
    pub(crate) fn get(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        splits: &mut Splits,
        offset: usize,
    ) -> Result<&mut DebugUnit, String> {
        self.clock += 1;
        if !self.units.contains_key(&offset) {
            let unit = DebugUnit::read(dwarf, splits, offset, self.first).map(Box::new);
            self.size += unit.as_ref().map_or(0, |unit| unit.size);
            if self.size > MOST_BYTES {
                self.shrink();
            }
            self.units.insert(offset, unit);
        }
        match self.units.get_mut(&offset) {
            Some(Ok(unit)) => {
                unit.used = self.clock;
                Ok(unit)
            }
            Some(Err(why)) => Err(why.clone()),
            None => Err(format!("unit at {offset:#x}")),
        }
    }

    /// Drops the half that was used longest ago.
    fn shrink(&mut self) {
        let mut times: Vec<_> = self.units.values().flatten().map(|unit| unit.used).collect();
        times.sort_unstable();
        let Some(&middle) = times.get(times.len() / 2) else { return };
        self.units.retain(|_, unit| unit.as_ref().map_or(true, |unit| unit.used > middle));
        self.size = self.units.values().flatten().map(|unit| unit.size).sum();
    }
}
