//! How the samples of one event are judged.

use crate::error::Error;
use perfdata::sample_filter::Condition;
use perfdata::stream::{EventDescription, Features, note};
use perfdata::{Arch, ByteOrder, EventType, InstructionClass, SampleFilter};

#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) filter: SampleFilter,
    /// Its clauses that are not about classes.
    pub(super) fields: SampleFilter,
    /// Its clauses that are.
    pub(super) classes: SampleFilter,
    pub(super) needs_fields: bool,
    pub(super) needs_operands: bool,
    /// Instruction pointers are exact where a record says so, and only there.
    pub(super) exact_or_none: bool,
    /// Raw data may be IBS registers: not a tracepoint's fields.
    pub(super) may_be_ibs: bool,
    pub(super) order: ByteOrder,
    pub(super) registers: RegistersOf,
    /// The sampled address is where the instruction's data starts; of a page
    /// fault it is the byte that was not there.
    pub(super) data_address: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegistersOf {
    /// Before the sampled instruction.
    Before,
    /// When it had retired.
    After,
    /// At some other instruction, or at none.
    Other,
}

impl Rule {
    pub(super) fn new(
        description: &EventDescription,
        asked: SampleFilter,
        features: &Features,
    ) -> Result<Rule, Error> {
        let says = |key| description.notes.iter().find_map(|text| note::value(text, key));
        let refused = |why: String| Error::Filter { event: description.title().into_owned(), why };
        let carried = says(SampleFilter::KEY).unwrap_or_default();
        let carried: SampleFilter = carried
            .parse()
            .map_err(|error: perfdata::sample_filter::FilterError| refused(error.to_string()))?;
        let filter = carried.and(asked).ok_or_else(|| {
            refused(format!(
                "{carried} and {asked} together are more than {} terms",
                SampleFilter::CLAUSES
            ))
        })?;
        let (fields, classes) = filter.split();
        if !classes.is_all() && !has_decoder(features) {
            let machine = features.arch.clone().unwrap_or_else(|| features.machine().to_string());
            return Err(refused(format!(
                "{classes} needs the instructions of {machine} to be decoded; only those of x86 are"
            )));
        }
        let kind = description.attr.kind;
        Ok(Rule {
            filter,
            fields,
            classes,
            needs_fields: fields
                .asks(|condition| matches!(condition, Condition::Ibs(_) | Condition::Source(_))),
            needs_operands: classes
                .asks(|condition| condition == Condition::Class(InstructionClass::SplitLoad)),
            exact_or_none: says("ip") == Some("exact"),
            may_be_ibs: ![EventType::SOFTWARE, EventType::TRACEPOINT, EventType::BREAKPOINT]
                .contains(&kind),
            order: description.layout.order(),
            registers: registers(description, says("regs")),
            data_address: says("addr").map_or(kind != EventType::SOFTWARE, |addr| addr == "data"),
        })
    }
}

fn has_decoder(features: &Features) -> bool {
    let is_32_bit = |arch: &str| matches!(arch.as_bytes(), [b'i', b'3'..=b'6', b'8', b'6']);
    features.machine() == Arch::X86_64 || features.arch.as_deref().is_some_and(is_32_bit)
}

/// As the recorder promised; of other recorders, as the kernel does it.
fn registers(description: &EventDescription, promised: Option<&str>) -> RegistersOf {
    let attr = &description.attr;
    match promised {
        Some("before-instruction") => RegistersOf::Before,
        Some("after-retirement" | "after-instruction") => RegistersOf::After,
        Some(_) => RegistersOf::Other,
        None if attr.kind == EventType::SOFTWARE => RegistersOf::Before,
        None if attr.precise_ip() > 1 => RegistersOf::After,
        None => RegistersOf::Other,
    }
}
