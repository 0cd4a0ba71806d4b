//! Sampling that is turned on and off: which pages of a program are recorded
//! tells when it was on.

use std::{
    fs::{self, File, Permissions},
    io::{Read, Write},
    os::unix::fs::PermissionsExt,
    process::Command,
};

use tests::{Account, Outcome, Running, Scene, User, Workload, rights};

/// perf's answer, byte for byte.
const ACK: &[u8] = b"ack\n\0";

/// FIFOs in a scene, held at both ends, so that nobody waits for the other.
struct Channel {
    commands: File,
    answers: File,
}

impl Channel {
    /// `ctl` and `ack`, for any user.
    fn new(scene: &Scene) -> Channel {
        let [commands, answers] = ["ctl", "ack"].map(|name| {
            let path = scene.path(name);
            assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
            File::options().read(true).write(true).open(path).unwrap()
        });
        Channel { commands, answers }
    }

    /// Says something that has no answer.
    fn say(&mut self, text: &str) {
        self.commands.write_all(text.as_bytes()).unwrap();
    }

    /// Gives a command, and waits for its answer.
    fn tell(&mut self, command: &str) {
        self.say(&format!("{command}\n"));
        self.hear();
    }

    fn hear(&mut self) {
        let mut answer = [0; ACK.len()];
        self.answers.read_exact(&mut answer).unwrap();
        assert_eq!(answer, ACK);
    }
}

/// What `steps` was told so far.
struct Steps {
    base: u64,
    next: u64,
    on: bool,
    /// Pages of steps that were to be sampled.
    expected: Vec<u64>,
}

impl Steps {
    /// Of a program that runs: it says where its pages are.
    fn of(program: &mut Running) -> Steps {
        let base = program.hear();
        let base = u64::from_str_radix(base.trim_start_matches("0x"), 16).unwrap();
        Steps { base, next: 0, on: false, expected: Vec::new() }
    }

    fn step(&mut self, program: &mut Running, what: &str, pages: u64) {
        program.tell(&format!("{what} {pages}"));
        assert_eq!(program.hear(), "done");
        if self.on {
            self.expected.extend(self.next..self.next + pages);
        }
        self.next += pages;
    }

    /// One of each kind.
    fn all(&mut self, program: &mut Running) {
        for (what, pages) in [("touch", 9), ("held", 4), ("thread", 3), ("fork", 5)] {
            self.step(program, what, pages);
        }
    }

    /// Which of the pages were recorded, in order.
    fn pages(&self, script: &str) -> Vec<u64> {
        let addresses = script.lines().map(str::trim).filter(|line| !line.is_empty());
        let addresses = addresses.map(|text| u64::from_str_radix(text, 16).unwrap());
        let own = self.base..self.base + self.next * 4096;
        let mut pages: Vec<u64> = addresses
            .filter(|address| own.contains(address))
            .map(|address| (address - self.base) / 4096)
            .collect();
        pages.sort_unstable();
        pages
    }

    /// Fails unless what a recording has is what was to be sampled.
    #[track_caller]
    fn assert_recorded(&self, scene: &Scene, recording: &str) {
        let pages =
            self.pages(&scene.run(&format!("ebs script -F addr {recording}")).success().out);
        let account = Account::of_stream(&scene.path(recording));
        let (kernel, delivered) = (account.count("kernel"), account.count("delivered"));
        assert_eq!(kernel, delivered + account.lost(), "{account:?}");
        if account.lost() == 0 {
            assert_eq!(pages, self.expected, "{account:?}");
        }
        let stray: Vec<_> = pages.iter().filter(|page| !self.expected.contains(page)).collect();
        assert!(stray.is_empty(), "recorded while sampling was off: {stray:?}");
    }
}

const SAMPLE: &str = "ebs -u -t page_fault -c all --no-daemon";

