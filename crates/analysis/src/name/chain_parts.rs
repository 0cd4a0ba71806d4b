//! What of a call chain is looked at.

use crate::name::atom::Lack;
use crate::name::call_chains::Callers;
use crate::name::chain_tree::{ChainStep, ChainTop};
use crate::name::lookup::Lookup;
use crate::query::chain_view::FrameCut;
use crate::query::glob::Glob;
use rustc_hash::FxHashMap;
use symbolizer::Place;

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
enum ChainPart {
    /// A chain, which begins so many frames further out.
    Kept { chain: u32, without: usize },
    /// All its frames are what is to be left out.
    Nothing,
    /// It has no such frame: the sample is not meant.
    Absent,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledChain {
    /// All of it, by number.
    pub(crate) whole: Result<u32, Lack>,
    /// The part that is looked at.
    pub(crate) part: Result<u32, Lack>,
    /// Where the innermost frame of that part lies.
    pub(crate) place: Result<Place, Lack>,
    pub(crate) is_meant: bool,
}

impl Lookup {
    pub(crate) fn chain(&mut self, of: Callers<'_>) -> SampledChain {
        let whole = self.whole_chain(of);
        let cut = &self.chains.parts.cut;
        let part = match whole {
            Ok(chain) => self.part(chain),
            Err(Lack::NotKept) => Ok(ChainPart::Nothing),
            Err(_) if cut.callers.is_none() && cut.callees.is_none() => Ok(ChainPart::Nothing),
            Err(_) => Ok(ChainPart::Absent),
        };
        let is_meant = !matches!(part, Ok(ChainPart::Absent));
        let part = match (whole, part) {
            (_, Ok(ChainPart::Kept { chain, without })) => {
                let place = self.chains.places.get(without).copied();
                let place = place.ok_or(Lack::NotKept);
                return SampledChain { whole, part: Ok(chain), place, is_meant };
            }
            (Err(lack), _) | (_, Err(lack)) => {
                if matches!(lack, Lack::NotKept) {
                    self.chains.left_out = self.chains.left_out.saturating_add(1);
                }
                lack
            }
            (Ok(chain), Ok(_)) => self.all_left_out(chain),
        };
        SampledChain { whole, part: Err(part), place: Err(part), is_meant }
    }

    /// Why nothing of a chain is left.
    fn all_left_out(&mut self, chain: u32) -> Lack {
        let (why, tag) = match self.chains.tree.top(chain) {
            ChainTop::Unwound(end) if self.chains.tree.top(chain).cut_off().is_some() => {
                (end.why(), end.tag())
            }
            _ => ("all frames of the chain are what --outside leaves out", "[all-inside]"),
        };
        Lack::Name(self.reason(why, tag, None))
    }

    fn part(&mut self, whole: u32) -> Result<ChainPart, Lack> {
        if self.chains.parts.cut.is_none() {
            return Ok(ChainPart::Kept { chain: whole, without: 0 });
        }
        if let Some(known) = self.chains.parts.known.get(&whole) {
            return Ok(*known);
        }
        let cut = std::mem::take(&mut self.chains.parts.cut);
        let part = self.cut(&cut, whole);
        self.chains.parts.cut = cut;
        if let Ok(part) = part {
            self.chains.parts.known.insert(whole, part);
        }
        part
    }

    fn cut(&mut self, cut: &FrameCut, whole: u32) -> Result<ChainPart, Lack> {
        let steps: Vec<ChainStep> = self.chains.tree.walk(whole).collect();
        let (mut from, mut to) = (0, steps.len());
        if let Some(glob) = &cut.callers {
            match steps
                .iter()
                .position(|step| self.frame_fits(PatternPlace::Callers, glob, step.frame))
            {
                Some(at) => from = at,
                None => return Ok(ChainPart::Absent),
            }
        }
        if let Some(glob) = &cut.callees {
            let left = steps.get(from..).unwrap_or_default();
            match left
                .iter()
                .rposition(|step| self.frame_fits(PatternPlace::Callees, glob, step.frame))
            {
                Some(at) => to = from + at + 1,
                None => return Ok(ChainPart::Absent),
            }
        }
        let left = steps.get(from..to).unwrap_or_default();
        let is_inside = |lookup: &mut Lookup, frame: u32| {
            let mut patterns = cut.outside.iter().enumerate();
            patterns.any(|(at, glob)| lookup.frame_fits(PatternPlace::Outside(at), glob, frame))
        };
        let mut within = left.iter();
        let Some(inside) = within.position(|step| !is_inside(self, step.frame)) else {
            return Ok(ChainPart::Nothing);
        };
        let without = from + inside;
        let left = steps.get(without..to).unwrap_or_default();
        let chain = match left.first() {
            Some(first) if cut.callees.is_none() => Some(first.chain),
            _ => {
                let frames: Vec<u32> = left.iter().map(|step| step.frame).collect();
                self.chains.tree.chain(&frames, ChainTop::Asked)
            }
        };
        let chain = chain.ok_or(Lack::NotKept)?;
        Ok(ChainPart::Kept { chain, without })
    }

    /// Whether a frame of a chain fits the pattern of a filter.
    pub(crate) fn has_frame(&mut self, chain: u32, filter: usize, glob: &Glob) -> bool {
        let pattern = PatternPlace::Filter(filter);
        let frames: Vec<u32> = self.chains.tree.walk(chain).map(|step| step.frame).collect();
        frames.into_iter().any(|frame| self.frame_fits(pattern, glob, frame))
    }

    fn frame_fits(&mut self, pattern: PatternPlace, glob: &Glob, frame: u32) -> bool {
        let asked = FrameQuestion { pattern, frame };
        if let Some(known) = self.chains.parts.fits.get(&asked) {
            return *known;
        }
        let Some(of) = self.chains.tree.frame_at(frame) else { return false };
        let fits = glob.matches_frame(&self.name(of.name), &self.name(of.object));
        self.chains.parts.fits.insert(asked, fits);
        fits
    }
}
