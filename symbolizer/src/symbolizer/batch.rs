//! Many places at once: the debug info of each object is walked once, in the
//! order of addresses, and objects are walked at the same time.

use super::frames::MOST_OPEN;
use crate::answer::{Frames, MissingDebugInfo};
use crate::dwarf::lazy_debug_file::ObjectDebug;
use crate::{Place, Reason, Symbolizer};
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Bytes of debug info that are read at the same time, and as many that are
/// kept open then; a file that has more has them alone.
const ROOM: u64 = 512 << 20;
/// Places that are not worth a thread.
const FEW: usize = 64;

impl Symbolizer {
    /// [`Symbolizer::frames`] of each of these places, in their order, on
    /// [`crate::SymbolizerOptions::threads`] threads.
    pub fn all_frames(&mut self, places: &[Place]) -> Vec<Result<Frames, Reason>> {
        let key = |place: &Place| (place.object.0, place.address);
        let mut distinct = places.to_vec();
        distinct.sort_unstable_by_key(key);
        distinct.dedup();
        let objects: Vec<&[Place]> = distinct.chunk_by(|a, b| a.object == b.object).collect();
        let mut answers = Vec::with_capacity(distinct.len());
        for some in objects.chunks(MOST_OPEN) {
            let job =
                |places: &&[Place]| DebugJob::new(self.take_debug(places[0].object), places.len());
            let mut jobs: Vec<DebugJob> = some.iter().map(job).collect();
            run(jobs.iter_mut().zip(some.iter().copied()).collect(), self.options.threads);
            for (job, places) in jobs.into_iter().zip(some) {
                if let Some(debug) = job.debug {
                    self.put_debug(places[0].object, debug);
                }
                let found = places.iter().zip(job.answers);
                answers.extend(found.map(|(place, found)| self.named(*place, found)));
            }
        }
        let answer = |place| {
            // Each was put there.
            let index = distinct.binary_search_by_key(&key(place), key).unwrap_or_default();
            answers[index].clone()
        };
        places.iter().map(answer).collect()
    }
}

struct DebugJob {
    /// None: closed, as it had no room.
    debug: Option<Result<ObjectDebug, MissingDebugInfo>>,
    answers: Vec<Result<Frames, MissingDebugInfo>>,
}

impl DebugJob {
    fn new(debug: Result<ObjectDebug, MissingDebugInfo>, places: usize) -> DebugJob {
        DebugJob { debug: Some(debug), answers: Vec::with_capacity(places) }
    }

    fn run(&mut self, places: &[Place], room: &DebugRoom) {
        match &mut self.debug {
            Some(Ok(opened)) => {
                let size = opened.file.debug_size();
                let share = room.enter(size);
                let answers = places.iter().map(|place| opened.frames(place.address));
                self.answers.extend(answers);
                if !share.stays() {
                    self.debug = None;
                }
            }
            Some(Err(why)) => self.answers.resize(places.len(), Err(why.clone())),
            None => {}
        }
    }
}

/// Runs all, those with the most places first.
fn run(mut jobs: Vec<(&mut DebugJob, &[Place])>, threads: NonZeroUsize) {
    jobs.sort_by_key(|(_, places)| places.len());
    let asked: usize = jobs.iter().map(|(_, places)| places.len()).sum();
    let others = threads.get().min(jobs.len()).min(asked / FEW + 1) - usize::from(!jobs.is_empty());
    let (jobs, room) = (Mutex::new(jobs), DebugRoom::default());
    let next = || lock(&jobs).pop();
    let work = || {
        while let Some((job, places)) = next() {
            job.run(places, &room);
        }
    };
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(work);
        }
        work();
    });
}

/// Bounds what is in memory at a time.
#[derive(Default)]
struct DebugRoom {
    used: Mutex<RoomUse>,
    changed: Condvar,
}

#[derive(Default)]
struct RoomUse {
    read: u64,
    kept: u64,
}

impl DebugRoom {
    /// Waits until there is room for debug info of so many bytes.
    fn enter(&self, size: u64) -> RoomShare<'_> {
        let is_full = |used: &mut RoomUse| used.read > 0 && used.read.saturating_add(size) > ROOM;
        let used = self.changed.wait_while(lock(&self.used), is_full);
        let mut used = used.unwrap_or_else(PoisonError::into_inner);
        used.read = used.read.saturating_add(size);
        RoomShare { room: self, size }
    }
}

/// Room for what is read, given back when that is done, or has failed: others
/// wait for it.
struct RoomShare<'r> {
    room: &'r DebugRoom,
    size: u64,
}

impl RoomShare<'_> {
    fn stays(&self) -> bool {
        let mut used = lock(&self.room.used);
        let stays = used.kept == 0 || used.kept.saturating_add(self.size) <= ROOM;
        if stays {
            used.kept = used.kept.saturating_add(self.size);
        }
        stays
    }
}

impl Drop for RoomShare<'_> {
    fn drop(&mut self) {
        let mut used = lock(&self.room.used);
        used.read = used.read.saturating_sub(self.size);
        self.room.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
