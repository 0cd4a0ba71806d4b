//! What the command tells of its heap, among the session's samples.

use std::path::Path;
use std::time::Instant;

use super::{Session, SessionError};
use crate::heap::{HeapLog, HeapSample, LibraryFile, is_of_heap};
use crate::{HeapSettings, PlannedEvent};

/// Of one of the three events.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeapCounts {
    pub(super) made: u64,
    /// Of them, those that are certain not to come any more.
    pub(super) lost: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HeapPass {
    pub(super) samples: u64,
    pub(super) is_whole: bool,
}

impl Session {
    /// Takes what there is into the stream: how many samples, and whether it is all of what was
    /// told until now. Their place among those of the rings is that of their times.
    pub(super) fn write_heap(&mut self) -> HeapPass {
        let nothing = HeapPass { samples: 0, is_whole: true };
        let Some(log) = &mut self.heap else { return nothing };
        let of_heap = self.attrs.sampled().enumerate().filter(|(_, (_, event))| is_of_heap(event));
        let events: Vec<_> = of_heap
            .map(|(place, (index, event))| {
                (place, &event.attr, self.ids.of(index).first().copied())
            })
            .collect();
        let events: [_; 3] = match events.try_into() {
            Ok(events) => events,
            Err(_) => return nothing,
        };
        let (output_buffer, sampler) = (&mut self.output_buffer, &mut self.heap_sampler);
        let (ledger, rate) = (&mut self.ledger, log.settings().rate);
        let mut samples = 0;
        let is_whole = log.drain(Instant::now(), |record, stack| {
            let (place, attr, Some(id)) = events[record.call.event()] else { return };
            let sample = HeapSample { attr, id, record, stack, rate };
            if !sampler.append(sample, &mut output_buffer.bytes) {
                ledger.lose(place, 1, |lost| &mut lost.parse_error);
            } else if let Some(buffered) = output_buffer.samples.get_mut(place) {
                buffered.samples += 1;
                buffered.exact_ip += 1;
                samples += 1;
            }
        });
        self.seen.samples += samples;
        HeapPass { samples, is_whole }
    }

    /// None: it is no event of the heap.
    pub(super) fn heap_account(&self, event: &PlannedEvent) -> Option<HeapCounts> {
        let account = self.heap.as_ref().filter(|_| is_of_heap(event))?.account();
        let place = crate::heap::place(event);
        // What waits to be read is lost for nobody yet.
        let lost = if self.stopped.is_some() { account.lost()[place] } else { 0 };
        Some(HeapCounts { made: account.made[place], lost })
    }
}

/// The library, then the memory that it writes into.
pub(super) fn open(settings: HeapSettings, root: &Path) -> Result<HeapLog, SessionError> {
    let library = LibraryFile::find(&settings).map_err(SessionError::NoPlaceForLibrary)?;
    HeapLog::create(settings, library, root).map_err(SessionError::system("memfd_create"))
}

/// What the stream says of it, behind the promises of an event.
pub(super) fn note(log: Option<&HeapLog>, event: &PlannedEvent) -> String {
    let log = log.filter(|_| is_of_heap(event));
    log.map_or_else(String::new, |log| log.settings().note())
}

pub(super) fn begun(log: &HeapLog) -> Option<String> {
    let rate = log.settings().rate;
    (rate > 1).then(|| {
        format!(
            "blocks of the heap are sampled by bytes, one each {rate} that are allocated, larger ones \
             all; what is in others counts as in no sampled block; --heap=1 tells every block, and \
             costs more"
        )
    })
}

pub(super) fn ended(log: &HeapLog) -> Option<String> {
    let account = log.account();
    let lost: u64 = account.lost().iter().sum();
    match (account.attached, account.made) {
        (0, _) => Some(
            "no block of the heap was told: no program loaded libhardmeter_heap.so and came by the \
             session's memory, as static and set-user-ID ones do not, nor those of other users or \
             that LD_PRELOAD is taken from; -u --source emulated sees static ones"
                .into(),
        ),
        (_, [0, ..]) => Some(
            "no block of the heap was told: the program allocated too little for a sample \
             (--heap=1 tells every block), or by an allocator of its own"
                .into(),
        ),
        (_, _) if lost > 0 => Some(format!(
            "{lost} records of the heap were lost: what is in these blocks counts as in none, or \
             where their ends were lost as another's; --heap=BYTES with more bytes samples fewer"
        )),
        (_, _) => None,
    }
}
