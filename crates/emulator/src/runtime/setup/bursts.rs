//! What of each thread is counted.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

use super::{EventTotals, RuntimeSetup, fill, get, put};
use crate::account::Coverage;
use crate::block;
use crate::runtime::guest::burst_phase::{BurstPhase, BurstSchedule, GAP, NEVER, ON, WARM};
use crate::runtime::guest::header::Header;
use crate::runtime::guest::thread::RuntimeState;
use crate::settings::Burst;

const BURST_PHASE: usize = block::RUNTIME + offset_of!(RuntimeState, burst_phase);

impl RuntimeSetup {
    /// Counts in bursts only, each after so many instructions that warm the
    /// model up.
    #[must_use]
    pub fn with_bursts(mut self, burst: Option<Burst>, warm: u64) -> RuntimeSetup {
        let bursts = |Burst { on, every, .. }| BurstSchedule { on, every, warm };
        self.bursts = burst.map_or_else(BurstSchedule::default, bursts);
        self
    }

    pub(super) fn put_bursts(&self, words: &[AtomicU64]) {
        let bursts = offset_of!(Header, bursts);
        put(words, bursts + offset_of!(BurstSchedule, on), self.bursts.on);
        put(words, bursts + offset_of!(BurstSchedule, every), self.bursts.every);
        put(words, bursts + offset_of!(BurstSchedule, warm), self.bursts.warm);
    }

    /// Puts a new thread at a random place; its other words are there.
    /// With `turns` it has to wait for its own before it begins.
    pub(super) fn begin_bursts(&self, words: &[AtomicU64], seed: u64, miss: u64, turns: bool) {
        if self.bursts.every == 0 {
            // It never ends.
            put(words, BURST_PHASE + offset_of!(BurstPhase, state), ON);
            put(words, BURST_PHASE + offset_of!(BurstPhase, left), NEVER);
            return;
        }
        fill(words, block::BARE_BRANCHES, miss);
        let mut burst_phase = BurstPhase::new(&self.bursts, seed);
        burst_phase.given = burst_phase.part(if turns { 0 } else { u64::MAX });
        put(words, block::BURST, burst_phase.given);
        self.place(words, &burst_phase);
    }

    fn place(&self, words: &[AtomicU64], burst_phase: &BurstPhase) {
        let variant = if burst_phase.state == GAP { block::BARE } else { block::MODELLED };
        put(words, block::VARIANT, variant);
        self.begin_countdowns(words, (burst_phase.state == WARM).then_some(NEVER));
        for (at, word) in burst_phase.words().into_iter().enumerate() {
            put(words, BURST_PHASE + 8 * at, word);
        }
    }

    /// Lets a new thread go on where its maker is, amid its maker's code.
    pub fn follow(&self, maker: &[AtomicU64], words: &[AtomicU64], seed: u64) {
        if self.bursts.every == 0 {
            return;
        }
        let burst = get(maker, block::BURST);
        put(words, block::BURST, burst);
        let child = BurstPhase { given: burst, ..burst_phase(maker).child(seed) };
        self.place(words, &child);
    }

    pub(super) fn is_warming(&self, words: &[AtomicU64]) -> bool {
        self.bursts.every != 0 && burst_phase(words).state == WARM
    }

    /// What ran of a thread, with an event's share; None without bursts.
    pub fn coverage(&self, words: &[AtomicU64], sum: &EventTotals) -> Option<Coverage> {
        if self.bursts.every == 0 {
            return None;
        }
        let burst_phase = burst_phase(words);
        let mut ran = burst_phase.ran;
        let state = usize::try_from(burst_phase.state).unwrap_or(0);
        if let Some(ran) = ran.get_mut(state) {
            *ran = ran.wrapping_add(burst_phase.given).wrapping_sub(left(words));
        }
        let [bare, warmed, counted] = ran;
        let [low, high] = sum.bursts.squares;
        Some(Coverage {
            counted,
            warmed,
            bare,
            bursts: burst_phase.bursts,
            events: sum.bursts.events,
            squares: u128::from(high) << 64 | u128::from(low),
        })
    }

    /// Corrects BURST of a thread that was stopped between the end of its
    /// stretch and the next, and will begin the block anew.
    pub fn undo_turn(&self, words: &[AtomicU64]) {
        put(words, block::BURST, left(words));
    }
}

/// BURST, before the block that it was not enough for.
fn left(words: &[AtomicU64]) -> u64 {
    let burst = get(words, block::BURST);
    if burst.cast_signed() < 0 { burst.wrapping_add(get(words, block::TURN)) } else { burst }
}

fn burst_phase(words: &[AtomicU64]) -> BurstPhase {
    let mut at = BURST_PHASE;
    let mut next = || {
        at += 8;
        get(words, at - 8)
    };
    BurstPhase::of(std::array::from_fn(|_| next()))
}
