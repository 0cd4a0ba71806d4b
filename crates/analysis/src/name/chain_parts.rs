//! What of a call chain is looked at.

use crate::name::chain_tree::{ChainStep, ChainTop, ChainTree};
use crate::name::key_value::Missing;
use crate::name::place_names::PlaceNames;
use crate::query::chain_view::FrameCut;
use crate::query::glob::Glob;
use rustc_hash::FxHashMap;

/// The part of each chain that the query looks at.
#[derive(Debug, Default)]
pub(crate) struct ChainParts {
    pub(crate) cut: FrameCut,
    /// By the number of the whole chain.
    known: FxHashMap<u32, ChainPart>,
    fits: FxHashMap<FrameQuestion, bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FrameQuestion {
    pattern: PatternPlace,
    frame: u32,
}

/// Where the query has a pattern; those of a list by their place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PatternPlace {
    Callers,
    Callees,
    Outside(usize),
    Filter(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainPart {
    /// A chain, which begins so many frames further out.
    Kept { chain: u32, without: usize },
    /// All its frames are what is to be left out.
    Nothing,
    /// It has no such frame: the sample is not meant.
    Absent,
}

impl ChainParts {
    pub(crate) fn part(
        &mut self,
        whole: u32,
        tree: &mut ChainTree,
        places: &PlaceNames,
    ) -> Result<ChainPart, Missing> {
        if self.cut.is_none() {
            return Ok(ChainPart::Kept { chain: whole, without: 0 });
        }
        if let Some(known) = self.known.get(&whole) {
            return Ok(*known);
        }
        let cut = std::mem::take(&mut self.cut);
        let part = self.cut(&cut, whole, tree, places);
        self.cut = cut;
        if let Ok(part) = part {
            self.known.insert(whole, part);
        }
        part
    }

    fn cut(
        &mut self,
        cut: &FrameCut,
        whole: u32,
        tree: &mut ChainTree,
        places: &PlaceNames,
    ) -> Result<ChainPart, Missing> {
        let steps: Vec<ChainStep> = tree.walk(whole).collect();
        let mut fits = |pattern, glob: &Glob, step: &ChainStep| {
            let asked = FrameQuestion { pattern, frame: step.frame };
            self.frame_fits(asked, glob, tree, places)
        };
        let (mut from, mut to) = (0, steps.len());
        if let Some(glob) = &cut.callers {
            match steps.iter().position(|step| fits(PatternPlace::Callers, glob, step)) {
                Some(at) => from = at,
                None => return Ok(ChainPart::Absent),
            }
        }
        if let Some(glob) = &cut.callees {
            let left = steps.get(from..).unwrap_or_default();
            match left.iter().rposition(|step| fits(PatternPlace::Callees, glob, step)) {
                Some(at) => to = from + at + 1,
                None => return Ok(ChainPart::Absent),
            }
        }
        let left = steps.get(from..to).unwrap_or_default();
        let mut is_outside = |step: &ChainStep| {
            let mut patterns = cut.outside.iter().enumerate();
            !patterns.any(|(at, glob)| fits(PatternPlace::Outside(at), glob, step))
        };
        let Some(inside) = left.iter().position(&mut is_outside) else {
            return Ok(ChainPart::Nothing);
        };
        let without = from + inside;
        let left = steps.get(without..to).unwrap_or_default();
        let chain = match left.first() {
            Some(first) if cut.callees.is_none() => Some(first.chain),
            _ => {
                let frames: Vec<u32> = left.iter().map(|step| step.frame).collect();
                tree.chain(&frames, ChainTop::Asked)
            }
        };
        let chain = chain.ok_or(Missing::NotKept)?;
        Ok(ChainPart::Kept { chain, without })
    }

    /// Whether a frame of a chain fits the pattern of a filter.
    pub(crate) fn has_frame(
        &mut self,
        chain: u32,
        (filter, glob): (usize, &Glob),
        tree: &ChainTree,
        places: &PlaceNames,
    ) -> bool {
        let pattern = PatternPlace::Filter(filter);
        tree.walk(chain).any(|step| {
            let asked = FrameQuestion { pattern, frame: step.frame };
            self.frame_fits(asked, glob, tree, places)
        })
    }

    fn frame_fits(
        &mut self,
        asked: FrameQuestion,
        glob: &Glob,
        tree: &ChainTree,
        places: &PlaceNames,
    ) -> bool {
        if let Some(known) = self.fits.get(&asked) {
            return *known;
        }
        let Some(of) = tree.frame_at(asked.frame) else { return false };
        let fits = glob.matches_frame(places.text(of.name), places.text(of.object));
        self.fits.insert(asked, fits);
        fits
    }
}