#[test]
fn only_steps_between_enable_and_disable_are_recorded() {
    let test = "only_steps_between_enable_and_disable_are_recorded";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Steps.build(&scene);
    let mut channel = Channel::new(&scene);
    let options = "-D -1 --control fifo:ctl,ack -o f.data ./steps";
    let mut ebs = scene.start(&format!("{SAMPLE} {options}"));
    let mut steps = Steps::of(&mut ebs);
    steps.all(&mut ebs);
    for _ in 0..3 {
        channel.tell("enable");
        steps.on = true;
        steps.all(&mut ebs);
        channel.tell("enable page_fault");
        steps.all(&mut ebs);
        channel.tell("disable");
        steps.on = false;
        steps.all(&mut ebs);
    }
    let outcome = ebs.finish().success();
    assert!(outcome.last_line().contains("paused for"), "{outcome}");
    assert!(outcome.err.contains("events enabled") && outcome.err.contains("events disabled"));
    steps.assert_recorded(&scene, "f.data");
    // Names come of what was mapped in a pause.
    let by = scene.run("ebs report --csv --by object f.data").success().out;
    assert!(by.contains("steps"), "{by}");
}

#[test]
fn a_process_is_sampled_when_that_is_said_by_any_user() {
    let test = "a_process_is_sampled_when_that_is_said_by_any_user";
    if !rights::root(test) {
        return;
    }
    if rights::paranoid() > 2 {
        eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
        return;
    }
    for user in [User::new(0), User::new(4002)] {
        let scene = Scene::new();
        let program = Workload::Steps.build(&scene);
        scene.open_commands();
        fs::create_dir(scene.path("out")).unwrap();
        fs::set_permissions(scene.path("out"), Permissions::from_mode(0o777)).unwrap();
        let mut channel = Channel::new(&scene);
        let mut target = Running::start(&mut user.command(&scene, program));
        let mut steps = Steps::of(&mut target);
        let mut command = user.command(&scene, scene.path("bin/ebs"));
        command.args(SAMPLE.split_whitespace().skip(1));
        command.args(["-D", "-1", "--control", "fifo:ctl,ack", "-o", "out/f.data", "-p"]);
        let ebs = Running::start(command.arg(target.pid().to_string()));
        channel.tell("ping");
        steps.all(&mut target);
        channel.tell("enable");
        steps.on = true;
        steps.all(&mut target);
        channel.tell("disable");
        steps.on = false;
        steps.all(&mut target);
        channel.tell("enable");
        steps.on = true;
        steps.all(&mut target);
        channel.tell("stop");
        ebs.finish().success();
        steps.on = false;
        steps.all(&mut target);
        target.finish().success();
        steps.assert_recorded(&scene, "out/f.data");
    }
}

/// As in perf-record(1), with steps of a program in between, and without the -n of wait, which has
/// no answer of a job that has ended before.
const AS_PERF_HAS_IT: &str = r#"
ctl_dir=.

ctl_fifo=${ctl_dir}/perf_ctl.fifo
test -p ${ctl_fifo} && unlink ${ctl_fifo}
mkfifo ${ctl_fifo}
exec {ctl_fd}<>${ctl_fifo}

ctl_ack_fifo=${ctl_dir}/perf_ctl_ack.fifo
test -p ${ctl_ack_fifo} && unlink ${ctl_ack_fifo}
mkfifo ${ctl_ack_fifo}
exec {ctl_fd_ack}<>${ctl_ack_fifo}

mkfifo to from
exec {to}<>to {from}<>from
step() { echo "$@" >&${to} && read -u ${from} done; }

$PROFILER -D -1 --control fd:${ctl_fd},${ctl_fd_ack} -- ./steps <to >from &
perf_pid=$!
read -u ${from} base && echo ${base}

step touch 50; step thread 5
echo 'enable' >&${ctl_fd} && read -u ${ctl_fd_ack} e1 && echo "enabled(${e1})"
step touch 20; step held 3; step thread 6; step fork 4
echo 'disable' >&${ctl_fd} && read -u ${ctl_fd_ack} d1 && echo "disabled(${d1})"
step touch 30; step fork 2
echo 'ping' >&${ctl_fd} && read -u ${ctl_fd_ack} p1 && echo "ping(${p1})"
echo 'enable' >&${ctl_fd} && read -u ${ctl_fd_ack} e2 && echo "enabled(${e2})"
step touch 1; step fork 7
echo 'snapshot' >&${ctl_fd} && read -u ${ctl_fd_ack} s1 && echo "snapshot(${s1})"
echo 'evlist' >&${ctl_fd} && read -u ${ctl_fd_ack} l1 && echo "evlist(${l1})"
step end 0

exec {ctl_fd_ack}>&-
unlink ${ctl_ack_fifo}

