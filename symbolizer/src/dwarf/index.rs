//! Which unit holds an address.

use super::functions::Functions;
use super::pieces::{OwnedSpan, Pieces};
use super::root::{Root, RootForms};
use super::sections::SectionReader;
use gimli::{Dwarf, Section};
use rustc_hash::FxHashSet;

/// Units by address. Of several that claim one, those of `.debug_aranges` go
/// before the others, and the first in the file before those after it: what
/// is found does not depend on what was looked for before.
#[derive(Debug)]
pub(crate) struct Index {
    listed: UnitPieces,
    spoken_of: FxHashSet<usize>,
    /// Looked for when an address is in none of the list.
    others: Option<OtherUnits>,
    /// Where the file's code begins.
    first: u64,
}

/// Units that no list speaks of.
#[derive(Debug)]
struct OtherUnits {
    pieces: UnitPieces,
    damage: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct UnitClaim {
    start: u64,
    end: u64,
    /// Where it begins in `.debug_info`.
    unit: usize,
}

#[derive(Debug)]
struct UnitPieces {
    pieces: Pieces,
    /// Where each begins in `.debug_info`; the last in the file comes first.
    units: Vec<usize>,
}

impl Index {
    /// As `.debug_aranges` has it. `first`: where the file's code begins.
    pub(crate) fn listed(dwarf: &Dwarf<SectionReader<'_>>, first: u64) -> Index {
        // A list that is damaged is as good as none: units say the same.
        let mut claims = listed_claims(dwarf).unwrap_or_default();
        let spoken_of = claims.iter().map(|claim| claim.unit).collect();
        claims.retain(|claim| claim.start >= first);
        Index { spoken_of, listed: UnitPieces::new(&claims), others: None, first }
    }

    /// The unit that holds an address, or why it may not have been found.
    pub(crate) fn find(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        address: u64,
    ) -> Result<Option<usize>, &str> {
        if let Some(unit) = self.listed.find(address) {
            return Ok(Some(unit));
        }
        let others = self.others.get_or_insert_with(|| {
            let spoken_of = std::mem::take(&mut self.spoken_of);
            OtherUnits::find_all(dwarf, &spoken_of, self.first)
        });
        match (others.pieces.find(address), &others.damage) {
            (None, Some(damage)) => Err(damage),
            (found, _) => Ok(found),
        }
    }
}

fn listed_claims(dwarf: &Dwarf<SectionReader<'_>>) -> gimli::Result<Vec<UnitClaim>> {
    let mut claims = Vec::new();
    let mut headers = dwarf.debug_aranges.headers();
    while let Some(header) = headers.next()? {
        let unit = header.debug_info_offset().0;
        let mut entries = header.entries();
        while let Some(entry) = entries.next()? {
            let range = entry.range();
            claims.push(UnitClaim { start: range.begin, end: range.end, unit });
        }
    }
    Ok(claims)
}

impl OtherUnits {
    fn find_all(
        dwarf: &Dwarf<SectionReader<'_>>,
        spoken_of: &FxHashSet<usize>,
        first: u64,
    ) -> OtherUnits {
        let ranges = dwarf.ranges.debug_ranges().reader().len();
        let ranges = ranges.saturating_add(dwarf.ranges.debug_rnglists().reader().len());
        let mut scan = Scan {
            forms: RootForms::new(dwarf),
            ranges: ranges.saturating_mul(4).saturating_add(1 << 20),
            first,
        };
        let mut units = dwarf.units();
        let (mut claims, mut damage) = (Vec::new(), None);
        loop {
            let header = match units.next() {
                Ok(Some(header)) => header,
                Ok(None) => break,
                Err(error) => {
                    damage = Some(format!("its list of units: {error}"));
                    break;
                }
            };
            let Some(unit) = header.debug_info_offset().map(|offset| offset.0) else { continue };
            if spoken_of.contains(&unit) {
                continue;
            }
            let read = scan.unit(dwarf, header, &mut |start, end| {
                claims.push(UnitClaim { start, end, unit });
            });
            if let Err(why) = read {
                damage = Some(format!("unit at {unit:#x}: {why}"));
                if scan.is_spent() {
                    break;
                }
            }
        }
        OtherUnits { pieces: UnitPieces::new(&claims), damage }
    }
}

impl UnitPieces {
    fn new(claims: &[UnitClaim]) -> UnitPieces {
        let mut units: Vec<_> = claims.iter().map(|claim| claim.unit).collect();
        units.sort_unstable_by(|a, b| b.cmp(a));
        units.dedup();
        let owner = |unit: usize| {
            let found = units.binary_search_by(|other| unit.cmp(other));
            u32::try_from(found.unwrap_or(usize::MAX)).unwrap_or(u32::MAX)
        };
        let span = |&UnitClaim { start, end, unit }| OwnedSpan { start, end, owner: owner(unit) };
        UnitPieces { pieces: Pieces::new(claims.iter().map(span).collect()), units }
    }

    fn find(&self, address: u64) -> Option<usize> {
        let owner = usize::try_from(self.pieces.find(address)?).ok()?;
        self.units.get(owner).copied()
    }
}

/// What may still be read to find units: those of a hostile file may all
/// share one long list.
struct Scan {
    forms: RootForms,
    ranges: usize,
    /// Where the file's code begins.
    first: u64,
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
            let functions = Functions::read(dwarf, &root.unit, root.is_flat, self.first);
            let functions = functions.map_err(failed)?;
            functions.extents().for_each(|(start, end)| claim(start, end));
            return Ok(());
        }
        let left = &mut self.ranges;
        let told = root.code.each(dwarf, &root.unit, self.first, |start, end| {
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
