//! ebsd: who may what, what arrives, what is lost.

mod authorization;
mod clients;
mod raw;
mod serving;
