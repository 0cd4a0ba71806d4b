//! Programs that sample themselves, beside `ebs` that samples them.

use std::collections::BTreeMap;

use tests::workload::{compile_marked, sources, with_library};
use tests::{Outcome, Running, Scene, User, built, rights};

/// A sample as both have it: instruction, data address.
type Faults = BTreeMap<(String, String), u64>;

/// What a program told of its own samples.
struct OwnSamples {
    faults: Faults,
    by_region: BTreeMap<String, u64>,
    lost: u64,
}

impl OwnSamples {
    #[track_caller]
    fn of(outcome: &Outcome) -> OwnSamples {
        let mut own = OwnSamples { faults: Faults::new(), by_region: BTreeMap::new(), lost: 0 };
        let mut has_account = false;
        for line in outcome.out.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["sample", ip, address, region, ..] => {
                    *own.faults.entry(((*ip).into(), (*address).into())).or_default() += 1;
                    *own.by_region.entry((*region).to_owned()).or_default() += 1;
                }
                ["account", kernel, delivered, lost, marks @ ..] => {
                    let number = |word: &str| word.parse::<u64>().unwrap();
                    // There are some dozens of marks, and room for thousands.
                    assert!(marks.iter().all(|lost| number(lost) == 0), "{line}");
                    assert_eq!(number(kernel), number(delivered) + number(lost), "{line}");
                    own.lost = number(lost);
                    has_account = true;
                }
                _ => panic!("{line:?} in {outcome}"),
            }
        }
        assert!(has_account, "{outcome}");
        own
    }
}

/// The faults of a recording.
fn recorded(scene: &Scene, recording: &str) -> Faults {
    let lines = scene.run(&format!("ebs script -F ip,addr {recording}")).success();
    let mut faults = Faults::new();
    for line in lines.out.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [address, ip, ..] = words.as_slice() {
            *faults.entry((format!("0x{ip}"), format!("0x{address}"))).or_default() += 1;
        }
    }
    faults
}

/// Each of its samples is in the recording of the same run.
#[track_caller]
fn assert_recorded(own: &OwnSamples, recorded: &Faults, lost: u64) {
    let missing = own
        .faults
        .iter()
        .map(|(fault, count)| count.saturating_sub(recorded.get(fault).copied().unwrap_or(0)));
    let missing: u64 = missing.sum();
    assert!(missing <= lost, "{missing} of its samples are not in the recording, {lost} lost");
}

#[test]
fn a_c_program_samples_what_ebs_does() {
    if !rights::sampling("a_c_program_samples_what_ebs_does") {
        return;
    }
    let scene = Scene::new();
    compile_marked(&scene, "sampler", &with_library());
    for (mode, truth) in [
        ("thread", [("outer", 30), ("outer/inner", 0), ("-", 50)]),
        ("process", [("outer", 30), ("outer/inner", 40), ("-", 50)]),
        // What a child of fork(2) tries changes nothing.
        ("thread child", [("outer", 30), ("outer/inner", 0), ("-", 50)]),
    ] {
        let outcome = scene
            .run(&format!("ebs -u -t page_fault -i 1 -o f.data -- ./sampler {mode}"))
            .success();
        let own = OwnSamples::of(&outcome);
        let mut missing = 0;
        for (region, pages) in truth {
            let count = own.by_region.get(region).copied().unwrap_or(0);
            assert!(count <= pages, "{mode}: {region}: {count}: {:?}", own.by_region);
            missing += pages - count;
        }
        assert!(missing <= own.lost, "{mode}: {:?}, {} lost", own.by_region, own.lost);
        assert_recorded(&own, &recorded(&scene, "f.data"), outcome.told().lost);
    }
}

#[test]
fn a_rust_program_samples_what_ebs_does() {
    if !rights::sampling("a_rust_program_samples_what_ebs_does") {
        return;
    }
    let scene = Scene::new();
    let program = built::directory().join("examples/own_faults");
    let line = format!("ebs -u -t page_fault -i 1 -o f.data -- {}", program.display());
    let outcome = scene.run(&line).success();
    let own = OwnSamples::of(&outcome);
    assert!(own.by_region.contains_key("first") || own.lost > 0, "{:?}", own.by_region);
    assert!(own.by_region.contains_key("second") || own.lost > 0, "{:?}", own.by_region);
    assert_recorded(&own, &recorded(&scene, "f.data"), outcome.told().lost);
}

#[test]
fn a_user_without_rights_samples_itself() {
    if !rights::root("a_user_without_rights_samples_itself") {
        return;
    }
    let scene = Scene::new();
    compile_marked(&scene, "sampler", &with_library());
    std::fs::copy(built::directory().join("libhardmeter.so"), scene.path("libhardmeter.so"))
        .unwrap();
    let mut command = User::new(65_533).command(&scene, "env");
    let library = format!("LD_LIBRARY_PATH={}", scene.path(".").display());
    let outcome =
        Running::start(command.arg(library).arg(scene.path("sampler")).arg("process")).finish();
    let own = OwnSamples::of(&outcome.success());
    let all: u64 = own.by_region.values().sum();
    assert!(all + own.lost >= 120, "{:?}, {} lost", own.by_region, own.lost);
}

/// What cannot be sampled is told, with a way out, by a function that does
/// not end the program.
#[test]
fn a_program_is_told_why_it_cannot_sample() {
    if !rights::sampling("a_program_is_told_why_it_cannot_sample") {
        return;
    }
    let scene = Scene::new();
    let script = r#"
cat > wrong.c <<'C'
#include "hardmeter.h"
#include <stdio.h>
int main(void)
{
    char error[300], little[8];
    struct hardmeter_settings settings = {0};
    hardmeter_open(&settings, error, sizeof error);
    puts(error);
    settings.size = sizeof settings;
    settings.event = "l9_cache_miss";
    hardmeter_open(&settings, error, sizeof error);
    puts(error);
    settings.event = "page_fault", settings.tasks = 77;
    hardmeter_open(&settings, error, sizeof error);
    puts(error);
    hardmeter_open(&settings, little, sizeof little);
    puts(little);
    settings.tasks = 0;
    hardmeter_sampler *sampler = hardmeter_open(&settings, NULL, 0);
    struct hardmeter_sample sample = {.size = 3};
    printf("%d %d %s.\n", hardmeter_next(sampler, &sample), hardmeter_enable(NULL),
           hardmeter_error(NULL));
    hardmeter_close(sampler);
    hardmeter_close(NULL);
    return 0;
}
C
"#;
    let include = sources().join("../../crates/hardmeter/include");
    let compile = format!(
        "{script}\ngcc -O2 -I{} -o wrong wrong.c {}\n./wrong",
        include.display(),
        with_library().join(" ")
    );
    let outcome = scene.shell(&compile).success();
    let lines: Vec<&str> = outcome.out.lines().collect();
    let [size, event, tasks, little, last] = lines.as_slice() else { panic!("{outcome}") };
    assert!(size.contains("settings of 0 bytes"), "{size}");
    assert!(event.contains("l9_cache_miss") && event.contains("did you mean"), "{event}");
    assert!(tasks.contains("tasks is 77"), "{tasks}");
    assert_eq!(*little, "tasks i");
    assert_eq!(*last, "-1 -1 there is no sampler.");
}
