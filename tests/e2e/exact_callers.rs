//! Each sample of an emulated event, by the way that led to it: as often as the
//! program's source says.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use tests::{Account, Scene, rights, workload};

/// What `tests/programs/calling.cc` does how often, innermost first.
const WAYS: [(&[&str], usize); 8] = [
    (&["across", "inner", "middle", "main"], 11),
    (&["across", "odd", "even", "odd", "even", "odd", "even", "main"], 7),
    (&["across", "last", "main"], 5),
    (&["across", "on_signal", "raise_it", "main"], 3),
    (&["across", "jumps", "main"], 4),
    (&["across", "catches", "main"], 6),
    (&["across", "undo", "passes", "catches", "main"], 6),
    (&["across", "rethrown", "main"], 2),
];
/// Routines whose frames are gone by then: they would be wrong callers.
const GONE: [&str; 4] = ["hop", "leaves", "throws", "throws_again"];

/// How often each chain stands in the records of `across`: the program's own
/// routines of it.
fn ways(scene: &Scene, file: &str) -> BTreeMap<Vec<String>, usize> {
    let told = scene.run(&format!("ebs script -F ip,sym {file}")).success();
    let is_own =
        |name: &str| GONE.contains(&name) || WAYS.iter().any(|(chain, _)| chain.contains(&name));
    let mut ways = BTreeMap::new();
    for record in told.out.split("\n\n") {
        let names = record.lines().filter_map(|line| line.split_whitespace().nth(1));
        let chain: Vec<String> = names.filter(|name| is_own(name)).map(str::to_owned).collect();
        if chain.first().is_some_and(|name| name == "across") {
            *ways.entry(chain).or_default() += 1;
        }
    }
    ways
}

#[test]
fn each_call_is_counted_for_those_that_made_it() {
    let test = "each_call_is_counted_for_those_that_made_it";
    if !rights::emulated_pmu(test) {
        return;
    }
    if !rights::program(test, "g++") {
        return;
    }
    let scene = Scene::new();
    let truth: BTreeMap<Vec<String>, usize> = WAYS
        .iter()
        .map(|(chain, times)| (chain.iter().map(|name| (*name).to_owned()).collect(), *times))
        .collect();
    let mut sizes = Vec::new();
    for options in [&["-O2"][..], &["-O1", "-static"], &["-O2", "-fno-omit-frame-pointer"]] {
        // A part of a routine that stands elsewhere has a name of its own.
        let compiled = Command::new("g++")
            .args(["-w", "-foptimize-sibling-calls", "-fno-reorder-blocks-and-partition", "-o"])
            .arg(scene.path("calling"))
            .arg(workload::sources().join("calling.cc"))
            .args(options)
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let events = "-t split_load_retired,memory_stores -i =1,=1000";
        // Unwound while they are recorded, and when they are read.
        for kept in ["", "--keep-stacks"] {
            let ebs = format!("ebs -u -g --source emulated {events} {kept} --no-files -o c.data");
            scene.run(&format!("{ebs} ./calling")).success();
            assert_eq!(ways(&scene, "c.data"), truth, "{options:?} {kept}");
            let account = Account::of_stream(&scene.path("c.data"));
            assert_eq!(account.count("kernel"), account.count("delivered"), "{account:?}");
            let report = scene.run("ebs report --by caller c.data").success();
            let note = report.out.lines().find(|line| line.contains("stacks of user space"));
            let told = note.and_then(|line| line.strip_prefix("# ")?.split(' ').next());
            let accounts = Account::each_of_stream(&scene.path("c.data"));
            let delivered: u64 = accounts.iter().map(|of| of.count("delivered")).sum();
            assert_eq!(told, Some(delivered.to_string().as_str()), "{report}");
            sizes.push(fs::metadata(scene.path("c.data")).unwrap().len());
        }
    } // Most chains are whole, and take less room than 8 KiB of stack.
    for sizes in sizes.chunks(2) {
        assert!(sizes[0] * 2 < sizes[1], "{sizes:?}");
    }
}
