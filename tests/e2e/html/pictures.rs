use super::{callers, lines, page, read, report, rows, rows_from};
use serde_json::Value;
use std::collections::BTreeMap;
use tests::{Scene, rights, workload};

fn json(scene: &Scene, line: &str) -> Value {
    serde_json::from_str(&scene.run(line).success().out).unwrap()
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

/// Nodes of an icicle by their path, each with all of its samples and its own.
type Nodes = BTreeMap<Vec<String>, [u64; 2]>;

#[test]
fn icicles_have_the_nodes_of_folded_stacks() {
    if !rights::program("icicles_have_the_nodes_of_folded_stacks", "gcc") {
        return;
    }
    let scene = Scene::new();
    callers(&scene);
    let page = page(&scene, "x.data");
    let folded = scene.run("ebs report --folded x.data").success().out;
    let mut expected = Nodes::new();
    for line in folded.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        // The thread's name is in front.
        let path: Vec<String> = stack.split(';').skip(1).map(str::to_owned).collect();
        for depth in 1..=path.len() {
            let [all, own] = expected.entry(path[..depth].to_vec()).or_default();
            *all += number(count);
            *own += if depth == path.len() { number(count) } else { 0 };
        }
    }
    let caption = "Call chains of emulated/memory_loads/, each routine below its caller";
    let (mut path, mut shown) = (Vec::new(), Nodes::new());
    let rows = rows(&page, caption);
    for row in &rows {
        path.truncate(row[0].matches("\u{b7} ").count());
        path.push(row[0].replace("\u{b7} ", ""));
        // Of one name in several files there is a node each.
        let [all, own] = shown.entry(path.clone()).or_default();
        *all += number(&row[1]);
        *own += number(&row[3]);
    }
    assert!(expected.len() > 5);
    assert_eq!(shown, expected);
    // The boxes are those of the table.
    let drawn = page.matches("<g class=\"f o").count();
    let legend = page.matches("aria-hidden=\"true\"><g class=\"f o").count();
    assert_eq!(drawn - legend, rows.len(), "a box a node");
}

#[test]
fn members_are_those_of_layouts() {
    if !rights::program("members_are_those_of_layouts", "gcc") {
        return;
    }
    let scene = Scene::new();
    lines(&scene);
    let page = page(&scene, "lines.data");
    let layout = json(&scene, "ebs layout --json lines.data");
    let mut members = 0;
    for of in layout["types"].as_array().unwrap().iter().take(8) {
        let Some(expected) = of["members"].as_array().filter(|it| !it.is_empty()) else { continue };
        let rows = rows(&page, &format!("Members of {}", of["type"].as_str().unwrap()));
        for (row, member) in rows.iter().zip(expected) {
            assert!(row[0].contains(member["name"].as_str().unwrap()), "{row:?} {member}");
            let used = &member["use"];
            // What no sample is on has none.
            let Some(counts) = used["counts"].as_array() else { continue };
            let count: u64 = counts.iter().map(|of| of["count"].as_u64().unwrap()).sum();
            let told = [1, 2, 3, 5, 6, 7, 8].map(|column: usize| row[column].clone());
            let wanted = [
                &member["offset"],
                &member["size"],
                &Value::from(count),
                &used["reads"],
                &used["writes"],
                &used["readers"],
                &used["writers"],
            ];
            assert_eq!(told, wanted.map(Value::to_string), "{member}");
            members += 1;
        }
    }
    assert!(members >= 2, "{layout}");
}

#[test]
fn shared_lines_are_those_of_c2c() {
    if !rights::program("shared_lines_are_those_of_c2c", "gcc") {
        return;
    }
    let scene = Scene::new();
    lines(&scene);
    let page = page(&scene, "lines.data");
    let c2c = json(&scene, "ebs c2c --json lines.data");
    let report = report(&scene, "--by comm,tid lines.data");
    let named = |tid: &Value| {
        let events = report["events"].as_array().unwrap().iter();
        let mut rows = events.flat_map(|event| event["rows"].as_array().unwrap());
        let row = rows.find(|row| row["tid"] == *tid).unwrap();
        format!("{tid} {}", row["comm"].as_str().unwrap())
    };
    let lines = c2c["lines"].as_array().unwrap();
    assert!(!lines.is_empty());
    for line in lines.iter().take(12) {
        let (address, pid) = (line["address"].as_str().unwrap(), &line["pid"]);
        let title = format!("Line {address} of process {pid}");
        let caption = format!("{title}, byte by byte: r read, w written, b both");
        let shown: Vec<[String; 2]> = rows(&page, &caption)
            .into_iter()
            .map(|row| [row[0].clone(), row[1].replace(' ', "")])
            .collect();
        let expected: Vec<[String; 2]> = line["threads"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| [named(&of["tid"]), of["bytes"].as_str().unwrap().to_owned()])
            .collect();
        assert_eq!(shown, expected, "{title}");
        let behind = &page[page.find(&format!("<caption>{caption}")).unwrap()..];
        let sites = rows_from(&behind[behind.find("<caption>Who uses it").unwrap()..]);
        for (row, of) in sites.iter().zip(line["sites"].as_array().unwrap()) {
            let told = [2, 3, 4, 5].map(|column: usize| row[column].clone());
            let keys = ["transfers", "cycles", "others", "threads"];
            assert_eq!(told, keys.map(|key| of[key].to_string()), "{of}");
        }
    }
    let threads = rows(&page, "Threads of emulated/memory_stores/");
    let event = report["events"].as_array().unwrap().iter();
    let event = event.into_iter().find(|of| of["name"] == "emulated/memory_stores/").unwrap();
    let expected = event["rows"].as_array().unwrap();
    assert_eq!(threads.len(), expected.len());
    for (row, of) in threads.iter().zip(expected) {
        assert_eq!(row[..2], [of["comm"].as_str().unwrap().to_owned(), of["tid"].to_string()]);
        assert_eq!(row[2], of["count"].to_string());
    }
}

