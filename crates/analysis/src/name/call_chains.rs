//! The call chain of a sample: unwound, named, and kept by its number.

use crate::bounded::{Bounded, MOST_PLACES};
use crate::name::chain_parts::{ChainPart, ChainParts};
use crate::name::chain_tree::{ChainFrame, ChainTop, ChainTree};
use crate::name::chain_words::ChainWords;
use crate::name::key_value::{KeyValue, Missing};
use crate::name::place_names::PlaceNames;
use perfdata::callchain::{CallChainWord, DeferredChains, DeferredKey, has_user, is_cut, parts};
use perfdata::{ChainContext, CpuMode, SampleType, Tid};
use rustc_hash::FxHashMap;
use symbolizer::{ChainEnd, ChainEnds, Place, SampledAddress, StackFrame, UserStack};

/// Frames of user space at most.
const MOST_FRAMES: usize = 512;

#[derive(Debug, Default)]
pub(crate) struct CallChains {
    pub(crate) tree: ChainTree,
    pub(crate) parts: ChainParts,
    /// Frames by where their code lies.
    frames: Bounded<Place, u32, MOST_PLACES>,
    /// By the number of a chain.
    callers: FxHashMap<u32, KeyValue>,
    callees: FxHashMap<u32, KeyValue>,
    ends: ChainEnds,
    /// Samples whose chains there was no room for.
    pub(crate) left_out: u64,
    /// Of the sample at hand: what was unwound, bytes of its registers, and all frames with
    /// their places, innermost first.
    unwound: Vec<StackFrame>,
    registers: Vec<u8>,
    own: Vec<u32>,
    pub(crate) places: Vec<Place>,
    /// Of these, addresses at run time.
    addresses: Vec<u64>,
    /// What the kernel told of callers later.
    pub(crate) sent: DeferredChains,
    words: Vec<u64>,
    /// Why a sample has none, once one had none.
    no_chain: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SampledChain {
    /// All of it, by number.
    pub(crate) whole: Result<u32, Missing>,
    /// The part that is looked at.
    pub(crate) part: Result<u32, Missing>,
    /// Where the innermost frame of that part lies.
    pub(crate) place: Result<Place, Missing>,
    pub(crate) is_meant: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Callers<'w> {
    pub(crate) at: SampledAddress,
    pub(crate) tid: Tid,
    pub(crate) words: ChainWords<'w>,
    /// Of the registers.
    pub(crate) mask: u64,
    /// Whether stacks are copied for such samples: frames of user space in a chain
    /// stand for one that was unwound while it was recorded.
    pub(crate) copies_stack: bool,
}

impl CallChains {
    pub(crate) fn chain(&mut self, of: Callers<'_>, places: &mut PlaceNames) -> SampledChain {
        let whole = self.whole_chain(of, places);
        let cut = &self.parts.cut;
        let part = match whole {
            Ok(chain) => self.parts.part(chain, &mut self.tree, places),
            Err(Missing::NotKept) => Ok(ChainPart::Nothing),
            Err(_) if cut.callers.is_none() && cut.callees.is_none() => Ok(ChainPart::Nothing),
            Err(_) => Ok(ChainPart::Absent),
        };
        let is_meant = !matches!(part, Ok(ChainPart::Absent));
        let part = match (whole, part) {
            (_, Ok(ChainPart::Kept { chain, without })) => {
                let place = self.places.get(without).copied();
                let place = place.ok_or(Missing::NotKept);
                return SampledChain { whole, part: Ok(chain), place, is_meant };
            }
            (Err(lack), _) | (_, Err(lack)) => {
                if matches!(lack, Missing::NotKept) {
                    self.left_out = self.left_out.saturating_add(1);
                }
                lack
            }
            (Ok(chain), Ok(_)) => self.all_left_out(chain, places),
        };
        SampledChain { whole, part: Err(part), place: Err(part), is_meant }
    }

