//! A recording as one page: its numbers are the report's, names do nothing,
//! and a browser has nothing to complain of.

mod ibs_recording;
/// Each picture's numbers are those of the command that has them.
mod pictures;
/// A page as soon as sampling has ended.
mod sampled;

use serde_json::Value;
use std::path::Path;
use tests::chromium::{self, BrowsedPage};
use tests::{Scene, rights, workload};

/// A name that would do something if it were taken for markup.
const HOSTILE: &str =
    "<script>document.title='taken'</script><img/src=x/onerror=\"alert(1)\">&amp;\u{202e}";

/// The page of a recording of the scene.
fn page(scene: &Scene, data: &str) -> String {
    scene.run_words(&["ebs", "html", data, "-o", "page.html"]).success();
    scene.read("page.html")
}

/// The rows of the table after this caption, cells as they read.
fn rows(page: &str, caption: &str) -> Vec<Vec<String>> {
    let start = page.find(&format!("<caption>{caption}</caption>"));
    rows_from(&page[start.unwrap_or_else(|| panic!("no table {caption}"))..])
}

/// Those of the next table.
fn rows_from(page: &str) -> Vec<Vec<String>> {
    let table = &page[..page.find("</table>").unwrap()];
    let row = |row: &str| row.split("<td").skip(1).map(|it| read(&format!("<td{it}"))).collect();
    table.split("<tr>").skip(2).map(row).collect()
}

/// Markup as it reads.
fn read(markup: &str) -> String {
    let (mut words, mut is_markup) = (String::new(), false);
    for letter in markup.chars() {
        match letter {
            '<' => is_markup = true,
            '>' => is_markup = false,
            letter if !is_markup => words.push(letter),
            _ => {}
        }
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let words = named.iter().fold(words, |words, (escaped, letter)| words.replace(escaped, letter));
    words.trim().to_owned()
}

fn report(scene: &Scene, more: &str) -> Value {
    let told = scene.run(&format!("ebs report --json {more}")).success();
    serde_json::from_str(&told.out).unwrap()
}

/// `callers.c` emulated, with call chains.
fn callers(scene: &Scene) {
    let source = workload::sources().join("two_callers.c");
    scene.shell(&format!("gcc -O1 -g -o prog {}", source.display())).success();
    scene
        .run("ebs -u --source emulated -t memory_loads -i =5000 -c all -g -d -o x.data ./prog")
        .success();
}

/// `lines.c` emulated: threads that share a line.
fn lines(scene: &Scene) {
    let lines = workload::sources().join("lines.c");
    scene.shell(&format!("gcc -O1 -g -static -pthread -o lines {}", lines.display())).success();
    let line =
        "ebs -u --source emulated -t hitm,memory_stores,l1_cache_miss -i =5,=50,=1 -c all -d";
    scene.run(&format!("{line} -o lines.data ./lines false 20000")).success();
}

#[test]
fn the_pages_numbers_are_the_reports() {
    if !rights::program("the_pages_numbers_are_the_reports", "gcc") {
        return;
    }
    let scene = Scene::new();
    callers(&scene);
    let page = page(&scene, "x.data");
    let report = report(&scene, "--mem x.data");
    let event = &report["events"][0];
    let name = event["name"].as_str().unwrap();
    let total = &event["totals"]["counted"];
    assert!(page.contains(&format!("<dt>samples counted</dt><dd>{total}</dd>")), "{total}");
    let sites = rows(&page, name);
    let expected = event["rows"].as_array().unwrap();
    assert_eq!(sites.len(), expected.len().min(200));
    for (site, row) in sites.iter().zip(expected) {
        let of = &row["site"];
        let routine = of["routine"]
            .as_str()
            .map_or(String::new(), |name| format!("{name}+{:#x}", of["offset"].as_u64().unwrap()));
        let share = format!("{:.2}%", row["share"].as_f64().unwrap() * 100.0);
        assert!(routine.is_empty() || site[0] == routine, "{site:?} {row}");
        assert_eq!([&site[1], &site[2]], [&row["count"].to_string(), &share], "{row}");
    }
    let tree = rows(&page, &format!("Call chains of {name}, each routine below its caller"));
    let top = tree.iter().filter(|row| !row[0].starts_with('\u{b7}'));
    let sum: u64 = top.map(|row| row[1].parse::<u64>().unwrap()).sum();
    assert!(tree.len() > 5 && sum <= total.as_u64().unwrap() && sum > 0, "{tree:?}");
    let objects = rows(&page, &format!("Objects of {name} over time"));
    let sum: u64 = objects.iter().map(|row| row[4].parse::<u64>().unwrap()).sum();
    assert_eq!(sum, total.as_u64().unwrap(), "each emulated sample has an address: {objects:?}");
    let levels = rows(&page, &format!("Levels that served {name}"));
    let sum: u64 = levels.iter().map(|row| row[1].parse::<u64>().unwrap()).sum();
    assert_eq!(sum, total.as_u64().unwrap(), "{levels:?}");
    assert!(page.contains("<caption>Instructions of "), "no routine is shown");
}

#[test]
fn a_page_loads_nothing_and_runs_its_own_script_alone() {
    if !rights::program("a_page_loads_nothing_and_runs_its_own_script_alone", "gcc") {
        return;
    }
    let scene = Scene::new();
    callers(&scene);
    let page = page(&scene, "x.data");
    for loads in
        ["http:", "https:", "src=", "@import", "url(", "unsafe-inline", "style=", "onclick="]
    {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.contains("content=\"default-src &#39;none&#39;; style-src &#39;sha256-"));
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.len() < 1 << 20, "{} bytes of a small recording", page.len());
}