/// A measure that is a count, but for its rounding.
fn whole(measure: f64) -> u64 {
    format!("{:.0}", measure.abs()).parse().unwrap()
}

/// A count as a measure.
fn real(count: u64) -> f64 {
    count.to_string().parse().unwrap()
}

/// Cells of a picture that have samples: row and column, and how dark each is.
type Cells = BTreeMap<[u64; 2], usize>;

/// Where a picture has its cells, in pixels.
struct Grid {
    width: f64,
    height: f64,
    top: f64,
}

const LEFT: f64 = 190.0;

impl Grid {
    /// The cells that a picture's paths draw, down to a row.
    fn drawn(&self, figure: &str, rows: u64) -> Cells {
        let mut cells = Cells::new();
        for heat in 1..=5_usize {
            let start = format!("<path class=\"h{heat}\" d=\"");
            for path in figure.split(&start).skip(1) {
                for run in path[..path.find('"').unwrap()].split('M').skip(1) {
                    let number = |text: &str| text.parse::<f64>().unwrap();
                    let (x, rest) = run.split_once(' ').unwrap();
                    let (y, rest) = rest.split_once('h').unwrap();
                    let (width, _) = rest.split_once('v').unwrap();
                    let row = (number(y) - self.top) / self.height;
                    if row < -0.01 || row > real(rows) - 0.5 {
                        continue;
                    }
                    let first = whole((number(x) - LEFT) / self.width);
                    let count = whole(number(width) / self.width);
                    for column in first..first + count {
                        cells.insert([whole(row), column], heat);
                    }
                }
            }
        }
        cells
    }
}

/// How dark counts are, of a picture whose fullest cell has `most`.
fn heats(counts: &BTreeMap<[u64; 2], u64>, most: u64) -> Cells {
    let heat = |count: u64| {
        let part = (real(count) / real(most)).sqrt();
        1 + [0.2, 0.4, 0.6, 0.8].iter().filter(|step| part > **step).count()
    };
    counts.iter().map(|(at, count)| (*at, heat(*count))).collect()
}

/// A sample with a data address.
struct Access {
    time: u64,
    address: u64,
    variable: String,
}

/// Samples of an event, one by one.
fn accesses(scene: &Scene, data: &str, event: &str) -> Vec<Access> {
    let text = scene.run(&format!("ebs export --to csv {data}")).success().out;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let titles = reader.headers().unwrap().clone();
    let column = |title: &str| titles.iter().position(|it| it == title).unwrap();
    let [of, time, addr, variable] = ["event", "time", "addr", "variable"].map(column);
    let records = reader.records().map(Result::unwrap).filter(|row| &row[of] == event);
    records
        .filter_map(|row| {
            let address = u64::from_str_radix(row[addr].trim_start_matches("0x"), 16).ok()?;
            let time = number(&row[time]);
            Some(Access { time, address, variable: row[variable].to_owned() })
        })
        .collect()
}

/// First column and nanoseconds of each: the shortest of which 96 do.
fn columns(accesses: &[Access]) -> [u64; 2] {
    let times = || accesses.iter().map(|it| it.time);
    let (first, last) = (times().min().unwrap(), times().max().unwrap());
    let mut step = 1000;
    while last / step - first / step >= 96 {
        step *= 2;
    }
    [first / step, step]
}

fn figure<'p>(page: &'p str, id: &str) -> &'p str {
    let figure = &page[page.find(&format!("id=\"{id}\"")).unwrap()..];
    &figure[..figure.find("</svg>").unwrap()]
}

