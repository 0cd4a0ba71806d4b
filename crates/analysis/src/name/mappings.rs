//! What programs map themselves, by mmap(2), as it lives in the order of samples.

use crate::name::atom::Lack;
use crate::name::block_lives::BlockLives;
use crate::name::heap_blocks::{BlockAsker, HeapBlock};
use crate::name::mapped_spans::MappedSpans;
use crate::name::mapping_sizes::MappingSizes;
use perfdata::{MappingCall, MappingChange, Pid, Time};
use rustc_hash::FxHashMap;
use std::ops::Range;
use symbolizer::Place;

/// Pieces of mappings of all processes that are remembered at once; a test fills them.
const MOST_PIECES: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// What the kernel maps is a multiple of that.
const PAGE: u64 = 4096;

/// The mappings of each process while its samples are counted.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    processes: FxHashMap<Pid, MappedSpace>,
    /// Pieces of all of them.
    live: usize,
    /// Numbers given out.
    made: u64,
    /// Mappings that there was no room for.
    left_out: u64,
    /// What the sample at hand takes out.
    leaving: Option<ToldMapping>,
    /// Of each origin, all that it ever made.
    sizes: FxHashMap<MappingOrigin, MappingSizes>,
}

/// Where the program maps something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MappingOrigin {
    /// Who asks for it.
    pub(crate) asked: Place,
    /// It shows a file.
    pub(crate) is_file: bool,
}

/// The mappings of one process.
#[derive(Clone, Debug, Default)]
struct MappedSpace {
    spans: MappedSpans,
    /// By number.
    made: FxHashMap<u64, LiveMapping>,
}

/// A mapping of which something is left.
#[derive(Clone, Copy, Debug)]
struct LiveMapping {
    mapping: OwnMapping,
    /// Bytes of it that are there.
    left: u64,
}

/// A mapping that lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnMapping {
    /// Its bytes, number and birth, and who asked for it.
    pub(crate) block: HeapBlock,
    pub(crate) maker: MappingMaker,
    /// It shows a file.
    pub(crate) is_file: bool,
}

impl OwnMapping {
    /// None: it is not of the program itself, or nothing tells where it was asked for.
    pub(crate) fn origin(&self) -> Option<MappingOrigin> {
        match self.maker {
            MappingMaker::Program(Ok(asked)) => {
                Some(MappingOrigin { asked, is_file: self.is_file })
            }
            _ => None,
        }
    }
}

/// On whose behalf memory is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MappingMaker {
    /// Of the program itself, at a place where that is known.
    Program(Result<Place, Lack>),
    /// Of an allocator, which makes blocks of it.
    Allocator,
    /// Of the loader, or of a library that makes a stack for a thread: others tell what is there.
    System,
}

/// A change of an address space, and whose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToldMapping {
    pub(crate) pid: Pid,
    pub(crate) time: Time,
    pub(crate) address: u64,
    pub(crate) change: MappingChange,
}

impl ToldMapping {
    fn range(&self) -> Range<u64> {
        whole_pages(self.address, self.change.length)
    }
}

/// The pages of some bytes.
fn whole_pages(start: u64, length: u64) -> Range<u64> {
    let end = start.saturating_add(length).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX);
    start & !(PAGE - 1)..end
}

impl Mappings {
    /// Goes on to the next sample.
    pub(crate) fn go_on(&mut self, lives: &mut BlockLives) {
        if let Some(told) = self.leaving.take() {
            self.cut(&told, told.range(), lives);
        }
    }

    /// A process has nothing any more.
    pub(crate) fn emptied(&mut self, pid: Pid, time: Time, lives: &mut BlockLives) {
        let gone = self.processes.remove(&pid).unwrap_or_default();
        self.live -= gone.spans.len();
        gone.made.values().for_each(|it| lives.ended(pid, &it.mapping.block, time));
    }

    /// A process begins with what its parent has.
    pub(crate) fn forked(&mut self, pid: Pid, parent: Pid) {
        let Some(space) = self.processes.get(&parent) else { return };
        if self.live + space.spans.len() > MOST_PIECES {
            self.left_out += space.made.len() as u64;
            return;
        }
        self.live += space.spans.len();
        let space = space.clone();
        self.live -= self.processes.insert(pid, space).unwrap_or_default().spans.len();
    }

