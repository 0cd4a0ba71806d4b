//! Questions that an aggregate cannot answer.

use crate::collect::event::Event;
use crate::error::Error;
use crate::query::Query;
use crate::query::filter::FilterCondition;
use crate::query::frame_cut::FrameCut;
use crate::query::key::Key;

/// What to do where only samples tell.
const SAMPLES: &str = "record samples: ebs without --in-kernel, a standing session without \
                       mode = \"aggregate\"";
const PROCESSES: &str = "record with --by-process";
const WITH_CALLERS: &str = "record with -g";

/// Why an aggregate has no answer, and what has.
type Lacking = (&'static str, &'static str);

#[derive(Clone, Copy, Debug)]
pub(crate) struct ToldApart {
    pub(crate) processes: bool,
    pub(crate) callers: bool,
}

/// Refuses a query that needs more of an event than was counted in the
/// kernel.
///
/// # Errors
/// The first thing asked for that is not there.
pub(crate) fn refuse(query: &Query, event: &Event, apart: ToldApart) -> Result<(), Error> {
    let refused = |asked: String, (why, instead): Lacking| {
        Err(Error::InKernel { event: event.name.clone(), asked, why, instead })
    };
    for key in &query.keys {
        if let Some(lacking) = of_key(key, apart) {
            return refused(format!("--by {key}"), lacking);
        }
    }
    for filter in &query.filters {
        if let Some(lacking) = of_condition(&filter.condition, apart) {
            return refused(format!("--filter {filter}"), lacking);
        }
    }
    let FrameCut { callers, callees, outside } = &query.frames;
    let cut = [("callers", callers.is_some()), ("callees", callees.is_some())];
    let cut = cut.into_iter().chain([("outside", !outside.is_empty())]);
    if let Some((option, _)) = cut.into_iter().find(|(_, is_asked)| *is_asked && !apart.callers) {
        return refused(format!("--{option}"), CALLERS);
    }
    if query.types {
        return refused("types and members".to_owned(), ADDRESSES);
    }
    if query.accesses {
        return refused("--mem".to_owned(), SOURCE);
    }
    if query.class.is_some() || event.is_sifted {
        let asked = query.class.map_or_else(
            || "which of its hits its type means".to_owned(),
            |class| format!("--class {class}"),
        );
        return refused(asked, ("the kernel judges no instructions", SAMPLES));
    }
    Ok(())
}

const ADDRESSES: Lacking = (
    "of a site's data addresses it keeps the range, the bits that never change and the strides, \
     which --by site shows",
    SAMPLES,
);
const THREADS: Lacking = ("it keeps no thread of each hit", SAMPLES);
const TIMES: Lacking = ("it keeps no time of each hit", SAMPLES);
const CPUS: Lacking = ("it keeps no CPU of each hit", SAMPLES);
const CALLERS: Lacking = ("it did not tell callers apart", WITH_CALLERS);
const SOURCE: Lacking = ("it keeps no data source and weight of each hit", SAMPLES);
const TOGETHER: Lacking = ("it did not tell processes apart", PROCESSES);

fn of_key(key: &Key, apart: ToldApart) -> Option<Lacking> {
    match key {
        Key::Site
        | Key::Ip
        | Key::Routine
        | Key::Inlined
        | Key::Srcline
        | Key::RoutineLine
        | Key::Operands
        | Key::Object => None,
        Key::Comm | Key::Pid => (!apart.processes).then_some(TOGETHER),
        Key::Tid => Some(THREADS),
        Key::Cpu => Some(CPUS),
        Key::Time(_) | Key::Region => Some(TIMES),
        Key::Addr
        | Key::Line
        | Key::Page
        | Key::Data
        | Key::Variable
        | Key::Alloc
        | Key::AllocLine
        | Key::Block
        | Key::Holder
        | Key::Type
        | Key::Member => Some(ADDRESSES),
        Key::Caller | Key::Callee | Key::Stack => (!apart.callers).then_some(CALLERS),
        Key::AddrBefore => Some(("it keeps no registers of each hit", SAMPLES)),
        Key::Access(_) | Key::Miss => Some(SOURCE),
        Key::Register(_) => Some((
            "of a site's registers it keeps the bits that never change, which --by site and \
             --regs show",
            SAMPLES,
        )),
    }
}

fn of_condition(condition: &FilterCondition, apart: ToldApart) -> Option<Lacking> {
    match condition {
        FilterCondition::Routine(_)
        | FilterCondition::Object(_)
        | FilterCondition::Ip(_)
        | FilterCondition::Mode(_) => None,
        FilterCondition::Comm(_) | FilterCondition::Pid(_) => {
            (!apart.processes).then_some(TOGETHER)
        }
        FilterCondition::Tid(_) => Some(THREADS),
        FilterCondition::Cpu(_) => Some(CPUS),
        FilterCondition::Time(_) | FilterCondition::Region(_) => Some(TIMES),
        FilterCondition::Addr(_) | FilterCondition::Variable(_) => Some(ADDRESSES),
        FilterCondition::Access(..) | FilterCondition::Weight(_) | FilterCondition::Miss(_) => {
            Some(SOURCE)
        }
        FilterCondition::Frame(_) => (!apart.callers).then_some(CALLERS),
    }
}
