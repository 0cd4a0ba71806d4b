//! What a session counted in the kernel: per site sums, bounds and constant
//! bits instead of samples.

mod merge;
mod part;
mod parts;
mod seeded_random;

pub use part::{AggregatePart, AggregatePartError, TEXT, samples_of};
pub use parts::{AggregateAssembler, AssembledAggregate, IncompleteAggregate};
pub use seeded_random::SeededRandom;

use std::sync::Arc;

use crate::{Cpu, CpuMode, Pid, Tid, Time};

/// Whole samples that a site keeps at most, each hit as likely as any other.
pub const RESERVOIR: usize = 4;

/// Words of a site's chain at most: 127 frames, and whose they are.
pub const MOST_CHAIN_WORDS: usize = 160;

/// What one interval of a session counted in the kernel. Intervals of one
/// session follow each other without gap and without overlap, and one hit is
/// in one of them only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aggregate {
    /// Begin of the interval, nanoseconds of CLOCK_MONOTONIC, as samples.
    pub from: Time,
    /// End of the interval, same clock.
    pub to: Time,
    /// What was counted, at most one a [`SiteKey`].
    pub sites: Vec<Site>,
    /// Hits of the interval that are in no site, by cause (a key of the
    /// ledger without its `lost.`: lower-case letters and `_`).
    pub lost: Vec<(String, u64)>,
}

/// What makes two hits belong to one site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteKey {
    /// The process; None where the session does not tell processes apart.
    pub process: Option<Pid>,
    /// Privilege level.
    pub mode: CpuMode,
    /// Instruction pointer as sampled.
    pub ip: u64,
    /// See [`Site::chain`].
    pub chain: Option<Arc<[u64]>>,
}

/// All hits of one interval at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The process; None where the session does not tell processes apart.
    pub process: Option<Pid>,
    /// Of the numbers of the hits' processes: equal where there was one only.
    pub pids: Bits,
    /// Instruction pointer as sampled.
    pub ip: u64,
    /// Privilege level.
    pub mode: CpuMode,
    /// Hits, at least 1. Each is what would have been a sample.
    pub count: u64,
    /// Sum of the hits' periods: events.
    pub period: u64,
    /// The oldest hit, nanoseconds of CLOCK_MONOTONIC.
    pub first: Time,
    /// The newest hit, same clock.
    pub last: Time,
    /// Data addresses of all hits; None: the event has no address.
    pub address: Option<Range>,
    /// Each register of all hits, ascending by number.
    pub registers: Vec<RegisterBits>,
    /// Up to [`RESERVOIR`] of the hits, whole, in no order: as many as there
    /// were where `count` is below that, else a uniform choice among them.
    pub taken: Vec<SampledHit>,
    /// Distances between data addresses that follow each other on one CPU;
    /// None: not asked for. Boxed, as most sessions have none.
    pub strides: Option<Box<Strides>>,
    /// The chain of calls that all hits came by, as that of a sample
    /// ([`crate::callchain`]): what was hit first, at most
    /// [`MOST_CHAIN_WORDS`]. Without words: the kernel could not follow it.
    /// None: not asked for.
    pub chain: Option<Arc<[u64]>>,
}

/// A register's number as perf counts (`PERF_REG_X86_*` and others, see
/// [`registers::name`](crate::registers::name)) and its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterBits {
    /// perf's number, 0 to 63.
    pub number: u32,
    /// What all hits had in it.
    pub bits: Bits,
}

/// Which bits a set of values has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// AND of the values: ones that never changed.
    pub all: u64,
    /// OR of the values: what is 0 here never was 1.
    pub any: u64,
}

impl Bits {
    /// Of no values at all: merging with it changes nothing.
    pub const NONE: Bits = Bits { all: u64::MAX, any: 0 };

    pub fn of(value: u64) -> Bits {
        Bits { all: value, any: value }
    }

    /// Mask of the bits that never changed, 0 or 1.
    pub fn constant(self) -> u64 {
        self.all | !self.any
    }

    /// How many of the lowest bits never changed, 0 to 64.
    pub fn low_constant(self) -> u32 {
        self.constant().trailing_ones()
    }

    /// Whether this may be one of the values.
    pub fn may_be_of(self, value: u64) -> bool {
        value & self.all == self.all && value | self.any == self.any
    }

    /// Takes in the values that `other` is of.
    pub fn merge(&mut self, other: Bits) {
        self.all &= other.all;
        self.any |= other.any;
    }
}

/// Bounds and common bits of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub min: u64,
    /// The highest, itself included.
    pub max: u64,
    /// What all of them have in common.
    pub bits: Bits,
}

impl Range {
    pub fn of(address: u64) -> Range {
        Range { min: address, max: address, bits: Bits::of(address) }
    }

    /// Takes in the addresses that `other` is of.
    pub fn merge(&mut self, other: Range) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.bits.merge(other.bits);
    }
}

/// One hit, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledHit {
    /// When, nanoseconds of CLOCK_MONOTONIC.
    pub time: Time,
    /// The process, also where sites do not tell processes apart: it is what
    /// gives the site of such a session its name.
    pub pid: Pid,
    pub tid: Tid,
    pub cpu: Cpu,
    /// Data address; 0 where the event has none.
    pub address: u64,
    /// Events that the hit stands for.
    pub period: u64,
    /// `PERF_SAMPLE_WEIGHT`, 0 where there is none.
    pub weight: u64,
    /// `PERF_SAMPLE_DATA_SRC`, 0 where there is none.
    pub data_src: u64,
    /// One value a register of [`Site::registers`], in its order.
    pub registers: Vec<u64>,
}

/// How far data addresses that follow each other lie apart, in powers of two.
///
/// Word 0 counts pairs of the same address, word k those whose distance is
/// from 2^(k-1) up to but without 2^k bytes, either way. The first hit of a
/// CPU in an interval has no distance, so the sum is below the site's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides(pub [u64; 65]);

impl Default for Strides {
    fn default() -> Strides {
        Strides([0; 65])
    }
}

impl Strides {
    /// The word that counts a distance of `distance` bytes.
    pub fn bucket(distance: u64) -> usize {
        (u64::BITS - distance.leading_zeros()) as usize
    }

    /// The distances that word `bucket` counts, both ends included; None
    /// beyond the last.
    pub fn bounds(bucket: usize) -> Option<(u64, u64)> {
        match bucket {
            0 => Some((0, 0)),
            1..=64 => Some((1 << (bucket - 1), u64::MAX >> (64 - bucket))),
            _ => None,
        }
    }

    /// Takes in the pairs that `other` counts.
    pub fn merge(&mut self, other: &Strides) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }
}
