//! Parts of a run, by the program's names.

use crate::sys;
use perfdata::RegionSide;
use perfdata::region::LONGEST_NAME;
use recorder::regions::{RegionMarker, VARIABLE};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, PoisonError, RwLock};

static LISTENED: AtomicBool = AtomicBool::new(false);
static FOUND: Once = Once::new();
static MARKERS: RwLock<Vec<NumberedMarker>> = RwLock::new(Vec::new());

/// A marker, to be taken away again by its number.
struct NumberedMarker {
    number: u64,
    marker: RegionMarker,
}

/// The calling thread is in a region until this is dropped. Regions lie one
/// inside the other; a thread, and a program after exec, begins in none, a
/// forked process where its parent's thread was.
///
/// Names have up to 95 bytes; what is longer is cut.
#[derive(Debug)]
#[must_use = "the region ends as soon as this is dropped"]
pub struct Region {
    name: Box<[u8]>,
    // Another thread cannot leave what this one has entered.
    _of_this_thread: std::marker::PhantomData<*const ()>,
}

impl Region {
    /// The calling thread enters a region.
    pub fn enter(name: &str) -> Region {
        Region::begin(name.as_bytes());
        Region { name: name.as_bytes().into(), _of_this_thread: std::marker::PhantomData }
    }

    /// Begins a region that [`Region::end`] ends: where a guard does not fit.
    pub fn begin(name: &[u8]) {
        mark(RegionSide::Begin, name);
    }

    /// Ends the innermost region of a name, of all with an empty one.
    pub fn end(name: &[u8]) {
        mark(RegionSide::End, name);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        Region::end(&self.name);
    }
}

/// Tells the emulated PMU and whoever listens.
fn mark(side: RegionSide, name: &[u8]) {
    // What the emulated PMU reads ends in a NUL.
    let mut text = [0; LONGEST_NAME + 1];
    let length = name.len().min(LONGEST_NAME);
    text[..length].copy_from_slice(&name[..length]);
    sys::mark(side, &text);
    log(side, name);
}

/// Tells whoever listens, but not the emulated PMU: for the header's inline
/// code, which has done that. Without a name an end is the innermost
/// region's, a begin is none.
pub fn log(side: RegionSide, name: &[u8]) {
    FOUND.call_once(find);
    if LISTENED.load(Ordering::Acquire) {
        let markers = MARKERS.read().unwrap_or_else(PoisonError::into_inner);
        markers.iter().for_each(|it| it.marker.mark(side, name));
    }
}

/// Whoever started the program may listen. One that cannot be heard is told
/// by the recording, which has no marks.
fn find() {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    if let Ok(marker) = RegionMarker::open(Path::new(&path)) {
        listen(marker);
    }
}

/// Marks go there, too; the number takes it away again.
pub(crate) fn listen(marker: RegionMarker) -> u64 {
    let mut markers = MARKERS.write().unwrap_or_else(PoisonError::into_inner);
    let number = markers.last().map_or(1, |last| last.number + 1);
    markers.push(NumberedMarker { number, marker });
    LISTENED.store(true, Ordering::Release);
    number
}

/// Marks go there no more.
pub(crate) fn unlisten(number: u64) {
    let mut markers = MARKERS.write().unwrap_or_else(PoisonError::into_inner);
    markers.retain(|it| it.number != number);
    LISTENED.store(!markers.is_empty(), Ordering::Release);
}
