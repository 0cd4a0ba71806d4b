//! What of each thread is counted.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

use super::{EventSum, Setup, fill, get, put};
use crate::account::Coverage;
use crate::block;
use crate::runtime::guest::header::Header;
use crate::runtime::guest::stretch::{Bursts, GAP, NEVER, ON, Stretch, WARM};
use crate::runtime::guest::thread::Own;
use crate::settings::Burst;

const STRETCH: usize = block::RUNTIME + offset_of!(Own, stretch);

impl Setup {
    /// Counts in bursts only, each after so many instructions that warm the
    /// model up.
    #[must_use]
    pub fn with_bursts(mut self, burst: Option<Burst>, warm: u64) -> Setup {
        let bursts = |Burst { on, every, .. }| Bursts { on, every, warm };
        self.bursts = burst.map_or_else(Bursts::default, bursts);
        self
    }

    pub(super) fn put_bursts(&self, words: &[AtomicU64]) {
        let bursts = offset_of!(Header, bursts);
        put(words, bursts + offset_of!(Bursts, on), self.bursts.on);
        put(words, bursts + offset_of!(Bursts, every), self.bursts.every);
        put(words, bursts + offset_of!(Bursts, warm), self.bursts.warm);
    }

    /// Puts a new thread at a random place; its other words are there.
    /// With `turns` it has to wait for its own before it begins.
    pub(super) fn begin_bursts(&self, words: &[AtomicU64], seed: u64, miss: u64, turns: bool) {
        if self.bursts.every == 0 {
            // It never ends.
            put(words, STRETCH + offset_of!(Stretch, state), ON);
            put(words, STRETCH + offset_of!(Stretch, left), NEVER);
            return;
        }
        fill(words, block::BARE_BRANCHES, miss);
        let mut stretch = Stretch::new(&self.bursts, seed);
        stretch.given = stretch.part(if turns { 0 } else { u64::MAX });
        put(words, block::BURST, stretch.given);
        self.place(words, &stretch);
    }

    fn place(&self, words: &[AtomicU64], stretch: &Stretch) {
        let half = if stretch.state == GAP { block::BARE } else { block::MODELLED };
        put(words, block::HALF, half);
        self.begin_countdowns(words, (stretch.state == WARM).then_some(NEVER));
        for (at, word) in stretch.words().into_iter().enumerate() {
            put(words, STRETCH + 8 * at, word);
        }
    }

    /// Lets a new thread go on where its maker is, amid its maker's code.
    pub fn follow(&self, maker: &[AtomicU64], words: &[AtomicU64], seed: u64) {
        if self.bursts.every == 0 {
            return;
        }
        let burst = get(maker, block::BURST);
        put(words, block::BURST, burst);
        let child = Stretch { given: burst, ..stretch(maker).child(seed) };
        self.place(words, &child);
    }

    pub(super) fn is_warming(&self, words: &[AtomicU64]) -> bool {
        self.bursts.every != 0 && stretch(words).state == WARM
    }

    /// What ran of a thread, with an event's share; None without bursts.
    pub fn coverage(&self, words: &[AtomicU64], sum: &EventSum) -> Option<Coverage> {
        if self.bursts.every == 0 {
            return None;
        }
        let stretch = stretch(words);
        let mut ran = stretch.ran;
        let state = usize::try_from(stretch.state).unwrap_or(0);
        if let Some(ran) = ran.get_mut(state) {
            *ran = ran.wrapping_add(stretch.given).wrapping_sub(left(words));
        }
        let [bare, warmed, counted] = ran;
        let [low, high] = sum.bursts.squares;
        Some(Coverage {
            counted,
            warmed,
            bare,
            bursts: stretch.bursts,
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

fn stretch(words: &[AtomicU64]) -> Stretch {
    let mut at = STRETCH;
    let mut next = || {
        at += 8;
        get(words, at - 8)
    };
    Stretch::of(std::array::from_fn(|_| next()))
}
