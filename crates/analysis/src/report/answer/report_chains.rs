//! Chains and frames get the numbers and words that a report has them by.

use crate::name::key_value::{KeyValue, Missing};
use crate::name::lookup::Lookup;
use crate::report::chains::FrameNumbers;
use crate::report::{Cell, EventReport, FrameName, ReportChain, ReportChains};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct FrameWords {
    numbers: FrameNumbers,
    /// By their index among all chains'.
    known: FxHashMap<u32, usize>,
}

impl FrameWords {
    fn frame(&mut self, index: u32, lookup: &Lookup) -> usize {
        if let Some(known) = self.known.get(&index) {
            return *known;
        }
        let Some(frame) = lookup.chains.tree.frame_at(index) else {
            return self.mark("[unknown]");
        };
        let [routine, object] =
            [frame.name, frame.object].map(|name| lookup.places.name(name).to_string());
        let number = self.numbers.number(FrameName { routine, object: Some(object) });
        self.known.insert(index, number);
        number
    }

    fn mark(&mut self, text: &str) -> usize {
        self.numbers.number(FrameName { routine: text.to_owned(), object: None })
    }

    /// The frames of a row's chain, innermost first, and why it is cut off. Of
    /// what has no chain that is told in place of one.
    pub(super) fn path(&mut self, value: KeyValue, lookup: &Lookup) -> Vec<usize> {
        let chain = match value.as_name() {
            Ok(chain) => chain,
            Err(Missing::Name(reason)) => {
                return vec![self.mark(lookup.places.unresolved(reason).tag)];
            }
            Err(_) => return vec![self.mark("[rows not kept]")],
        };
        let frames = lookup.chains.tree.walk(chain).map(|step| step.frame);
        let mut path: Vec<usize> = frames.map(|frame| self.frame(frame, lookup)).collect();
        let cut_off = lookup.chains.tree.top(chain).cut_off();
        path.extend(cut_off.map(|why| self.mark(why)));
        path
    }

    /// Gives the chains of all rows their numbers, and the report its tables.
    pub(super) fn finish(mut self, events: &mut [EventReport], lookup: &Lookup) -> ReportChains {
        let tree = &lookup.chains.tree;
        let all = events.iter().flat_map(|event| &event.rows).flat_map(|row| &row.cells);
        let mut used: BTreeSet<usize> = BTreeSet::new();
        for cell in all {
            let Cell::Chain(chain) = cell else { continue };
            let steps = tree.walk(u32::try_from(*chain).unwrap_or(u32::MAX));
            for step in steps {
                // Its callers are there, too.
                if !used.insert(usize::try_from(step.chain).unwrap_or(usize::MAX)) {
                    break;
                }
            }
        }
        let mut chains: Vec<ReportChain> = Vec::new();
        let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
        let mut tops: FxHashMap<&'static str, usize> = FxHashMap::default();
        // A caller's number is less than that of what it called.
        for chain in used {
            let mut steps = tree.walk(u32::try_from(chain).unwrap_or(u32::MAX));
            let Some(own) = steps.next() else { continue };
            let caller = match steps.next() {
                Some(caller) => {
                    numbers.get(&usize::try_from(caller.chain).unwrap_or_default()).copied()
                }
                None => tree.top(own.chain).cut_off().map(|why| {
                    *tops.entry(why).or_insert_with(|| {
                        chains.push(ReportChain { frame: self.mark(why), caller: None });
                        chains.len() - 1
                    })
                }),
            };
            numbers.insert(chain, chains.len());
            chains.push(ReportChain { frame: self.frame(own.frame, lookup), caller });
        }
        for cell in
            events.iter_mut().flat_map(|event| &mut event.rows).flat_map(|row| &mut row.cells)
        {
            if let Cell::Chain(chain) = cell {
                *chain = numbers.get(chain).copied().unwrap_or_default();
            }
        }
        ReportChains { frames: self.numbers.into_frames(), chains }
    }
}
