//! The words of a slot become a site.

use perfdata::aggregate::{Bits, RESERVOIR, Range, RegisterBits, SampledHit, Site, Strides};
use perfdata::{ChainContext, Cpu, CpuMode, Pid, Tid, Time};

use super::layout::slot::{
    ADDRESS, BITS, COUNT, FIRST, HIGHEST, IP, LAST, LOWEST, PERIOD, PROCESS, TAKEN, WHO, WORDS,
    taken,
};
use super::layout::{REGISTERS, STRIDES, chain};

#[derive(Clone, Copy, Debug)]
pub(super) struct SlotContext {
    pub(super) cpu: Cpu,
    /// Whether processes are told apart.
    pub(super) by_process: bool,
    pub(super) has_address: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SideTables {
    pub(super) strides: Option<[u64; STRIDES]>,
    pub(super) chain: Option<[u64; chain::WORDS]>,
}

pub(super) fn site(words: &[u64; WORDS], side_tables: SideTables, place: SlotContext) -> Site {
    let who = words[WHO];
    let bits = |at: usize| Bits { all: words[at], any: words[at + 1] };
    let registers = REGISTERS.iter().enumerate();
    let count = words[COUNT];
    let kept = usize::try_from(count).map_or(RESERVOIR, |count| count.min(RESERVOIR));
    let (hits, _) = words[TAKEN..].as_chunks::<{ taken::WORDS }>();
    Site {
        process: place.by_process.then(|| Pid(number(who >> 1))),
        pids: bits(PROCESS),
        ip: words[IP],
        mode: if who & 1 == 0 { CpuMode::Kernel } else { CpuMode::User },
        count,
        period: words[PERIOD],
        first: Time(words[FIRST]),
        last: Time(words[LAST]),
        address: place.has_address.then(|| Range {
            min: words[LOWEST],
            max: words[HIGHEST],
            bits: bits(ADDRESS),
        }),
        registers: registers
            .map(|(index, &number)| RegisterBits { number, bits: bits(BITS + 2 * index) })
            .collect(),
        taken: hits.iter().take(kept).map(|hit| whole(hit, place.cpu)).collect(),
        strides: side_tables.strides.map(|pairs| Box::new(Strides(pairs))),
        chain: side_tables.chain.map(|chain| as_recorded(&chain, words[IP]).into()),
    }
}

/// The words of a chain as those of a sample: before each part whose it is,
/// and `ip` for what was hit.
fn as_recorded(words: &[u64; chain::WORDS], ip: u64) -> Vec<u64> {
    let (_, mut frames) = words.split_at(chain::FRAMES);
    let mut recorded = Vec::new();
    for (length, context) in
        [(chain::KERNEL, ChainContext::KERNEL), (chain::USER, ChainContext::USER)]
    {
        let length = usize::try_from(words[length]).map_or(frames.len(), |it| it.min(frames.len()));
        let (own, rest) = frames.split_at(length);
        frames = rest;
        let mut own = own.iter().filter(|frame| **frame < ChainContext::MAX.0).peekable();
        if own.peek().is_some() {
            let is_hit = recorded.is_empty();
            recorded.push(context.0);
            recorded.extend(is_hit.then_some(ip));
            recorded.extend(own.skip(usize::from(is_hit)));
        }
    }
    recorded
}

fn whole(words: &[u64; taken::WORDS], cpu: Cpu) -> SampledHit {
    let task = words[taken::TASK];
    SampledHit {
        time: Time(words[taken::TIME]),
        pid: Pid(number(task >> 32)),
        tid: Tid(number(task)),
        cpu,
        address: words[taken::ADDRESS],
        period: words[taken::PERIOD],
        weight: words[taken::WEIGHT],
        data_src: words[taken::DATA_SRC],
        registers: words[taken::REGISTERS..].to_vec(),
    }
}

/// The low half: a number of a process or a thread.
fn number(word: u64) -> i32 {
    let [a, b, c, d, ..] = word.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}
