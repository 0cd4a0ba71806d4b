//! What typed text names.

use proptest::prelude::*;

use super::*;

fn resolve(text: &str) -> Result<RequestedEvent, EventSpecError> {
    RequestedEvent::parse(text)
}

fn type_name(text: &str) -> &'static str {
    match resolve(text) {
        Ok(RequestedEvent::Type(entry)) => entry.name,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn other_spellings() {
    for (typed, name) in [
        ("page_fault", "page_fault"),
        ("page-faults", "page_fault"),
        ("faults", "page_fault"),
        ("Minor-Faults", "minor_fault"),
        ("cs", "context_switch"),
        ("migrations", "cpu_migration"),
        ("cpu-clock", "cpu_clock"),
        ("dtlb_stor_miss", "dtlb_store_miss"),
        ("scaler_sp_retired", "scaler_sp_retired"),
        ("scalar_sp_retired", "scaler_sp_retired"),
        (" page_fault ", "page_fault"),
    ] {
        assert_eq!(type_name(typed), name);
    }
}

#[test]
fn unknown_names_get_the_nearest() {
    let error = |text: &str, names: &[&str]| {
        EventSpecError::unknown(text, names.iter().copied()).to_string()
    };
    let text = error("page_falt", &[]);
    assert!(text.contains("did you mean page_fault"), "{text}");
    let text = error("l1_miss_cache", &[]);
    assert!(text.contains("l1_cache_miss"), "{text}");
    let text = error("zzzzzzzzzzzz", &[]);
    assert!(!text.contains("did you mean") && text.contains("ebs -h"), "{text}");
    let text = error("mem_load_retired.l3_mis", &["MEM_LOAD_RETIRED.L3_MISS", "BACLEARS.ANY"]);
    assert!(text.contains("did you mean MEM_LOAD_RETIRED.L3_MISS"), "{text}");
    assert_eq!(resolve("  "), Err(EventSpecError::Empty));
    for text in ["page fault!", "-x", "\u{e9}v\u{e9}nement", ":u", "7up"] {
        assert!(matches!(resolve(text), Err(EventSpecError::Unknown { .. })), "{text}");
    }
}

#[test]
fn modifiers_of_types_are_explained() {
    for (text, part) in [
        ("page-faults:u", "-t page_fault with -u"),
        ("l1_cache_miss:ukp", "as precise as the CPU can make it"),
        ("sched:sched_switch:k", "-t sched:sched_switch with -u"),
    ] {
        let error = resolve(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

fn letters(text: &str) -> String {
    let event = resolve(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    event.modifiers().unwrap_or_else(|| panic!("{text}: {event:?}")).to_string()
}

#[test]
fn modifiers() {
    for (text, expected) in [
        ("cycles", ""),
        ("cycles:u", "u"),
        ("cycles:kup", "ukp"),
        ("cycles:uppp", "uppp"),
        ("cycles:P", "P"),
        ("cpu/event=1/", ""),
        ("cpu/event=1/pp", "pp"),
        ("cpu/event=1/:hP", "hP"),
        ("r1c2:k", "k"),
        ("MEM_LOAD_RETIRED:L3_MISS:pp", "pp"),
        ("slots:p", "p"),
    ] {
        assert_eq!(letters(text), expected, "{text}");
    }
    let user = Modifiers { user: true, any_level: true, ..Modifiers::default() };
    assert_eq!(resolve("cycles:u").unwrap().modifiers(), Some(user));
    for (text, part) in [
        ("cycles:pppp", "end at ppp"),
        ("cycles:pP", "exclude each other"),
        ("cycles:G", "modifier G: guests"),
        ("r1c2:uS", "modifier S"),
        ("cpu/event=1/x", "'x' is no modifier"),
        ("cpu/event=1/::u", "':' is no modifier"),
        ("slots:D", "modifier D"),
    ] {
        let error = resolve(text).unwrap_err().to_string();
        assert!(error.contains(part) && error.starts_with(text), "{text}: {error}");
    }
    for letter in "GHSDIWeb".chars() {
        let error = resolve(&format!("cycles:{letter}")).unwrap_err();
        assert!(error.to_string().ends_with("leave it out"), "{error}");
    }
}

#[test]
fn raw_codes_lose_the_kernels_bits() {
    let raw = |text: &str| match resolve(text).unwrap() {
        RequestedEvent::Raw { config, modifiers, stripped } => {
            (config, modifiers.to_string(), stripped)
        }
        other => panic!("{text}: {other:?}"),
    };
    let word = |config: u64, letters: &str, stripped: u64| (config, letters.to_owned(), stripped);
    assert_eq!(raw("r1c2"), word(0x1c2, "", 0));
    assert_eq!(raw("r0x1C2:u"), word(0x1c2, "u", 0));
    assert_eq!(raw("rffffffffffacffff"), word(0xffff_ffff_ffac_ffff, "", 0), "others stay");
    assert_eq!(raw("r5301c4"), word(0x1c4, "uk", 0x53_0000));
    assert_eq!(raw("r5101c4"), word(0x1c4, "u", 0x51_0000));
    assert_eq!(raw("r5201c4"), word(0x1c4, "k", 0x52_0000));
    assert_eq!(raw("r5001c4"), word(0x1c4, "", 0x50_0000));
    assert_eq!(raw("r5201c4:upp"), word(0x1c4, "upp", 0x52_0000), "what is typed wins");
    assert_eq!(raw("r1d300c0"), word(0x180_00c0, "uk", 0x53_0000));
    assert_eq!(resolve("r1c2").unwrap().note(), None);
    let note = resolve("r5301c4").unwrap().note().unwrap();
    assert_eq!(
        note,
        "r5301c4: bits 16 (USR), 17 (OS), 20 (INT), 22 (EN) are the kernel's to set, the event is \
         r1c4; they ask for user and kernel mode"
    );
    // More than a word, or not hexadecimal: a name, for the tables to know.
    for text in ["r11111111111111111", "rx", "r", "r0x"] {
        assert!(matches!(resolve(text), Ok(RequestedEvent::Named { .. })), "{text}");
    }
}

#[test]
fn generic_events() {
    let found = |text: &str| match resolve(text).unwrap() {
        RequestedEvent::Generic { kind, config, name, .. } => (kind, config, name),
        other => panic!("{text}: {other:?}"),
    };
    let (hardware, cache) = (perfdata::EventType::HARDWARE, perfdata::EventType::HW_CACHE);
    for (text, kind, config, name) in [
        ("cycles", hardware, 0, "cycles"),
        ("cpu-cycles", hardware, 0, "cycles"),
        ("instructions:u", hardware, 1, "instructions"),
        ("cache-misses", hardware, 3, "cache-misses"),
        ("branches", hardware, 4, "branches"),
        ("branch-misses", hardware, 5, "branch-misses"),
        ("idle-cycles-backend", hardware, 8, "stalled-cycles-backend"),
        ("ref-cycles", hardware, 9, "ref-cycles"),
        ("L1-dcache-loads", cache, 0, "L1-dcache-loads"),
        ("L1-dcache-load-misses", cache, 0x1_0000, "L1-dcache-load-misses"),
        ("l1d-misses", cache, 0x1_0000, "L1-dcache-load-misses"),
        ("L1-dcache-stores", cache, 0x100, "L1-dcache-stores"),
        ("LLC-loads", cache, 2, "LLC-loads"),
        ("llc-load-misses", cache, 0x1_0002, "LLC-load-misses"),
        ("LLC-misses-store", cache, 0x1_0102, "LLC-store-misses"),
        ("LLC", cache, 2, "LLC-loads"),
        ("L2-prefetch-misses", cache, 0x1_0202, "LLC-prefetch-misses"),
        ("LLC-speculative-read-miss", cache, 0x1_0202, "LLC-prefetch-misses"),
        ("LLC-miss-speculative-load", cache, 0x1_0202, "LLC-prefetch-misses"),
        ("dTLB-load-misses", cache, 0x1_0003, "dTLB-load-misses"),
        ("Data-TLB-store-misses", cache, 0x1_0103, "dTLB-store-misses"),
        ("iTLB-load-misses", cache, 0x1_0004, "iTLB-load-misses"),
        ("branch-load-misses", cache, 0x1_0005, "branch-load-misses"),
        ("branches-loads", cache, 5, "branch-loads"),
        ("node-stores", cache, 0x106, "node-stores"),
    ] {
        assert_eq!(found(text), (kind, config, name.to_owned()), "{text}");
    }
    let all: Vec<_> = generic_names().collect();
    assert_eq!(all.len(), 10 + 2 * 16, "{all:?}");
    for name in &all {
        assert_eq!(&generic(name).unwrap().name, name);
    }
    // The kernel has no such operations there.
    for text in ["iTLB-stores", "L1-icache-store-misses", "branch-prefetches", "LLC-load-load"] {
        assert!(matches!(resolve(text), Ok(RequestedEvent::Named { .. })), "{text}");
    }
}

#[test]
fn forms_with_slashes() {
    let RequestedEvent::Pmu { pmu, terms, modifiers } =
        resolve("cpu_core/mem-loads,ldlat=30,name='my loads'/P").unwrap()
    else {
        panic!()
    };
    assert_eq!(pmu, "cpu_core");
    assert_eq!(terms.to_string(), "mem-loads,ldlat=0x1e,name=\"my loads\"");
    assert_eq!(modifiers.precise, Some(Precise::Highest));
    assert!(
        matches!(resolve("ibs_op//"), Ok(RequestedEvent::Pmu { terms, .. }) if terms.0.is_empty())
    );
    for (text, part) in [
        ("cpu/event=1", "slash behind the terms is missing"),
        ("/event=1/", "\"\" is no name of a PMU"),
        ("../etc/passwd", "is no name of a PMU"),
        ("a b/x/", "is no name of a PMU"),
        ("cycles/period=5/", "say -t cycles"),
        ("cpu/event=/", "event= has no value"),
        ("cpu/event=1,,umask=2/", "a term without a name"),
        ("cpu/=1/", "a term without a name"),
        ("cpu/event=0x1g/", "event=0x1g: no number"),
        ("cpu/event=0x/", "event=0x: no number"),
        ("cpu/event=18446744073709551616/", "no number of at most 64 bits"),
        ("cpu/ev$nt=1/", "\"ev$nt\" is no name of a term"),
        ("cpu/name='x/", "a quote is not closed"),
    ] {
        let error = resolve(text).unwrap_err().to_string();
        assert!(error.contains(part) && error.starts_with(text), "{text}: {error}");
    }
}

#[test]
fn makers_names() {
    let named = |text: &str| match resolve(text).unwrap() {
        RequestedEvent::Named { name, modifiers } => (name, modifiers.to_string()),
        other => panic!("{text}: {other:?}"),
    };
    let is = |name: &str, letters: &str| (name.to_owned(), letters.to_owned());
    assert_eq!(named("MEM_LOAD_RETIRED.L3_MISS"), is("MEM_LOAD_RETIRED.L3_MISS", ""));
    assert_eq!(named("MEM_LOAD_RETIRED:L3_MISS"), is("MEM_LOAD_RETIRED.L3_MISS", ""));
    assert_eq!(named("mem_load_retired.l3_miss:Pu"), is("mem_load_retired.l3_miss", "uP"));
    assert_eq!(named("OFFCORE:DMND:L3:k"), is("OFFCORE.DMND.L3", "k"));
    assert_eq!(named("mem_load_retired:l3_miss:p"), is("mem_load_retired.l3_miss", "p"));
    assert_eq!(named("mem-loads:P"), is("mem-loads", "P"), "the kernel's, not a type");
    assert_eq!(type_name("mem_loads"), "memory_loads");
    assert_eq!(type_name("Memory-Loads"), "memory_loads");
    assert_eq!(named("topdown-retiring"), is("topdown-retiring", ""));
}

#[test]
fn breakpoints() {
    let point = |text: &str| match resolve(text) {
        Ok(RequestedEvent::Breakpoint(point)) => point.to_string(),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(point("mem:0x4040c0"), "mem:0x4040c0/4:rw");
    assert_eq!(point("mem:4096/8:w"), "mem:0x1000/8:w");
    assert_eq!(point("mem:0X10/1:r"), "mem:0x10/1:r");
    assert_eq!(point("mem:0x1001/1:wr"), "mem:0x1001/1:rw");
    assert_eq!(point("mem:0x401001:x"), "mem:0x401001:x");
    assert_eq!(point("mem:0xffffffffffffffff/1:w"), "mem:0xffffffffffffffff/1:w");
    for (text, part) in [
        ("mem:", "\"\" is no address"),
        ("mem", "\"\" is no address"),
        ("mem:1main:w", "\"1main\" is no address"),
        ("mem:main/3:w", "length \"3\""),
        ("mem:main/x:w", "length \"x\""),
        ("mem:main:q", "access \"q\""),
        ("mem:main:w:u", "-u or -k"),
        ("mem:main/4:x", "leave \"/4\" out"),
        ("mem:=0x10:w", "is no address"),
        ("mem:-1:w", "\"-1\" is no address"),
        ("mem:+1:w", "\"+1\" is no address"),
        ("mem:0x+1:w", "\"0x+1\" is no address"),
        ("mem:0x10000000000000000:w", "is no address"),
        ("mem:0x1000/3:w", "length \"3\""),
        ("mem:0x1000/16:w", "length \"16\""),
        ("mem:0x1000/:w", "length \"\""),
        ("mem:0x1001:w", "not aligned to 4 bytes"),
        ("mem:0x1001:w", "mem:0x1000/4"),
        ("mem:0x1000:", "access \"\""),
        ("mem:0x1000:rwx", "access \"rwx\""),
        ("mem:0x1000:w:u", "-u or -k"),
        ("mem:0x1000/4:x", "leave \"/4\" out"),
    ] {
        let error = resolve(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn names_of_places_come_back() {
    let named = |text: &str| match resolve(text) {
        Ok(RequestedEvent::NamedBreakpoint(point)) => point,
        other => panic!("{text}: {other:?}"),
    };
    for (text, shown, name, object) in [
        ("mem:counter", "mem:counter:rw", "counter", None),
        ("mem:counter/8:w", "mem:counter/8:w", "counter", None),
        ("mem:counter+16/2:w", "mem:counter+0x10/2:w", "counter", None),
        ("mem:a@/usr/lib/a.so.1/8:w", "mem:a@/usr/lib/a.so.1/8:w", "a", Some("/usr/lib/a.so.1")),
        ("mem:a@/usr/lib/a.so:r", "mem:a@/usr/lib/a.so:r", "a", Some("/usr/lib/a.so")),
        ("mem:ns::x", "mem:ns::x:rw", "ns::x", None),
        ("mem:ns::x:x", "mem:ns::x:x", "ns::x", None),
        ("mem:N::operator/:x", "mem:N::operator/:x", "N::operator/", None),
        ("mem:N::operator+:x", "mem:N::operator+:x", "N::operator+", None),
        ("mem:jiffies@[kernel]:w", "mem:jiffies@[kernel]:w", "jiffies", Some("[kernel]")),
        ("mem:write@plt:x", "mem:write@plt:x", "write@plt", None),
    ] {
        let point = named(text);
        assert_eq!(point.to_string(), shown, "{text}");
        assert_eq!(named(shown), point, "{text}");
        let BreakpointLocation::Symbol { name: found, .. } = &point.spot else { panic!("{text}") };
        assert_eq!((found.as_str(), point.object.as_deref()), (name, object), "{text}");
    }
    let point = named("mem:0x4010@prog/4:w");
    assert_eq!(point.spot, BreakpointLocation::FileAddress(0x4010));
    let placed = point.at(0x5554_0000_4010, 4).unwrap();
    assert_eq!(placed.to_string(), "mem:0x4010@prog/4:w");
    assert_eq!(placed.spelled_out(), "mem:0x4010@prog=0x555400004010/4:w");
    assert_eq!(resolve(&placed.spelled_out()), Ok(RequestedEvent::Breakpoint(placed)));
    let routine = named("mem:N::operator=:x").at(0x1001, 8).unwrap();
    assert_eq!(routine.spelled_out(), "mem:N::operator==0x1001:x");
    assert_eq!(resolve(&routine.spelled_out()), Ok(RequestedEvent::Breakpoint(routine)));
    let error = named("mem:a:w").at(0x1001, 8).unwrap_err().to_string();
    assert!(error.contains("not aligned to 8 bytes"), "{error}");
}

#[test]
fn tracepoints_are_no_paths() {
    assert!(matches!(resolve("sched:sched_switch"), Ok(RequestedEvent::Tracepoint(_))));
    for text in ["..etc:passwd", "sched:", ":x", "sched:..", "a:b:c", "a:b c", "tracepoint"] {
        let error = resolve(text).unwrap_err();
        assert!(matches!(error, EventSpecError::Tracepoint { .. }), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_an_event_or_a_reason(text in "(mem:|cpu/|r|LLC-)?[ -~é]{0,40}") {
        if let Err(error) = resolve(&text) {
            prop_assert!(error.to_string().len() > 10);
        }
    }

    #[test]
    fn breakpoints_come_back(address: u64, shift in 0..4_u32, access in 0..3_usize) {
        let len = 1_u8 << shift;
        let access = [WatchedAccess::Read, WatchedAccess::Write, WatchedAccess::ReadWrite][access];
        let address = address & !(u64::from(len) - 1);
        let point = Breakpoint { address, len, access, name: None };
        prop_assert_eq!(resolve(&point.to_string()), Ok(RequestedEvent::Breakpoint(point)));
    }
}
