//! Variables that each thread has for itself.
//!
//! Those of a program, not of its libraries, lie right below the thread pointer
//! (variant II of ELF Handling For Thread-Local Storage, as on x86).

use super::resolve::in_ranges;
use crate::elf::ranges::Ranges;
use crate::elf::{self, symbols::Naming};
use crate::files::separate::symbols_of;
use crate::process::locate::locate;
use crate::process::objects::ObjectKind;
use crate::{ObjectId, Resolution, Symbolizer};
use perfdata::{Pid, Time};
use std::ops::RangeInclusive;

/// Stretches of memory that are looked at for a program, from the lowest address on.
const MOST_STRETCHES: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct ThreadData {
    /// Bytes below the thread pointer.
    size: u64,
    variables: Ranges,
}

/// The program that a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningProgram {
    pub object: ObjectId,
    pub during: RangeInclusive<Time>,
}

impl Symbolizer {
    /// The program of a process: the file whose code has the lowest address. None: nothing
    /// tells.
    pub fn program(&mut self, pid: Pid, time: Time) -> Option<RunningProgram> {
        let mut address = 0_u64;
        for _ in 0..MOST_STRETCHES {
            let found = self.timelines.find(pid, address, time);
            if let Ok(mapping) = found.what
                && mapping.executable
                && matches!(self.objects.kind(mapping.object), ObjectKind::File(_))
            {
                let during = found.from..=found.until;
                return Some(RunningProgram { object: mapping.object, during });
            }
            address = found.last.checked_add(1)?;
        }
        None
    }

    /// Bytes below each thread pointer that a program's variables take; 0: it has none, or the
    /// file cannot be read.
    pub fn thread_data_size(&mut self, program: ObjectId) -> u64 {
        self.learn_thread_data(program);
        self.data.of_threads.get(&program).map_or(0, |known| known.size)
    }

    /// The variable of a program that lies some bytes below the thread pointer, or why it has no
    /// name.
    pub fn resolve_thread_data(&mut self, program: ObjectId, below: u64) -> Resolution<'_> {
        self.learn_thread_data(program);
        let Symbolizer { data, objects, .. } = self;
        let known = data.of_threads.entry(program).or_default();
        let at = known.size.saturating_sub(below);
        in_ranges(&known.variables, at, objects.name(program))
    }

    fn learn_thread_data(&mut self, program: ObjectId) {
        if self.data.of_threads.contains_key(&program) {
            return;
        }
        let data = self.read_thread_data(program).unwrap_or_default();
        self.data.of_threads.insert(program, data);
    }

    fn read_thread_data(&self, program: ObjectId) -> Option<ThreadData> {
        let ObjectKind::File(file) = *self.objects.kind(program) else { return None };
        let mapped = self.objects.file(file);
        let located = locate(mapped, &self.options).ok()?;
        let size = located.head.thread_data;
        if size == 0 {
            return None;
        }
        let (separate, _) = symbols_of(&located, &mapped.path, &self.options);
        let separate = separate.as_ref().map(|it| &it.file);
        let variables = elf::ranges(&located.file, separate, Naming::ThreadData).ok()?;
        Some(ThreadData { size, variables })
    }
}
