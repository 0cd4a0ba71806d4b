//! Debug files by build id from Debian's debuginfod, on loopback.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use tests::{Running, Scene, rights};

const SOURCE: &str = "\
#include <stdlib.h>

static __attribute__((noinline)) void fill(char *pages)
{
    for (long page = 0; page < 200; page++)
        pages[page * 4096] = 1;
}

int main(void)
{
    fill(malloc(200 * 4096));
    return 0;
}
";

/// A stripped program and a recording of it; its debug file lies where only
/// a server looks.
struct Stripped {
    scene: Scene,
    build_id: String,
    /// Of the store in `fill`, hexadecimal.
    store: String,
}

impl Stripped {
    fn new() -> Stripped {
        let scene = Scene::new();
        scene.write("fill.c", SOURCE);
        let script = "mkdir served && gcc -O1 -g -o fill fill.c \
            && objcopy --only-keep-debug fill served/fill.debug && strip fill \
            && objdump -d --no-show-raw-insn fill | awk '/movb +[$]0x1,\\(/ { print $1 }' | tr -d : \
            && readelf -n fill | awk '/Build ID/ { print $3 }'";
        let out = scene.shell(script).success().out;
        let mut words = out.split_whitespace().map(str::to_owned);
        let (store, build_id) = (words.next().unwrap(), words.next().unwrap());
        scene.run("ebs -u -t page_fault -c all -o fill.data ./fill").success();
        Stripped { scene, build_id, store }
    }

    /// What a script says, with that server.
    fn told(&self, url: &str, script: &str) -> String {
        let outcome = self.scene.shell(&format!("export DEBUGINFOD_URLS={url}; {script}"));
        format!("{}{}", outcome.out, outcome.err)
    }

    fn line(&self, url: &str) -> String {
        self.told(url, &format!("echo {} | eip2r -l -e fill", self.store))
    }

    fn report(&self, url: &str) -> String {
        self.told(url, "ebs report --top 1 fill.data")
    }

    fn cached(&self) -> PathBuf {
        self.scene.path(&format!(".cache/debuginfod_client/{}/debuginfo", self.build_id))
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Starts a server of `served`, and waits until it has the debug file.
fn serve(stripped: &Stripped) -> (Running, String) {
    let port = free_port();
    let line = format!("debuginfod -d :memory: -p {port} -F served");
    let server = stripped.scene.start(&line);
    let until = Instant::now() + Duration::from_secs(120);
    let request =
        format!("GET /buildid/{}/debuginfo HTTP/1.0\r\n\r\n", stripped.build_id).into_bytes();
    let has = || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all(&request).ok()?;
        let mut status = [0; 12];
        stream.read_exact(&mut status).ok()?;
        status.ends_with(b"200").then_some(())
    };
    while has().is_none() {
        assert!(Instant::now() < until, "debuginfod does not have the file after 120 s");
        thread::sleep(Duration::from_millis(100));
    }
    (server, format!("http://127.0.0.1:{port}"))
}

#[test]
fn a_stripped_program_has_lines_from_a_server_and_then_from_the_cache() {
    let test = "a_stripped_program_has_lines_from_a_server_and_then_from_the_cache";
    if !rights::program(test, "debuginfod") || !rights::program(test, "debuginfod-find") {
        return;
    }
    let stripped = Stripped::new();
    let (server, url) = serve(&stripped);
    // Not named: not asked.
    let line = stripped.line("");
    assert!(line.contains("[stripped]") && !line.contains("fill.c"), "{line}");
    assert!(stripped.report("").contains("[stripped]"), "{}", stripped.report(""));
    assert!(!stripped.scene.path(".cache").exists());

    let line = stripped.line(&url);
    assert!(line.contains(" fill at ") && line.contains("/fill.c:6"), "{line}");
    let name = format!("echo {} | eip2r -e fill", stripped.store);
    let (with, without) = (stripped.told(&url, &name), stripped.told("", &name));
    assert!(with.ends_with(" fill\n") && without.contains("[stripped]"), "{with}{without}");
    let report = stripped.report(&url);
    assert!(report.contains("fill") && !report.contains("[stripped]"), "{report}");
    let annotated = stripped.told(&url, "ebs annotate fill fill.data");
    assert!(annotated.contains("pages[page * 4096] = 1;"), "{annotated}");
    // malloc touches the first page.
    let script = stripped.told(&url, "ebs script fill.data | grep -c fill+");
    assert_eq!(script.trim(), "199");

    drop(server);
    let line = stripped.line(&url);
    assert!(line.contains("/fill.c:6"), "the cache has it: {line}");
    // elfutils finds what we fetched.
    let found = stripped.told(&url, &format!("debuginfod-find debuginfo {}", stripped.build_id));
    assert_eq!(found.trim(), stripped.cached().to_str().unwrap());
    fs::remove_file(stripped.cached()).unwrap();
    let report = stripped.report(&url);
    assert!(report.contains(&format!("debuginfod: {url}: ")), "{report}");
    assert!(report.contains("Connection refused"), "{report}");
}

#[test]
fn what_elfutils_fetched_or_missed_is_believed() {
    let test = "what_elfutils_fetched_or_missed_is_believed";
    let needs = ["debuginfod", "debuginfod-find", "setpriv", "strace"];
    if !needs.iter().all(|program| rights::program(test, program)) {
        return;
    }
    let stripped = Stripped::new();
    let (server, url) = serve(&stripped);
    let find = |id: &str| stripped.told(&url, &format!("debuginfod-find debuginfo {id} || true"));
    assert_eq!(find(&stripped.build_id).trim(), stripped.cached().to_str().unwrap());
    drop(server);
    let line = stripped.line(&url);
    assert!(line.contains("/fill.c:6"), "{line}");

    // A server without files: elfutils notes the miss, and so do we.
    fs::remove_dir_all(stripped.scene.path(".cache")).unwrap();
    fs::remove_file(stripped.scene.path("served/fill.debug")).unwrap();
    let port = free_port();
    let empty = format!("debuginfod -d :memory: -p {port} -F served");
    let mut server = stripped.scene.start(&empty);
    let url = format!("http://127.0.0.1:{port}");
    server.wait_until("it listens", |_| TcpStream::connect(("127.0.0.1", port)).is_ok());
    let report = stripped.report(&url);
    assert!(report.contains("debuginfod: no server has it"), "{report}");
    drop(server);
    let report = stripped.report(&url);
    assert!(report.contains("debuginfod: no server had it, says "), "{report}");
    // Root opens a file of any mode: here as a user does, by its mode alone.
    let find = format!(
        "by_mode=; [ $(id -u) != 0 ] || by_mode='setpriv --bounding-set -dac_override,-dac_read_search'
        $by_mode strace -f -e trace=connect debuginfod-find debuginfo {} || true",
        stripped.build_id
    );
    let asked = stripped.told(&url, &find);
    assert!(asked.contains("No such file") && !asked.contains("connect("), "{asked}");
}

#[test]
fn an_interrupt_ends_the_wait_for_a_server() {
    let stripped = Stripped::new();
    for line in ["ebs report fill.data", "ebs -u -t page_fault ./fill"] {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        let mut words = line.split(' ');
        let mut command = stripped.scene.command(words.next().unwrap());
        command.args(words).env("DEBUGINFOD_URLS", url);
        let waiting = Running::start(&mut command);
        let (_asked, _) = silent.accept().unwrap();
        thread::sleep(Duration::from_millis(100));
        waiting.signal(Signal::INT);
        let outcome = waiting.finish();
        assert_eq!(outcome.status.signal(), Some(2), "{line}: {outcome}");
    }
}
