use std::collections::HashSet;

use crate::lru::Cache;
use crate::steps::{FLAGS, steps};
use crate::truth::{Expected, truth};
use crate::workload::Workload;

/// Both witnesses tell the same: the assembler's truth is what the processor
/// does, and the single step shows it.
#[test]
fn the_single_step_sees_what_the_program_tells() {
    let program = Workload::bare("accesses.S");
    let told = truth(&program);
    let named: HashSet<u64> = told.iter().map(|row| row.ip).collect();
    let (steps, status) = steps(&program.path());
    assert_eq!(status, 0);
    let mut cache = Cache::new(32 << 10, 8, 64);
    let mut seen = Vec::new();
    for step in &steps {
        for access in &step.accesses {
            let missed = cache.misses(access.address, access.size);
            if missed && named.contains(&step.ip) {
                seen.push(Expected {
                    ip: step.ip,
                    address: access.address,
                    size: access.size,
                    store: access.store,
                    flags: step.state.flags & FLAGS,
                    registers: step.state.registers,
                });
            }
        }
    }
    let differing = seen.iter().zip(&told).find(|(seen, told)| seen != told);
    if let Some((seen, told)) = differing {
        let step = steps.iter().find(|step| step.ip == seen.ip).unwrap();
        panic!("{:?}\nseen {seen:x?}\ntold {told:x?}", step.instruction);
    }
    assert_eq!(seen.len(), told.len());
}
