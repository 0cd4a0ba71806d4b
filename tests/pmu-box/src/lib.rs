//! A machine with a modelled PMU: how it is started, and what is asserted in
//! it. `tests/pmu-box/README.md` says how it is used.
//!
//! Bochs puts files straight into the machine's memory, so that no boot
//! loader and no decompressor runs in it: [`bzimage`] takes the kernel out of
//! its package's file, [`memory_image`] lays it out as it runs, [`zero_page`]
//! writes what a boot loader hands over, [`initrd`] packs the root file
//! system. [`text_records`] and [`truth_log`] are what is compared: records
//! as `ebs` writes them, and as the model counted them;
//! [`judged_account`] compares counts.

pub mod bzimage;
pub mod initrd;
pub mod judged_account;
pub mod memory_image;
pub mod text_records;
pub mod truth_log;
pub mod zero_page;
