//! Bytes -> sample.

use super::{PREFIX, SampleError, SampleLayout, WORD_FIELDS, cpu, task};
use crate::attr::{BranchSampleType, SampleType};
use crate::bytes::{Cursor, Short};
use crate::data_src::DataSrc;
use crate::header::Misc;
use crate::registers::{Registers, RegsAbi};
use crate::sample::{BranchStack, ReadValues, Sample, StackUser, Weight};
use crate::units::Time;

impl SampleLayout {
    /// Decodes a SAMPLE record's bytes after the header. Zeroes after the
    /// last field are padding. Allocates for READ values only.
    ///
    /// # Errors
    /// [`SampleError`]: a field is cut off, holds what no kernel writes, or
    /// bytes are left over. Counts are held against the bytes that are left
    /// before anything is done with them.
    pub fn decode<'a>(&self, misc: Misc, payload: &'a [u8]) -> Result<Sample<'a>, SampleError> {
        let prefix_size = usize::from(self.prefix_size);
        if payload.len() < prefix_size {
            return Err(self.prefix_short(payload));
        }
        let word = |field| self.prefix_word(payload, field);
        // Filled in place: a sample is large, and this is the hot path.
        let mut decoded = Ok(Sample {
            misc,
            identifier: word(0),
            ip: word(1),
            task: word(2).map(|word| task(word, self.order)),
            time: word(3).map(Time),
            addr: word(4),
            id: word(5),
            stream_id: word(6),
            cpu: word(7).map(|word| cpu(word, self.order)),
            period: word(8),
            ..Sample::default()
        });
        if let Ok(sample) = &mut decoded
            && let Err(error) = self.variable(sample, payload)
        {
            decoded = Err(error);
        }
        decoded
    }

    /// All that follows the prefix.
    #[inline]
    fn variable<'a>(&self, sample: &mut Sample<'a>, payload: &'a [u8]) -> Result<(), SampleError> {
        let mut cursor = Cursor::new(payload, self.order);
        cursor.take(self.prefix_size.into()).map_err(within("IP"))?;
        self.middle(sample, &mut cursor)?;
        self.branches_and_rest(sample, &mut cursor)
    }

    #[cold]
    fn prefix_short(&self, payload: &[u8]) -> SampleError {
        let (mut field, mut offset) = ("IP", 0);
        for (&at, (_, name)) in self.at.iter().zip(PREFIX) {
            if at != super::ABSENT && usize::from(at) + 8 > payload.len() {
                (field, offset) = (name, usize::from(at));
                break;
            }
        }
        let left = payload.len().saturating_sub(offset);
        SampleError::Short { field, short: Short { offset, wanted: 8, left } }
    }

    /// READ, CALLCHAIN, RAW.
    fn middle<'a>(&self, sample: &mut Sample<'a>, c: &mut Cursor<'a>) -> Result<(), SampleError> {
        let has = |bit| self.fields.contains(bit);
        if has(SampleType::READ) {
            let read = ReadValues::decode(self.read_format, c);
            sample.read = Some(read.map_err(within("READ"))?);
        }
        if has(SampleType::CALLCHAIN) {
            let chain = c.u64().and_then(|count| c.words(count));
            sample.callchain = Some(chain.map_err(within("CALLCHAIN"))?);
        }
        if has(SampleType::RAW) {
            let offset = c.offset();
            let size = c.u32().map_err(within("RAW"))?;
            // The kernel rounds the size up so that what follows is aligned.
            if !(u64::from(size) + 4).is_multiple_of(8) && self.after_raw() {
                return Err(SampleError::Value { field: "RAW", value: size.into(), offset });
            }
            sample.raw = Some(take(c, size.into()).map_err(within("RAW"))?);
        }
        Ok(())
    }

    pub(super) fn after_raw(&self) -> bool {
        self.fields.intersects(AFTER_RAW)
    }

    /// Everything from BRANCH_STACK on.
    ///
    /// The kernel leaves out the hardware index of a sample without a branch
    /// stack (software events have none: perf_output_sample() writes a count
    /// of 0 alone), but writes it for a stack that is empty. Both start with
    /// a count of 0; the record's length tells them apart.
    fn branches_and_rest<'a>(
        &self,
        sample: &mut Sample<'a>,
        cursor: &mut Cursor<'a>,
    ) -> Result<(), SampleError> {
        if !self.fields.contains(SampleType::BRANCH_STACK) {
            return self.rest(sample, cursor);
        }
        let count = cursor.u64().map_err(within("BRANCH_STACK"))?;
        let indexed = self.branch.contains(BranchSampleType::HW_INDEX);
        if count != 0 || !indexed {
            sample.branch_stack = Some(self.branches(count, indexed, cursor)?);
            return self.rest(sample, cursor);
        }

        let mut bare = sample.clone();
        let mut bare_cursor = cursor.clone();
        bare.branch_stack = Some(self.branches(0, false, &mut bare_cursor)?);
        let bare_result = self.rest(&mut bare, &mut bare_cursor);

        let full = self.branches(0, true, cursor).and_then(|branches| {
            sample.branch_stack = Some(branches);
            self.rest(sample, cursor)
        });
        // Padding is rare: the reading that ends with the record is right.
        if full.is_err() || (bare_result.is_ok() && bare_cursor.left() < cursor.left()) {
            bare_result?;
            *sample = bare;
        }
        Ok(())
    }

    fn branches<'a>(
        &self,
        count: u64,
        indexed: bool,
        c: &mut Cursor<'a>,
    ) -> Result<BranchStack<'a>, SampleError> {
        let counted = self.branch.contains(BranchSampleType::COUNTERS);
        let mut read = || {
            let hw_index = indexed.then(|| c.u64()).transpose()?;
            let entries = c.words(count.saturating_mul(3))?;
            let counters = counted.then(|| c.words(count)).transpose()?;
            Ok(BranchStack { hw_index, entries, counters })
        };
        read().map_err(within("BRANCH_STACK"))
    }

    /// What follows the branches, to the end of the record.
    fn rest<'a>(&self, sample: &mut Sample<'a>, c: &mut Cursor<'a>) -> Result<(), SampleError> {
        let has = |bit| self.fields.contains(bit);
        if has(SampleType::REGS_USER) {
            sample.regs_user = Some(registers("REGS_USER", self.regs_user, c)?);
        }
        if has(SampleType::STACK_USER) {
            sample.stack_user = Some(stack_user(c)?);
        }
        if has(SampleType::WEIGHT) {
            sample.weight = Some(Weight::Full(c.u64().map_err(within("WEIGHT"))?));
        }
        if has(SampleType::WEIGHT_STRUCT) {
            let word = c.u64().map_err(within("WEIGHT_STRUCT"))?;
            sample.weight = Some(Weight::from_word(word));
        }
        if has(SampleType::DATA_SRC) {
            sample.data_src = Some(DataSrc(c.u64().map_err(within("DATA_SRC"))?));
        }
        if has(SampleType::TRANSACTION) {
            sample.transaction = Some(c.u64().map_err(within("TRANSACTION"))?);
        }
        if has(SampleType::REGS_INTR) {
            sample.regs_intr = Some(registers("REGS_INTR", self.regs_intr, c)?);
        }
        if has(SampleType::PHYS_ADDR) {
            sample.phys_addr = Some(c.u64().map_err(within("PHYS_ADDR"))?);
        }
        if has(SampleType::CGROUP) {
            sample.cgroup = Some(c.u64().map_err(within("CGROUP"))?);
        }
        if has(SampleType::DATA_PAGE_SIZE) {
            sample.data_page_size = Some(c.u64().map_err(within("DATA_PAGE_SIZE"))?);
        }
        if has(SampleType::CODE_PAGE_SIZE) {
            sample.code_page_size = Some(c.u64().map_err(within("CODE_PAGE_SIZE"))?);
        }
        if has(SampleType::AUX) {
            let aux = c.u64().and_then(|size| take(c, size));
            sample.aux = Some(aux.map_err(within("AUX"))?);
        }
        end(c)
    }
}

