//! Sideband records, written to the ring as the kernel would.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use perfdata::sideband::{FileIdentity, Mapping};
use perfdata::{
    Attr, ByteOrder, Cpu, Misc, Pid, SampleId, SampleLayout, SampleType, SidebandRecord, Task, Tid,
    Time,
};
use rustc_hash::FxHashMap;

use super::maps::MappedRegion;
use super::task::TracedTask;
use crate::runtime::guest::ring::{LIMIT, LOCK, Ring, SAMPLES, TIME};
use crate::sys::mapping::SharedMemory;
use crate::zone::MEMORY_PATH;

/// cpumode of user space.
const USER: u16 = 2;
/// MAP_SHARED and MAP_PRIVATE.
const SHARED: u32 = 1;
const PRIVATE: u32 = 2;
/// Bytes that wait, at most: a reader that does not read, or a target that
/// keeps the lock, makes no more of them.
const MAX_BACKLOG: usize = 16 << 20;
/// Tries to take the lock before a record is put off.
const TRIES: usize = 2000;

#[derive(Debug)]
pub(crate) struct SidebandWriter {
    layout: Option<SampleLayout>,
    fields: SampleType,
    id: u64,
    /// The id that the lock is taken with: this thread's own.
    owner: u64,
    /// Whole records that found no room, or the lock taken.
    backlog: Vec<u8>,
    data_mappings: bool,
    lost: u64,
    pub(crate) samples: SampleCounts,
}

/// What became of samples that the tracer makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleCounts {
    pub(crate) made: u64,
    pub(crate) written: u64,
    /// Those left out as all that were asked for had been written.
    pub(crate) beyond: u64,
}

/// PERF_RECORD_SAMPLE.
const SAMPLE: u32 = 9;

pub(crate) fn task(pid: i32, tid: i32) -> Task {
    Task { pid: Pid(pid), tid: Tid(tid) }
}

impl SidebandWriter {
    pub(crate) fn new(attr: &Attr, id: u64, data_mappings: bool) -> Result<SidebandWriter, String> {
        let layout =
            SampleLayout::new(attr, ByteOrder::Little).map_err(|error| error.to_string())?;
        let all = layout.trailer_size() != 0;
        let fields = if all { attr.sample_type } else { SampleType::empty() };
        let owner = rustix::thread::gettid().as_raw_nonzero().get();
        let owner = u64::from(owner.cast_unsigned());
        Ok(SidebandWriter {
            layout: Some(layout),
            fields,
            id,
            owner,
            backlog: Vec::new(),
            data_mappings,
            lost: 0,
            samples: SampleCounts::default(),
        })
    }

    pub(crate) fn comm(&mut self, ring: &SharedMemory, task: Task, name: &[u8], exec: bool) {
        let misc = if exec { Misc(USER | Misc::COMM_EXEC.0) } else { Misc(USER) };
        self.put(ring, misc, &SidebandRecord::Comm { task, name }, task);
    }

    pub(crate) fn fork(&mut self, ring: &SharedMemory, child: Task, parent: Task) {
        let record = SidebandRecord::Fork { task: child, parent, time: now(ring) };
        self.put(ring, Misc(USER), &record, parent);
    }

    pub(crate) fn exit(&mut self, ring: &SharedMemory, pid: i32, tid: i32) {
        let own = task(pid, tid);
        let record = SidebandRecord::Exit { task: own, parent: own, time: now(ring) };
        self.put(ring, Misc(USER), &record, own);
    }

    pub(crate) fn mapping(&mut self, ring: &SharedMemory, task: Task, region: &MappedRegion) {
        let data = !region.is_executable();
        // Our own memory is none of the program's.
        if (data && !self.data_mappings) || region.path == MEMORY_PATH.as_bytes() {
            return;
        }
        let path: &[u8] = if region.path.is_empty() { b"//anon" } else { &region.path };
        let mapping = Mapping {
            task,
            start: region.start,
            length: region.end - region.start,
            page_offset: region.offset,
            file: FileIdentity::Inode {
                major: region.device.0,
                minor: region.device.1,
                inode: region.inode,
                generation: 0,
            },
            protection: Some(region.protection),
            flags: Some(if region.shared { SHARED } else { PRIVATE }),
            path,
        };
        let misc = if data { Misc(USER | Misc::MMAP_DATA.0) } else { Misc(USER) };
        self.put(ring, misc, &SidebandRecord::Mmap2(mapping), task);
    }

    /// A sample, whole. It stands before all that the thread does next: `timeout` is how long
    /// room for it is waited for.
    pub(crate) fn sample(&mut self, ring: &SharedMemory, record: &[u8], timeout: Duration) {
        self.samples.made += 1;
        if self.backlog.len() <= MAX_BACKLOG {
            self.backlog.extend_from_slice(record);
        }
        // Who waited in vain does not wait again for the same reader.
        let had_backlog = self.backlog.len() > record.len();
        self.close(ring, if had_backlog { Duration::ZERO } else { timeout });
    }

