//! What a program asks for.

use sampler::{Modes, SampledTasks, SamplerSettings, SourceChoice};

/// `struct hardmeter_settings`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CSettings {
    /// Bytes that the caller's struct has: later versions have more.
    pub(crate) size: usize,
    pub(crate) event: *const std::ffi::c_char,
    pub(crate) interval: u64,
    pub(crate) tasks: u32,
    pub(crate) pid: i32,
    pub(crate) modes: u32,
    pub(crate) ring_pages: u32,
    pub(crate) no_regions: u32,
}

const THIS_THREAD: u32 = 0;
const THIS_PROCESS: u32 = 1;
const PROCESS: u32 = 2;
const USER: u32 = 1;
const KERNEL: u32 = 2;

impl CSettings {
    /// As the crate has them; the event's name was read from the pointer.
    ///
    /// # Errors
    /// A number that means nothing.
    pub(crate) fn read(self, event: &str) -> Result<SamplerSettings, String> {
        let tasks = match self.tasks {
            THIS_THREAD => SampledTasks::ThisThread,
            THIS_PROCESS => SampledTasks::ThisProcess,
            PROCESS if self.pid > 0 => SampledTasks::Process(sampler::Pid(self.pid)),
            PROCESS => return Err(format!("pid is {}, which no process has", self.pid)),
            other => return Err(format!("tasks is {other}; see enum hardmeter_tasks")),
        };
        if self.modes & !(USER | KERNEL) != 0 {
            return Err(format!("modes is {}; see enum hardmeter_modes", self.modes));
        }
        let modes = match self.modes {
            0 => Modes::USER,
            bits => Modes { user: bits & USER != 0, kernel: bits & KERNEL != 0 },
        };
        Ok(SamplerSettings {
            interval: (self.interval > 0).then_some(self.interval),
            modes,
            tasks,
            source: SourceChoice::Auto,
            ring_pages: (self.ring_pages > 0).then_some(self.ring_pages),
            regions: self.no_regions == 0,
            ..SamplerSettings::new(event)
        })
    }
}
