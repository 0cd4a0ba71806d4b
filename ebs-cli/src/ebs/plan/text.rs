//! A plan for people.

use super::json::{cpus, sample_type, uarch};
use perfdata::{Attr, AttrFlags, SampleType};
use recorder::Request;
use recorder::plan::{Outline, OutlinedEvent};
use std::fmt::Write;

/// What would be opened, a paragraph an event, then the notes.
pub(super) fn render(outline: &Outline, request: &Request) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", outline.name);
    if !request.masks.is_empty() {
        let _ = write!(text, " -m {}", request.masks.join(","));
    }
    let cpu = uarch(outline).map_or_else(String::new, |name| format!(" on {name}"));
    let _ = writeln!(text, "{cpu}: {}", outline.equivalence());
    for (index, event) in outline.events.iter().enumerate() {
        let _ = writeln!(text, "\n  event {index}: {}", event.planned.name);
        for (key, value) in rows(event) {
            let _ = writeln!(text, "    {key:<14} {value}");
        }
    }
    if !outline.notes.is_empty() {
        text.push('\n');
    }
    for note in &outline.notes {
        let _ = writeln!(text, "  note: {note}");
    }
    text
}

fn rows(outlined: &OutlinedEvent) -> Vec<(&'static str, String)> {
    let planned = &outlined.planned;
    let attr = &planned.attr;
    let promises = &planned.promises;
    let excluded: Vec<_> = attr
        .flags
        .iter_names()
        .filter_map(|(name, _)| name.strip_prefix("EXCLUDE_"))
        .map(str::to_lowercase)
        .collect();
    let on = match cpus(planned.cpus.as_deref()) {
        none if none.is_empty() => "none online".to_owned(),
        some => some,
    };
    let mut rows = vec![
        ("is", format!("{} ({})", outlined.event, outlined.equivalence)),
        ("pmu", format!("{} (type {}), CPUs {on}", planned.pmu, attr.kind.0)),
        (
            "config",
            format!("{:#x}, config1 {:#x}, config2 {:#x}", attr.config, attr.config1, attr.config2),
        ),
    ];
    if planned.carrier {
        rows.push((
            "helps",
            "the kernel wants it ahead of the next; it samples nothing".to_owned(),
        ));
        return rows;
    }
    rows.push(("interval", attr.sample_period.to_string()));
    rows.push(("precise_ip", format!("{}, {} at least", attr.precise_ip(), planned.least_precise)));
    rows.push(("excluded", if excluded.is_empty() { "-".to_owned() } else { excluded.join(" ") }));
    rows.push(("fields", sample_type(attr.sample_type).join(" ")));
    rows.push(("registers", format!("{:#x}, {}", attr.sample_regs_intr, promises.registers)));
    rows.extend(callers(attr).map(|how| ("callers", how)));
    rows.push(("ip", promises.ip.to_string()));
    rows.push(("address", promises.address.to_string()));
    rows.push(("weight", promises.weight.to_string()));
    if let Some(leader) = planned.leader {
        rows.push(("leader", format!("event {leader}")));
    }
    if !planned.filter.is_all() {
        rows.push(("kept", planned.filter.to_string()));
    }
    rows
}

/// Where the frames of a chain come from; None: callers were not asked for.
fn callers(attr: &Attr) -> Option<String> {
    let has = |field| attr.sample_type.contains(field);
    if !has(SampleType::CALLCHAIN) {
        return None;
    }
    let of_user = if has(SampleType::STACK_USER) {
        let bytes = attr.sample_stack_user;
        format!("{bytes} bytes of the stack with each record, unwound afterwards")
    } else if has(SampleType::BRANCH_STACK) {
        "the calls that the CPU has not seen return".to_owned()
    } else {
        "by frame pointers, in the kernel".to_owned()
    };
    let kernel = !attr.flags.contains(AttrFlags::EXCLUDE_CALLCHAIN_KERNEL);
    Some(format!("{of_user}{}", if kernel { "; the kernel's own before them" } else { "" }))
}
