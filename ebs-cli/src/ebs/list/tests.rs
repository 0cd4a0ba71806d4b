//! What is listed, and how it is found again.

use recorder::machine::facts::Pmu;

use super::*;

/// An Intel machine of family 6.
pub(crate) fn machine(model: u32, stepping: u32, pmus: &[&str]) -> Facts {
    let pmu =
        |name: &&str| Pmu { name: (*name).to_owned(), kind: Some(EventType(4)), ..Pmu::default() };
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
    assert!(nothing("mem_load_retired.l1mis").contains("did you mean mem_load_retired.l1_miss"));
    assert!(Listing::new(&facts).unknown("mem_load_retired.l1mis").to_string().contains("l1_miss"));
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
    assert_eq!(found.0.iter().map(|event| event.pmus.join("")).collect::<Vec<_>>(), ["cpu_atom"]);
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
