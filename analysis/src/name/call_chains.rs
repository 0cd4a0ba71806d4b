//! Call chains by number, each kept once: the routines of its frames.

use crate::name::atom::{Atom, Lack};
use crate::name::chain_words::{ChainWords, LentStack, MARKERS, USER};
use crate::name::lookup::Lookup;
use record::{CpuMode, SampleType};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use symbolizer::{ChainEnd, ChainEnds, SampledAddress, StackFrame, UserStack};

/// Frames of user space at most, and chains that are kept: those beyond are
/// one.
const MOST_FRAMES: usize = 512;
const MOST_CHAINS: usize = 1 << 19;

/// Chains that samples had.
#[derive(Debug, Default)]
pub(crate) struct CallChains {
    chains: Vec<Arc<CallChain>>,
    numbers: FxHashMap<Arc<CallChain>, u32>,
    /// By the number of a chain.
    callers: FxHashMap<u32, Atom>,
    pub(crate) ends: ChainEnds,
    frames: Vec<StackFrame>,
    bytes: LentStack,
    names: Vec<u32>,
}

/// Routines from the innermost on, by the numbers of their names, and why
/// there are no more, where that is known.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CallChain {
    names: Box<[u32]>,
    end: Option<ChainEnd>,
}

/// Where a sample was taken, and what it has of its callers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callers<'w> {
    pub(crate) at: SampledAddress,
    pub(crate) words: ChainWords<'w>,
    /// Of the registers.
    pub(crate) mask: u64,
}

impl Lookup {
    /// The number of a sample's chain; or that it has none.
    pub(crate) fn chain(&mut self, of: Callers<'_>) -> Result<u32, Lack> {
        let mut names = std::mem::take(&mut self.chains.names);
        names.clear();
        self.recorded(of, &mut names);
        let end = self.unwound(of, &mut names);
        let number = match names.is_empty() {
            true => Err(Lack::Name(self.reason("no call chain", "[no-chain]", None))),
            false => Ok(self.chains.number(&names, end)),
        };
        self.chains.names = names;
        number
    }

    /// Frames as the kernel recorded them: the first of all is the sampled
    /// instruction, the others return.
    fn recorded(&mut self, Callers { at, words, .. }: Callers<'_>, names: &mut Vec<u32>) {
        let mut mode = CpuMode::User;
        let mut returns = 0;
        for word in words.recorded {
            if *word >= MARKERS {
                mode = match word.wrapping_neg() {
                    32 => CpuMode::Hypervisor,
                    128 => CpuMode::Kernel,
                    2048 | 2176 => CpuMode::GuestKernel,
                    2560 => CpuMode::GuestUser,
                    // What follows comes in a record of its own.
                    640 => return,
                    _ => CpuMode::User,
                };
                // Where user space entered the kernel nothing was called.
                returns = if *word == USER { 0 } else { returns };
                continue;
            }
            let address = word.wrapping_sub(returns);
            returns = 1;
            names.push(self.frame_name(SampledAddress { mode, address, ..at }));
        }
    }

    fn unwound(
        &mut self,
        Callers { at, words, mask }: Callers<'_>,
        names: &mut Vec<u32>,
    ) -> Option<ChainEnd> {
        if !words.has_stack() {
            return None;
        }
        let mut frames = std::mem::take(&mut self.chains.frames);
        let mut bytes = std::mem::take(&mut self.chains.bytes);
        frames.clear();
        let (registers, stack) = words.lend(mask, &mut bytes);
        let (pid, time) = (at.pid, at.time);
        let of = UserStack { pid, time, registers, stack, most: MOST_FRAMES };
        let end = self.symbolizer.unwind(&of, &mut frames);
        self.chains.ends.add(end, 1);
        for frame in &frames {
            let at = SampledAddress { mode: CpuMode::User, address: frame.code(), ..at };
            names.push(self.frame_name(at));
        }
        self.chains.frames = frames;
        self.chains.bytes = bytes;
        Some(end)
    }

    /// The routine of a frame, or why it has no name, by its number.
    fn frame_name(&mut self, at: SampledAddress) -> u32 {
        let place = self.place(at);
        match self.routine(place).as_name() {
            Ok(name) => name,
            Err(Lack::Name(reason)) => {
                let tag = self.unresolved(reason).tag;
                let object = self.object(place.object);
                let path = self.name(object);
                let is_file = path.starts_with('/') && !path.starts_with("//");
                let file = path.rsplit('/').next().filter(|_| is_file).unwrap_or(&path);
                let text = format!("{tag} {file}");
                self.names.number(&text)
            }
            Err(_) => self.names.number("[unknown]"),
        }
    }

    /// The first routine of a chain that is not its innermost; or why there is
    /// none.
    pub(crate) fn caller(&mut self, chain: u32) -> Atom {
        if let Some(known) = self.chains.callers.get(&chain) {
            return *known;
        }
        let Some(of) = self.chains.get(chain) else { return Atom::lack(Lack::NotKept) };
        let own = of.names.first();
        let atom = match of.names.iter().find(|name| Some(*name) != own) {
            Some(caller) => Atom::number(u64::from(*caller)),
            None => {
                let (why, tag) = match of.end {
                    Some(end) => (end.why(), end.tag()),
                    None => ("the recorded chain has no more frames", "[no-caller]"),
                };
                Atom::lack(Lack::Name(self.reason(why, tag, None)))
            }
        };
        self.chains.callers.insert(chain, atom);
        atom
    }

    /// A chain from the outermost routine on, as flame graphs have it:
    /// `main;parse;memcpy`.
    pub(crate) fn folded(&self, chain: u32) -> Arc<str> {
        let Some(of) = self.chains.get(chain) else { return Arc::from("[rows not kept]") };
        let names = of.names.iter().rev().map(|name| self.name(*name).replace(';', ":"));
        let cut = of.end.filter(|end| *end != ChainEnd::Root).map(|end| end.tag().to_owned());
        cut.into_iter().chain(names).collect::<Vec<_>>().join(";").into()
    }
}

impl CallChains {
    /// The number of a chain. Those that there is no room for share one that
    /// is nobody's.
    fn number(&mut self, names: &[u32], end: Option<ChainEnd>) -> u32 {
        let chain = CallChain { names: names.into(), end };
        if let Some(known) = self.numbers.get(&chain) {
            return *known;
        }
        if self.chains.len() >= MOST_CHAINS {
            return u32::MAX;
        }
        let (chain, number) = (Arc::new(chain), self.chains.len());
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        self.chains.push(Arc::clone(&chain));
        self.numbers.insert(chain, number);
        number
    }

    fn get(&self, chain: u32) -> Option<Arc<CallChain>> {
        self.chains.get(usize::try_from(chain).ok()?).cloned()
    }
}

/// Whether samples of such a type tell of their callers.
pub(crate) fn tells_callers(of: SampleType) -> bool {
    let stack = SampleType::REGS_USER | SampleType::STACK_USER;
    of.contains(SampleType::CALLCHAIN) || of.contains(stack)
}
