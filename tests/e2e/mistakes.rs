//! Mistakes of somebody new: each is answered in at most three lines, with a command that works.

use tests::{Scene, rights};

/// What any user can record.
const RECORD: &str = "ebs --source emulated -u -t l1_cache_miss -o";

/// What was typed, the exit status, and what the answer has.
const ANSWERED: [(&str, i32, &str); 33] = [
    ("repot f.data", 2, "Try: ebs report f.data"),
    ("reprot f.data", 2, "Try: ebs report f.data"),
    ("anotate f.data", 2, "Try: ebs annotate f.data"),
    ("-u -t l1_cache_mis true", 2, "Try: ebs -u -t l1_cache_miss true"),
    ("-u -t cpu_clok true", 2, "Try: ebs -u -t cpu_clock true"),
    ("-u --typo page_fault true", 2, "Try: ebs"),
    ("-u -t page_fault -i 0 true", 2, "Try: ebs -u -t page_fault true"),
    ("-u -t page_fault -i abc true", 2, "Try: ebs -u -t page_fault true"),
    ("-u -t page_fault -i 1,2 true", 2, "Try: ebs -u -t page_fault true"),
    ("-u -t page_fault -F 99 true", 2, "Try: ebs -u -t page_fault true"),
    ("-u -t page_fault --freq=99 true", 2, "Try: ebs -u -t page_fault true"),
    ("-a -t page_fault sleep 5", 2, "Try: ebs -t page_fault --until 5s"),
    ("-a -t page_fault", 2, "Try: ebs -t page_fault"),
    ("-t page_fault -p 1 sleep 5", 2, "Try: ebs -t page_fault -p 1 --until 5s"),
    ("-t page_fault 1 sleep 5", 2, "Try: ebs -t page_fault --until 5s 1"),
    ("report --by func f.data", 2, "Try: ebs report --by routine f.data"),
    ("report --by dso f.data", 2, "Try: ebs report --by object f.data"),
    ("report --by rutine f.data", 2, "Try: ebs report --by routine f.data"),
    ("report --sort cout f.data", 2, "Try: ebs report --sort count f.data"),
    ("report -i f.data", 2, "Try: ebs report f.data"),
    ("report --stdio f.data", 2, "Try: ebs report f.data"),
    ("report --no-children f.data", 2, "Try: ebs report f.data"),
    ("report --filtre comm=x f.data", 2, "Try: ebs report --filter comm=x f.data"),
    ("report --zzz f.data", 2, "See: ebs help report"),
    ("report nosuch.data", 1, "Try: ebs report f.data"),
    ("script nosuch.data", 1, "Try: ebs script f.data"),
    ("causes --try pad=64 -i 10 -- true", 2, "Try: ebs causes --try pad=64 -- true"),
    ("annotate nosuch f.data", 1, "Try: ebs annotate f.data"),
    ("causes -t hitm -- true", 2, "Try: ebs causes -t l1_cache_miss -- true"),
    ("completions", 2, "Usage: ebs completions <SHELL>"),
    ("-h l1_cash", 2, "Try: ebs -h l1_cache_miss"),
    ("help l1_cash", 2, "l1_cache_miss"),
    ("--source emulated -u -t l1_cache_miss ./nosuch", 1, "command not found"),
];

#[test]
fn mistakes_are_answered_with_a_command_that_works() {
    let scene = Scene::new();
    scene.run(&format!("{RECORD} f.data true")).success();
    for (typed, status, answer) in ANSWERED {
        let answered = scene.run(&format!("ebs {typed}")).refused(status, &[]);
        let lines: Vec<&str> = answered.err.lines().collect();
        assert!(lines.len() <= 3, "{typed}: {answered}");
        assert!(lines[0].starts_with("ebs: "), "{typed}: {answered}");
        assert!(answered.err.contains(answer), "{typed}: no {answer:?}: {answered}");
        assert!(answered.out.is_empty(), "{typed}: {answered}");
    }
}

/// Each command of an answer, but for those that need a PMU or never end, is understood.
#[test]
fn what_is_to_be_tried_is_understood() {
    let scene = Scene::new();
    scene.run(&format!("{RECORD} f.data true")).success();
    for (typed, ..) in ANSWERED {
        let answered = scene.run(&format!("ebs {typed}"));
        let Some(tried) = answered.err.lines().find_map(|line| line.strip_prefix("Try: ")) else {
            continue;
        };
        let is_endless = tried.contains("--until") || tried.ends_with("-t page_fault");
        if !is_endless && !tried.contains("l1_cache_miss") && !tried.contains("--try") {
            assert_ne!(scene.run(tried).code(), 2, "{typed}: {tried}");
        }
    }
}

#[test]
fn no_file_means_the_last_recording_of_the_folder() {
    if !rights::program("no_file_means_the_last_recording_of_the_folder", "gcc") {
        return;
    }
    let scene = Scene::new();
    scene.run("ebs report").refused(2, &["no recording", "-o FILE.data"]);
    scene.write(
        "own.c",
        "long own[4096]; int main(void) { for (int i = 0; i < 4096; i++) own[i] = i; }",
    );
    scene.shell("gcc -O1 -g -o own own.c").success();
    scene.run(&format!("{RECORD} first.data ./own")).success();
    scene.run(&format!("{RECORD} last.data ./own")).success();
    scene.write("newer.data", "no recording");
    for command in ["report", "script", "annotate", "html"] {
        let read = scene.run(&format!("ebs {command}")).success();
        assert!(read.err.contains("reading last.data, the last recording"), "{read}");
    }
    assert!(scene.path("last.html").exists());
    let named = scene.run("ebs annotate first.data").success();
    assert!(!named.err.contains("reading"), "{named}");
}

#[test]
fn commands_are_listed_with_and_without_help() {
    let scene = Scene::new();
    let alone = scene.run("ebs").success();
    assert_eq!(alone.out, scene.run("ebs help").success().out);
    for command in ["report", "causes", "html", "top", "compare", "memlat"] {
        let line = alone.out.lines().find(|line| line.trim_start().starts_with(command));
        assert!(line.is_some_and(|line| line.len() <= 80), "{command}: {alone}");
    }
    assert!(scene.run("ebs version").success().out.starts_with("ebs "));
    scene.run("ebs help nonsense").refused(2, &["nonsense", "ebs help"]);
}
