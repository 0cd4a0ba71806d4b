//! Bursts: a stretch whose events are counted, a stretch whose are not. The
//! model sees both, so that a burst begins with caches as they would be.

use super::engine::Engine;
use super::trouble::Trouble;
use crate::block;

/// What BURST holds at most: its upper half is what translated code looks at.
const MOST: u64 = 1 << 31;
/// A countdown that does not end within a stretch.
const NEVER: u64 = 1 << 62;

/// Where a thread is between two bursts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    /// Whether this one is a burst.
    on: bool,
    /// Its instructions that BURST did not hold.
    left: u64,
    /// COUNTDOWN at the end of the last burst.
    countdown: u64,
}

impl Engine {
    /// A thread's count of instructions ran out before so many of the next
    /// block; its state is in `guest`.
    pub(crate) fn burst(&mut self, tid: i32, instructions: u32) -> Result<(), Trouble> {
        let Some(burst) = self.plan.settings.burst else { return self.enter_and_go(tid) };
        let interval = self.plan.settings.interval;
        let before = self.task(tid)?.stretch;
        let (space, number) = self.block_of(tid)?;
        let countdown = space.get(number, block::COUNTDOWN);
        // What the stretch had left, less than the block needs.
        let unused = space.get(number, block::BURST).wrapping_add(u64::from(instructions));
        let unused = if before.is_some() { unused.min(u64::from(instructions)) } else { 0 };
        let mut now = match before {
            Some(stretch) if stretch.left > 0 => stretch,
            Some(Stretch { on: true, .. }) if burst.every > burst.on => {
                space.set(number, block::COUNTDOWN, NEVER);
                Stretch { on: false, left: burst.every - burst.on, countdown }
            }
            _ => {
                let saved = before.filter(|stretch| !stretch.on).map(|stretch| stretch.countdown);
                // A child begins with its parent's block.
                let known = saved.or(Some(countdown)).filter(|&count| count <= interval);
                let countdown = known.filter(|&count| count > 0).unwrap_or(interval);
                space.set(number, block::COUNTDOWN, countdown);
                let whole = burst.every == burst.on;
                Stretch { on: true, left: if whole { u64::MAX / 2 } else { burst.on }, countdown }
            }
        };
        let part = now.left.min(MOST);
        now.left -= part;
        // A block longer than the stretch runs all the same.
        let part = (part + unused).max(u64::from(instructions));
        space.set(number, block::BURST, part);
        self.task(tid)?.stretch = Some(now);
        self.enter_and_go(tid)
    }
}
