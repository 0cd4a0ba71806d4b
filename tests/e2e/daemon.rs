//! ebsd: who may what, what arrives, what is lost.

mod authorization;
mod clients;
mod conservation;
mod killed;
mod operation;
mod raw;
mod serving;
mod stream;