    /// Why nothing of a chain is left.
    fn all_left_out(&self, chain: u32, places: &mut PlaceNames) -> Missing {
        let (why, tag) = match self.tree.top(chain) {
            ChainTop::Unwound(end) if self.tree.top(chain).cut_off().is_some() => {
                (end.why(), end.tag())
            }
            _ => ("all frames of the chain are what --outside leaves out", "[all-inside]"),
        };
        Missing::Name(places.reason(why, tag, None))
    }

    /// The number of a sample's chain; or that it has none.
    fn whole_chain(&mut self, of: Callers<'_>, places: &mut PlaceNames) -> Result<u32, Missing> {
        self.forget();
        if of.words.is_empty() {
            return Err(self.no_chain(places));
        }
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        let recorded = of.words.recorded.iter().copied();
        let is_whole = self.sent.join(of.tid, recorded, &mut words);
        self.recorded(of.at, &words, places);
        // Of the joined chain: what was sent needs no stack, and a stack nothing
        // that was not sent.
        let has_user = has_user(words.iter().copied());
        self.words = words;
        let mut end = if has_user { self.unwound_before(of) } else { self.unwound(of, places) };
        if end.is_none() && !is_whole {
            self.ends.add(ChainEnd::NotSent, 1);
            end = Some(ChainEnd::NotSent);
        }
        if of.words.is_full {
            self.ends.add(ChainEnd::CallsLimit, 1);
            end = Some(ChainEnd::CallsLimit);
        }
        let top = end.map_or(ChainTop::Recorded, ChainTop::Unwound);
        if self.own.is_empty() {
            return Err(self.no_chain(places));
        }
        self.tree.chain(&self.own, top).ok_or(Missing::NotKept)
    }

    fn no_chain(&mut self, places: &mut PlaceNames) -> Missing {
        let known = self.no_chain;
        let reason = known.unwrap_or_else(|| places.reason("no call chain", "[no-chain]", None));
        self.no_chain = Some(reason);
        Missing::Name(reason)
    }

    /// Frames as the kernel recorded them: the first of all is the sampled
    /// instruction, the others return.
    fn recorded(&mut self, at: SampledAddress, words: &[u64], places: &mut PlaceNames) {
        let mut mode = CpuMode::User;
        let mut returns = 0;
        for part in parts(words.iter().copied()) {
            match part {
                CallChainWord::Address(address) => {
                    let address = address.wrapping_sub(std::mem::replace(&mut returns, 1));
                    self.add_frame(SampledAddress { mode, address, ..at }, places);
                }
                CallChainWord::Context(context) => {
                    mode = context.cpu_mode().unwrap_or(mode);
                    // Where user space entered the kernel nothing was called.
                    returns = if context == ChainContext::USER { 0 } else { returns };
                }
                // What it stands for was not sent.
                CallChainWord::Cookie(_) => return,
            }
        }
    }

    fn unwound_before(
        &mut self,
        Callers { words, copies_stack, .. }: Callers<'_>,
    ) -> Option<ChainEnd> {
        let recorded = words.recorded.iter().copied();
        if !copies_stack || !has_user(recorded.clone()) {
            return None;
        }
        let end = if is_cut(recorded) { ChainEnd::CopyTooShort } else { ChainEnd::Root };
        self.ends.add(end, 1);
        Some(end)
    }

    fn unwound(
        &mut self,
        Callers { at, words, mask, .. }: Callers<'_>,
        places: &mut PlaceNames,
    ) -> Option<ChainEnd> {
        if !words.has_stack() {
            return None;
        }
        let mut frames = std::mem::take(&mut self.unwound);
        let mut bytes = std::mem::take(&mut self.registers);
        frames.clear();
        let (registers, stack) = words.lend(mask, &mut bytes);
        let (pid, time) = (at.pid, at.time);
        let of = UserStack { pid, time, registers, stack, most: MOST_FRAMES };
        let end = places.symbolizer.unwind(&of, &mut frames);
        self.ends.add(end, 1);
        for frame in &frames {
            let at = SampledAddress { mode: CpuMode::User, address: frame.code(), ..at };
            self.add_frame(at, places);
        }
        self.unwound = frames;
        self.registers = bytes;
        Some(end)
    }

