//! Counter values, as read(2), PERF_SAMPLE_READ and PERF_RECORD_READ hold
//! them.

use crate::attr::ReadFormat;
use crate::bytes::{ByteWriter, Cursor, Short};

/// What read(2) gives for an event or group, and PERF_SAMPLE_READ holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadValues {
    /// Nanoseconds the event was enabled.
    pub time_enabled: Option<u64>,
    /// Nanoseconds it was on a counter.
    pub time_running: Option<u64>,
    /// One, or one a group member.
    pub values: Vec<ReadValue>,
}

/// One counter's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadValue {
    /// Events counted.
    pub value: u64,
    /// The event's id, with PERF_FORMAT_ID.
    pub id: Option<u64>,
    /// Records lost, with PERF_FORMAT_LOST.
    pub lost: Option<u64>,
}

impl ReadValues {
    /// Reads the values that `format` tells: perf_output_read_one() and
    /// perf_output_read_group(), kernel/events/core.c. Bits of `format` that
    /// are not known here are not looked at.
    ///
    /// # Errors
    /// [`Short`] when the bytes end before the last value.
    pub fn decode(format: ReadFormat, cursor: &mut Cursor<'_>) -> Result<ReadValues, Short> {
        let group = format.contains(ReadFormat::GROUP);
        let mut read = ReadValues::default();
        let count = if group { cursor.u64()? } else { 1 };
        let mut only = ReadValue::default();
        if !group {
            only.value = cursor.u64()?;
        }
        read.time_enabled = word(format, ReadFormat::TOTAL_TIME_ENABLED, cursor)?;
        read.time_running = word(format, ReadFormat::TOTAL_TIME_RUNNING, cursor)?;
        if !group {
            only.id = word(format, ReadFormat::ID, cursor)?;
            only.lost = word(format, ReadFormat::LOST, cursor)?;
            read.values = vec![only];
            return Ok(read);
        }

        let id = format.contains(ReadFormat::ID);
        let lost = format.contains(ReadFormat::LOST);
        let per_member = 1 + usize::from(id) + usize::from(lost);
        // The words are known to be there before room is made for them.
        let wanted = count.saturating_mul(u64::try_from(per_member).unwrap_or(u64::MAX));
        let words = cursor.words(wanted)?;
        read.values.reserve_exact(words.len() / per_member);
        let mut words = words.iter();
        while let Some(value) = words.next() {
            let id = id.then(|| words.next()).flatten();
            let lost = lost.then(|| words.next()).flatten();
            read.values.push(ReadValue { value, id, lost });
        }
        Ok(read)
    }

    /// Appends the values in the form that `format` tells; None, with
    /// nothing written, when they have another form.
    pub fn encode(&self, format: ReadFormat, writer: &mut ByteWriter<'_>) -> Option<()> {
        let has = |bit| format.contains(bit);
        let group = has(ReadFormat::GROUP);
        let fits = self.time_enabled.is_some() == has(ReadFormat::TOTAL_TIME_ENABLED)
            && self.time_running.is_some() == has(ReadFormat::TOTAL_TIME_RUNNING)
            && (group || self.values.len() == 1)
            && self.values.iter().all(|value| {
                value.id.is_some() == has(ReadFormat::ID)
                    && value.lost.is_some() == has(ReadFormat::LOST)
            });
        if !fits {
            return None;
        }
        let times = [self.time_enabled, self.time_running].into_iter().flatten();
        let first = match self.values.first() {
            Some(only) if !group => only.value,
            _ => u64::try_from(self.values.len()).ok()?,
        };
        writer.u64(first);
        times.for_each(|time| writer.u64(time));
        for value in &self.values {
            if group {
                writer.u64(value.value);
            }
            [value.id, value.lost].into_iter().flatten().for_each(|word| writer.u64(word));
        }
        Some(())
    }
}

fn word(
    format: ReadFormat,
    bit: ReadFormat,
    cursor: &mut Cursor<'_>,
) -> Result<Option<u64>, Short> {
    match format.contains(bit) {
        true => cursor.u64().map(Some),
        false => Ok(None),
    }
}
