//! The input, a piece after the other, on several threads.

use super::pieces::{Piece, Pieces};
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Lets threads take pieces until there are no more, or one fails. Gives
/// what each thread made of its own.
pub(super) fn each_piece<S: Send>(
    pieces: &Pieces<'_>,
    threads: NonZeroUsize,
    own: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, u64, io::Result<Piece<'_>>) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<Vec<S>> {
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let one = || -> anyhow::Result<S> {
        let mut state = own();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= pieces.len() || failed.load(Ordering::Relaxed) {
                return Ok(state);
            }
            let done = work(&mut state, index, pieces.get(index));
            done.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        }
    };
    let most = usize::try_from(pieces.len()).ok().and_then(NonZeroUsize::new);
    on_threads(most.map_or(threads, |most| most.min(threads)), one)
}

/// Does the same on several threads, of which this is one. Gives what each
/// made.
pub(super) fn on_threads<S: Send>(
    threads: NonZeroUsize,
    work: impl Fn() -> anyhow::Result<S> + Sync,
) -> anyhow::Result<Vec<S>> {
    thread::scope(|scope| {
        let work = &work;
        let spawned: Vec<_> = (1..threads.get()).map(|_| scope.spawn(work)).collect();
        let mut states = vec![work()];
        for other in spawned {
            states.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        states.into_iter().collect()
    })
}

/// Lets threads write one after the other in the order of their pieces.
#[derive(Debug)]
pub(super) struct Turns<T> {
    state: Mutex<(Turn, T)>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Of(u64),
    /// One failed: nothing comes any more.
    Over,
}

impl<T> Turns<T> {
    pub(super) fn new(taken_in_turn: T) -> Turns<T> {
        Turns { state: Mutex::new((Turn::Of(0), taken_in_turn)), changed: Condvar::new() }
    }

    /// Waits until all pieces before `index` have had their turn. Without a
    /// turn, because one of those failed, nothing is done. Each piece must
    /// take its turn, if only to fail in it: others wait.
    pub(super) fn take<E>(
        &self,
        index: u64,
        work: impl FnOnce(&mut T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.in_turn(index, index + 1, work)
    }

    /// The same, and `index` keeps the turn for more.
    pub(super) fn begin<E>(
        &self,
        index: u64,
        work: impl FnOnce(&mut T) -> Result<(), E>,
    ) -> Result<(), E> {
        self.in_turn(index, index, work)
    }

    fn in_turn<E>(
        &self,
        index: u64,
        next: u64,
        work: impl FnOnce(&mut T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while matches!(state.0, Turn::Of(next) if next != index) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.0 == Turn::Over {
            return Ok(());
        }
        let done = work(&mut state.1);
        state.0 = if done.is_ok() { Turn::Of(next) } else { Turn::Over };
        self.changed.notify_all();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    fn file(bytes: usize) -> std::fs::File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&vec![b'\n'; bytes]).unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file
    }

    #[test]
    fn pieces_have_their_turns_in_order() {
        let file = file(500);
        let pieces = Pieces::of(&file, 1).unwrap().unwrap();
        let turns = Turns::new(Vec::new());
        let four = NonZeroUsize::new(4).unwrap();
        let counts = each_piece(
            &pieces,
            four,
            || 0,
            |count, index, _| {
                *count += 1;
                turns.take(index, |order: &mut Vec<u64>| {
                    order.push(index);
                    Ok(())
                })
            },
        );
        assert_eq!(counts.unwrap().iter().sum::<i32>(), 500);
        assert_eq!(turns.state.into_inner().unwrap().1, (0..500).collect::<Vec<_>>());
    }

    #[test]
    fn after_one_that_fails_none_has_a_turn() {
        let file = file(500);
        let pieces = Pieces::of(&file, 1).unwrap().unwrap();
        let turns = Turns::new(Vec::new());
        let four = NonZeroUsize::new(4).unwrap();
        let failed = each_piece(
            &pieces,
            four,
            || (),
            |(), index, _| {
                turns.take(index, |order: &mut Vec<u64>| {
                    anyhow::ensure!(index != 100, "the hundredth");
                    order.push(index);
                    Ok(())
                })
            },
        );
        assert_eq!(failed.unwrap_err().to_string(), "the hundredth");
        assert_eq!(turns.state.into_inner().unwrap().1, (0..100).collect::<Vec<_>>());
    }
}