#[test]
fn maps_have_a_cell_where_samples_are() {
    if !rights::program("maps_have_a_cell_where_samples_are", "gcc") {
        return;
    }
    let scene = Scene::new();
    lines(&scene);
    let page = page(&scene, "lines.data");
    let event = "emulated/l1_cache_miss/";
    let accesses = accesses(&scene, "lines.data", event);
    let [first, step] = columns(&accesses);
    let width = |columns: u64| 900.0 / real(columns);
    let last = accesses.iter().map(|it| it.time / step).max().unwrap();
    let width = width(last - first + 1);
    // It is the third event, and the only one of a cache.
    let mut counts: BTreeMap<[u64; 2], u64> = BTreeMap::new();
    for it in &accesses {
        *counts.entry([it.address / 64 % 64, it.time / step - first]).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap();
    let grid = Grid { width, height: 6.0, top: 0.0 };
    assert_eq!(grid.drawn(figure(&page, "sets-2"), 64), heats(&counts, most));

    let objects = rows(&page, &format!("Objects of {event} over time"));
    let picture = figure(&page, "objects-2");
    let mut bands = Vec::new();
    let mut top = 0.0;
    for row in &objects {
        let (span, rows) = (number(&row[2]), number(&row[3]));
        let is_alone = objects.iter().filter(|other| other[0] == row[0]).count() == 1
            && accesses.iter().any(|it| it.variable == row[0]);
        if let Some(from) = row[1].strip_prefix("0x").filter(|_| is_alone) {
            let from = u64::from_str_radix(from, 16).unwrap();
            let mut counts: BTreeMap<[u64; 2], u64> = BTreeMap::new();
            for it in accesses.iter().filter(|it| it.variable == row[0]) {
                let at = [(it.address - from) / span, it.time / step - first];
                *counts.entry(at).or_default() += 1;
            }
            assert_eq!(counts.values().sum::<u64>(), number(&row[4]), "{row:?}");
            bands.push((Grid { width, height: 10.0, top }, rows, counts));
        }
        top += (real(rows) * 10.0).max(14.0) + 8.0;
    }
    assert!(!bands.is_empty(), "{objects:?}");
    // What is darkest in all of them may be in a band that is not looked at.
    let shown = bands.iter().flat_map(|(_, _, counts)| counts.values());
    let most = *shown.max().unwrap();
    for (grid, rows, counts) in &bands {
        let (drawn, expected) = (grid.drawn(picture, *rows), heats(counts, most));
        assert!(drawn.keys().eq(expected.keys()), "{drawn:?}\n{expected:?}");
        assert!(drawn.iter().all(|(at, heat)| *heat <= expected[at]), "{drawn:?}\n{expected:?}");
    }
}

#[test]
fn levels_are_the_reports() {
    if !rights::program("levels_are_the_reports", "gcc") {
        return;
    }
    let scene = Scene::new();
    callers(&scene);
    let page = page(&scene, "x.data");
    let report = report(&scene, "--mem --by level x.data");
    let event = &report["events"][0];
    let shown = rows(&page, "Levels that served emulated/memory_loads/");
    let expected = event["rows"].as_array().unwrap();
    assert_eq!(shown.len(), expected.len());
    for of in expected {
        let row = shown.iter().find(|row| row[0] == of["level"].as_str().unwrap_or_default());
        let row = row.unwrap_or_else(|| panic!("{of} is not in {shown:?}"));
        let latency = &of["latency"];
        assert_eq!(row[1], of["count"].to_string());
        let told = [3, 5, 6].map(|column: usize| row[column].clone());
        assert_eq!(told, ["samples", "median", "p95"].map(|key| latency[key].to_string()));
    }
    // The first of the instructions shown is the one with most samples.
    assert!(read(&page).contains("Most samples were taken in"), "no icicle is told of");
}

#[test]
fn misses_by_cache_size_are_those_of_causes() {
    if !rights::program("misses_by_cache_size_are_those_of_causes", "gcc") {
        return;
    }
    let scene = Scene::new();
    let source = workload::sources().join("rounds.c");
    scene.shell(&format!("gcc -O1 -static -o rounds {}", source.display())).success();
    let line = "ebs -u --source emulated -t l1_cache_miss -i 1 -c all --cache l1d=32k,8";
    scene.run(&format!("{line} -o x.data ./rounds 160 4 64 2")).success();
    let page = page(&scene, "x.data");
    let told = json(&scene, "ebs causes --curve --json x.data");
    let curve = &told["curve"];
    let points = curve["points"].as_array().unwrap();
    let shown = rows(&page, "Misses of emulated/l1_cache_miss/ by cache size");
    assert!(points.len() > 5 && shown.len() == points.len(), "{shown:?} {told:#}");
    for (row, point) in shown.iter().zip(points) {
        let told = [1, 2, 3].map(|column: usize| row[column].clone());
        assert_eq!(told, ["bytes", "misses", "left"].map(|key| point[key].to_string()));
        let size = point["bytes"].as_u64().unwrap();
        let of_model = curve["marks"].as_array().unwrap().iter();
        let name = of_model.into_iter().find(|mark| mark["bytes"] == size);
        assert_eq!(row[5], name.map_or("-", |mark| mark["name"].as_str().unwrap()));
    }
    // A point drawn for each row, and a line upright for each cache of the model.
    assert_eq!(page.matches("<circle class=\"curve-point\"").count(), points.len());
    let marks = curve["marks"].as_array().unwrap().len();
    assert_eq!(page.matches("<line class=\"curve-mark\"").count(), marks);
    assert!(page.contains(&format!("{} of {} are cold", curve["first"], curve["accesses"])));
}
