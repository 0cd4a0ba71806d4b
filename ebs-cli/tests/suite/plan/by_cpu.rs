//! docs/events-by-cpu.md is made from the tables: run with
//! `UPDATE_DOCS=1` to make it anew.

use recorder::catalogue::{self, CatalogueType, Encoding, Latency, Microarchitecture};
use std::collections::BTreeMap;
use std::fmt::Write;

/// From the directory of this package, in which its tests run.
const PAGE: &str = "../docs/events-by-cpu.md";

const HEAD: &str = "\
# Event types by CPU

Made from `crates/recorder/tables` by the test `by_cpu` (`UPDATE_DOCS=1 cargo test -p ebs-cli --test suite by_cpu`).
[events.md](events.md) says what the columns mean. None of these encodings was run on hardware by us.

Cores are named as Intel's event lists name them: `skylakex` is Skylake's server, `alderlake_gracemont` the
small core of Alder and Raptor Lake. In the column IP, a number is the most useful `precise_ip`; `kept` says
which of the samples are of the type.
";

#[test]
fn the_page_is_what_the_tables_say() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(PAGE, &page).expect("docs/events-by-cpu.md is written");
    }
    let written = std::fs::read_to_string(PAGE).expect("docs/events-by-cpu.md");
    assert!(page == written, "docs/events-by-cpu.md is out of date: UPDATE_DOCS=1 makes it anew");
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for name in super::trees::hardware_types() {
        let entry = catalogue::find(name).expect("a type");
        let _ = write!(page, "\n## {name}\n\n{}.\n\n", capital(entry.meaning));
        page.push_str("| cores | event | config | IP | address | weight | is | kept |\n");
        page.push_str("|---|---|---|---|---|---|---|---|\n");
        let mut rows: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for core in Microarchitecture::all() {
            rows.entry(row(core, entry)).or_default().push(core.0);
        }
        let mut rows: Vec<(Vec<&str>, String)> =
            rows.into_iter().map(|(row, cores)| (cores, row)).collect();
        rows.sort();
        for (cores, row) in rows {
            let _ = writeln!(page, "| {} | {row} |", cores.join(", "));
        }
    }
    page
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What stands behind the cores: one line, several events joined.
fn row(core: Microarchitecture, entry: &'static CatalogueType) -> String {
    let encodings = match catalogue::encodings(core, core.pmu().unwrap_or("cpu"), entry) {
        Ok(encodings) => encodings,
        Err(why) => {
            let why = why.to_string().replace(&format!(" ({core})"), "");
            return format!("none: {why} | | | | | |");
        }
    };
    let column = |cell: fn(&Encoding) -> String| {
        let mut cells: Vec<String> = encodings.iter().map(cell).collect();
        cells.dedup();
        cells.join(" and ")
    };
    [
        column(|encoding| encoding.event.replace('|', ", ")),
        column(|encoding| match encoding.config1 {
            0 => format!("{:#x}", encoding.config),
            config1 => format!("{:#x}, config1 {config1:#x}", encoding.config),
        }),
        column(|encoding| match encoding.precise {
            0 if encoding.is_exact_ip() => "exact".to_owned(),
            0 => "skid".to_owned(),
            level => format!("exact, {level}"),
        }),
        column(|encoding| if encoding.data_address { "data" } else { "-" }.to_owned()),
        column(|encoding| match encoding.latency {
            None => "-".to_owned(),
            Some(Latency::UseLatency) => "load latency".to_owned(),
            Some(Latency::StoreLatency) => "store latency".to_owned(),
            Some(Latency::DataCacheMiss) => "miss latency".to_owned(),
        }),
        column(|encoding| encoding.equivalence.to_string()),
        column(|encoding| match encoding.filter.is_all() {
            true => "all".to_owned(),
            false => encoding.filter.to_string().replace('|', " or "),
        }),
    ]
    .join(" | ")
}