    fn add_frame(&mut self, at: SampledAddress, places: &mut PlaceNames) {
        let place = places.place(at);
        let frame = match self.frames.get(&place) {
            Some(known) => *known,
            None => self.new_frame(place, places),
        };
        self.own.push(frame);
        self.places.push(place);
        self.addresses.push(at.address);
    }

    #[cold]
    fn new_frame(&mut self, place: Place, places: &mut PlaceNames) -> u32 {
        let (name, object) = (places.routine_or_mark(place), places.object(place.object));
        let frame = self.tree.frame(ChainFrame { name, object });
        self.frames.insert(place, frame);
        frame
    }

    /// The first routine of a chain that is not its innermost; or why there is
    /// none.
    pub(crate) fn caller(&mut self, chain: u32, places: &mut PlaceNames) -> KeyValue {
        if let Some(known) = self.callers.get(&chain) {
            return *known;
        }
        let tree = &self.tree;
        let mut names = tree.names(chain);
        let own = names.next();
        let value = match names.find(|name| Some(*name) != own) {
            Some(caller) => KeyValue::number(u64::from(caller)),
            None => {
                drop(names);
                let (why, tag) = match tree.top(chain) {
                    ChainTop::Unwound(end) => (end.why(), end.tag()),
                    ChainTop::Recorded => ("the recorded chain has no more frames", "[no-caller]"),
                    ChainTop::Asked => ("its callers were not asked for", "[no-caller]"),
                };
                KeyValue::missing(Missing::Name(places.reason(why, tag, None)))
            }
        };
        self.callers.insert(chain, value);
        value
    }

    /// The first routine of a chain, from the outermost on, that is not the
    /// outermost; or that it called none.
    pub(crate) fn callee(&mut self, chain: u32, places: &mut PlaceNames) -> KeyValue {
        if let Some(known) = self.callees.get(&chain) {
            return *known;
        }
        let names: Vec<u32> = self.tree.names(chain).collect();
        let own = names.last();
        let value = match names.iter().rev().find(|name| Some(*name) != own) {
            Some(callee) => KeyValue::number(u64::from(*callee)),
            None => {
                let why = "in the routine itself";
                KeyValue::missing(Missing::Name(places.reason(why, "[self]", None)))
            }
        };
        self.callees.insert(chain, value);
        value
    }

    pub(crate) fn forget(&mut self) {
        self.own.clear();
        self.places.clear();
        self.addresses.clear();
    }

    /// A caller in the chain that was asked for last: where it waits in a call, at run time
    /// and in its object. `at`: the sampled instruction.
    pub(crate) fn caller_at(
        &self,
        at: SampledAddress,
        level: usize,
    ) -> Option<(SampledAddress, Place)> {
        let (address, place) = (*self.addresses.get(level)?, *self.places.get(level)?);
        Some((SampledAddress { address, ..at }, place))
    }

    /// Whether the rest of a chain may still be sent.
    pub(crate) fn waits(&self, tid: Tid, words: &ChainWords<'_>) -> bool {
        let key = DeferredKey::of(tid, words.recorded.iter().copied());
        key.is_some_and(|key| self.sent.get(key).is_none())
    }

    /// What a reader must know of chains: why they end, and of how many there
    /// was no room for.
    pub(crate) fn notes(&self) -> [Option<String>; 2] {
        let left_out = (self.left_out > 0).then(|| {
            format!(
                "the chains of {} samples are not kept: there are too many that differ",
                self.left_out
            )
        });
        [self.ends.note(), left_out]
    }
}

pub(crate) fn tells_callers(of: SampleType) -> bool {
    let stack = SampleType::REGS_USER | SampleType::STACK_USER;
    of.contains(SampleType::CALLCHAIN) || of.contains(stack)
}
