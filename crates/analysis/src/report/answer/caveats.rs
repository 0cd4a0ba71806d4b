//! What a reader must know to read the numbers right.

use super::DescribedEvent;
use crate::collect::event::Event;
use crate::collect::weight::Weighing;
use crate::name::lookup::Lookup;
use crate::query::chain_view::FrameCut;
use crate::query::filter::FilterCondition;
use crate::query::glob::Glob;
use crate::query::key::Key;
use crate::query::{Query, Weighting};
use crate::report::{Losses, SamplingMode};
use perfdata::stream::{EventDescription, StreamDecoder, note};
use perfdata::{Attr, AttrFlags, EventType, SampleFilter, SampleType};

pub(super) fn of_stream(query: &Query, losses: &Losses, decoder: &StreamDecoder) -> Vec<String> {
    let mut notes = Vec::new();
    let from_stream = decoder.features().cache_line_size().is_some_and(u32::is_power_of_two);
    if query.keys.contains(&Key::Line) && query.cache_line.is_none() && !from_stream {
        notes.push(format!(
            "the stream does not say how long the machine's cache lines are: {} bytes are assumed",
            Query::CACHE_LINE
        ));
    }
    if losses.counted_early > 0 {
        notes.push(format!(
            "{} samples were counted before all side records of their time were in: \
             the stream has too few round marks; some may have the wrong object or name",
            losses.counted_early
        ));
    }
    if losses.unplaced > 0 {
        notes.push(format!(
            "{} records belong to no event that the stream describes and were left out",
            losses.unplaced
        ));
    }
    notes.extend(of_frames(&query.frames));
    notes.extend(decoder.tally().unreadable().map(ToString::to_string));
    notes.extend(decoder.undecoded());
    notes
}

/// Whose the sites of a table are, when they are not the sampled ones.
fn of_frames(FrameCut { callers, callees, outside }: &FrameCut) -> Option<String> {
    let outside: Vec<String> = outside.iter().map(Glob::to_string).collect();
    let outside = (!outside.is_empty()).then(|| format!("outside {}", outside.join(", ")));
    let from = match (callers, outside) {
        (Some(callers), None) => Some(format!("in {callers}")),
        (Some(callers), Some(outside)) => Some(format!("at or beyond {callers} {outside}")),
        (None, outside) => outside,
    };
    let from = from.map(|from| {
        format!("sites, routines, lines and objects are of each call chain's first frame {from}")
    });
    let to = callees.as_ref().map(|callees| format!("call chains end at {callees}"));
    let told: Vec<String> = from.into_iter().chain(to).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// A site that several objects have: an address in one file is an address in
/// others, and a name may be common.
pub(super) fn of_site(query: &Query, lookup: &Lookup) -> Option<String> {
    let site = query.registers.as_ref()?.site.as_ref()?;
    let (objects, shown) = (&lookup.places.site_objects, 4);
    if objects.len() < 2 {
        return None;
    }
    let mut names: Vec<_> = objects.iter().map(|number| lookup.places.name(*number)).collect();
    names.sort_unstable();
    names.truncate(shown);
    let more = match objects.len().saturating_sub(shown) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "{site} is in {} objects, whose registers are counted together: {}{more}; \
         for one of them say --filter object=NAME",
        objects.len(),
        names.join(", ")
    ))
}

/// A recorder of ours writes promises first and its ledger last.
pub(super) fn of_end<'d>(
    mut together: impl Iterator<Item = &'d EventDescription>,
) -> Option<String> {
    let endless = together.any(EventDescription::lacks_ledger);
    endless.then(|| {
        "the recording has no end: the recorder was killed or its output took no more; \
         what was lost, and what would have followed, is not known"
            .to_owned()
    })
}

pub(super) fn of_event(query: &Query, event: &Event, notes: &mut Vec<String>) {
    if event.own_samples() == 0 {
        return;
    }
    let name = &event.name;
    if !event.fields.has(SampleType::TIME) {
        notes.push(format!(
            "{name} was recorded without times: objects and names are the newest ones of each process"
        ));
    }
    if matches!(event.sampling, SamplingMode::Frequency(_)) && event.weighting == Weighting::Count {
        notes.push(format!(
            "{name} was sampled in frequency mode and shares are of samples, \
             each of which stands for another number of events"
        ));
    }
    if event.sum.period == u64::MAX {
        notes.push(format!("the periods of {name} add up to 2^64 or more: sums stop there"));
    }
    for filter in &query.filters {
        if let Some(field) = missing_field(&filter.condition, event) {
            notes.push(format!(
                "{name} was recorded without {field}: no sample of it passes {filter}"
            ));
        }
    }
    if !query.frames.is_none() && !event.fields.tells_callers() {
        notes.push(format!("{name} was recorded without call chains (ebs -g)"));
    }
    if query.keys.contains(&Key::AddrBefore) && event.fields.is_interrupted() {
        notes.push(format!(
            "addr-before of {name} is worked out of the registers where a timer interrupted: by \
             time, level unknown; an address is no miss"
        ));
    }
    let registers = query.keys.iter().any(|key| matches!(key, Key::Register(_)));
    if (registers || query.registers.is_some()) && event.fields.registers_of_user() {
        notes.push(format!(
            "registers of {name} are the user's at entry to the kernel, not at the event"
        ));
    }
    if query.registers.is_some() && event.fields.registers().is_empty() {
        notes.push(format!("{name} was recorded without registers"));
    }
}

