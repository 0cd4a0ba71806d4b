//! A CPU with counters and without DS, as clouds' virtual PMUs are: nothing
//! is exact there, and `ebs` says so before it samples, and after.

use std::fmt::Write;

use pmu_box::text_records::TextRecord;
use tests::Scene;

use crate::{Skip, facts::Facts, log, precise, walk};

/// Types that are precise elsewhere are refused, with the reason.
pub(crate) fn refused(_: &Facts) -> Skip {
    let scene = Scene::new();
    for kind in ["memory_loads", "l1_cache_miss", "instr_retired"] {
        let line = format!("ebs -u -t {kind} -i =1009 -c all -o c.txt walk");
        scene.run(&line).refused(1, &[kind, "PEBS", "--allow-skid"]);
    }
    let help = scene.run("ebs -h memory_loads").success();
    assert!(help.out.contains("not available: cpu samples nothing precisely here"), "{help}");
    Ok(())
}

/// With `--allow-skid` they are sampled, and all that is told is where the
/// interrupts were; `box-judge` measures how far that is.
pub(crate) fn allowed(_: &Facts) -> Skip {
    // An interrupt each: many more would be throttled.
    const INTERVAL: u64 = 997;
    let scene = Scene::new();
    let arguments = format!("-u -t memory_loads --allow-skid -i ={INTERVAL}");
    let outcome = log::recorded(&scene, "allowed-interrupts", &arguments);
    let told = precise::last_line(&outcome);
    assert_eq!((told.records, told.exact), (walk::LOADS / INTERVAL, 0), "{outcome}");
    let records = TextRecord::all(&scene.read("allowed-interrupts.txt"));
    // How far each is from its load, by the walk's own registers: `box-judge`
    // compares it with what the model says of the interrupts.
    let mut told = String::new();
    for (number, record) in (1..).map(|k| k * INTERVAL).zip(&records) {
        let place = walk::place(record.ip(), record.get("rcx"));
        let place = place.unwrap_or_else(|| panic!("not in the walk: {record:x?}"));
        writeln!(told, "{}", place - walk::place_of_load(number)).unwrap();
    }
    log::leave("allowed-interrupts.skids", &told);
    Ok(())
}