    /// Takes in what a call did; `maker` is who called.
    pub(crate) fn changed(
        &mut self,
        told: ToldMapping,
        maker: MappingMaker,
        lives: &mut BlockLives,
    ) {
        let MappingChange { call, length, old, old_length } = told.change;
        match call {
            // It is there for the sample that tells of its end.
            MappingCall::Unmap => self.leaving = Some(told),
            MappingCall::Remap if old_length > 0 => {
                let from = whole_pages(old, old_length);
                let known = self.number(told.pid, from.start);
                let kept = known.and_then(|number| self.mapping(told.pid, number));
                // In the order of the kernel: what it was is gone, then it lies over what was.
                self.cut(&told, from, lives);
                match kept {
                    Some(mapping) => {
                        let (start, size) = (told.address, length);
                        let block = HeapBlock { start, size, ..mapping.block };
                        if let Some(sizes) = mapping.origin().and_then(|it| self.sizes.get_mut(&it))
                        {
                            sizes.resize(size);
                        }
                        self.put(&told, OwnMapping { block, ..mapping }, lives);
                        lives.changed(told.pid, &block);
                    }
                    None => self.cut(&told, told.range(), lives),
                }
            }
            MappingCall::Map | MappingCall::MapFile | MappingCall::Remap => {
                if maker == MappingMaker::System {
                    self.cut(&told, told.range(), lives);
                    return;
                }
                self.made += 1;
                let site = match maker {
                    MappingMaker::Program(site) => site,
                    MappingMaker::Allocator | MappingMaker::System => Err(Lack::NoBlock),
                };
                let block = HeapBlock {
                    start: told.address,
                    size: length,
                    number: self.made,
                    is_mapping: true,
                    asker: BlockAsker { site, chain: None },
                    born: told.time,
                };
                let is_file = call == MappingCall::MapFile;
                let mapping = OwnMapping { block, maker, is_file };
                if let Some(origin) = mapping.origin() {
                    self.sizes.entry(origin).or_default().add(length);
                }
                self.put(&told, mapping, lives);
            }
        }
    }

    /// What an origin has made so far.
    pub(crate) fn sizes(&self, origin: MappingOrigin) -> MappingSizes {
        self.sizes.get(&origin).copied().unwrap_or_default()
    }

    /// The mapping that holds an address now.
    pub(crate) fn find(&self, pid: Pid, address: u64) -> Option<OwnMapping> {
        self.mapping(pid, self.number(pid, address)?)
    }

    fn number(&self, pid: Pid, address: u64) -> Option<u64> {
        self.processes.get(&pid)?.spans.find(address)
    }

    fn mapping(&self, pid: Pid, number: u64) -> Option<OwnMapping> {
        Some(self.processes.get(&pid)?.made.get(&number)?.mapping)
    }

    fn put(&mut self, told: &ToldMapping, mapping: OwnMapping, lives: &mut BlockLives) {
        self.cut(told, told.range(), lives);
        let (range, number) = (told.range(), mapping.block.number);
        // No call that worked has none; a recording may say so.
        if range.is_empty() {
            return;
        }
        if self.live >= MOST_PIECES {
            self.left_out += 1;
            return;
        }
        let space = self.processes.entry(told.pid).or_default();
        let bytes = range.end - range.start;
        let live = space.made.entry(number).or_insert(LiveMapping { mapping, left: 0 });
        (live.mapping, live.left) = (mapping, live.left.saturating_add(bytes));
        let before = space.spans.len();
        space.spans.put(range, number);
        self.live = self.live - before + space.spans.len();
    }

    /// A range of addresses is of nothing any more.
    fn cut(&mut self, told: &ToldMapping, range: Range<u64>, lives: &mut BlockLives) {
        let Some(space) = self.processes.get_mut(&told.pid) else { return };
        let before = space.spans.len();
        let mut gone = space.spans.cut(range.clone());
        // A hole makes two of one: without room the part behind it is not known any more.
        if self.live - before + space.spans.len() > MOST_PIECES {
            self.left_out += 1;
            gone.extend(space.spans.take(range.end));
        }
        self.live = self.live - before + space.spans.len();
        for (range, number) in gone {
            let Some(live) = space.made.get_mut(&number) else { continue };
            live.left = live.left.saturating_sub(range.end - range.start);
            if live.left == 0 {
                let LiveMapping { mapping, .. } = *live;
                space.made.remove(&number);
                lives.ended(told.pid, &mapping.block, told.time);
            }
        }
    }

    /// What users should know.
    pub(crate) fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} mappings are not known: {MOST_PIECES} pieces of them at once are remembered",
                self.left_out
            )
        })
    }
}

#[cfg(test)]
mod tests;
