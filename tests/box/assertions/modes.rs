//! User mode, kernel mode, both.

use hardmeter_box::text_records::{KERNEL, TextRecord, USER};
use hardmeter_tests::Scene;

use crate::{
    Skip,
    facts::{Facts, ProbeRun},
};

/// Kernel addresses are the upper half.
const UPPER: u64 = 1 << 63;

/// Records are of the mode that was asked for, and each record's level is
/// that of its instruction.
pub(crate) fn modes(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let ProbeRun { program, interval } = facts.probe_run();
    for (mode, levels) in [("-u", [USER].as_slice()), ("-k", &[KERNEL]), ("-u -k", &[USER, KERNEL])]
    {
        let line = format!("ebs {mode} -t memory_loads -i {interval} -c all -o m.txt {program}");
        let outcome = scene.run(&line).success();
        let records = TextRecord::all(&scene.read("m.txt"));
        for level in levels {
            let of_level = records.iter().filter(|record| record.level() == *level).count();
            assert!(of_level > 2, "{of_level} records of level {level}: {outcome}");
        }
        for record in &records {
            assert!(levels.contains(&record.level()), "{mode}: {record:x?}");
            let in_kernel = record.ip() & UPPER != 0;
            assert_eq!(in_kernel, record.level() == KERNEL, "{mode}: {record:x?}");
        }
    }
    Ok(())
}