const AFTER_RAW: SampleType = WORD_FIELDS
    .union(SampleType::BRANCH_STACK)
    .union(SampleType::REGS_USER)
    .union(SampleType::STACK_USER)
    .union(SampleType::REGS_INTR)
    .union(SampleType::AUX);

fn within(field: &'static str) -> impl Fn(Short) -> SampleError {
    move |short| SampleError::Short { field, short }
}

/// `size` bytes, whatever the width of `usize`.
fn take<'a>(c: &mut Cursor<'a>, size: u64) -> Result<&'a [u8], Short> {
    c.take(usize::try_from(size).unwrap_or(usize::MAX))
}

/// An ABI word, and one word a register unless it is 0 (trap 14).
fn registers<'a>(
    field: &'static str,
    mask: u64,
    c: &mut Cursor<'a>,
) -> Result<Registers<'a>, SampleError> {
    let offset = c.offset();
    let abi = match c.u64().map_err(within(field))? {
        0 => return Ok(Registers::default()),
        1 => RegsAbi::Bits32,
        2 => RegsAbi::Bits64,
        value => return Err(SampleError::Value { field, value, offset }),
    };
    let words = c.words(mask.count_ones().into()).map_err(within(field))?;
    Ok(Registers { abi, mask, words })
}

/// Size, bytes, and how many of them are real unless there are none
/// (perf_output_sample_ustack(), trap 32).
fn stack_user<'a>(c: &mut Cursor<'a>) -> Result<StackUser<'a>, SampleError> {
    let offset = c.offset();
    let value = c.u64().map_err(within("STACK_USER"))?;
    if !value.is_multiple_of(8) {
        return Err(SampleError::Value { field: "STACK_USER", value, offset });
    }
    let data = take(c, value).map_err(within("STACK_USER"))?;
    let dyn_size = match value {
        0 => None,
        _ => Some(c.u64().map_err(within("STACK_USER"))?),
    };
    Ok(StackUser { data, dyn_size })
}

fn end(c: &Cursor<'_>) -> Result<(), SampleError> {
    let (offset, mut after) = (c.offset(), c.clone());
    let left = after.rest();
    match left.iter().all(|&byte| byte == 0) {
        true => Ok(()),
        false => Err(SampleError::Left { offset, count: left.len() }),
    }
}
