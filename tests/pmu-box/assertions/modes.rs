//! User mode, kernel mode, both.

use pmu_box::text_records::{KERNEL, TextRecord, USER};
use tests::Scene;

use crate::{
    Skip,
    facts::{Facts, Precision},
    keep_figure,
};

/// Kernel addresses are the upper half.
const UPPER: u64 = 1 << 63;

/// Its loads are two million in user mode, and in the kernel twenty or more
/// for each of a hundred thousand calls.
const PROGRAM: &str = "walk-calls";
/// Records of each level that must come. Hundreds do: where IBS' samples fall
/// is chance, and of those four in five may be none of loads.
const FEWEST: usize = 10;

/// Records are of the mode that was asked for, and each record's level is
/// that of its instruction.
pub(crate) fn modes(facts: &Facts) -> Skip {
    let scene = Scene::new();
    // A multiple of 16, as IBS wants it. It counts instructions, not loads.
    let interval = match facts.precision {
        Precision::Pebs => 10_000,
        Precision::Ibs => 20_000,
    };
    for (mode, levels) in [("-u", [USER].as_slice()), ("-k", &[KERNEL]), ("-u -k", &[USER, KERNEL])]
    {
        let line = format!("ebs {mode} -t memory_loads -i ={interval} -c all -o m.txt {PROGRAM}");
        let outcome = scene.run(&line).success();
        let records = TextRecord::all(&scene.read("m.txt"));
        for level in levels {
            let of_level = records.iter().filter(|record| record.level() == *level).count();
            keep_figure(format!("{mode}: {of_level} of level {level}"));
            assert!(of_level > FEWEST, "{of_level} records of level {level}: {outcome}");
        }
        for record in &records {
            assert!(levels.contains(&record.level()), "{mode}: {record:x?}");
            let in_kernel = record.ip() & UPPER != 0;
            assert_eq!(in_kernel, record.level() == KERNEL, "{mode}: {record:x?}");
        }
    }
    Ok(())
}
