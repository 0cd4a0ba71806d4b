//! Which unit holds an address.

use super::functions::Functions;
use super::pieces::{OwnedSpan, Pieces};
use super::root::{Root, RootForms};
use super::sections::SectionReader;
use gimli::{Dwarf, Section};
use rustc_hash::FxHashSet;

/// Units by address. Of several that claim one, the first in the file wins.
#[derive(Debug)]
pub(crate) struct Index {
    pieces: Pieces,
    /// Where each begins in `.debug_info`; the last in the file comes first.
    units: Vec<usize>,
    claims: Vec<(u64, u64, usize)>,
    /// Units that `.debug_aranges` speaks of.
    listed: FxHashSet<usize>,
    /// Whether those that it does not speak of were looked at, too.
    complete: bool,
    /// What kept units from being found.
    damage: Option<String>,
}

impl Index {
    /// As `.debug_aranges` has it.
    pub(crate) fn listed(dwarf: &Dwarf<SectionReader<'_>>) -> Index {
        let mut index = Index {
            pieces: Pieces::default(),
            units: Vec::new(),
            claims: Vec::new(),
            listed: FxHashSet::default(),
            complete: false,
            damage: None,
        };
        // A list that is damaged is as good as none: units say the same.
        if index.add_listed(dwarf).is_err() {
            index.claims.clear();
            index.listed.clear();
        }
        index.arrange();
        index
    }

    fn add_listed(&mut self, dwarf: &Dwarf<SectionReader<'_>>) -> gimli::Result<()> {
        let aranges = &dwarf.debug_aranges;
        let mut headers = aranges.headers();
        while let Some(header) = headers.next()? {
            let unit = header.debug_info_offset().0;
            let mut entries = header.entries();
            let mut any = false;
            while let Some(entry) = entries.next()? {
                let range = entry.range();
                self.claims.push((range.begin, range.end, unit));
                any = true;
            }
            if any {
                self.listed.insert(unit);
            }
        }
        Ok(())
    }

    fn arrange(&mut self) {
        self.units = self.claims.iter().map(|claim| claim.2).collect();
        self.units.sort_unstable_by(|a, b| b.cmp(a));
        self.units.dedup();
        let owner = |unit: usize| {
            let found = self.units.binary_search_by(|other| unit.cmp(other));
            u32::try_from(found.unwrap_or(usize::MAX)).unwrap_or(u32::MAX)
        };
        let spans = self.claims.iter();
        let spans = spans.map(|&(start, end, unit)| OwnedSpan { start, end, owner: owner(unit) });
        self.pieces = Pieces::new(spans.collect());
    }

    /// The unit that holds an address, or why it may not have been found.
    pub(crate) fn find(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        address: u64,
    ) -> Result<Option<usize>, &str> {
        if let Some(unit) = self.known(address) {
            return Ok(Some(unit));
        }
        self.complete(dwarf);
        match (self.known(address), &self.damage) {
            (None, Some(damage)) => Err(damage),
            (found, _) => Ok(found),
        }
    }

    fn known(&self, address: u64) -> Option<usize> {
        let owner = usize::try_from(self.pieces.find(address)?).ok()?;
        self.units.get(owner).copied()
    }

    /// Looks at the units that no list speaks of.
    fn complete(&mut self, dwarf: &Dwarf<SectionReader<'_>>) {
        if std::mem::replace(&mut self.complete, true) {
            return;
        }
        let ranges = dwarf.ranges.debug_ranges().reader().len();
        let ranges = ranges.saturating_add(dwarf.ranges.debug_rnglists().reader().len());
        let mut scan = Scan {
            forms: RootForms::new(dwarf),
            ranges: ranges.saturating_mul(4).saturating_add(1 << 20),
        };
        let mut units = dwarf.units();
        let before = self.claims.len();
        loop {
            let header = match units.next() {
                Ok(Some(header)) => header,
                Ok(None) => break,
                Err(error) => {
                    self.damage = Some(format!("its list of units: {error}"));
                    break;
                }
            };
            let Some(offset) = header.debug_info_offset().map(|offset| offset.0) else { continue };
            if self.listed.contains(&offset) {
                continue;
            }
            if let Err(why) = scan.unit(dwarf, header, &mut |start, end| {
                self.claims.push((start, end, offset));
            }) {
                self.damage = Some(format!("unit at {offset:#x}: {why}"));
                if scan.is_spent() {
                    break;
                }
            }
        }
        if self.claims.len() > before {
            self.arrange();
        }
        self.claims = Vec::new();
        self.listed = FxHashSet::default();
    }
}

/// What may still be read to find units: those of a hostile file may all
/// share one long list.
struct Scan {
    forms: RootForms,
    ranges: usize,
}

impl Scan {
    fn is_spent(&self) -> bool {
        self.ranges == 0
    }

    fn unit<'a>(
        &mut self,
        dwarf: &Dwarf<SectionReader<'a>>,
        header: gimli::UnitHeader<SectionReader<'a>>,
        claim: &mut dyn FnMut(u64, u64),
    ) -> Result<(), String> {
        let failed = |error: gimli::Error| error.to_string();
        let spent = || "more was listed than the file can hold".to_owned();
        let forms = self.forms.of(dwarf, &header).map_err(failed)?;
        let Some(forms) = forms else {
            self.ranges = 0;
            return Err(spent());
        };
        let root = Root::read(dwarf, header, forms).map_err(failed)?;
        if root.tag != gimli::DW_TAG_compile_unit && root.tag != gimli::DW_TAG_skeleton_unit {
            return Ok(());
        }
        if root.code.is_empty() {
            if root.split.is_some() {
                return Ok(());
            }
            // It does not say where its code is, but its functions do.
            let forms = dwarf.abbreviations(&header).map_err(failed)?;
            let root = Root::read(dwarf, header, forms).map_err(failed)?;
            let functions = Functions::read(dwarf, &root.unit, root.is_flat).map_err(failed)?;
            functions.extents().for_each(|(start, end)| claim(start, end));
            return Ok(());
        }
        let left = &mut self.ranges;
        let told = root.code.each(dwarf, &root.unit, |start, end| {
            *left = left.checked_sub(1).ok_or(gimli::Error::AddressOverflow)?;
            claim(start, end);
            Ok(())
        });
        match self.ranges {
            0 => Err(spent()),
            _ => told.map_err(failed),
        }
    }
}
