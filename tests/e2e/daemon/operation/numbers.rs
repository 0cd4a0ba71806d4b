//! Metrics: true, of nobody in particular, and not for everybody (R31).

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

use rustix::process::Signal;

use super::super::raw::Raw;

fn scrape(scene: &Scene) -> String {
    let mut stream = UnixStream::connect(scene.path("metrics.sock")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ebsd\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
    body.to_owned()
}

fn number(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name}: {text}")).parse().unwrap()
}

#[test]
fn numbers_are_true_and_name_nobody() {
    let test = "numbers_are_true_and_name_nobody";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let mut command = scene.command(Workload::Storm.build(&scene));
    let mut storm = Running::start(command.args(["20000", "1", "wait"]));
    assert_eq!(storm.hear(), "ready");
    let directory = scene.path("").display().to_string();
    let config = format!(
        "[metrics]\nsocket = \"{directory}/metrics.sock\"\ngroup = 4100\n\
         textfile = \"{directory}/ebsd.prom\"\n"
    );
    let mut ebsd = Ebsd::start(&scene, &config);
    let mut client = Raw::new(&ebsd.socket);
    assert_eq!(client.start("page_fault", storm.pid())["reply"], "started");
    storm.tell("go");
    let (_, end) = client.all();
    assert!(end["client"]["delivered"].as_u64().unwrap() > 0);
    let faults = Truth::new(&storm.finish().out).number("faults");
    let name = "ebsd_records_received_total{kind=\"sample\"}";
    ebsd.wait_until("the worker has reported", || number(&scrape(&scene), name) > 0.0);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    let text = scrape(&scene);
    let counted = ["ring", "stop"]
        .map(|stage| number(&text, &format!("ebsd_records_lost_total{{stage=\"{stage}\"}}")));
    let sum = number(&text, name) + counted.iter().sum::<f64>();
    assert!(sum >= f64::from(u32::try_from(faults).unwrap()), "{text}");
    assert_eq!(number(&text, "ebsd_attach_total{result=\"started\"}"), 1.0);
    assert_eq!(number(&text, "ebsd_sessions"), 0.0);
    assert!(number(&text, "ebsd_drain_seconds_count") > 0.0);
    assert!(number(&text, "process_resident_memory_bytes") > 1e6);
    assert!(scene.read("ebsd.prom").contains("ebsd_build_info"));
    // Whoever is in the group may; others may not; nobody is named.
    let ask = "my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die $!; print while <$s>;";
    let asked = |user: User| {
        let mut command = user.command(&scene, "perl");
        Running::start(
            command.args(["-MIO::Socket::UNIX", "-e", ask]).arg(scene.path("metrics.sock")),
        )
        .finish()
    };
    let member = asked(User { group: Some(4100), ..User::new(4001) }).success();
    for word in ["pid=", "uid=", "comm=", "storm", "4001"] {
        assert!(!member.out.contains(word), "{word}: {member}");
    }
    assert!(asked(User::new(4002)).err.contains("Permission denied"));
    let promtool = scene.shell(
        "command -v promtool > /dev/null || exit 77
        promtool check metrics < ebsd.prom",
    );
    match promtool.status.code() {
        Some(77) => eprintln!("skipped {test}: promtool is not here, and was not asked"),
        code => assert_eq!(code, Some(0), "{promtool}"),
    }
    ebsd.end();
    assert!(fs::metadata(scene.path("metrics.sock")).is_err(), "it takes its socket away");
}

/// The file is root's to write; what lies at its name may be another's (R28,
/// R29).
#[test]
fn nothing_that_lies_in_the_way_is_written_to() {
    let test = "nothing_that_lies_in_the_way_is_written_to";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let directory = scene.path("theirs");
    fs::create_dir(&directory).unwrap();
    let precious = scene.write("precious", "mine");
    let make_fifo = |path: &std::path::Path| {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let textfile = directory.join("ebsd.prom");
    let config = format!("[metrics]\ntextfile = \"{}\"\n", textfile.display());
    let serves = |socket: &std::path::Path| {
        let mut raw = Raw::new(socket);
        let sessions = raw.ask(&serde_json::json!({"verb": "sessions"}));
        assert_eq!(sessions["reply"], "sessions", "{sessions}");
    };
    // Root's directory: a link and a FIFO of a time when it was not.
    for lies in ["link", "fifo"] {
        let new = directory.join("ebsd.new");
        match lies {
            "link" => std::os::unix::fs::symlink(&precious, &new).unwrap(),
            _ => make_fifo(&new),
        }
        let mut ebsd = Ebsd::start(&scene, &config);
        ebsd.wait_until("it is written", || textfile.exists());
        serves(&ebsd.socket);
        ebsd.end();
        assert_eq!(scene.read("precious"), "mine", "{lies}");
        fs::remove_file(&textfile).unwrap();
    }
    // Another user's: nothing is written there at all, and that is said.
    std::os::unix::fs::chown(&directory, Some(4002), Some(4002)).unwrap();
    make_fifo(&directory.join("ebsd.new"));
    let mut command = scene.command(scene.open_commands().join("ebsd"));
    let socket = scene.path("logged.sock");
    command.arg("--config").arg(scene.write("ebsd.toml", &config)).arg("--socket").arg(&socket);
    command.stderr(fs::File::create(scene.path("log")).unwrap());
    let mut ebsd = Running::start_as_is(&mut command);
    ebsd.wait_until("it says why it writes nothing", |_| {
        scene.read("log").contains("could put a file of theirs in its place")
    });
    serves(&socket);
    ebsd.signal(Signal::TERM);
    ebsd.finish().success();
    assert!(!textfile.exists());
}
