//! ebsd: who may what, what arrives, what is lost.

mod authorization;
mod clients;
mod confinement;
mod conservation;
mod describing;
mod descriptors;
mod exported;
mod guards;
mod in_kernel;
mod killed;
mod limits;
mod lingering;
mod operation;
mod out_of_memory;
mod pid_numbers;
mod quiet;
mod rate;
mod raw;
mod readers;
mod serving;
mod set_user_id;
pub(crate) mod standing;
mod storm;
mod stream;
mod verbs;
