//! The text of `ebs -h TYPE`.

use std::fmt::Write as _;

use super::{
    Availability, CatalogueType, Encoding, EventKind, IntervalUnit, Latency, Mask, OnCore,
    OnMachine, availability, emulable, emulated, masks,
};
use crate::machine::facts::Facts;

/// Columns of text at most, unless a word is longer.
const WIDTH: usize = 79;
/// Where the text behind a key starts.
const INDENT: usize = 13;

/// Everything worth knowing about one type on the machine of `facts`, as
/// lines of text that end in a line feed.
pub fn help(entry: &CatalogueType, facts: &Facts) -> String {
    let mut text = String::new();
    wrap(&format!("{}: {}", entry.name, entry.meaning), 0, &mut text);
    text.push('\n');
    for paragraph in entry.detail.lines() {
        wrap(paragraph, 0, &mut text);
    }
    text.push('\n');
    let here = availability(entry, facts);
    let hardware = match &here {
        Availability::Available { hardware, .. } => hardware.as_ref(),
        Availability::Unavailable { .. } => None,
    };
    line(&mut text, "interval", &interval(entry, &here));
    masks_of(entry, hardware, &mut text);
    if let Some(promises) = entry.promises {
        line(&mut text, "promises", &promises.to_string().replace(';', " "));
    }
    let aliases: Vec<_> =
        entry.aliases.iter().filter(|name| !name.ends_with(':')).copied().collect();
    let is_form = matches!(entry.kind, EventKind::Breakpoint | EventKind::Tracepoint);
    if !aliases.is_empty() && !is_form {
        line(&mut text, "also", &aliases.join(", "));
    }
    line(&mut text, "example", &example(entry, &here, facts));
    match &here {
        Availability::Available { .. } => line(&mut text, "here", "available"),
        Availability::Unavailable { .. } if emulable(entry, facts).is_some() => {
            emulation(entry, facts, &mut text);
        }
        Availability::Unavailable { why, nearest, advice } => {
            line(&mut text, "here", &format!("not available: {why}"));
            if !nearest.is_empty() {
                line(&mut text, "nearest", &nearest.join(", "));
            }
            line(&mut text, "", advice);
        }
    }
    for core in hardware.iter().flat_map(|found| &found.cores) {
        on_core(core, &mut text);
    }
    for (pmu, reason) in hardware.iter().flat_map(|found| &found.unavailable) {
        line(&mut text, pmu, &reason.to_string());
    }
    text
}

/// A line that can be typed on this machine; of a type that it does not have
/// the one of the nearest that it has.
fn example(entry: &CatalogueType, here: &Availability, facts: &Facts) -> String {
    let own = || match (entry.kind, entry.example) {
        (EventKind::Hardware(_), "") => format!("ebs -u -t {} -- ./program", entry.name),
        (_, example) => example.to_owned(),
    };
    match here {
        Availability::Available { .. } => own(),
        // The model has no masks.
        Availability::Unavailable { .. } if emulable(entry, facts).is_some() => {
            format!("ebs -u -t {} -- ./program", entry.name)
        }
        Availability::Unavailable { nearest, .. } => {
            match nearest.first().and_then(|name| super::find(name)) {
                Some(nearest) => example(nearest, &availability(nearest, facts), facts),
                None => format!("{} (where there is such a type)", own()),
            }
        }
    }
}

fn emulation(entry: &CatalogueType, facts: &Facts, text: &mut String) {
    let (Some(why), Some(counted)) = (emulable(entry, facts), emulated::meaning(entry)) else {
        return;
    };
    line(text, "here", &format!("emulated, with -u and a command or a PID: {why}"));
    line(text, "counted", &format!("{counted}, by a model"));
    let (address, weight) = match emulated::has_address(entry) {
        true => ("of the data", "the model's cycles"),
        false => ("none", "none"),
    };
    let fields =
        format!("IP: the instruction; address: {address}; registers: before it; weight: {weight}");
    line(text, "", &fields);
    line(text, "", "the whole program runs slower; docs/emulator.md says what the model is");
}

