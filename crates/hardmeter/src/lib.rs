//! Sampling from within a program: of its own thread, of its process, or of
//! another one; and the names that it gives to parts of its run.
//!
//! ```no_run
//! use hardmeter::{Region, SampledTasks, Sampler, SamplerSettings};
//!
//! # fn sweep() {}
//! # fn main() -> Result<(), hardmeter::SamplerError> {
//! let settings = SamplerSettings {
//!     interval: Some(1),
//!     tasks: SampledTasks::ThisThread,
//!     ..SamplerSettings::new("page_fault")
//! };
//! let mut sampler = Sampler::open(settings)?;
//! sampler.enable()?;
//! {
//!     let _region = Region::enter("sweep");
//!     sweep();
//! }
//! sampler.disable()?;
//! for sample in sampler.samples()? {
//!     println!("{:#x} in {}, {:?}", sample.ip, sample.routine, sample.regions);
//! }
//! let account = sampler.finish()?;
//! println!("{} delivered, {} lost", account.delivered, account.lost.total());
//! # Ok(())
//! # }
//! ```
//!
//! Records wait in rings of the kernel until they are asked for: no signal
//! interrupts the program, and nothing runs beside it. What a ring has no room
//! for is lost, and counted: the kernel's count is what was delivered and what
//! was lost. `ebs` opens its own sessions through [`open`].
//!
//! [`Region`]s need no sampler: under `ebs --regions` and under the emulated
//! PMU they are in the recording; else a region is one look at a flag.
//!
//! | file | what is in it |
//! |---|---|
//! | `settings` | what is sampled, and whose |
//! | `opening` | a request becomes a session of whoever is to count |
//! | `sampler` | a session, driven by its program |
//! | `named_stream` | the stream's records in order, with names |
//! | `named_sample` | one of them |
//! | `region` | parts of a run, by the program's names |
//! | `watched` | where what is watched by its name lies |
//! | `sys` | the instruction that the emulated PMU knows |

#![warn(missing_docs)]

mod named_sample;
mod named_stream;
mod opening;
mod region;
mod sampler;
mod settings;
#[allow(unsafe_code, reason = "an instruction that does nothing; the block says why it holds")]
mod sys;
mod watched;

pub use named_sample::NamedSample;
pub use opening::{SamplerError, open, program_rules};
pub use perfdata::RegionSide;
pub use perfdata::{Cpu, CpuMode, DataSrc, Pid, Task, Tid, Time};
pub use recorder::emulated::Model;
pub use recorder::{Ledger, Lost, Modes, SourceChoice, TargetState};
pub use region::{Region, log};
pub use sampler::{Sampler, Samples};
pub use settings::{SampledTasks, SamplerSettings};
pub use watched::{FoundBreakpoint, KernelListError, WatchError, WatchedObjects};