/// A recording whose program, routine and object have names that would do something.
fn hostile(scene: &Scene) {
    scene.write(
        "p.c",
        "static volatile char big[1 << 20];\n\
         __attribute__((noipa)) void hot(void) { for (int i = 0; i < 1 << 20; i += 64) big[i]++; }\n\
         __attribute__((noipa)) void wide(void) { for (int i = 0; i < 1 << 20; i += 64) big[i]++; }\n\
         int main(void) { hot(); wide(); }\n",
    );
    scene.write(
        "names",
        format!("hot {HOSTILE}\nwide wide_{}\nbig {HOSTILE}big\n", "x".repeat(1 << 20)),
    );
    scene.shell("gcc -O1 -static -o p p.c && objcopy --redefine-syms=names p").success();
    let program = "./\"><svg onload=alert(1)>";
    std::fs::rename(scene.path("p"), scene.path(&program[2..])).unwrap();
    let line = "ebs -u --source emulated -t l1_cache_miss -i =10 -c all -g -d -o x.data";
    let words: Vec<&str> = line.split(' ').chain([program]).collect();
    scene.run_words(&words).success();
}

#[test]
fn names_do_nothing() {
    let test = "names_do_nothing";
    if !rights::program(test, "gcc") || !rights::program(test, "objcopy") {
        return;
    }
    let scene = Scene::new();
    hostile(&scene);
    let page = page(&scene, "x.data");
    assert!(page.contains("&lt;script&gt;document.title=&#39;taken&#39;&lt;/script&gt;"), "{page}");
    assert!(page.contains("\\u{202e}") && !page.contains('\u{202e}'));
    assert!(page.contains("svg onload=alert(1)&gt;") && !page.contains("<svg onload"));
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
    browse(test, &scene);
}

