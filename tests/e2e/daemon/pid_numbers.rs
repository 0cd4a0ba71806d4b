//! Process numbers: of other namespaces, and used again (R5).

use tests::{Ebsd, Scene, Workload, rights};

/// A program of this user, with nobody's groups.
const AS: &str = "setpriv --reuid=$1 --regid=$1 --clear-groups --inh-caps=-all";

/// In there both its child and the shell's have numbers that are others' out
/// here.
#[test]
fn a_client_of_another_pid_namespace_names_its_own_processes() {
    let test = "a_client_of_another_pid_namespace_names_its_own_processes";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    let socket = ebsd.socket.display();
    let ebs = format!("./bin/ebs -u -t page_fault -i 1 --daemon --socket {socket}");
    let inside = |script: String| {
        scene.write("inside", script);
        scene.shell("unshare --pid --fork --mount-proc bash ./inside")
    };
    let held = inside(format!("{ebs} -o held.data ls / > /dev/null"));
    if held.err.contains("Linux 6.11") {
        eprintln!("skipped {test}: {held}");
        return;
    }
    held.success();
    // Of several children: one that was forked while its parent was attached
    // to may be nameless.
    let named = inside(format!(
        "while :; do cat /dev/null; done & {ebs} -c 500 -o named.data $!; status=$?
        kill %1; exit $status"
    ));
    named.success();
    for (file, comm) in [("held.data", "ls"), ("named.data", "cat")] {
        let script = scene.run(&format!("ebs script {file}")).success();
        assert!(script.out.contains(comm), "{file}: {script}");
    }
    ebsd.end();
}

/// In a namespace that has but some hundred numbers, processes of two users
/// come and go, each with numbers that the other's just had. A user who asks
/// for their own gets them, or is told that they have gone.
#[test]
fn numbers_that_wrap_name_nobody_else() {
    let test = "numbers_that_wrap_name_nobody_else";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let program = Workload::Storm.build(&scene);
    for name in ["mine", "theirs"] {
        std::fs::copy(&program, scene.path(name)).unwrap();
    }
    scene.shell("mkdir out; chmod 777 out; : > ebsd.toml; chmod 644 ebsd.toml").success();
    scene.write(
        "inside",
        format!(
            "echo 420 > /proc/sys/kernel/pid_max
            as() {{ {AS} \"${{@:2}}\"; }}
            ./bin/ebsd --socket $PWD/sock --config ebsd.toml & daemon=$!
            until [ -S sock ]; do sleep 0.05; done
            for at in 1 2 3; do
                as 4002 bash -c 'while :; do ./theirs 40 1 > /dev/null; done' &
            done
            as 4001 bash -c 'while :; do ./mine 2000 1 > /dev/null; done' &
            # One that lives long enough to be met.
            as 4001 bash -c 'while :; do echo go | ./mine 3000 1 wait 2000 > /dev/null; done' &
            for round in $(seq 60); do
                # Every other time any, which may be gone by then.
                [ $((round % 2)) = 0 ] && which='-x mine' || which='-f ^./mine.*wait'
                pid=$(pgrep -u 4001 $which | head -1); [ $pid ] || continue
                as 4001 timeout 20 ./bin/ebs -u -t page_fault -i 1 -c 300 --daemon \\
                    --socket $PWD/sock -o out/$round.data $pid > /dev/null 2>> out/said
            done
            kill -0 $daemon"
        ),
    );
    let ran = scene.shell(
        "[ $(printf '6.14\n%s\n' $(uname -r) | sort -V | head -n 1) = 6.14 ] || exit 77
        unshare --pid --fork --mount-proc bash ./inside",
    );
    if ran.status.code() == Some(77) {
        eprintln!("skipped {test}: this kernel has one kernel.pid_max for all (before Linux 6.14)");
        return;
    }
    ran.success();
    let mut sampled = 0;
    for entry in std::fs::read_dir(scene.path("out")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if !name.ends_with(".data") {
            continue;
        }
        let script = scene.run(&format!("ebs script out/{name}"));
        assert!(!script.out.contains("theirs"), "{name}: {script}");
        sampled += u32::from(script.out.contains("mine"));
    }
    assert!(sampled > 0, "none was met: {}", scene.read("out/said"));
}
