//! A study as tables of words, for a terminal and for a page alike.

use latency::LatencyStudy;
use latency::figure::LatencyFigure;
use latency::part::chains::ChainFigure;
use render::{Align, Cell, Head, Table};

/// All tables of what was measured, in the order in which it was.
pub(super) fn tables(study: &LatencyStudy) -> Vec<Table<'static>> {
    let all = [levels(study), translation(study), tlbs(study), strides(study), chains(study)];
    let rest = [forwarding(study), cores(study), nodes(study), load(study)];
    all.into_iter().chain(rest).flatten().filter(|table| !table.rows.is_empty()).collect()
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

/// A table; in its first column are names.
fn table(
    title: impl Into<String>,
    headings: &[&'static str],
    rows: impl IntoIterator<Item = Vec<Cell<'static>>>,
) -> Option<Table<'static>> {
    let mut heads: Vec<Head> = headings.iter().copied().map(Head::number).collect();
    heads.iter_mut().take(1).for_each(|head| head.align = Align::Left);
    let rows = rows.into_iter().collect();
    Some(Table { caption: title.into(), heads, rows, foot: None })
}

/// The same with columns of what was measured behind the first ones.
fn figures(
    title: impl Into<String>,
    first: &[&'static str],
    rows: impl IntoIterator<Item = Vec<Cell<'static>>>,
) -> Option<Table<'static>> {
    table(title, &[first, &["cycles", "ns", "median", "spread", "runs"]].concat(), rows)
}

/// Minimum, median and spread in nanoseconds, cycles by the minimum, runs.
fn row<const N: usize>(first: [Cell<'static>; N], of: &LatencyFigure) -> Vec<Cell<'static>> {
    let time = of.nanoseconds;
    let runs = match of.is_disturbed {
        true => format!("{} disturbed", of.runs),
        false => format!("{} of {}", of.runs, of.runs + of.thrown_away),
    };
    let mut cells = first.to_vec();
    cells.push(Cell::Mean(of.cycles.minimum));
    cells.extend([time.minimum, time.median, time.spread].map(hundredths));
    cells.push(Cell::words(runs));
    cells
}

fn hundredths(number: f64) -> Cell<'static> {
    Cell::Rounded(number, format!("{number:.2}"))
}

fn bytes(bytes: u64) -> Cell<'static> {
    Cell::words(size(bytes))
}

fn levels(study: &LatencyStudy) -> Option<Table<'static>> {
    let levels = study.levels.as_ref()?;
    let pages = levels.curves.first()?.pages;
    let kind = if pages.are_as_asked() { "2 MiB" } else { "4 KiB, as no others were had" };
    let rows = levels.levels.iter().enumerate().map(|(place, level)| {
        let is_last = place + 1 == levels.levels.len();
        let described = study.described.get(place).filter(|_| !is_last);
        vec![
            Cell::words(if is_last { "beyond".to_owned() } else { format!("L{}", place + 1) }),
            bytes(level.size),
            level.ends_before.map_or(Cell::Nothing, bytes),
            Cell::Mean(level.latency),
            hundredths(level.latency * study.cycle),
            described.map_or(Cell::Nothing, |cache| bytes(cache.bytes)),
        ]
    });
    let title = format!("levels: loads at random on pages of {kind}");
    table(title, &["level", "to", "ends before", "cycles", "ns", "described"], rows)
}

fn translation(study: &LatencyStudy) -> Option<Table<'static>> {
    let levels = study.levels.as_ref()?;
    // One of an octave is enough to read.
    let octaves = levels.translation.iter().filter(|cost| cost.size.is_power_of_two());
    let rows = octaves.map(|cost| {
        let (cycles, time) = (cost.cycles, cost.nanoseconds);
        let more = [format!("{cycles:+.1}"), format!("{time:+.2}")];
        [bytes(cost.size)].into_iter().chain(more.map(Cell::words)).collect()
    });
    let title = "translation: what pages of 4 KiB take more than those of 2 MiB";
    table(title, &["size", "cycles", "ns"], rows)
}

fn tlbs(study: &LatencyStudy) -> Option<Table<'static>> {
    let tlbs = study.tlbs.as_ref()?;
    let rows = tlbs.levels.iter().enumerate().map(|(place, level)| {
        let is_last = place + 1 == tlbs.levels.len();
        vec![
            Cell::words(if is_last { "walk".to_owned() } else { format!("level {}", place + 1) }),
            Cell::Count(level.size),
            level.ends_before.map_or(Cell::Nothing, Cell::Count),
            Cell::Mean(level.latency),
        ]
    });
    let title = "tlbs: one line of each page of 4 KiB";
    table(title, &["TLB", "pages", "ends before", "cycles more"], rows)
}

fn strides(study: &LatencyStudy) -> Option<Table<'static>> {
    let strides = study.strides.as_ref()?;
    let rows = strides.strides.iter().map(|it| row([Cell::Count(it.stride)], &it.load));
    figures(format!("strides: upwards through {}", size(strides.size)), &["bytes apart"], rows)
}

fn chains(study: &LatencyStudy) -> Option<Table<'static>> {
    let chains = study.chains.as_ref()?;
    let of_list = |it: &ChainFigure| [Cell::of_list(it.chains), Cell::Mean(it.parallel)];
    let rows = chains.chains.iter().map(|it| row(of_list(it), &it.load));
    let title = format!("chains: at random through {}, time by loads", size(chains.size));
    figures(title, &["chains", "at once"], rows)
}

fn forwarding(study: &LatencyStudy) -> Option<Table<'static>> {
    let all = study.forwarding.as_ref()?;
    let kinds = [
        ("same 8 bytes", &all.same),
        ("4 of 8 bytes", &all.part),
        ("8 of two stores", &all.joined),
        ("8 over a line's end", &all.across_lines),
    ];
    let rows = kinds.into_iter().filter(|(_, of)| of.runs > 0);
    let rows = rows.map(|(name, of)| row([Cell::words(name)], of));
    figures("forwarding: a store and a load of it", &["store and load"], rows)
}

fn cores(study: &LatencyStudy) -> Option<Table<'static>> {
    let pairs = study.cores.as_ref()?.pairs.iter();
    let rows = pairs.map(|it| row([it.from, it.to].map(|cpu| Cell::Count(cpu.into())), &it.way));
    figures("cores: one way of a line from one to the other", &["CPU", "CPU"], rows)
}

fn nodes(study: &LatencyStudy) -> Option<Table<'static>> {
    let nodes = study.nodes.as_ref()?;
    let of_node = |node: u32| Cell::Count(node.into());
    let rows = nodes.figures.iter().map(|it| row([it.from, it.to].map(of_node), &it.load));
    let title = format!("nodes: at random through {}", size(nodes.size));
    figures(title, &["node", "memory of node"], rows)
}

fn load(study: &LatencyStudy) -> Option<Table<'static>> {
    let load = study.load.as_ref()?;
    let rows = load.readers.iter().map(|it| {
        let bandwidth = Cell::Mean(it.bytes_per_second / 1e9);
        row([Cell::of_list(it.readers), bandwidth], &it.load)
    });
    let title = format!("load: at random through {}, beside readers", size(load.size));
    figures(title, &["readers", "GB/s"], rows)
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