#[test]
fn browsers_have_nothing_to_complain_of() {
    let test = "browsers_have_nothing_to_complain_of";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    callers(&scene);
    page(&scene, "x.data");
    browse(test, &scene);
    lines(&scene);
    let shared = page(&scene, "lines.data");
    for section in ["causes", "sites", "maps", "levels", "members", "sharing", "routines"] {
        assert!(shared.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    let sets = rows(&shared, "Sets of emulated/l1_cache_miss/ over time");
    let sum: u64 = sets.iter().map(|row| row[1].parse::<u64>().unwrap()).sum();
    let report = report(&scene, "-e *l1_cache_miss* lines.data");
    assert_eq!(sum, report["events"][0]["totals"]["counted"].as_u64().unwrap(), "{sets:?}");
    browse(test, &scene);
}

/// PEBS, page faults, and what else perf recorded, on machines that this one is not.
#[test]
fn browsers_open_pages_of_other_machines() {
    let test = "browsers_open_pages_of_other_machines";
    let scene = Scene::new();
    for of in [
        "weight_struct-5.17.file",
        "page_faults-6.1.pipe",
        "group_desc-4.14.file",
        "everything-6.1.file",
    ] {
        page(&scene, &format!("{}/{of}.data", fixtures().display()));
        browse(test, &scene);
    }
}

#[test]
fn browsers_open_pages_of_ibs_whatever_threads_are_called() {
    let test = "browsers_open_pages_of_ibs_whatever_threads_are_called";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    ibs_recording::record(&scene);
    let page = page(&scene, "ibs.data");
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
    assert!(!page.contains('\u{202e}') && page.matches("<script").count() == 1);
    let report = report(&scene, "--by comm,tid ibs.data");
    let of = &report["events"][0];
    let comm = of["rows"][0]["comm"].as_str().unwrap();
    let threads = rows(&page, "Threads of ibs_op//");
    let shown = &threads[0];
    assert!(comm.starts_with(HOSTILE) && shown[0].starts_with("<script>document.title"), "{comm}");
    assert_eq!([&shown[1], &shown[2]], ["4321", &of["totals"]["counted"].to_string()]);
    let levels = rows(&page, "Levels that served ibs_op//");
    let sum: u64 = levels.iter().map(|row| row[1].parse::<u64>().unwrap()).sum();
    assert_eq!(sum, of["totals"]["counted"].as_u64().unwrap());
    assert!(levels.iter().any(|row| row[0] == "RAM hit"), "{levels:?}");
    browse(test, &scene);
}

fn fixtures() -> std::path::PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("../crates/perfdata/tests/fixtures")
}

/// Opens the page of a scene in a browser, where there is one, with the network off: its
/// script ran, and nothing else did.
fn browse(test: &str, scene: &Scene) {
    let url = format!("file://{}", scene.path("page.html").display());
    let Some(BrowsedPage { dom, said }) = chromium::browse(test, scene, &url, &[]) else { return };
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    assert!(!dom.contains("<title>taken"), "a name ran");
    assert!(
        dom.contains("<th scope=\"col\"><button type=\"button\">"),
        "our script did not run: {said}"
    );
}

#[test]
fn damage_and_mistakes_are_told() {
    let scene = Scene::new();
    let whole = std::fs::read(fixtures().join("page_faults-6.1.pipe.data")).unwrap();
    scene.write("cut.data", &whole[..whole.len() - 20]);
    let told = scene.run("ebs html cut.data -o cut.html");
    assert_eq!(told.code(), 1, "{told}");
    assert!(scene.read("cut.html").contains("This recording is damaged"), "{told}");
    let told = scene.run("ebs html cut.data -o cut.data");
    assert!(told.code() == 1 && told.err.contains("name another file for the page"), "{told}");
    std::fs::remove_file(scene.path("cut.html")).unwrap();
    assert_eq!(scene.run("ebs html cut.data").code(), 1);
    assert!(scene.read("cut.html").contains("This recording is damaged"), "beside the recording");
    assert_eq!(scene.run("ebs html none.data -o none.html").code(), 1);
    assert!(!scene.path("none.html").exists());
    let piped = scene.shell(&format!(
        "cat {}/page_faults-6.1.pipe.data | ebs html - -o - | grep -c '<caption>'",
        fixtures().display()
    ));
    piped.success();
}
