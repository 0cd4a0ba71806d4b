//! `ebs list`: every event that can be named on this machine.

use crate::ebs::types::fields;
use crate::terminal::say;
use analysis::Glob;
use anyhow::{Result, anyhow};
use clap::Args;
use perfdata::EventType;
use recorder::catalogue::{
    Availability, CatalogueType, MOUNT_TRACEFS, all, availability, find, identify, names,
};
use recorder::machine::facts::Tracefs;
use recorder::request::event_spec::{EventSpecError, generic, generic_names};
use recorder::source::emulable;
use recorder::{Facts, emulated};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What to list, and of which machine.
#[derive(Clone, Debug, Default, Args)]
pub struct ListArguments {
    /// Names that hold this text; a pattern with `*` or `?` has to match the whole name.
    pub pattern: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// Another machine: DIR/devices is its /sys/bus/event_source/devices, DIR/cpuinfo its
    /// /proc/cpuinfo.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// Prints the events of a machine.
///
/// # Errors
///
/// A machine that cannot be read, a pattern that nothing matches, and those
/// of `out`.
pub fn run(arguments: &ListArguments, out: &mut dyn Write) -> Result<()> {
    let mut points = None;
    let facts = match &arguments.root {
        Some(root) => Facts::read_tree(root, None)?,
        None => {
            let here = Path::new("/");
            let mut facts = Facts::read(here)?;
            facts.read_all_pmus(here)?;
            points = facts.tracepoints(here)?;
            facts
        }
    };
    let all = Listing::new(&facts).with_tracepoints(points.as_deref().unwrap_or_default());
    let found = match &arguments.pattern {
        Some(pattern) => {
            let found = all.clone().matching(pattern);
            if found.is_empty() {
                return Err(match &arguments.root {
                    Some(_) => nothing(pattern, &facts, &all, None),
                    None => nothing(pattern, &facts, &all, Some(unread(&facts))),
                });
            }
            found
        }
        None => all,
    };
    let text = if arguments.json { found.json()? } else { found.text() };
    out.write_all(text.as_bytes())?;
    if let (None, None) = (&points, &arguments.root) {
        say("ebs", &format!("no tracepoints: {}", unread(&facts)));
    }
    Ok(())
}

fn unread(facts: &Facts) -> String {
    match &facts.tracefs {
        Tracefs::At(place) => format!(
            "{0} may not be read by this user; be root, or as root: mount -o \
             remount,gid=GROUP,mode=750 {0}",
            place.display()
        ),
        Tracefs::Absent | Tracefs::Unknown => format!("tracefs is not mounted; {MOUNT_TRACEFS}"),
    }
}

/// Why a pattern matches nothing, with what is like it; and why tracepoints
/// that are not known are not, where they could be.
fn nothing(pattern: &str, facts: &Facts, all: &Listing, unread: Option<String>) -> anyhow::Error {
    if let Some(Availability::Unavailable { why, nearest, .. }) =
        find(pattern).map(|entry| availability(entry, facts))
    {
        let nearest = match nearest.join(", ") {
            none if none.is_empty() => String::new(),
            names => format!("; nearest: {names}"),
        };
        return anyhow!("{pattern} is not to be had here: {why}{nearest}");
    }
    let like = match all.unknown(pattern) {
        EventSpecError::Unknown { nearest, .. } if !nearest.is_empty() => {
            format!("; did you mean {}?", nearest.join(" or "))
        }
        _ => String::new(),
    };
    let is_known = all.0.iter().any(|event| event.namer == Namer::Tracepoint);
    let closed = unread.filter(|_| !is_known);
    let closed =
        closed.map_or_else(String::new, |why| format!(" (tracepoints are not known: {why})"));
    anyhow!("no event that can be named here matches \"{pattern}\"{like}{closed}")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Namer {
    /// Types of ours.
    Hardmeter,
    /// The kernel, on every CPU.
    Kernel,
    /// The kernel, for one PMU: its `events` directory.
    Alias,
    /// The maker of the CPU.
    Maker,
    /// The kernel's developers, for a place in its code.
    Tracepoint,
}

impl Namer {
    const ALL: [Namer; 5] =
        [Namer::Hardmeter, Namer::Kernel, Namer::Alias, Namer::Maker, Namer::Tracepoint];

    fn heading(self) -> &'static str {
        match self {
            Namer::Hardmeter => "Types (ebs -h TYPE says more)",
            Namer::Kernel => "The kernel's names",
            Namer::Alias => "Aliases of PMUs",
            Namer::Maker => "The makers' names",
            Namer::Tracepoint => "Tracepoints (-k; syscalls:* with -u, too)",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// What to say after -t.
    pub name: String,
    pub namer: Namer,
    /// PMUs that count it; empty when no PMU does.
    pub pmus: Vec<String>,
    /// Numbers or terms that the PMU takes for it; what is counted, for a
    /// type.
    pub what: String,
    /// Whether samples name the instruction, as far as that is known.
    pub exact: Option<bool>,
    /// What the instruction pointers are, in the word of `ebs -h`: exact, next,
    /// timer, place, skid, some (exact on some cores), varies. None: not known.
    pub ip: Option<&'static str>,
    /// Whether samples carry a data address, as far as that is known.
    pub address: Option<bool>,
    /// Events between samples unless said otherwise, where there is a usual.
    pub interval: Option<u64>,
    /// Its namer advises another event.
    pub deprecated: bool,
}

/// Events of a machine, in the order to show them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing(Vec<Named>);

impl Listing {
    pub fn new(facts: &Facts) -> Listing {
        let mut all: Vec<Named> = types(facts).chain(kernel(facts)).chain(aliases(facts)).collect();
        all.extend(makers(facts));
        Listing(all)
    }

    #[must_use]
    pub fn with_tracepoints(mut self, names: &[String]) -> Listing {
        let mut names: Vec<&String> = names.iter().collect();
        names.sort_unstable();
        self.0.extend(names.into_iter().map(|name| Named {
            name: name.clone(),
            namer: Namer::Tracepoint,
            pmus: vec!["tracepoint".to_owned()],
            what: String::new(),
            exact: None,
            // Those of system calls are where the program called.
            ip: (!name.starts_with("syscalls:")).then_some("place"),
            address: None,
            interval: Some(1),
            deprecated: false,
        }));
        self
    }

    /// Those whose name matches: a pattern with `*` and `?` the whole name,
    /// other text a part of it. Letter case makes no difference.
    pub fn matching(self, pattern: &str) -> Listing {
        let pattern = pattern.to_lowercase();
        let glob = pattern.contains(['*', '?']).then(|| Glob::new(&*pattern));
        let matches = |name: &str| {
            let name = name.to_lowercase();
            glob.as_ref().map_or_else(|| name.contains(&pattern), |glob| glob.matches(&name))
        };
        Listing(self.0.into_iter().filter(|event| matches(&event.name)).collect())
    }

    pub fn called(self, name: &str) -> Listing {
        let inner = |event: &Named| event.name.split('/').nth(1).map(str::to_owned);
        let is = |event: &Named| {
            event.name.eq_ignore_ascii_case(name)
                || inner(event).is_some_and(|inner| inner.eq_ignore_ascii_case(name))
        };
        Listing(self.0.into_iter().filter(is).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn unknown(&self, typed: &str) -> EventSpecError {
        EventSpecError::unknown(typed, self.0.iter().map(|event| event.name.as_str()))
    }

    /// As text, each line an event, under headings.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let widest = |length: fn(&Named) -> usize| self.0.iter().map(length).max().unwrap_or(0);
        let widths = [widest(|event| event.name.len()).min(50), widest(|event| event.pmus().len())];
        for namer in Namer::ALL {
            let mut events = self.0.iter().filter(|event| event.namer == namer).peekable();
            if events.peek().is_none() {
                continue;
            }
            let start = if text.is_empty() { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{start}{}:\n", namer.heading());
            for event in events {
                let _ = writeln!(text, "{}", event.line(widths));
            }
        }
        text
    }

    /// As JSON: an array of objects, one a line.
    ///
    /// # Errors
    ///
    /// Those of the serializer, which has none for these.
    pub fn json(&self) -> std::io::Result<String> {
        let mut text = String::from("[");
        for (place, event) in self.0.iter().enumerate() {
            text.push_str(if place == 0 { "\n" } else { ",\n" });
            text.push_str(&analysis::json::line(event)?);
        }
        text.push_str("\n]\n");
        Ok(text)
    }
}

impl Named {
    fn pmus(&self) -> String {
        self.pmus.join(",")
    }

    fn line(&self, [name, pmu]: [usize; 2]) -> String {
        let mut said = Vec::new();
        said.extend(self.ip);
        said.extend(self.address.filter(|has| *has).map(|_| "address"));
        said.extend(self.deprecated.then_some("deprecated"));
        let fields = said.join(", ");
        let (pmus, what) = (self.pmus(), self.what.as_str());
        let line = format!("  {:<name$} {pmus:<pmu$} {fields:<14} {what}", self.name);
        line.trim_end().to_owned()
    }
}

fn types(facts: &Facts) -> impl Iterator<Item = Named> {
    all().filter_map(|entry| {
        if emulable(entry, facts).is_some() {
            return Some(emulated_type(entry));
        }
        let Availability::Available { default_interval, hardware } = availability(entry, facts)
        else {
            return None;
        };
        let encodings =
            || hardware.iter().flat_map(|found| &found.cores).flat_map(|core| &core.encodings);
        let mut pmus: Vec<_> = encodings().map(|encoding| encoding.pmu.to_owned()).collect();
        pmus.dedup();
        let (ip, _) = fields(entry, hardware.as_ref());
        let address = match entry.promises {
            Some(promises) => {
                promises.address != recorder::catalogue::promises::AddressPromise::None
            }
            None => encodings().all(|encoding| encoding.data_address),
        };
        Some(Named {
            name: entry.name.to_owned(),
            namer: Namer::Hardmeter,
            pmus,
            what: entry.meaning.to_owned(),
            exact: Some(ip == "exact"),
            ip: Some(ip),
            address: Some(address),
            interval: Some(default_interval),
            deprecated: false,
        })
    })
}

/// A type that the emulated PMU has, and the machine has not.
fn emulated_type(entry: &CatalogueType) -> Named {
    Named {
        name: entry.name.to_owned(),
        namer: Namer::Hardmeter,
        pmus: vec!["emulated".to_owned()],
        what: emulated::meaning(entry).unwrap_or_else(|| entry.meaning.to_owned()),
        exact: Some(true),
        ip: Some("exact"),
        address: Some(emulated::has_address(entry)),
        interval: Some(entry.default_interval),
        deprecated: false,
    }
}

/// The kernel's names mean something only where a core has a PMU.
fn kernel(facts: &Facts) -> impl Iterator<Item = Named> {
    let names = facts.has_core_pmu().then(generic_names).into_iter().flatten();
    names.filter_map(|name| {
        let event = generic(&name)?;
        let kind = if event.kind == EventType::HARDWARE { "hardware" } else { "hw_cache" };
        Some(Named {
            namer: Namer::Kernel,
            pmus: vec![kind.to_owned()],
            what: format!("config={:#x}", event.config),
            exact: None,
            ip: None,
            address: None,
            interval: None,
            deprecated: false,
            name,
        })
    })
}

fn aliases(facts: &Facts) -> impl Iterator<Item = Named> {
    facts.pmus.iter().flatten().flat_map(|pmu| {
        let aliases = pmu.description.iter().flat_map(|description| &description.aliases);
        aliases.map(|(name, alias)| Named {
            name: format!("{}/{name}/", pmu.name),
            namer: Namer::Alias,
            pmus: vec![pmu.name.clone()],
            what: match &alias.terms {
                Ok(terms) => terms.to_string(),
                Err(error) => format!("unusable: {error}"),
            },
            exact: None,
            ip: None,
            address: None,
            interval: None,
            deprecated: false,
        })
    })
}

/// The names of the tables; those that several kinds of core have in common
/// stand once for each.
fn makers(facts: &Facts) -> Vec<Named> {
    let mut found = Vec::new();
    for pmu in facts.pmus.iter().flatten() {
        let Some(core) = identify(&facts.cpus, pmu).core() else { continue };
        found.extend(names(core, &pmu.name).map(|event| Named {
            name: event.name.to_owned(),
            namer: Namer::Maker,
            pmus: vec![pmu.name.clone()],
            what: match event.config1 {
                0 => format!("config={:#x}", event.config),
                config1 => format!("config={:#x},config1={config1:#x}", event.config),
            },
            exact: Some(event.precise),
            ip: Some(if event.precise { "exact" } else { "skid" }),
            address: Some(event.data_address),
            interval: Some(event.default_interval),
            deprecated: event.deprecated,
        }));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use recorder::machine::facts::Pmu;

    use super::*;

    /// An Intel machine of family 6.
    pub(crate) fn machine(model: u32, stepping: u32, pmus: &[&str]) -> Facts {
        let pmu = |name: &&str| Pmu {
            name: (*name).to_owned(),
            kind: Some(EventType(4)),
            ..Pmu::default()
        };
        let mut facts = Facts { pmus: Some(pmus.iter().map(pmu).collect()), ..Facts::default() };
        facts.cpus.vendor = Some("GenuineIntel".to_owned());
        facts.cpus.family = Some(6);
        facts.cpus.model = Some(model);
        facts.cpus.stepping = Some(stepping);
        facts
    }

    fn listed(facts: &Facts, pattern: &str) -> Vec<String> {
        let found = Listing::new(facts).matching(pattern);
        found.0.into_iter().map(|event| event.name).collect()
    }

    #[test]
    fn names_are_found_by_part_and_by_pattern() {
        let facts = machine(0x55, 4, &["cpu", "software"]);
        assert_eq!(listed(&facts, "Retired.L1_miss"), ["mem_load_retired.l1_miss"]);
        assert_eq!(listed(&facts, "MEM_LOAD_RETIRED.L?_MISS").len(), 3);
        assert_eq!(listed(&facts, "l1*miss"), ["l1_cache_miss"]);
        assert_eq!(listed(&facts, "branch-miss*"), ["branch-misses"]);
        assert!(listed(&facts, "no such thing").is_empty());
        let nothing =
            |pattern| super::nothing(pattern, &facts, &Listing::new(&facts), None).to_string();
        assert!(nothing("store_latency").contains("stores are not timed"));
        assert!(
            nothing("mem_load_retired.l1mis").contains("did you mean mem_load_retired.l1_miss")
        );
        assert!(
            Listing::new(&facts).unknown("mem_load_retired.l1mis").to_string().contains("l1_miss")
        );
    }

    #[test]
    fn each_kind_of_name_has_its_heading() {
        let facts = machine(0x55, 4, &["cpu", "software"]);
        let text = Listing::new(&facts).text();
        let places: Vec<_> = ["Types", "The kernel's names", "The makers' names"]
            .iter()
            .map(|heading| text.find(heading).expect("is there"))
            .collect();
        assert!(places.is_sorted());
        assert!(text.lines().count() > 400, "{text}");
        let bare = Listing::new(&Facts::default()).text();
        assert!(bare.contains("page_fault") && !bare.contains("cycles"), "{bare}");
    }

    #[test]
    fn both_cores_of_a_hybrid_have_names() {
        let facts = machine(0x97, 2, &["cpu_core", "cpu_atom"]);
        let found = Listing::new(&facts).called("mem_load_uops_retired.l2_miss");
        assert_eq!(
            found.0.iter().map(|event| event.pmus.join("")).collect::<Vec<_>>(),
            ["cpu_atom"]
        );
        let found = Listing::new(&facts).called("INST_RETIRED.ANY");
        assert_eq!(found.0.len(), 2);
    }

    #[test]
    fn json_says_all() {
        let facts = machine(0x55, 4, &["cpu"]);
        let found = Listing::new(&facts).matching("mem_load_retired.l1_miss");
        assert_eq!(
            found.json().expect("serializes"),
            "[\n{\"name\":\"mem_load_retired.l1_miss\",\"namer\":\"maker\",\"pmus\":[\"cpu\"],\
         \"what\":\"config=0x8d1\",\"exact\":true,\"ip\":\"exact\",\"address\":true,\"interval\":100003,\
         \"deprecated\":false}\n]\n"
        );
    }

    #[test]
    fn tracepoints_are_listed_and_found() {
        let facts = machine(0x55, 4, &["cpu", "software"]);
        let names = ["sched:sched_switch", "irq:irq_handler_entry"].map(str::to_owned);
        let all = Listing::new(&facts).with_tracepoints(&names);
        let text = all.text();
        let (_, behind) = text.split_once("\nTracepoints (").expect("a heading");
        let places = ["irq:irq_handler_entry", "sched:sched_switch"].map(|name| behind.find(name));
        assert!(places[0].is_some() && places.is_sorted(), "{behind}");
        let found = all.clone().matching("sched_sw");
        assert_eq!(found.0.iter().map(|event| &event.name).collect::<Vec<_>>(), [&names[0]]);
        assert!(found.json().expect("serializes").contains("\"namer\":\"tracepoint\""));
        assert!(all.unknown("sched_swich").to_string().contains("sched:sched_switch"));
        // Where they are not known, that is said.
        let said = |all: &Listing, unread| nothing("sched_swich", &facts, all, unread).to_string();
        let here = said(&Listing::new(&facts), Some(unread(&facts)));
        assert!(here.contains("tracefs is not mounted"), "{here}");
        let elsewhere = said(&Listing::new(&facts), None);
        assert!(!elsewhere.contains("trace"), "{elsewhere}");
        let known = said(&all, Some(unread(&facts)));
        assert!(!known.contains("tracefs"), "{known}");
    }
}
