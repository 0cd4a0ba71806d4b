//! Metrics: true, of nobody in particular, and not for everybody (R31).

use std::{
    fs,
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use hardmeter_tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

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
        Some(77) => eprintln!("{test}: promtool is not here, and was not asked"),
        code => assert_eq!(code, Some(0), "{promtool}"),
    }
    ebsd.end();
    assert!(fs::metadata(scene.path("metrics.sock")).is_err(), "it takes its socket away");
}
