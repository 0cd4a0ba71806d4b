//! What typed text names.

use proptest::prelude::*;

use super::*;

fn resolve(text: &str) -> Result<Event, EventSpecError> {
    EventSpec::from(text).resolve()
}

fn type_name(text: &str) -> &'static str {
    match resolve(text) {
        Ok(Event::Type(entry)) => entry.name,
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
fn unknown_types_get_the_nearest_names() {
    let text = resolve("page_falt").unwrap_err().to_string();
    assert!(text.contains("did you mean page_fault"), "{text}");
    let text = resolve("l1_miss_cache").unwrap_err().to_string();
    assert!(text.contains("l1_cache_miss"), "{text}");
    let text = resolve("zzzzzzzzzzzz").unwrap_err().to_string();
    assert!(!text.contains("did you mean") && text.contains("ebs -h"), "{text}");
    assert_eq!(resolve("  "), Err(EventSpecError::Empty));
}

#[test]
fn perf_modifiers_are_explained() {
    let text = resolve("page-faults:u").unwrap_err().to_string();
    assert!(text.contains("-t page_fault with -u"), "{text}");
}

#[test]
fn breakpoints() {
    let point = |text: &str| match resolve(text) {
        Ok(Event::Breakpoint(point)) => point.to_string(),
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
        ("mem:main:w", "\"main\" is no address"),
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
fn tracepoints_are_no_paths() {
    assert!(matches!(resolve("sched:sched_switch"), Ok(Event::Tracepoint(_))));
    for text in
        ["../etc:passwd", "a/b:c", "sched:", ":x", "sched:..", "a:b:c", "a:b c", "tracepoint"]
    {
        let error = resolve(text).unwrap_err();
        assert!(matches!(error, EventSpecError::Tracepoint { .. }), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_an_event_or_a_reason(text in "(mem:)?[ -~é]{0,40}") {
        if let Err(error) = resolve(&text) {
            prop_assert!(error.to_string().len() > 10);
        }
    }

    #[test]
    fn breakpoints_come_back(address: u64, shift in 0..4_u32, access in 0..3_usize) {
        let len = 1_u8 << shift;
        let access = [Access::Read, Access::Write, Access::ReadWrite][access];
        let point = Breakpoint { address: address & !(u64::from(len) - 1), len, access };
        prop_assert_eq!(resolve(&point.to_string()), Ok(Event::Breakpoint(point)));
    }
}
