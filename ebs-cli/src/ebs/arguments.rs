//! Options that several commands share, and what they mean. Those of one command are beside it.

mod emulation;
mod events;
mod in_kernel;
mod reading;
mod serving;
mod steering;
mod target;
mod usage_error;

pub use emulation::{EmulationArguments, EmulationChoice};
pub use events::EventArguments;
pub(crate) use events::{names_modes, request, ring, scaled, split};
pub(crate) use in_kernel::in_kernel;
pub use in_kernel::{InKernelArguments, InKernelMode, InKernelUsageError};
pub use reading::{
    AccessArguments, ComparingArguments, StandingArguments, SymbolArguments, TableArguments,
};
pub(crate) use serving::DAEMON;
pub use serving::{Serving, ServingArguments};
pub use steering::{Beginning, ControlPlace, Steering, SteeringArguments, SteeringUsageError};
pub(crate) use target::target;
pub use usage_error::UsageError;