    fn put(&mut self, ring: &SharedMemory, misc: Misc, record: &SidebandRecord<'_>, of: Task) {
        let Some(layout) = &self.layout else { return };
        let has = |field, value: u64| self.fields.contains(field).then_some(value);
        let id = SampleId {
            task: self.fields.contains(SampleType::TID).then_some(of),
            time: self.fields.contains(SampleType::TIME).then(|| now(ring)),
            id: has(SampleType::ID, self.id),
            stream_id: has(SampleType::STREAM_ID, self.id),
            cpu: self.fields.contains(SampleType::CPU).then_some(Cpu(0)),
            identifier: has(SampleType::IDENTIFIER, self.id),
        };
        if self.backlog.len() > MAX_BACKLOG {
            self.lost += 1;
            return self.flush(ring);
        }
        let mut trailer = Vec::new();
        if layout.encode_trailer(&id, &mut trailer).is_ok() {
            // Too long a path is the only way to fail: the kernel has the
            // same limit, and drops the record as well.
            let _dropped = record.encode(misc, &trailer, ByteOrder::Little, &mut self.backlog);
        }
        self.flush(ring);
    }

    pub(crate) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Writes what waits, as far as there is room.
    pub(crate) fn flush(&mut self, memory: &SharedMemory) {
        if self.backlog.is_empty() {
            return;
        }
        let Some(ring) = Ring::new(memory.words(0, memory.len())) else { return };
        if !(0..TRIES).any(|_| ring.try_lock(self.owner)) {
            return;
        }
        let mut done = 0;
        while let Some(rest) = self.backlog.get(done..) {
            let Some(size) = rest.get(6..8) else { break };
            let size = usize::from(u16::from_le_bytes([size[0], size[1]]));
            let Some(bytes) = rest.get(..size).filter(|_| size >= 8) else { break };
            let is_sample = bytes.starts_with(&SAMPLE.to_le_bytes());
            if is_sample && is_full(&ring) {
                self.samples.beyond += 1;
                done += size;
                continue;
            }
            if !ring.fits(size as u64) {
                break;
            }
            for (at, word) in bytes.chunks(8).enumerate() {
                let mut whole = [0; 8];
                whole[..word.len()].copy_from_slice(word);
                ring.put(8 * at as u64, u64::from_le_bytes(whole));
            }
            ring.publish(size as u64);
            done += size;
            if is_sample {
                self.samples.written += 1;
                if let Some(samples) = ring.word(SAMPLES) {
                    samples.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        ring.unlock();
        self.backlog.drain(..done);
    }

    /// Writes what waits, and gives up after a time.
    pub(crate) fn close(&mut self, ring: &SharedMemory, timeout: Duration) {
        let end = Instant::now() + timeout;
        self.flush(ring);
        while !self.backlog.is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
            self.flush(ring);
        }
    }

    /// Records that were not written, and will not be; samples are counted by themselves.
    pub(crate) fn lost(&self) -> u64 {
        let mut rest = self.backlog.as_slice();
        let mut waiting = 0;
        while let Some([low, high]) = rest.get(6..8) {
            let size = usize::from(u16::from_le_bytes([*low, *high])).max(8);
            waiting += u64::from(!rest.starts_with(&SAMPLE.to_le_bytes()));
            rest = rest.get(size..).unwrap_or_default();
        }
        self.lost + waiting
    }

    /// Frees the lock where no thread holds it that there is: the program has
    /// written there, and all would wait for ever.
    pub(crate) fn free_stray_lock(&self, ring: &SharedMemory, tasks: &FxHashMap<i32, TracedTask>) {
        let lock = ring.word(LOCK);
        let holder = lock.load(Ordering::Relaxed);
        let is_task = i32::try_from(holder).is_ok_and(|tid| tasks.contains_key(&tid));
        if holder != 0 && holder != self.owner && !is_task {
            // Who took it meanwhile keeps it.
            let _taken = lock.compare_exchange(holder, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    pub(crate) fn free_lock(&self, ring: &SharedMemory, tid: i32) {
        let held = u64::from(tid.cast_unsigned());
        let lock = ring.word(LOCK);
        // Nobody takes it from a holder: a failed exchange needs nothing.
        let _other = lock.compare_exchange(held, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Whether as many samples are written as were asked for. For the lock's holder.
fn is_full(ring: &Ring<'_>) -> bool {
    let of = |word| ring.word(word).map_or(0, |word| word.load(Ordering::Relaxed));
    of(SAMPLES) >= of(LIMIT)
}

/// The session's clock, moved on: later than all that was written.
pub(crate) fn now(ring: &SharedMemory) -> Time {
    Time(ring.word(TIME).fetch_add(1, Ordering::Relaxed).wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::guest::ring::PAGE;

    /// What was sampled before an exec is of the program before.
    #[test]
    fn what_the_tracer_tells_is_later_than_the_sample_before() {
        let memory = SharedMemory::new("ring", 2 * PAGE).unwrap();
        let ring = Ring::new(memory.words(0, memory.len())).unwrap();
        let before = ring.advance(10);
        let told = now(&memory);
        assert!(told > Time(before), "{told:?} after {before}");
        assert!(ring.advance(10) > told.0);
    }
}
