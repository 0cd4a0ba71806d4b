//! What `accesses.S` tells of itself: every access of its named
//! instructions, with the registers before it.

use std::process::Command;

use crate::accesses::Access;
use crate::steps::{FLAGS, Step};
use crate::workload::Workload;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) ip: u64,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) store: bool,
    pub(crate) flags: u64,
    pub(crate) registers: [u64; 16],
}

impl Expected {
    /// What an access of a single-stepped instruction is to be recorded as.
    pub(crate) fn of(step: &Step, access: &Access) -> Expected {
        Expected {
            ip: step.ip,
            address: access.address,
            size: access.size,
            store: access.store,
            flags: step.state.flags & FLAGS,
            registers: step.state.registers,
        }
    }
}

pub(crate) fn truth(program: &Workload) -> Vec<Expected> {
    let told = Command::new(program.path()).output().unwrap();
    assert!(told.status.success(), "{:?}", told.status);
    let rows: Vec<Expected> = told.stdout.chunks_exact(21 * 8).map(row).collect();
    assert!(rows.len() > 100, "{} rows", rows.len());
    rows
}

fn row(bytes: &[u8]) -> Expected {
    let words: Vec<u64> =
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    Expected {
        ip: words[0],
        address: words[1],
        size: words[2],
        store: words[3] == 1,
        flags: words[4] & FLAGS,
        registers: words[5..].try_into().unwrap(),
    }
}