fn interval(entry: &CatalogueType, here: &Availability) -> String {
    let unit = match entry.unit {
        IntervalUnit::Events => "events",
        IntervalUnit::Nanoseconds => "nanoseconds",
    };
    let usual = match here {
        Availability::Available { default_interval, .. } => *default_interval,
        Availability::Unavailable { .. } => entry.default_interval,
    };
    format!("in {unit}; {usual} unless -i says otherwise")
}

fn masks_of(entry: &CatalogueType, hardware: Option<&OnMachine>, text: &mut String) {
    let has_masks = matches!(entry.name, "l2_rqsts" | "fb_alloc" | "load_latency");
    if !has_masks {
        return line(text, "masks", "this type has no masks (-m)");
    }
    let Some(found) = hardware else {
        return line(text, "masks", "which there are depends on the CPU");
    };
    for core in &found.cores {
        let all = core.core.map_or_else(Vec::new, |known| masks(known, entry));
        let key = if found.cores.len() > 1 { core.pmu.as_str() } else { "masks" };
        if all.is_empty() {
            line(text, key, "none on this CPU");
        }
        for (place, mask) in all.iter().enumerate() {
            line(text, if place == 0 { key } else { "" }, &described(mask));
        }
    }
}

fn described(mask: &Mask) -> String {
    let Mask { name, bits, role, meaning } = mask;
    match bits {
        0 => format!("{name} ({role}): {meaning}"),
        _ => format!("{name} ({role}, {:#04x}): {meaning}", bits >> 8),
    }
}

fn on_core(core: &OnCore, text: &mut String) {
    let name = core.core.map_or("a core that is not in the tables", |core| core.0);
    line(text, &core.pmu, name);
    for encoding in &core.encodings {
        line(text, "", &event(encoding));
        line(text, "", &fields(encoding));
        let more = [("", encoding.note), ("errata: ", encoding.errata)];
        for (label, what) in more.into_iter().filter(|(_, what)| !what.is_empty()) {
            line(text, "", &format!("{label}{what}"));
        }
        if !encoding.filter.is_all() {
            line(text, "", &format!("of the samples are kept: {}", encoding.filter));
        }
    }
}

fn event(encoding: &Encoding) -> String {
    let mut said = format!("{} ({}, config {:#x}", encoding.event, encoding.pmu, encoding.config);
    if encoding.config1 != 0 {
        let _ = write!(said, ", config1 {:#x}", encoding.config1);
    }
    let _ = write!(said, "): {}", encoding.equivalence);
    if encoding.precise > 0 {
        let _ = write!(said, ", precise_ip {}", encoding.precise);
    }
    if !encoding.counters.is_empty() {
        let _ = write!(said, ", counters {}", encoding.counters);
    }
    said
}

pub(super) fn fields(encoding: &Encoding) -> String {
    let ip = if encoding.is_exact_ip() { "the instruction" } else { "some instructions later" };
    let address = if encoding.data_address { "of the data" } else { "none" };
    let registers = match encoding {
        _ if encoding.pmu == "ibs_op" => "of a later instruction, when the interrupt came",
        _ if encoding.precise > 0 => "after the instruction",
        _ => "where IP is",
    };
    let weight = match encoding.latency {
        Some(Latency::UseLatency) => "cycles until the data could be used",
        Some(Latency::StoreLatency) => "cycles until the store was done",
        Some(Latency::DataCacheMiss) => "cycles of the miss, 0 for hits",
        None => "none",
    };
    format!("IP: {ip}; address: {address}; registers: {registers}; weight: {weight}")
}

fn line(text: &mut String, key: &str, value: &str) {
    let _ = write!(text, "  {key:<10} ");
    wrap(value, INDENT, text);
}

/// Breaks a paragraph at spaces so that no line is longer than [`WIDTH`];
/// lines after the first start at `indent`.
fn wrap(paragraph: &str, indent: usize, out: &mut String) {
    let mut column = indent;
    for (place, word) in paragraph.split(' ').enumerate() {
        if place > 0 && column + 1 + word.len() > WIDTH {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if place > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
}