exec {ctl_fd}>&-
unlink ${ctl_fifo}

wait ${perf_pid}
exit $?
"#;

#[test]
fn a_script_for_perf_has_the_same_of_us() {
    let test = "a_script_for_perf_has_the_same_of_us";
    if !rights::sampling(test) || !rights::perf(test) {
        return;
    }
    let known = Command::new("perf").args(["record", "-h"]).output().unwrap();
    let known = [known.stdout, known.stderr].concat();
    if !String::from_utf8_lossy(&known).contains("--control") {
        eprintln!("skipped {test}: this perf has no --control");
        return;
    }
    let expected: Vec<u64> = (55..88).chain(120..128).collect();
    for (profiler, script) in [
        ("perf record -q -e page-faults:u -c 1 -d -o f.data", "perf script -F addr -i f.data"),
        (&format!("{SAMPLE} -o f.data"), "ebs script -F addr f.data"),
    ] {
        let scene = Scene::new();
        Workload::Steps.build(&scene);
        let script_of_it = format!("PROFILER={profiler:?}\n{AS_PERF_HAS_IT}");
        let outcome = scene.shell(&script_of_it).success();
        let (base, answers) = outcome.out.split_once('\n').unwrap();
        let all =
            "enabled(ack)\ndisabled(ack)\nping(ack)\nenabled(ack)\nsnapshot(ack)\nevlist(ack)\n";
        assert_eq!(answers, all, "{outcome}");
        let base = u64::from_str_radix(base.trim_start_matches("0x"), 16).unwrap();
        let steps = Steps { base, next: 128, on: false, expected: Vec::new() };
        let pages = steps.pages(&scene.run(script).success().out);
        assert_eq!(pages, expected, "{profiler}");
    }
}

#[test]
fn a_program_may_say_itself_what_of_it_is_sampled() {
    let test = "a_program_may_say_itself_what_of_it_is_sampled";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    let outcome = scene.shell(&format!(
        "mkfifo ctl ack; exec 8<>ctl 9<>ack; {SAMPLE} -D -1 --control fd:8,9 -o f.data bash -c \
         'echo enable >&8; read -u 9 answer; echo heard $answer; exit 3'"
    ));
    assert_eq!((outcome.code(), outcome.out.as_str()), (3, "heard ack\n"), "{outcome}");
    let account = Account::of_stream(&scene.path("f.data"));
    assert!(account.count("kernel") > 0, "{account:?}");
}

#[test]
fn what_is_no_command_is_told_and_not_acknowledged() {
    let test = "what_is_no_command_is_told_and_not_acknowledged";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Steps.build(&scene);
    let mut channel = Channel::new(&scene);
    let options = "--control fifo:ctl,ack -o f.data -t page_fault,cpu_clock ./steps";
    let mut ebs = scene.start(&format!("ebs -u -c all --no-daemon {options}"));
    let mut steps = Steps::of(&mut ebs);
    steps.on = true;
    // Whatever comes before it: the answer is that of the last one.
    for (said, has_answer) in [
        ("hello", false),
        ("enable page_fault", false),
        ("disable no_such", true),
        ("ENABLE", false),
    ] {
        channel.say(&format!("{said}\n"));
        if has_answer {
            channel.hear();
        }
    }
    channel.tell("evlist -F");
    // Without an end of the line, where nothing more comes; in two pieces.
    channel.say("ping");
    channel.hear();
    channel.say("\ndis");
    channel.say("able\n");
    channel.hear();
    steps.on = false;
    steps.all(&mut ebs);
    channel.tell("ping");
    let outcome = ebs.finish().success();
    for said in [
        "unknown command \"hello\"",
        "unknown command \"ENABLE\"",
        "pause together",
        "no event \"no_such\" is here",
        "page_fault: sample_period=1",
    ] {
        assert!(outcome.err.contains(said), "{said}: {outcome}");
    }
    let pages = steps.pages(&scene.run("ebs script -F addr f.data").success().out);
    assert!(pages.is_empty(), "all was off by then: {pages:?}");
}

