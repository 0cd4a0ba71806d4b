//! Which samples of an event are meant.
//!
//! An event may sample more than its type means: the stream then carries a
//! filter ([`SampleFilter`]), and a user can ask for a class of instructions
//! besides. What cannot be decided is told apart, never counted as either.

mod doubts;
mod rule;
mod split;

pub use doubts::Doubt;

use crate::bounded::{Bounded, MOST_PLACES};
use crate::code::SampledInstruction;
use crate::code::instruction_class::{classes, decode};
use crate::error::Error;
use doubts::Doubts;
use iced_x86::Instruction;
use perfdata::ibs::{IbsCaps, IbsErrata};
use perfdata::sample_filter::{Condition, FieldAnswers, Verdict};
use perfdata::stream::StreamDecoder;
use perfdata::{InstructionClass, InstructionClasses, Misc, Sample, SampleFilter};
pub(crate) use rule::RegistersOf;
use rule::Rule;
use rustc_hash::FxHashMap;
use symbolizer::{Place, SampledAddress, Symbolizer};

/// What becomes of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SieveVerdict {
    /// It is meant.
    Kept,
    /// The event sampled it, the type does not mean it.
    Other,
    /// It cannot be told; why is [`Sieve::reason`]'s to say.
    Undecided(Doubt),
}

/// Judges samples by the filters of their events.
#[derive(Debug)]
pub struct Sieve {
    /// Asked for besides what the stream says.
    asked: SampleFilter,
    rules: Vec<Rule>,
    quirks: FxHashMap<IbsCaps, IbsErrata>,
    instructions: Bounded<Place, Result<Known, Doubt>, MOST_PLACES>,
    doubts: Doubts,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    instruction: Instruction,
    classes: InstructionClasses,
}

impl Sieve {
    /// Asks for `class` besides what streams say of their events.
    pub fn new(class: Option<InstructionClass>) -> Sieve {
        Sieve {
            asked: class.map_or(SampleFilter::ALL, SampleFilter::class),
            rules: Vec::new(),
            quirks: FxHashMap::default(),
            instructions: Bounded::default(),
            doubts: Doubts::default(),
        }
    }

    /// Takes note of the events that the stream has described by now.
    ///
    /// # Errors
    /// A filter that is not known here, or that needs a decoder for the
    /// recorded machine's instructions: samples would be counted wrongly.
    pub fn learn(&mut self, decoder: &StreamDecoder) -> Result<(), Error> {
        for description in decoder.events().iter().skip(self.rules.len()) {
            self.rules.push(Rule::new(description, self.asked, decoder.features())?);
        }
        Ok(())
    }

    /// The filter of an event and the user's together.
    pub fn filter(&self, event: usize) -> SampleFilter {
        self.rules.get(event).map_or(SampleFilter::ALL, |rule| rule.filter)
    }

    pub(crate) fn registers(&self, event: usize) -> RegistersOf {
        self.rules.get(event).map_or(RegistersOf::Other, |rule| rule.registers)
    }

    /// Whether some event's samples are judged by their instructions: the
    /// symbolizer must then know the mappings.
    pub fn needs_code(&self) -> bool {
        self.rules.iter().any(|rule| !rule.classes.is_all())
    }

    /// Whether judging takes more of a sample than its privilege level and
    /// its instruction.
    pub(crate) fn needs_fields(&self, event: usize) -> bool {
        self.rules.get(event).is_some_and(|rule| rule.needs_fields)
    }

    pub(crate) fn needs_registers(&self, event: usize) -> bool {
        self.rules.get(event).is_some_and(|rule| rule.needs_operands)
    }

    /// Why a sample could not be judged.
    pub fn reason(&self, doubt: Doubt) -> &str {
        self.doubts.text(doubt)
    }

