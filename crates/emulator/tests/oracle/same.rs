use emulator::EmulatedEvent;

use crate::run::Recording;
use crate::workload::Workload;

/// Same program, same input: the same records, to the last bit, but for the
/// number of the process.
#[test]
fn two_runs_of_a_program_give_the_same_records() {
    let program = Workload::fixed("jumps.c");
    let geometry = "l1d=32k,8,64 l1i=off l2=512k,8,64 l3=off dtlb=64,4 stlb=off";
    let recording = Recording::every(EmulatedEvent::L1DataMiss, geometry);
    let [first, second] = [0, 1].map(|_| {
        let mut recorded = recording.of(&program.path(), &[]);
        for record in &mut recorded.records {
            record.thread = 0;
        }
        recorded
    });
    assert_eq!(first.ended, second.ended);
    assert!(first.records.len() > 100, "{} records", first.records.len());
    let differing =
        first.records.iter().zip(&second.records).enumerate().find(|(_, (a, b))| a != b);
    assert!(differing.is_none(), "{differing:x?}");
    assert_eq!(first.records.len(), second.records.len());
    assert_eq!(first.counts().events, second.counts().events);
    assert_eq!(first.bytes.len(), second.bytes.len(), "side records");
}