/// How late sampling begins is not looked at: it begins once, and goes on.
#[test]
fn a_delay_leaves_out_the_beginning_alone() {
    let test = "a_delay_leaves_out_the_beginning_alone";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Steps.build(&scene);
    let mut ebs = scene.start(&format!("{SAMPLE} --delay 150 -o f.data ./steps"));
    let mut steps = Steps::of(&mut ebs);
    for _ in 0..60 {
        steps.step(&mut ebs, "touch", 1);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    ebs.finish().success();
    let account = Account::of_stream(&scene.path("f.data"));
    assert_eq!(account.count("kernel"), account.count("delivered") + account.lost(), "{account:?}");
    let pages = steps.pages(&scene.run("ebs script -F addr f.data").success().out);
    if account.lost() == 0 {
        let last = pages.first().map_or(0, |&first| 60 - first);
        assert_eq!(pages, (60 - last..60).collect::<Vec<_>>());
    }
}

#[test]
fn a_set_time_ends_sampling_and_not_its_target() {
    let test = "a_set_time_ends_sampling_and_not_its_target";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Steps.build(&scene);
    let mut target = scene.start("./steps");
    let mut steps = Steps::of(&mut target);
    let ebs = scene.start(&format!("{SAMPLE} --until 300ms -o f.data -p {}", target.pid()));
    ebs.finish().success();
    steps.all(&mut target);
    target.finish().success();
    steps.assert_recorded(&scene, "f.data");

    // A command is waited for, as after SIGINT; its status is that of ebs.
    scene.write("later", "sleep 0.3; exit 7");
    let outcome = scene.run(&format!("{SAMPLE} --until 1ms -o g.data sh later"));
    assert_eq!(outcome.code(), 7, "{outcome}");
    assert!(outcome.last_line().contains("record"), "{outcome}");
}

#[test]
fn counting_in_the_kernel_stands_still_too() {
    let test = "counting_in_the_kernel_stands_still_too";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Steps.build(&scene);
    let mut channel = Channel::new(&scene);
    let options = "--in-kernel --no-rings -D -1 --control fifo:ctl,ack -o f.data ./steps";
    let mut ebs = scene.start(&format!("{SAMPLE} {options}"));
    let mut steps = Steps::of(&mut ebs);
    for command in ["disable", "enable", "disable", "enable"] {
        channel.tell(command);
        steps.on = command == "enable";
        // A fork would have the routine fault on what it counts with, too.
        for (what, pages) in [("touch", 9), ("held", 4), ("thread", 3)] {
            steps.step(&mut ebs, what, pages);
        }
    }
    ebs.finish().success();
    let account = Account::of_stream(&scene.path("f.data"));
    assert_eq!(account.count("kernel"), account.count("delivered") + account.lost(), "{account:?}");
    let report = scene.run("ebs report --csv --by routine f.data").success().out;
    let mut lines = report.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap();
    let column = |name| heads.iter().position(|&head| head == name).unwrap();
    let (routine, count) = (column("routine"), column("count"));
    let touched = lines.find(|line| line[routine] == "touch").unwrap();
    if account.lost() == 0 {
        assert_eq!(touched[count].parse(), Ok(steps.expected.len()), "{report}");
    }
}

#[test]
fn what_cannot_be_steered_is_refused_before_anything_starts() {
    let scene = Scene::new();
    scene.write("file", "");
    let refused = |options: &str, code: i32, words: &[&str]| -> Outcome {
        let line = format!("ebs -u -t page_fault --no-daemon {options} touch started");
        let outcome = scene.run(&line).refused(code, words);
        assert!(!scene.path("started").exists(), "{outcome}");
        outcome
    };
    refused("--control fd:777", 1, &["descriptor 777 is not open"]);
    refused("--control fd:0,777", 1, &["descriptor 777 is not open"]);
    refused("--control fd:1", 1, &["open for writing only"]);
    refused("--control fifo:none", 1, &["mkfifo none"]);
    refused("--control fifo:file", 1, &["no FIFO"]);
    refused("--control file", 2, &["fd:N nor fifo:FILE", "file"]);
    refused("-D -1", 2, &["--control"]);
    refused("-D soon", 2, &["\"soon\""]);
    refused("--until 5", 2, &["\"5\"", "500ms"]);
    if cfg!(target_arch = "x86_64") {
        let emulated = "--source emulated -D 10 -t memory_loads";
        let line = format!("ebs -u --no-daemon {emulated} touch started");
        scene.run(&line).refused(1, &["cannot pause", "page_fault"]);
        assert!(!scene.path("started").exists());
    }
}