    /// Judges a sample.
    pub fn judge(
        &mut self,
        symbolizer: &mut Symbolizer,
        decoder: &StreamDecoder,
        event: usize,
        sample: &Sample<'_>,
    ) -> SieveVerdict {
        if self.filter(event).is_all() {
            return SieveVerdict::Kept;
        }
        let early = self.by_fields(decoder, event, sample.misc, Some(sample));
        if early == SieveVerdict::Other {
            return early;
        }
        let registers = sample.regs_intr.unwrap_or_default();
        let register = |number| registers.get(number);
        let at = SampledAddress {
            time: sample.time.unwrap_or(crate::name::key_value::TIMELESS),
            ..SampledAddress::of(sample)
        };
        let is_exact = sample.misc.contains(Misc::EXACT_IP);
        let address = sample.addr.unwrap_or(0);
        let sampled = SampledInstruction { at, is_exact, address, register: &register };
        match self.by_class(symbolizer, event, sampled) {
            SieveVerdict::Kept => early,
            late => late,
        }
    }

    /// Judges by all that is not the instruction. `sample` is needed where
    /// [`Sieve::needs_fields`] says so.
    pub(crate) fn by_fields(
        &mut self,
        decoder: &StreamDecoder,
        event: usize,
        misc: Misc,
        sample: Option<&Sample<'_>>,
    ) -> SieveVerdict {
        let Some(rule) = self.rules.get(event) else { return SieveVerdict::Kept };
        let answers = FieldAnswers::new(misc, sample, rule.may_be_ibs.then_some(rule.order));
        let mut why = None;
        let known = &mut self.quirks;
        let verdict = rule.fields.judge(|condition| {
            let answer = answers.holds(condition, |caps| quirks(known, decoder, caps));
            if answer.is_none() {
                why.get_or_insert_with(|| doubts::unanswered(condition, &answers));
            }
            answer
        });
        match verdict {
            Verdict::Keep => SieveVerdict::Kept,
            Verdict::Drop => SieveVerdict::Other,
            Verdict::Undecided(condition) => {
                let why = why.unwrap_or(doubts::untold(condition));
                SieveVerdict::Undecided(self.doubts.number(why))
            }
        }
    }

    pub(crate) fn by_class(
        &mut self,
        symbolizer: &mut Symbolizer,
        event: usize,
        sampled: SampledInstruction<'_>,
    ) -> SieveVerdict {
        let Some(rule) = self.rules.get(event) else { return SieveVerdict::Kept };
        if rule.classes.is_all() {
            return SieveVerdict::Kept;
        }
        if rule.exact_or_none && !sampled.is_exact {
            return SieveVerdict::Undecided(self.doubts.number(doubts::INEXACT));
        }
        let (classes, registers) = (rule.classes, rule.registers);
        let address = if rule.data_address { sampled.address } else { 0 };
        let sampled = SampledInstruction { address, ..sampled };
        let known = match self.instruction(symbolizer, sampled.at) {
            Ok(known) => known,
            Err(doubt) => return SieveVerdict::Undecided(doubt),
        };
        let verdict = classes.judge(|condition| match condition {
            Condition::Class(InstructionClass::SplitLoad) => {
                split::is_split_load(&known.instruction, &sampled, registers)
            }
            Condition::Class(class) => Some(known.classes.contains(class)),
            _ => None,
        });
        match verdict {
            Verdict::Keep => SieveVerdict::Kept,
            Verdict::Drop => SieveVerdict::Other,
            Verdict::Undecided(_) => {
                SieveVerdict::Undecided(self.doubts.number(doubts::NO_ADDRESS))
            }
        }
    }

    fn instruction(
        &mut self,
        symbolizer: &mut Symbolizer,
        at: SampledAddress,
    ) -> Result<Known, Doubt> {
        let place = at.place(symbolizer);
        if let Some(known) = self.instructions.get(&place) {
            return *known;
        }
        let known = match symbolizer.code(at) {
            Ok(code) => match decode(code.bytes(), code.bits, at.address) {
                Some(instruction) => Ok(Known { instruction, classes: classes(&instruction) }),
                None => Err(self.doubts.number(doubts::NO_INSTRUCTION)),
            },
            Err(error) => Err(self.doubts.number(&error.to_string())),
        };
        self.instructions.insert(place, known);
        known
    }
}

fn quirks(
    known: &mut FxHashMap<IbsCaps, IbsErrata>,
    decoder: &StreamDecoder,
    caps: IbsCaps,
) -> IbsErrata {
    let of = || IbsErrata::of(decoder.features().cpu_id.as_deref(), caps);
    *known.entry(caps).or_insert_with(of)
}
