//! `ebs -h`: the event types, and what this machine has of them.

use crate::ebs::list::Listing;
use anyhow::Result;
use recorder::catalogue::promises::{AddressPromise, IpPromise};
use recorder::catalogue::{
    Availability, CatalogueType, Encoding, EventKind, IntervalUnit, OnMachine, all, availability,
    find, help,
};
use recorder::request::event_spec::{EventSpecError, RequestedEvent};
use recorder::source::emulable;
use recorder::{EventSpec, Facts, emulated};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// What an emulated type is.
const EMULATED: &str = "a model of caches and TLBs that the program's instructions run through: no \
                        hardware is sampled, and the program takes longer; docs/emulator.md";

/// Lists the event types of this machine, or describes one.
///
/// # Errors
///
/// A machine that makes no sense, a word that is no event, a failing output.
pub fn run(name: Option<&str>, out: &mut dyn Write) -> Result<()> {
    let facts = Facts::read(Path::new("/"))?;
    let text = match name {
        None => list(&facts),
        Some(name) => describe(name, &facts)?,
    };
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// The list of types as text: first those that are to be had, then the
/// others under the reason why not.
pub fn list(facts: &Facts) -> String {
    let mut text = String::from("Event types of this machine (ebs -h TYPE says more):\n\n");
    let mut lacking: Vec<(String, String, Vec<String>)> = Vec::new();
    let (mut emulated, mut emulated_because) = (String::new(), None);
    row(&mut text, ["type", "interval", "IP", "address"], "what is counted");
    for entry in all() {
        if let Some(why) = emulable(entry, facts) {
            emulated_because = Some(why);
            let address = if emulated::has_address(entry) { "yes" } else { "-" };
            let columns = [entry.name, &interval(entry, entry.default_interval), "exact", address];
            let meaning = emulated::meaning(entry);
            row(&mut emulated, columns, meaning.as_deref().unwrap_or(entry.meaning));
            continue;
        }
        match availability(entry, facts) {
            Availability::Available { default_interval, hardware } => {
                let interval = interval(entry, default_interval);
                let (ip, address) = fields(entry, hardware.as_ref());
                let meaning = entry.meaning.to_owned() + &only_on(hardware.as_ref());
                row(&mut text, [entry.name, &interval, ip, address], &meaning);
            }
            Availability::Unavailable { why, nearest, advice } => {
                let mut line = String::new();
                let meaning = if nearest.is_empty() {
                    entry.meaning.to_owned()
                } else {
                    format!("{} (nearest: {})", entry.meaning, nearest.join(", "))
                };
                row(&mut line, [entry.name, "-", "-", "-"], &meaning);
                match lacking.iter_mut().find(|(reason, way, _)| (reason, way) == (&why, &advice)) {
                    Some((_, _, lines)) => lines.push(line),
                    None => lacking.push((why, advice, vec![line])),
                }
            }
        }
    }
    if let Some(why) = emulated_because {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nEmulated here, with -u and a command or a PID: {why}\n");
        let _ = write!(text, "({EMULATED})\n\n{emulated}");
    }
    for (why, advice, lines) in lacking {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nNot to be had here: {why}\n({advice})\n\n{}", lines.concat());
    }
    text
}

fn row(text: &mut String, [name, interval, ip, address]: [&str; 4], meaning: &str) {
    let width = all().map(|entry| entry.name.len()).max().unwrap_or(0);
    let _ = writeln!(text, "  {name:<width$} {interval:>9}  {ip:<5} {address:<7} {meaning}");
}

/// Whether samples name the instruction, and the data.
pub(crate) fn fields(
    entry: &CatalogueType,
    hardware: Option<&OnMachine>,
) -> (&'static str, &'static str) {
    if let Some(found) = hardware {
        let all = || found.cores.iter().flat_map(|core| &core.encodings);
        let of = |has: fn(&Encoding) -> bool| (all().any(has), all().all(has));
        let ip = match of(Encoding::is_exact_ip) {
            (_, true) => "exact",
            (true, false) => "some",
            (false, false) => "skid",
        };
        let address = match of(|encoding| encoding.data_address) {
            (_, true) => "yes",
            (true, false) => "some",
            (false, false) => "-",
        };
        return (ip, address);
    }
    let Some(promises) = entry.promises else { return ("-", "-") };
    let ip = match promises.ip {
        IpPromise::Exact => "exact",
        IpPromise::Skid => "skid",
        other => other.meaning().word(),
    };
    (ip, if promises.address == AddressPromise::None { "-" } else { "yes" })
}

/// On a hybrid CPU the cores that have the type, when not all do.
fn only_on(hardware: Option<&OnMachine>) -> String {
    match hardware {
        Some(found) if !found.unavailable.is_empty() => {
            let pmus: Vec<_> = found.cores.iter().map(|core| core.pmu.as_str()).collect();
            format!(" (only on {})", pmus.join(", "))
        }
        _ => String::new(),
    }
}

fn interval(entry: &CatalogueType, interval: u64) -> String {
    match entry.unit {
        IntervalUnit::Events => interval.to_string(),
        IntervalUnit::Nanoseconds => match (interval % 1_000_000, interval % 1_000) {
            (0, _) => format!("{} ms", interval / 1_000_000),
            (_, 0) => format!("{} us", interval / 1_000),
            _ => format!("{interval} ns"),
        },
    }
}

/// The help of one type, by any of its names or by an event of its form; of
/// another event what `ebs list` says of it.
///
/// # Errors
///
/// An unknown name; the nearest known ones are in the text.
pub fn describe(typed: &str, facts: &Facts) -> Result<String, EventSpecError> {
    if let Some(entry) = find(typed) {
        return Ok(help(entry, facts));
    }
    let kind = match EventSpec::from(typed).event()? {
        RequestedEvent::Type(entry) => return Ok(help(entry, facts)),
        RequestedEvent::Breakpoint(_) | RequestedEvent::NamedBreakpoint(_) => EventKind::Breakpoint,
        RequestedEvent::Tracepoint(_) => EventKind::Tracepoint,
        RequestedEvent::Generic { name, .. } | RequestedEvent::Named { name, .. } => {
            let found = Listing::new(facts).called(name);
            return if found.is_empty() {
                Err(Listing::new(facts).unknown(typed))
            } else {
                Ok(found.text())
            };
        }
        RequestedEvent::Pmu { .. } | RequestedEvent::Raw { .. } => {
            return Ok(format!(
                "{typed}: an event by its number; ebs plan -t {typed} shows what it would open\n"
            ));
        }
    };
    let forms = all().filter(|entry| entry.kind == kind);
    Ok(forms.map(|entry| help(entry, facts)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebs::command::{self, Command};
    use crate::ebs::sample::SampleJob;

    #[test]
    fn every_type_is_listed_with_its_reason() {
        let bare = list(&Facts::default());
        for entry in all() {
            assert!(bare.contains(&format!("\n  {} ", entry.name)), "{} in {bare}", entry.name);
        }
        assert!(bare.contains("\nNot to be had here: "), "{bare}");
        assert!(bare.contains("nearest: page_fault"), "{bare}");
    }

    #[test]
    fn intervals_end_in_one_column() {
        let bare = list(&Facts::default());
        let rows = bare.lines().filter(|line| line.starts_with("  "));
        let ends = rows.map(|line| {
            let name = line.trim_start();
            let interval = name[name.find(' ').expect("a name")..].trim_start();
            line.len() - interval[interval.find("  ").expect("an interval")..].len()
        });
        let ends: Vec<usize> = ends.collect();
        assert!(ends.len() > 10 && ends.iter().all(|end| *end == ends[0]), "{bare}");
    }

    #[test]
    fn types_are_described_by_name_and_by_form() {
        let facts = Facts::default();
        let said = |typed: &str| describe(typed, &facts).expect("is a type");
        assert!(said("page_fault").starts_with("page_fault: "));
        assert!(said("mem:0x1000:w").starts_with("mem:ADDR"));
        assert!(said("sched:sched_switch").starts_with("SUBSYSTEM:NAME"));
        let error = describe("page_fualt", &facts).expect_err("is none").to_string();
        assert!(error.contains("page_fault"), "{error}");
    }

    #[test]
    fn a_machine_with_a_pmu_shows_what_its_samples_carry() {
        let facts = crate::ebs::list::tests::machine(0x55, 4, &["cpu", "software"]);
        let text = list(&facts);
        let line = |name: &str| {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
            line.expect("is listed").split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(line("l1_cache_miss").starts_with("l1_cache_miss 100003 exact yes loads"));
        assert!(line("fb_full").starts_with("fb_full 2000003 skid - cycles"));
        assert!(line("page_fault").starts_with("page_fault 1 exact yes"));
        assert!(text.contains("Not to be had here: this core (skylakex)"), "{text}");
        let text = describe("MEM_LOAD_RETIRED.L1_MISS", &facts).expect("is an event here");
        assert!(text.contains("0x8d1") && text.contains("exact"), "{text}");
        let error = describe("mem_load_retired.l1_mis", &facts).expect_err("is none").to_string();
        assert!(error.contains("mem_load_retired.l1_miss"), "{error}");
    }

    /// Of every type, on a machine without a PMU and on one with.
    #[test]
    fn what_help_shows_to_type_is_taken() {
        let mut bare = crate::ebs::list::tests::machine(0x55, 4, &["software", "breakpoint"]);
        bare.kernel.machine = Some("x86_64".to_owned());
        let known = recorder::machine::facts::TracepointState::Id(1);
        bare.tracepoints.insert("kmem:mm_page_alloc".to_owned(), known);
        let mut with_pmu =
            crate::ebs::list::tests::machine(0x55, 4, &["cpu", "software", "breakpoint"]);
        with_pmu.kernel.machine = Some("x86_64".to_owned());
        with_pmu.tracepoints.clone_from(&bare.tracepoints);
        for (facts, entry) in all().flat_map(|entry| [(&bare, entry), (&with_pmu, entry)]) {
            let text = help(entry, facts);
            let line = text.lines().find_map(|line| line.strip_prefix("  example    "));
            let line = line.unwrap_or_else(|| panic!("no example: {text}"));
            let words = line.split_whitespace().map(Into::into).collect();
            let Ok(Command::Sample(arguments)) = command::parse(words) else {
                panic!("{line} does not sample");
            };
            let job = SampleJob::new(*arguments).expect(line);
            let planned =
                recorder::source::outline(&job.asked.request, job.emulation.source, None, facts);
            // A name is looked up when the program is there.
            if !matches!(planned, Err(recorder::Refusal::PlaceUnknown { .. })) {
                assert!(planned.is_ok(), "{line}: {}", planned.expect_err("is none"));
            }
        }
        assert!(help(find("hitm").expect("is a type"), &bare).contains("ebs -u -t hitm -- "));
    }
}
