use super::{browse, rows};
use rustix::process::Signal;
use std::process::Stdio;
use tests::{Running, Scene, rights, workload};

/// `storm.c`: faults for as long as it is let.
fn faulting(scene: &Scene) -> String {
    workload::Workload::Storm.build(scene).display().to_string()
}

#[test]
fn a_page_is_written_when_the_command_has_ended() {
    let test = "a_page_is_written_when_the_command_has_ended";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    let storm = faulting(&scene);
    let line = format!("ebs -u -t page_fault -c all -d --html page.html {storm} 3000");
    let told = scene.run(&line).success();
    let page = scene.read("page.html");
    let counted = format!("<dt>samples counted</dt><dd>{}</dd>", told.told().delivered);
    assert!(page.contains(&counted), "{told}");
    assert!(page.contains("<h1>storm</h1>") && page.contains("storm_touch"), "{told}");
    assert!(!told.out.contains("share"), "no table: {told}");
    let threads = rows(&page, "Threads of page_fault");
    assert_eq!(threads[0][0], "storm", "{threads:?}");
    browse(test, &scene);
}

#[test]
fn a_page_stands_beside_its_recording() {
    if !rights::program("a_page_stands_beside_its_recording", "gcc") {
        return;
    }
    let scene = Scene::new();
    let source = workload::sources().join("two_callers.c");
    scene.shell(&format!("gcc -O1 -g -o prog {}", source.display())).success();
    let line = "ebs -u --source emulated -t memory_loads -i =5000 -c all -g -d";
    scene.run(&format!("{line} -o x.data --html now.html ./prog")).success();
    scene.run("ebs html x.data -o later.html").success();
    let [now, later] = ["now.html", "later.html"].map(|name| scene.read(name));
    assert!(now == later, "the page of sampling is another than that of `ebs html`");
}

#[test]
fn an_interrupt_leaves_a_page() {
    if !rights::sampling("an_interrupt_leaves_a_page") {
        return;
    }
    let scene = Scene::new();
    let mut command = scene.command("ebs");
    command.args(["-u", "-t", "page_fault", "-c", "all", "--html", "page.html", "--"]);
    command.args(["sh", "-c", "echo begun > out; sleep 1; exit 5"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut ebs = Running::start_as_is(&mut command);
    ebs.wait_until("the command ran", |_| scene.path("out").exists());
    ebs.signal(Signal::INT);
    let outcome = ebs.finish().sane();
    assert_eq!(outcome.code(), 5, "{outcome}");
    let page = scene.read("page.html");
    let counted = format!("<dt>samples counted</dt><dd>{}</dd>", outcome.told().delivered);
    assert!(page.contains(&counted) && page.ends_with("</html>\n"), "{outcome}");
}

#[test]
fn what_cannot_have_a_page_is_refused_before_anything_runs() {
    let scene = Scene::new();
    let refused = |words: &str, code: i32, why: &str| {
        let line = format!("ebs -u -t page_fault -c all --html {words} touch ran");
        let told = scene.run(&line);
        assert_eq!(told.code(), code, "{told}");
        assert!(told.err.contains(why), "{told}");
        assert!(!scene.path("ran").exists(), "{line}");
    };
    refused("none/page.html", 1, "cannot write to");
    scene.shell("mkdir folder").success();
    refused("folder", 1, "folder is a directory");
    refused("page.html -o x.txt", 2, "say -o FILE.data");
    refused("page.html --format perf", 2, "say -o FILE.data");
    refused("x.data -o x.data", 2, "name another for the page");
}
