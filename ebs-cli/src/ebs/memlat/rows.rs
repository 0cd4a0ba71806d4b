//! A study as tables of words, for a terminal and for a page alike.

use latency::LatencyStudy;
use latency::figure::LatencyFigure;

/// A table: its title says what the rows are of, the first row names columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) title: String,
    pub(super) rows: Vec<Vec<String>>,
}

/// All tables of what was measured, in the order in which it was.
pub(super) fn tables(study: &LatencyStudy) -> Vec<Table> {
    let all = [levels(study), translation(study), tlbs(study), strides(study), chains(study)];
    let rest = [forwarding(study), cores(study), nodes(study), load(study)];
    all.into_iter().chain(rest).flatten().filter(|table| table.rows.len() > 1).collect()
}

/// Bytes in the largest unit that gives a whole number.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 18) => {
            format!("{} MiB", bytes as f64 / f64::from(1 << 20))
        }
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Minimum, median and spread in nanoseconds, cycles by the minimum, runs.
fn figure(figure: &LatencyFigure) -> Vec<String> {
    let time = figure.nanoseconds;
    let runs = match figure.is_disturbed {
        true => format!("{} disturbed", figure.runs),
        false => format!("{} of {}", figure.runs, figure.runs + figure.thrown_away),
    };
    vec![
        format!("{:.1}", figure.cycles.minimum),
        format!("{:.2}", time.minimum),
        format!("{:.2}", time.median),
        format!("{:.2}", time.spread),
        runs,
    ]
}

const FIGURE: [&str; 5] = ["cycles", "ns", "median", "spread", "runs"];

fn head(first: &[&str]) -> Vec<String> {
    let mut row = words(first);
    row.extend(words(&FIGURE));
    row
}

fn row(first: &[String], of: &LatencyFigure) -> Vec<String> {
    let mut row = first.to_vec();
    row.extend(figure(of));
    row
}

fn levels(study: &LatencyStudy) -> Option<Table> {
    let levels = study.levels.as_ref()?;
    let pages = levels.curves.first()?.pages;
    let kind = if pages.are_as_asked() { "2 MiB" } else { "4 KiB, as no others were had" };
    let mut rows = vec![words(&["level", "to", "ends before", "cycles", "ns", "described"])];
    for (place, level) in levels.levels.iter().enumerate() {
        let is_last = place + 1 == levels.levels.len();
        let described = study.described.get(place).filter(|_| !is_last);
        rows.push(vec![
            if is_last { "beyond".to_owned() } else { format!("L{}", place + 1) },
            size(level.size),
            level.ends_before.map_or_else(|| "-".to_owned(), size),
            format!("{:.1}", level.latency),
            format!("{:.2}", level.latency * study.cycle),
            described.map_or_else(|| "-".to_owned(), |cache| size(cache.bytes)),
        ]);
    }
    Some(Table { title: format!("levels: loads at random on pages of {kind}"), rows })
}

fn translation(study: &LatencyStudy) -> Option<Table> {
    let levels = study.levels.as_ref()?;
    let mut rows = vec![words(&["size", "cycles", "ns"])];
    // One of an octave is enough to read.
    for cost in levels.translation.iter().filter(|cost| cost.size.is_power_of_two()) {
        let (cycles, time) = (cost.cycles, cost.nanoseconds);
        rows.push(vec![size(cost.size), format!("{cycles:+.1}"), format!("{time:+.2}")]);
    }
    let title = "translation: what pages of 4 KiB take more than those of 2 MiB".to_owned();
    Some(Table { title, rows })
}

fn tlbs(study: &LatencyStudy) -> Option<Table> {
    let tlbs = study.tlbs.as_ref()?;
    let mut rows = vec![words(&["TLB", "pages", "ends before", "cycles more"])];
    for (place, level) in tlbs.levels.iter().enumerate() {
        let is_last = place + 1 == tlbs.levels.len();
        rows.push(vec![
            if is_last { "walk".to_owned() } else { format!("level {}", place + 1) },
            level.size.to_string(),
            level.ends_before.map_or_else(|| "-".to_owned(), |end| end.to_string()),
            format!("{:.1}", level.latency),
        ]);
    }
    Some(Table { title: "tlbs: one line of each page of 4 KiB".to_owned(), rows })
}

fn strides(study: &LatencyStudy) -> Option<Table> {
    let strides = study.strides.as_ref()?;
    let mut rows = vec![head(&["bytes apart"])];
    let one = |it: &latency::part::strides::StrideFigure| row(&[it.stride.to_string()], &it.load);
    rows.extend(strides.strides.iter().map(one));
    Some(Table { title: format!("strides: upwards through {}", size(strides.size)), rows })
}

fn chains(study: &LatencyStudy) -> Option<Table> {
    let chains = study.chains.as_ref()?;
    let mut rows = vec![head(&["chains", "at once"])];
    for it in &chains.chains {
        rows.push(row(&[it.chains.to_string(), format!("{:.1}", it.parallel)], &it.load));
    }
    let title = format!("chains: at random through {}, time by loads", size(chains.size));
    Some(Table { title, rows })
}

fn forwarding(study: &LatencyStudy) -> Option<Table> {
    let all = study.forwarding.as_ref()?;
    let mut rows = vec![head(&["store and load"])];
    for (name, of) in [
        ("same 8 bytes", &all.same),
        ("4 of 8 bytes", &all.part),
        ("8 of two stores", &all.joined),
        ("8 over a line's end", &all.across_lines),
    ] {
        if of.runs > 0 {
            rows.push(row(&words(&[name]), of));
        }
    }
    Some(Table { title: "forwarding: a store and a load of it".to_owned(), rows })
}

fn cores(study: &LatencyStudy) -> Option<Table> {
    let cores = study.cores.as_ref()?;
    let mut rows = vec![head(&["CPU", "CPU"])];
    for it in &cores.pairs {
        rows.push(row(&[it.from.to_string(), it.to.to_string()], &it.way));
    }
    Some(Table { title: "cores: one way of a line from one to the other".to_owned(), rows })
}

fn nodes(study: &LatencyStudy) -> Option<Table> {
    let nodes = study.nodes.as_ref()?;
    let mut rows = vec![head(&["node", "memory of node"])];
    for it in &nodes.figures {
        rows.push(row(&[it.from.to_string(), it.to.to_string()], &it.load));
    }
    Some(Table { title: format!("nodes: at random through {}", size(nodes.size)), rows })
}

fn load(study: &LatencyStudy) -> Option<Table> {
    let load = study.load.as_ref()?;
    let mut rows = vec![head(&["readers", "GB/s"])];
    for it in &load.readers {
        let bandwidth = format!("{:.1}", it.bytes_per_second / 1e9);
        rows.push(row(&[it.readers.to_string(), bandwidth], &it.load));
    }
    Some(Table {
        title: format!("load: at random through {}, beside readers", size(load.size)),
        rows,
    })
}

/// What is to be known of all of it, a line each.
pub(super) fn remarks(study: &LatencyStudy) -> Vec<String> {
    let disturbed = study.disturbed;
    let mut all = vec![
        format!("CPU {}, a core cycle of {:.3} ns", study.cpu, study.cycle),
        format!(
            "{} runs thrown away: {} for stolen time, {} for switches, {} for slow adds",
            disturbed.total(),
            disturbed.stolen,
            disturbed.switched,
            disturbed.slowed
        ),
    ];
    if study.is_interrupted {
        all.push("interrupted: what was measured until then".to_owned());
    }
    all.extend(study.notes.iter().cloned());
    all
}