/// What the attr asked for and the samples do not show.
pub(super) fn of_attr(event: &Event, attr: &Attr, notes: &mut Vec<String>) {
    let (name, level) = (&event.name, attr.precise_ip());
    if level > 0 && event.own_counted() > 0 && event.sum.exact == 0 {
        notes.push(format!(
            "{name} was opened with precise_ip={level}, and none of its samples carries EXACT_IP: \
             nothing proves that an address is that of the instruction that caused the event"
        ));
    }
    if event.outside > 0 {
        let (flags, mode) = match attr.flags.contains(AttrFlags::EXCLUDE_KERNEL) {
            true => ("exclude_kernel", "user"),
            false => ("exclude_user or exclude_hv", "kernel"),
        };
        notes.push(format!(
            "{} of {} samples of {name} lie where it was not to count ({flags}); they are counted \
             where they lie, --filter mode={mode} leaves them out",
            event.outside, event.sum.count
        ));
    }
}

pub(super) fn of_accesses(query: &Query, event: &Event, attr: &Attr, notes: &mut Vec<String>) {
    if !query.accesses || event.samples == 0 {
        return;
    }
    let name = &event.name;
    if !event.fields.has(SampleType::DATA_SRC) {
        notes.push(format!(
            "{name} was recorded without data_src: what served its accesses is not known"
        ));
    }
    if let Some(cycles) = event.weighing.threshold(attr) {
        notes.push(format!(
            "{name} samples only loads of more than {cycles} cycles (ldlat): counts, \
             shares and latencies are of those"
        ));
    }
    match event.weighing {
        Weighing::Latency(_) => {}
        Weighing::Absent => notes.push(format!("{name} was recorded without latencies")),
        Weighing::Unknown => notes.push(format!(
            "what the weights of {name} count is not known here, so they are not taken for \
             latencies"
        )),
    }
}

pub(super) fn of_promises(
    query: &Query,
    of: &DescribedEvent<'_>,
    filter: SampleFilter,
    notes: &mut Vec<String>,
) {
    let DescribedEvent { event, described, .. } = *of;
    if event.samples == 0 {
        return;
    }
    let name = &event.name;
    let says = |key| described.notes.iter().find_map(|text| note::value(text, key));
    let registers = query.keys.iter().any(|key| matches!(key, Key::Register(_)));
    if (registers || query.registers.is_some()) && says("regs") == Some("interrupt-time") {
        notes.push(format!(
            "registers of {name} are those of the interrupt: they belong to a later instruction \
             than the one they stand beside"
        ));
    }
    if filter.asks(|condition| matches!(condition, perfdata::sample_filter::Condition::Class(_))) {
        let of = match says("ip") {
            Some("after-causing-instruction") => "of the instruction after the causing one",
            Some("skid" | "interrupted") => "of an instruction some way after the causing one",
            Some("reporting-place") => "of the instruction that reports the event",
            None if event.sum.exact == 0 && described.attr.kind != EventType::SOFTWARE => {
                "of an instruction that may be some way after the causing one"
            }
            _ => "",
        };
        if !of.is_empty() {
            notes.push(format!("{name} does not point at its instruction: classes are {of}"));
        }
    }
    let limited = says("lost.count").is_some_and(|count| count != "0");
    if limited && !filter.is_all() {
        notes.push(format!(
            "the count that sampling ended at is of samples of {name}, not of those kept"
        ));
    }
}

fn missing_field(condition: &FilterCondition, event: &Event) -> Option<&'static str> {
    let (field, word) = match condition {
        FilterCondition::Pid(_)
        | FilterCondition::Tid(_)
        | FilterCondition::Comm(_)
        | FilterCondition::Region(_) => (SampleType::TID, "tid"),
        FilterCondition::Cpu(_) => (SampleType::CPU, "cpu"),
        FilterCondition::Addr(_) | FilterCondition::Variable(_) => (SampleType::ADDR, "addr"),
        FilterCondition::Ip(_) | FilterCondition::Routine(_) | FilterCondition::Object(_) => {
            (SampleType::IP, "ip")
        }
        FilterCondition::Access(..) => (SampleType::DATA_SRC, "data_src"),
        FilterCondition::Weight(_) => return (!event.fields.has_weight()).then_some("weight"),
        FilterCondition::Frame(_) => {
            return (!event.fields.tells_callers()).then_some("call chains");
        }
        FilterCondition::Miss(_) => {
            return (!event.fields.has_class()).then_some("classes of misses (--classify exact)");
        }
        FilterCondition::Mode(_) => return None,
        FilterCondition::Time(_) => (SampleType::TIME, "time"),
    };
    (!event.fields.has(field)).then_some(word)
}
